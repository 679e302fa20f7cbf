// Instances from their tables.
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "conversions.hpp"

namespace ssptool::binding {

namespace {

std::size_t length(nb::handle object, const char* name) { return nb::len(nb::object(object.attr(name))); }

FunctionTable function_table(nb::handle functions) {
  std::map<std::string, void*> addresses;
  for (const nb::handle name : functions) addresses[nb::cast<std::string>(name)] = address(functions[name]);
  return FunctionTable(std::move(addresses));
}

// The inputs, outputs or observed variables of an InstanceTable.
Variables variables(nb::handle table, const std::string& kind, int version, bool typed) {
  Variables found;
  found.slots = indices<Slot>(table.attr((kind + "_slots").c_str()));
  found.references = indices<fmi::Reference>(table.attr((kind + "_references").c_str()));
  found.elements = indices<std::size_t>(table.attr((kind + "_elements").c_str()));
  if (found.elements.empty()) found.elements.resize(found.slots.size());
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
      throw std::invalid_argument("variables of type " + name + " are not carried in FMI " + std::to_string(version));
    found.types.push_back(*type);
  }
  if (found.types.size() != found.slots.size())
    throw std::invalid_argument("as many types as slots are needed, or none at all");
  return found;
}

// Where the steps of an instance in event mode are reported to; the memory is that of the table.
StepReport* report(nb::handle table, Member& member) {
  const nb::object array = table.attr("report");
  if (array.is_none()) return nullptr;
  const auto numbers = nb::cast<Numbers>(array);
  if (numbers.size() * sizeof(double) != sizeof(StepReport)) throw std::invalid_argument("a report has three numbers");
  auto* const found = reinterpret_cast<StepReport*>(numbers.data());
  return member.report = found;
}

std::vector<Type> types_but_floats(const Member& member) {
  std::vector<Type> types;
  for (const auto* own : {&member.inputs, &member.outputs, &member.observed})
    for (const Type type : own->types)
      if (type != Type::float64) types.push_back(type);
  return types;
}

}  // namespace

Member member_from(nb::handle table, Kernel& kernel) {
  const auto version = attribute<int>(table, "fmi_major");
  if (version < 1 || version > 3)
    throw std::invalid_argument("FMI " + std::to_string(version) + " is not one that a kernel steps: [1, 2, 3]");
  const auto functions = function_table(table.attr("functions"));
  void* component = address(table.attr("component"));
  Member member;
  member.apart = attribute<bool>(table, "apart");
  const bool typed = length(table, "input_types") + length(table, "output_types") > 0;
  member.inputs = variables(table, "input", version, typed);
  member.outputs = variables(table, "output", version, typed);
  member.observed = variables(table, "observed", version, length(table, "observed_types") > 0);
  member.refreshed = attribute<bool>(table, "refreshed");
  const std::vector<Type> types = types_but_floats(member);
  const Variables inputs = of_type(member.inputs, Type::float64);
  Environment* environment = kernel.members.environment(address(table.attr("environment")));
  if (version == 1)
    member.instance = make_fmi1(kernel.members.memory(), functions, component, inputs.distinct(), types);
  else if (version == 2)
    member.instance = make_fmi2(kernel.members.memory(), functions, component, inputs.distinct(), types);
  else
    member.instance = make_fmi3(kernel.members.memory(), functions, component, inputs.distinct(), inputs.slots.size(),
                                types, environment, report(table, member));
  return member;
}

}  // namespace ssptool::binding
