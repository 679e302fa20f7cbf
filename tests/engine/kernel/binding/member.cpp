// Instances from their tables.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "methods.hpp"

namespace ssptool::binding
{

namespace
{

std::size_t length(nb::handle object, const char *name)
{
    return nb::len(nb::object(object.attr(name)));
}

// The inputs, outputs or observed variables of an InstanceTable.
Variables variables(nb::handle table, const std::string &kind, int version, bool typed)
{
    Variables found;
    found.slots = indices<Slot>(table.attr((kind + "_slots").c_str()));
    found.references = indices<fmi::Reference>(table.attr((kind + "_references").c_str()));
    found.elements = indices<std::size_t>(table.attr((kind + "_elements").c_str()));
    if (found.elements.empty())
        found.elements.resize(found.slots.size());
    if (found.elements.size() != found.slots.size())
        throw std::invalid_argument("as many elements as slots are needed, or none at all");
    if (found.references.size() != found.slots.size())
        throw std::invalid_argument("as many " + kind + " slots as " + kind + " references are needed");
    if (!typed) {
        found.types.assign(found.slots.size(), Type::float64);
        return found;
    }
    const nb::object types = table.attr((kind + "_types").c_str());
    for (const nb::handle item : types) {
        const auto name = nb::cast<std::string>(item);
        const auto type = machine_type(name, version);
        if (!type)
            throw std::invalid_argument("variables of type " + name + " are not carried in FMI " +
                                        std::to_string(version));
        found.types.push_back(*type);
    }
    if (found.types.size() != found.slots.size())
        throw std::invalid_argument("as many types as slots are needed, or none at all");
    return found;
}

// Where the steps of an instance in event mode are reported to; the memory is that of the table.
StepReport *report(nb::handle table)
{
    const nb::object array = table.attr("report");
    if (array.is_none())
        return nullptr;
    const auto numbers = nb::cast<Numbers>(array);
    if (numbers.size() * sizeof(double) != sizeof(StepReport))
        throw std::invalid_argument("a report has five numbers");
    return reinterpret_cast<StepReport *>(numbers.data());
}

Substeps substeps(nb::handle stated)
{
    return {.count = attribute<Number>(stated, "count"),
            .follows = attribute<bool>(stated, "follows"),
            .moving = indices<Slot>(stated.attr("moving"))};
}

} // namespace

Member member_from(nb::handle table, Kernel &kernel)
{
    const auto version = attribute<int>(table, "fmi_major");
    if (version < 1 || version > 3)
        throw std::invalid_argument("FMI " + std::to_string(version) + " is not one that a kernel steps: [1, 2, 3]");
    InstanceTable found{version, function_table(table.attr("functions")), address(table.attr("component"))};
    const bool typed = length(table, "input_types") + length(table, "output_types") > 0;
    found.inputs = variables(table, "input", version, typed);
    found.outputs = variables(table, "output", version, typed);
    found.observed = variables(table, "observed", version, length(table, "observed_types") > 0);
    for (const nb::handle item : nb::object(table.attr("event_types"))) {
        const auto name = nb::cast<std::string>(item);
        const auto type = machine_type(name, version);
        if (!type)
            throw std::invalid_argument("variables of type " + name + " are not carried in FMI " +
                                        std::to_string(version));
        found.exchanged_at_events.push_back(*type);
    }
    found.refreshed = attribute<bool>(table, "refreshed");
    found.apart = attribute<bool>(table, "apart");
    found.substeps = substeps(table.attr("substeps"));
    found.environment = kernel.members.environment(address(table.attr("environment")));
    if (version == 3)
        found.report = report(table);
    return kernel.members.member_of(std::move(found));
}

} // namespace ssptool::binding
