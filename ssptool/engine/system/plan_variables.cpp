// Reading a plan: the variables of the FMU, and values that parts calculate for others.
#include <utility>

#include "plan_reader.hpp"

namespace ssptool::runtime {

PartVariable part_variable_from(Json json, std::size_t parts) {
  PartVariable found{json.at("part").below(parts),
                     json.at("reference").get<fmi::Reference>(),
                     json.at("type").get<std::string>(),
                     json.contains("size") ? json.at("size").below(most_of_vector) : std::size_t{1},
                     {},
                     {}};
  if (!json.contains("elements")) return found;
  found.elements = indices(json.at("elements"), found.size);
  found.starts = values_from(json.at("starts").sized(found.size), content_from(json.at("type")));
  return found;
}

// A settable target may be a part of an array, and there may be several; a shown target is one whole variable.
Target PlanReader::target(Json json, const SystemVariable& variable) const {
  Target found{part_variable(json), conversion_from(json), {}};
  if (json.contains("own")) found.own = indices(json.at("own"), variable.size);
  const std::size_t wanted = found.own.empty() ? variable.size : found.own.size();
  json.require(found.variable.count() == wanted, "of as many elements as the variable that it belongs to");
  json.require(found.own.empty() || variable.causality == "parameter", "without own, because it is no parameter");
  return found;
}

SystemVariable PlanReader::variable(Json json) const {
  SystemVariable found;
  found.name = json.at("name").get<std::string>();
  found.type = json.at("type").get<std::string>();
  found.causality = json.at("causality").get<std::string>();
  (void)json.at("causality")
      .one_of({"structuralParameter", "parameter", "calculatedParameter", "input", "output", "local", "independent"});
  found.tunable = json.value("tunable", false);
  found.discrete = json.value("discrete", false);
  if (json.contains("size")) found.size = json.at("size").below(most_of_vector);
  for (const auto& [name, vector] : {std::pair{"state", Vector::states}, std::pair{"derivative", Vector::derivatives},
                                     std::pair{"indicator", Vector::indicators}})
    if (json.contains(name))
      found.element = {vector, json.at(name).below(vector == Vector::indicators ? indicators_ : states_)};
  json.require(found.size == 1 || (!found.element && found.causality != "independent"), "a scalar");
  if (json.contains("clock"))
    found.clock = system_clock(json.at("clock"));
  else
    read_slots_or_targets(json, found);
  return found;
}

void PlanReader::read_slots_or_targets(Json json, SystemVariable& found) const {
  const Content content = content_from(json.at("type"));
  if (json.contains("slots")) {
    found.slots = slots(json.at("slots").sized(found.size));
    for (const Json slot : json.at("slots")) require_alike(slot, contents_[slot.get<Slot>()], content);
    return;
  }
  json.require(found.causality != "input", "of another causality, because it has no slots");
  found.targets = each(json, "targets", [&](Json one) {
    require_alike(one.at("type"), content_from(one.at("type")), content);
    return target(one, found);
  });
  if (found.causality == "parameter" || json.contains("starts"))
    found.starts = values_from(json.at("starts").sized(found.size), content);
}

SystemClock PlanReader::system_clock(Json json) const {
  json.require(plan.at_events.has_value(), "beside at_events");
  const PlannedEvents& events = plan.at_events->events;
  const auto place = [&](Json one) { return clock_place_from(one, events); };
  SystemClock clock{variability_from(json.at("variability")),
                    time_from(json, "interval", 1),
                    time_from(json, "shift", 0),
                    each(json, "triggers", place),
                    {}};
  if (json.contains("source")) clock.source = place(json.at("source"));
  return clock;
}

// Parameter wires connect single values.
ParameterWire PlanReader::parameter_wire(Json json) const {
  ParameterWire wire{part_variable(json.at("from")),
                     part_variable(json.at("to")),
                     conversion_from(json),
                     json.at("tunable").get<bool>(),
                     json.at("destination").get<std::string>(),
                     {}};
  for (const auto& [name, end] : {std::pair{"from", &wire.from}, std::pair{"to", &wire.to}})
    json.at(name).require(end->count() == 1, "a single variable or element");
  const Content from = content_from(json.at("from").at("type")), to = content_from(json.at("to").at("type"));
  require_alike(json.at("to").at("type"), to, from);
  if (!json.contains("slot")) return wire;
  wire.slot = json.at("slot").below(plan.slots);
  require_alike(json.at("slot"), contents_[*wire.slot], to);
  return wire;
}

std::pair<Slot, Demand> PlanReader::demand(Json json) const {
  const auto digits = static_cast<int>(json.at("digits").between(1, 64));
  return {json.at("slot").below(plan.slots), {json.at("nonnegative").get<bool>(), digits}};
}

}  // namespace ssptool::runtime
