// Reading a plan: signals, parts, and the wires between them.
#include <algorithm>
#include <array>
#include <cmath>

#include "plan_reader.hpp"

namespace ssptool::runtime {

namespace {

struct NamedContent {
  std::string_view type;
  Content content;
};

constexpr std::array contents = {
    NamedContent{"Real", Content::real},       NamedContent{"Float64", Content::real},
    NamedContent{"Float32", Content::real},    NamedContent{"held Float64", Content::real},
    NamedContent{"Integer", Content::integer}, NamedContent{"Enumeration", Content::integer},
    NamedContent{"Boolean", Content::integer}, NamedContent{"Clock", Content::integer},
    NamedContent{"Int8", Content::integer},    NamedContent{"UInt8", Content::integer},
    NamedContent{"Int16", Content::integer},   NamedContent{"UInt16", Content::integer},
    NamedContent{"Int32", Content::integer},   NamedContent{"UInt32", Content::integer},
    NamedContent{"Int64", Content::integer},   NamedContent{"UInt64", Content::integer},
    NamedContent{"String", Content::text},     NamedContent{"Binary", Content::bytes},
};

constexpr std::array words = {"a real number", "an integer", "a text", "bytes"};

const char* word(Content content) { return words[static_cast<std::size_t>(content)]; }

// Accepts real numbers that are integers; unsigned integers are stored as signed ones with the same bits.
std::int64_t integer_from(Json json) {
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (json.is_integer()) {
    if (json.is_negative()) return json.get<std::int64_t>();
    return static_cast<std::int64_t>(json.get<std::size_t>());
  }
  const auto number = json.is_string() ? HUGE_VAL : json.get<double>();
  json.require(std::abs(number) < 0x1p63 && std::trunc(number) == number, word(Content::integer));
  return static_cast<std::int64_t>(number);
}

std::string bytes_from(Json json) {
  const auto digits = json.get<std::string>();
  const std::string_view known = "0123456789abcdef";
  json.require(digits.size() % 2 == 0 && digits.find_first_not_of(known) == std::string::npos,
               "pairs of the digits 0 to 9 and a to f");
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(known.find(digits[i]) * 16 + known.find(digits[i + 1]));
  return bytes;
}

PlannedExchange exchange_from(Json json) {
  PlannedExchange found;
  found.states = json.at("states").below(most_of_vector);
  found.indicators = json.at("indicators").below(most_of_vector);
  found.reports_steps = json.at("reports_steps").get<bool>();
  found.saves_state = json.at("saves_state").get<bool>();
  found.derivatives = list<fmi::Reference>(json, "derivatives");
  found.known_states = list<fmi::Reference>(json, "known_states");
  for (const char* name : {"derivatives", "known_states"})  // an array has a single reference
    json.at(name).require(json.at(name).size() <= found.states, "no longer than there are states");
  return found;
}

bool is_folder_of_part(const std::string& name) {
  const std::string_view begin = "parts/";
  return name.starts_with(begin) && name.size() > begin.size() &&
         name.find_first_not_of("0123456789", begin.size()) == std::string::npos;
}

// The elements of an array must be adjacent, because FMI sets and gets them together.
void check_array(const Variables& found, std::size_t i, Json element) {
  if (found.elements[i] == 0) return;
  element.require(i > 0 && found.elements[i] == found.elements[i - 1] + 1 &&
                      found.references[i] == found.references[i - 1] && found.types[i] == found.types[i - 1],
                  "the one after the element before");
}

}  // namespace

Content content_from(Json type) {
  const auto name = type.get<std::string>();
  const auto* const found = std::ranges::find(contents, name, &NamedContent::type);
  type.require(found != contents.end(), "a type of FMI");
  return found->content;
}

Value value_from(Json json, Content content) {
  switch (content) {
    case Content::real: return json.get<double>();
    case Content::integer: return integer_from(json);
    case Content::text: return json.get<std::string>();
    case Content::bytes: break;
  }
  return json.is_object() ? bytes_from(json.at("hex")) : json.get<std::string>();
}

std::vector<Value> values_from(Json array, Content content) {
  return each(array, [&](Json item) { return value_from(item, content); });
}

void require_alike(Json json, Content found, Content wanted) {
  if (found != wanted && !(is_number(found) && is_number(wanted)))
    json.refuse(std::string("of what has ") + word(wanted) + ", not " + word(found));
}

Conversion conversion_from(Json json) {
  Conversion found{json.value("factor", 1.0), json.value("offset", 0.0), {}};
  if (json.contains("table"))
    for (const Json pair : json.at("table")) found.table[integer_from(pair.sized(2)[0])] = integer_from(pair[1]);
  return found;
}

std::vector<Slot> PlanReader::slots(Json array) const { return indices(array, plan.slots); }

void PlanReader::read_signals(Json json) {
  plan.signals = list<std::string>(json, "signals");
  plan.slots = plan.signals.size();
  plan.types = list<std::string>(json, "types");
  contents_ = each(json.at("types").sized(plan.slots), content_from);
  plan.integers = slots(json.at("integers"));
  std::vector<bool> found(plan.slots);
  for (const Slot slot : plan.integers) found[slot] = true;
  for (Slot slot = 0; slot < plan.slots; ++slot)
    json.at("types")[slot].require(found[slot] == (contents_[slot] != Content::real),
                                   "of real numbers alone where integers has no slot");
  takes_.assign(plan.slots, none);
  gives_.assign(plan.slots, none);
}

Variables PlanReader::variables(Json json, int fmi_major) const {
  Variables found;
  found.slots = slots(json.at("slots"));
  const std::size_t size = found.slots.size();
  const Json types = json.at("types").sized(size), elements = json.at("elements").sized(size);
  found.references = json.at("references").sized(size).get<std::vector<fmi::Reference>>();
  for (std::size_t i = 0; i < size; ++i) {
    const auto type = machine_type(types[i].get<std::string>(), fmi_major);
    if (!type) types[i].refuse("a type of FMI " + std::to_string(fmi_major) + ".0");
    if (const Content content = content_from(types[i]); content != contents_[found.slots[i]])
      types[i].refuse(std::string("of ") + word(contents_[found.slots[i]]) + ", as its slot");
    found.types.push_back(*type);
    found.elements.push_back(elements[i].below(most_of_vector));
    check_array(found, i, elements[i]);
  }
  return found;
}

VariableSet valued_set(Json json, int fmi_major) {
  VariableSet found{json.at("type").get<std::string>(), list<fmi::Reference>(json, "references"), {}, {}};
  found.values = values_from(json.at("values"), content_from(json.at("type")));
  const std::size_t size = found.references.size();
  (void)(fmi_major < 3 ? json.at("values").sized(size) : json.at("values").at_least(size));
  return found;
}

VariableSet PlanReader::asked_set(Json json, int fmi_major) const {
  VariableSet found{json.at("type").get<std::string>(), list<fmi::Reference>(json, "references"), {}, {}};
  found.slots = slots(json.at("slots"));
  const std::size_t size = found.references.size();
  (void)(fmi_major < 3 ? json.at("slots").sized(size) : json.at("slots").at_least(size));
  for (std::size_t i = 0; i < found.slots.size(); ++i)
    require_alike(json.at("slots")[i], contents_[found.slots[i]], content_from(json.at("type")));
  return found;
}

SlotValue PlanReader::slot_value(Json json) const {
  const Slot slot = json.at("slot").below(plan.slots);
  return {slot, value_from(json.at("value"), contents_[slot])};
}

std::vector<SlotValue> PlanReader::slot_values(Json array) const {
  return each(array, [&](Json one) { return slot_value(one); });
}

PlannedPart PlanReader::part(Json json) {
  PlannedPart part;
  part.name = json.at("name").get<std::string>();
  part.folder = json.at("folder").get<std::string>();
  json.at("folder").require(is_folder_of_part(part.folder), "parts/ and a number");
  part.identifier = json.at("identifier").get<std::string>();
  json.at("identifier")
      .require(!part.identifier.empty() && part.identifier.find_first_of("/\\:") == std::string::npos,
               "the name of a library");
  part.token = json.at("token").get<std::string>();
  part.fmi_major = static_cast<int>(json.at("fmi").between(1, 3));
  read_variables(json, part);
  const auto valued = [&](Json set) { return valued_set(set, part.fmi_major); };
  part.structure = each(json, "structure", valued);
  part.starts = each(json.at("starts"), valued);
  part.guesses = each(json.at("guesses"), [&](Json set) { return asked_set(set, part.fmi_major); });
  part.moving = list<fmi::Reference>(json, "moving");
  if (json.contains("exchange")) part.exchange = exchange_from(json.at("exchange"));
  part.event_mode = json.value("event_mode", false);
  part.returns_early = json.value("returns_early", false);
  if (json.contains("stated")) part.stated = slot_values(json.at("stated"));
  if (!part.has_mode()) read_beginning(json.at("beginning"), part);
  return part;
}

// Each slot belongs to one variable only.
void PlanReader::read_variables(Json json, PlannedPart& part) {
  const Index number = plan.parts.size();
  const auto read = [&](Json found, std::vector<Index>& owners) {
    Variables read = variables(found, part.fmi_major);
    for (std::size_t i = 0; i < read.slots.size(); ++i) {
      const Slot slot = read.slots[i];
      found.at("slots")[i].require(takes_[slot] == none && gives_[slot] == none, "a slot of no other variable");
      owners[slot] = number;
    }
    return read;
  };
  part.inputs = read(json.at("inputs"), takes_);
  part.outputs = read(json.at("outputs"), gives_);
  if (json.contains("observed")) part.observed = read(json.at("observed"), gives_);
  if (!json.contains("substeps")) return;
  const Json substeps = json.at("substeps");
  part.substeps = {substeps.at("count").between(1, most_repetitions), substeps.at("follows").get<bool>(),
                   slots_of(substeps.at("moving"), takes_, number)};
}

// For a part without an initialization mode.
void PlanReader::read_beginning(Json json, PlannedPart& part) const {
  part.input_sets = each(json.at("inputs"), [&](Json set) { return asked_set(set, part.fmi_major); });
  part.stated = slot_values(json.at("stated"));
  const auto nominal = json.at("nominal").sized(part.inputs.slots.size()).get<std::vector<double>>();
  for (std::size_t i = 0; i < nominal.size(); ++i) part.nominal[part.inputs.slots[i]] = nominal[i];
}

Wire PlanReader::wire(Json json) const {
  const Conversion conversion = conversion_from(json);
  Wire found{json.at("from").below(plan.slots), json.at("to").below(plan.slots), conversion.factor, -0.0, {}};
  // Adding −0.0 changes nothing, but adding 0.0 changes the sign of a negative zero.
  if (conversion.offset != 0.0) found.offset = conversion.offset;
  found.discrete = json.contains("discrete");
  if (json.contains("minimum")) found.least = json.at("minimum").get<double>();
  if (json.contains("maximum")) found.most = json.at("maximum").get<double>();
  found.table.insert(conversion.table.begin(), conversion.table.end());
  const Content from = contents_[found.source], to = contents_[found.destination];
  require_alike(json.at("to"), to, from);
  json.at("to").require(from == to || from == Content::integer, "a slot of the same type as the one before the wire");
  json.require(to == Content::real || (found.factor == 1.0 && found.offset == 0.0),
               "without factor and offset, because it leads to no real number");
  json.require(from == Content::integer || found.table.empty(), "without table, because it comes from no integer");
  return found;
}

std::vector<Wire> PlanReader::wires(Json array) const {
  std::vector<bool> reached(plan.slots);
  return each(array, [&](Json json) {
    Wire found = wire(json);
    json.at("to").require(!reached[found.destination], "a slot to which no other wire leads");
    reached[found.destination] = true;
    return found;
  });
}

void PlanReader::read_tables(Json json) {
  PlannedTables& tables = plan.tables;
  for (const Json axis : json.at("axes")) {
    tables.axes.push_back(axis.at_least(1).get<std::vector<double>>());
    const auto& times = tables.axes.back();
    axis.require(std::ranges::is_sorted(times) && std::ranges::all_of(times, [](double t) { return std::isfinite(t); }),
                 "finite times that ascend");
  }
  tables.columns = each(json.at("columns"), [&](Json one) {
    const Slot slot = one.at("slot").below(plan.slots);
    const std::size_t axis = one.at("axis").below(tables.axes.size());
    const Json values = one.at("values").sized(tables.axes[axis].size());
    const bool linear = one.at("linear").get<bool>();
    one.at("linear").require(!linear || contents_[slot] == Content::real, "false, because its slot has no real number");
    return PlannedColumn{slot, axis, values_from(values, contents_[slot]), linear};
  });
  double last = -HUGE_VAL;
  for (const Json jump : json.at("jumps")) {
    const double first = finite_from(jump.sized(2)[0]), end = finite_from(jump[1]);
    jump.require(last < first && first <= end, "after the one before");
    tables.jumps.emplace_back(first, last = end);
  }
}

DrivenInput PlanReader::driven(Json json) const {
  const Slot slot = json.at("slot").below(plan.slots);
  const auto run = static_cast<DrivenInput::Run>(json.at("runs").one_of({"held", "following", "middle"}));
  json.at("runs").require(run == DrivenInput::Run::held || contents_[slot] == Content::real,
                          "held, because its slot has no real number");
  return {slot, run};
}

}  // namespace ssptool::runtime
