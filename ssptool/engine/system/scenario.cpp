// Scenarios: overrides of table columns and of connections, and parameter changes, each from a jump on.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "plan_reader.hpp"
#include "stimuli.hpp"

namespace ssptool::runtime {

namespace {

// `value` is unused if nothing is overridden.
struct PlannedOverride {
  SlotOverride::Kind kind = SlotOverride::Kind::none;
  Value value;
};

struct ColumnOverride {
  Index column;
  PlannedOverride what;
};

struct WireOverride {
  Slot destination;
  PlannedOverride at_source, at_destination;
};

// What is active from a segment on, until the next such entry; `inside` are the wires of an ODE with its own kernel.
struct Act {
  std::size_t segment;
  std::vector<ColumnOverride> columns;
  std::vector<WireOverride> wires, inside, at_events;
  std::vector<ParameterSetting> settings;
};

// Texts are kept alive, because no slot may contain them when they are needed.
SlotOverride resolved(const PlannedOverride& what, SlotValues& slots) {
  if (what.kind == SlotOverride::Kind::none) return {};
  if (const auto* real = std::get_if<double>(&what.value)) return {what.kind, *real};
  if (const auto* integer = std::get_if<std::int64_t>(&what.value)) return {what.kind, as_double(*integer)};
  return {what.kind, as_double(slots.contents.number(std::get<std::string>(what.value), true))};
}

void override_wires(Kernel& kernel, const std::vector<WireOverride>& overrides) {
  SlotValues& slots = kernel.slot_values;
  std::vector<OverriddenWire> wires;
  for (const WireOverride& one : overrides)
    wires.push_back({one.destination, resolved(one.at_source, slots), resolved(one.at_destination, slots)});
  if (!wires.empty()) kernel.wires.override_wires(wires);
}

bool lead_to(const std::vector<Wire>& wires, Slot destination) {
  return std::ranges::any_of(wires, [destination](const Wire& wire) { return wire.destination == destination; });
}

void override_at_events(EventMembers& events, const std::vector<WireOverride>& overrides) {
  SlotValues& slots = events.slot_values();
  for (const WireOverride& one : overrides)
    if (lead_to(events.plan().wires, one.destination))
      events.override_wire(one.destination, resolved(one.at_source, slots), resolved(one.at_destination, slots));
}

class Scenario final : public Stimuli {
 public:
  explicit Scenario(std::vector<Act> acts) : acts_(std::move(acts)) {}

  void go_to(std::size_t segment, const ActedOn& on) override {
    const auto after = std::ranges::upper_bound(acts_, segment, {}, &Act::segment);
    if (after == acts_.begin()) return;
    const Act& act = *std::prev(after);
    for (const ColumnOverride& one : act.columns)
      on.kernel.driven.override_column(one.column, resolved(one.what, on.kernel.slot_values));
    override_wires(on.kernel, act.wires);
    if (on.inside != nullptr) override_wires(*on.inside, act.inside);
    for (EventMembers* const events : {on.events, on.events_of_ode})
      if (events != nullptr) override_at_events(*events, act.at_events);
  }

  [[nodiscard]] const std::vector<ParameterSetting>& settings(std::size_t segment) const override {
    static const std::vector<ParameterSetting> nothing;
    const auto found = std::ranges::lower_bound(acts_, segment, {}, &Act::segment);
    return found == acts_.end() || found->segment != segment ? nothing : found->settings;
  }

 private:
  const std::vector<Act> acts_;
};

PlannedOverride override_from(Json json) {
  const auto kind = static_cast<SlotOverride::Kind>(json.at("action").one_of({"none", "override", "bias"}));
  if (kind == SlotOverride::Kind::none) return {};
  return {kind, value_from(json.at("value"), content_from(json.at("type")))};
}

std::vector<WireOverride> wires_from(Json json, std::size_t slots) {
  return each(json, [slots](Json one) {
    return WireOverride{one.at("to").below(slots), override_from(one.at("at_source")),
                        override_from(one.at("at_destination"))};
  });
}

Act act_from(Json json, const Plan& plan) {
  Act act{json.at("segment").below(plan.tables.jumps.size() + 1),
          each(json.at("columns"),
               [&](Json one) {
                 return ColumnOverride{one.at("column").below(plan.tables.columns.size()), override_from(one)};
               }),
          wires_from(json.at("wires"), plan.slots),
          {},
          wires_from(json.at("at_events"), plan.slots),
          each(json.at("settings"), [&](Json one) {
            return ParameterSetting{part_variable_from(one, plan.parts.size()),
                                    value_from(one.at("value"), content_from(one.at("type")))};
          })};
  if (plan.ode && !plan.ode->alone)
    std::ranges::copy_if(act.wires, std::back_inserter(act.inside),
                         [&](const WireOverride& one) { return lead_to(plan.ode->wires, one.destination); });
  return act;
}

}  // namespace

std::unique_ptr<Stimuli> scenario_from(const std::string& text, const Plan& plan) {
  std::vector<Act> acts;
  read_json(text, [&](Json json) { acts = each(json, [&](Json one) { return act_from(one, plan); }); });
  return std::make_unique<Scenario>(std::move(acts));
}

}  // namespace ssptool::runtime
