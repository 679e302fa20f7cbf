// Iterated steps as Python sees them: what they remember and report.
#include "iterations.hpp"

namespace ssptool::binding {

namespace {

// Of an array of two dimensions, or of an empty one of any.
std::vector<double> columns_from(nb::handle array, std::size_t unknowns) {
  if (nb::len(array) == 0) return {};
  const auto view = nb::cast<Matrix>(array);
  check_size(view.shape(1), unknowns, "a column");
  return {view.data(), view.data() + view.size()};
}

nb::object columns(std::vector<double> numbers, std::size_t unknowns) {
  auto* result = new std::vector<double>(std::move(numbers));
  const nb::capsule owner(result, [](void* data) noexcept { delete static_cast<std::vector<double>*>(data); });
  const std::size_t shape[] = {result->size() / unknowns, unknowns};
  return nb::cast(nb::ndarray<nb::numpy, double>(result->data(), 2, shape, owner));
}

}  // namespace

nb::object vocabulary(const char* name) { return nb::module_::import_("ssptool.engine.kernel.interface").attr(name); }

nb::object to_python(IterationReport report) {
  return vocabulary("IterationReport")(report.left_domain, report.first, report.least, report.noise, report.worst,
                                       report.stagnates, report.grows, report.escaped, array(std::move(report.best)),
                                       array(std::move(report.change)), columns(std::move(report.judged), 2));
}

nb::object to_python(const AcceptedSteps& steps) {
  return vocabulary("AcceptedSteps")(
      steps.floor, steps.noisy, steps.level, steps.signal, steps.time, steps.damped, steps.damped_from,
      steps.unrepeated, steps.unrepeated_from, steps.failed, steps.failed_damped, steps.unconverged, steps.residual,
      steps.open_signal, steps.open_time, steps.grows, steps.steps, steps.unplanned, static_cast<Number>(steps.trial));
}

static Trial trial_from(Number number) {
  if (number < 0 || number > static_cast<Number>(Trial::steps)) throw std::invalid_argument("unknown trial");
  return static_cast<Trial>(number);
}

AcceptedSteps accepted_from(nb::handle steps) {
  const auto count = [&](const char* name) { return attribute<Number>(steps, name); };
  const auto number = [&](const char* name) { return attribute<double>(steps, name); };
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
          .trial = trial_from(count("trial"))};
}

nb::object to_python(IterationMemory memory, std::size_t unknowns) {
  SecantMemory& secants = memory.secants;
  return vocabulary("IterationMemory")(
      memory.given_up, array(std::move(memory.misses)),
      vocabulary("SecantMemory")(array(std::move(secants.columns)), columns(std::move(secants.changes), unknowns),
                                 columns(std::move(secants.answers), unknowns)));
}

IterationMemory memory_from(nb::handle memory, std::size_t unknowns) {
  const nb::object secants = memory.attr("secants");
  return {.given_up = attribute<bool>(memory, "given_up"),
          .misses = doubles(memory.attr("misses")),
          .secants = {.columns = numbers<std::int64_t>(secants.attr("columns")),
                      .changes = columns_from(secants.attr("changes"), unknowns),
                      .answers = columns_from(secants.attr("answers"), unknowns)}};
}

}  // namespace ssptool::binding
