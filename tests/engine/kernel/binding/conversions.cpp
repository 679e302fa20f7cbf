// Values of Python as the core has them.
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "methods.hpp"

namespace ssptool::binding
{

namespace
{

// Of an array of two dimensions, or of an empty one of any.
std::vector<double> columns_from(nb::handle array, std::size_t unknowns)
{
    if (nb::len(array) == 0)
        return {};
    const auto view = nb::cast<Matrix>(array);
    check_size(view.shape(1), unknowns, "a column");
    return {view.data(), view.data() + view.size()};
}

Trial trial_from(Number number)
{
    if (number < 0 || number > static_cast<Number>(Trial::steps))
        throw std::invalid_argument("unknown trial");
    return static_cast<Trial>(number);
}

} // namespace

DenseMatrix dense_from(const Matrix &array)
{
    DenseMatrix matrix(array.shape(0), array.shape(1));
    std::copy_n(array.data(), array.size(), matrix.elements.begin());
    return matrix;
}

SlotOverride override_from(nb::handle value)
{
    return {static_cast<SlotOverride::Kind>(attribute<int>(value, "kind")), attribute<double>(value, "value")};
}

std::vector<Instruction> program_from(nb::handle program)
{
    std::vector<Instruction> instructions;
    for (const nb::handle instruction : program) {
        const auto op = attribute<int>(instruction, "op");
        if (op < 0 || op > static_cast<int>(Op::mid_step))
            throw std::invalid_argument("unknown instruction");
        instructions.push_back({static_cast<Op>(op), static_cast<Index>(attribute<Number>(instruction, "argument")),
                                attribute<int>(instruction, "order")});
    }
    return instructions;
}

LoopCalls loop_from(nb::handle calls)
{
    LoopCalls loop{.torn = indices<Slot>(calls.attr("torn")),
                   .frozen = indices<Slot>(calls.attr("frozen")),
                   .body = {},
                   .nominal = numbers<double>(calls.attr("nominal")),
                   .rtol = attribute<double>(calls, "rtol"),
                   .atol = attribute<double>(calls, "atol"),
                   .max_iterations = attribute<Number>(calls, "max_iterations"),
                   .minimum = numbers<double>(calls.attr("minimum")),
                   .maximum = numbers<double>(calls.attr("maximum")),
                   .directional = attribute<bool>(calls, "directional"),
                   .rounding = attribute<double>(calls, "rounding")};
    if (const nb::object pattern = calls.attr("pattern"); !pattern.is_none()) {
        loop.pattern.emplace();
        for (const nb::handle pair : pattern) {
            const auto [row, column] = nb::cast<std::pair<Number, Number>>(pair);
            loop.pattern->emplace_back(index(row), index(column));
        }
    }
    for (const nb::handle call : calls.attr("body"))
        loop.body.push_back(call_from(call));
    return loop;
}

static IterateRule rule_from(nb::handle rule)
{
    const auto kind = attribute<int>(rule, "kind");
    if (kind < 0 || kind > static_cast<int>(RuleKind::newton))
        throw std::invalid_argument("unknown rule of iterates");
    return {.kind = static_cast<RuleKind>(kind),
            .factor = attribute<double>(rule, "factor"),
            .reuse = attribute<Number>(rule, "reuse"),
            .filter = attribute<double>(rule, "filter"),
            .max_columns = attribute<Number>(rule, "max_columns"),
            .window = attribute<Number>(rule, "window")};
}

static std::vector<MeasureLimit> measures_from(nb::handle measures)
{
    std::vector<MeasureLimit> found;
    for (const nb::handle measure : measures) {
        const auto kind = attribute<int>(measure, "kind");
        if (kind < 0 || kind > static_cast<int>(MeasureKind::residual_relative))
            throw std::invalid_argument("unknown measure of convergence");
        found.push_back({static_cast<MeasureKind>(kind), attribute<double>(measure, "limit")});
    }
    return found;
}

static HeldInputs held_inputs_from(nb::handle number)
{
    const int found = nb::cast<int>(number);
    if (found < 0 || found > static_cast<int>(HeldInputs::tried))
        throw std::invalid_argument("unknown held inputs");
    return static_cast<HeldInputs>(found);
}

IterationCalls iteration_from(nb::handle calls)
{
    const auto place = [&](const char *name) { return index(attribute<Number>(calls, name)); };
    return {.group = place("group"),
            .following = place("following"),
            .held = place("held"),
            .schedule = place("schedule"),
            .unknowns = indices<Slot>(calls.attr("unknowns")),
            .nominal = numbers<double>(calls.attr("nominal")),
            .order = attribute<int>(calls, "order"),
            .prediction = attribute<int>(calls, "prediction"),
            .measures = measures_from(calls.attr("measures")),
            .rule = rule_from(calls.attr("rule")),
            .plain_iterations = attribute<Number>(calls, "plain_iterations"),
            .max_iterations = attribute<Number>(calls, "max_iterations"),
            .retreats = attribute<bool>(calls, "retreats"),
            .held_inputs = held_inputs_from(calls.attr("held_inputs")),
            .count = attribute<Number>(calls, "count"),
            .newton = attribute<bool>(calls, "newton"),
            .damps = attribute<bool>(calls, "damps")};
}

std::vector<SlotPolynomial> polynomials_from(nb::handle polynomials)
{
    std::vector<SlotPolynomial> found;
    for (const nb::handle one : polynomials)
        found.push_back({static_cast<Slot>(index(attribute<Number>(one, "slot"))), attribute<double>(one, "t"),
                         attribute<double>(one, "value"), attribute<double>(one, "first"),
                         attribute<double>(one, "second")});
    return found;
}

std::vector<Wire> wires_from(nb::handle sources, nb::handle destinations, nb::handle factors, nb::handle offsets,
                             nb::handle tables, nb::handle discrete, nb::handle ranges)
{
    const auto from = indices<Slot>(sources), to = indices<Slot>(destinations);
    const auto factor = numbers<double>(factors), offset = numbers<double>(offsets);
    if (to.size() != from.size() || factor.size() != from.size() || offset.size() != from.size())
        throw std::invalid_argument("sources, destinations, factors and offsets must be of equal length");
    std::vector<Wire> wires;
    for (std::size_t i = 0; i < from.size(); ++i)
        wires.push_back({from[i], to[i], factor[i], offset[i], {}});
    for (const nb::handle wire : tables) {
        auto &table = wires.at(nb::cast<std::size_t>(wire)).table;
        const nb::object entries = tables[wire];
        for (const nb::handle source : entries)
            table[nb::cast<Number>(source)] = nb::cast<Number>(entries[source]);
    }
    for (const nb::handle wire : discrete)
        wires.at(nb::cast<std::size_t>(wire)).discrete = true;
    for (const nb::handle wire : ranges) {
        Wire &limited = wires.at(nb::cast<std::size_t>(wire));
        std::tie(limited.least, limited.most) = nb::cast<std::pair<double, double>>(nb::object(ranges[wire]));
    }
    return wires;
}

AcceptedSteps accepted_from(nb::handle steps)
{
    const auto count = [&](const char *name) { return attribute<Number>(steps, name); };
    const auto number = [&](const char *name) { return attribute<double>(steps, name); };
    return {.floor = number("floor"),
            .noisy = count("noisy"),
            .level = number("level"),
            .signal = count("signal"),
            .time = number("time"),
            .damped = count("damped"),
            .damped_from = number("damped_from"),
            .unrepeated = count("unrepeated"),
            .unrepeated_from = number("unrepeated_from"),
            .failed = count("failed"),
            .failed_damped = count("failed_damped"),
            .unconverged = count("unconverged"),
            .residual = number("residual"),
            .open_signal = count("open_signal"),
            .open_time = number("open_time"),
            .grows = attribute<bool>(steps, "grows"),
            .steps = count("steps"),
            .unplanned = count("unplanned"),
            .trial = trial_from(count("trial")),
            .by_newton = count("by_newton"),
            .by_newton_from = number("by_newton_from"),
            .ends = count("ends"),
            .ends_from = number("ends_from"),
            .phase = {count("phase_left"), count("phase_length"), count("phase_since")}};
}

nb::object to_python(IterationMemory memory, std::size_t unknowns)
{
    SecantMemory &secants = memory.secants;
    return words("IterationMemory")(memory.given_up, array(std::move(memory.misses)),
                                    words("SecantMemory")(array(std::move(secants.columns)),
                                                          rows_of(std::move(secants.changes), unknowns),
                                                          rows_of(std::move(secants.answers), unknowns)));
}

IterationMemory memory_from(nb::handle memory, std::size_t unknowns)
{
    const nb::object secants = memory.attr("secants");
    return {.given_up = attribute<bool>(memory, "given_up"),
            .misses = doubles(memory.attr("misses")),
            .secants = {.columns = numbers<std::int64_t>(secants.attr("columns")),
                        .changes = columns_from(secants.attr("changes"), unknowns),
                        .answers = columns_from(secants.attr("answers"), unknowns)}};
}

} // namespace ssptool::binding
