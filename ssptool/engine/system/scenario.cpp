// Scenarios: overrides of columns of tables and of connections, and parameters that change, from some jumps on.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "plan_reader.hpp"
#include "stimuli.hpp"

namespace ssptool::runtime {

namespace {

// The value is unused where nothing is done.
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

// What is in force from a segment on, until the next one that has such.
struct Act {
  std::size_t segment;
  std::vector<ColumnOverride> columns;
  std::vector<WireOverride> wires;
  std::vector<ParameterSetting> settings;
};

// The same in the numbers of a kernel.
struct ResolvedAct {
  std::vector<std::pair<Index, SlotOverride>> columns;
  std::vector<OverriddenWire> wires;
};

class Scenario final : public Stimuli {
 public:
  explicit Scenario(std::vector<Act> acts) : acts_(std::move(acts)) {}

  void begin(Kernel& kernel) override {
    kernel_ = &kernel;
    resolved_.clear();
    in_force_ = nullptr;
    for (const Act& act : acts_) {
      ResolvedAct& found = resolved_.emplace_back();
      for (const ColumnOverride& one : act.columns) found.columns.emplace_back(one.column, resolved(one.what));
      for (const WireOverride& one : act.wires)
        found.wires.push_back({one.destination, resolved(one.at_source), resolved(one.at_destination)});
    }
  }

  void go_to(std::size_t segment) override {
    const auto after = std::ranges::upper_bound(acts_, segment, {}, &Act::segment);
    if (after == acts_.begin()) return;
    const ResolvedAct& act = resolved_[static_cast<std::size_t>(std::prev(after) - acts_.begin())];
    if (std::exchange(in_force_, &act) == &act) return;
    for (const auto& [column, what] : act.columns) kernel_->driven.override_column(column, what);
    if (!act.wires.empty()) kernel_->wires.override_wires(act.wires);
  }

  [[nodiscard]] const std::vector<ParameterSetting>& settings(std::size_t segment) const override {
    static const std::vector<ParameterSetting> nothing;
    const auto found = std::ranges::lower_bound(acts_, segment, {}, &Act::segment);
    return found == acts_.end() || found->segment != segment ? nothing : found->settings;
  }

 private:
  // Texts are kept, since they may be in no slot when they are needed.
  [[nodiscard]] SlotOverride resolved(const PlannedOverride& what) const {
    if (what.kind == SlotOverride::Kind::none) return {};
    if (const auto* real = std::get_if<double>(&what.value)) return {what.kind, *real};
    if (const auto* integer = std::get_if<std::int64_t>(&what.value)) return {what.kind, as_double(*integer)};
    return {what.kind, as_double(kernel_->slot_values.contents.number(std::get<std::string>(what.value), true))};
  }

  std::vector<Act> acts_;
  std::vector<ResolvedAct> resolved_;  // of each act
  Kernel* kernel_ = nullptr;
  const ResolvedAct* in_force_ = nullptr;
};

PlannedOverride override_from(Json json) {
  const auto kind = static_cast<SlotOverride::Kind>(json.at("action").one_of({"none", "override", "bias"}));
  if (kind == SlotOverride::Kind::none) return {};
  return {kind, value_from(json.at("value"), content_from(json.at("type")))};
}

Act act_from(Json json, const Plan& plan) {
  return {json.at("segment").below(plan.tables.jumps.size() + 1),
          each(json.at("columns"),
               [&](Json one) {
                 return ColumnOverride{one.at("column").below(plan.tables.columns.size()), override_from(one)};
               }),
          each(json.at("wires"),
               [&](Json one) {
                 return WireOverride{one.at("to").below(plan.slots), override_from(one.at("at_source")),
                                     override_from(one.at("at_destination"))};
               }),
          each(json.at("settings"), [&](Json one) {
            return ParameterSetting{part_variable_from(one, plan.parts.size()),
                                    value_from(one.at("value"), content_from(one.at("type")))};
          })};
}

}  // namespace

std::unique_ptr<Stimuli> scenario_from(const std::string& text, const Plan& plan) {
  std::vector<Act> acts;
  read_json(text, [&](Json json) { acts = each(json, [&](Json one) { return act_from(one, plan); }); });
  return std::make_unique<Scenario>(std::move(acts));
}

}  // namespace ssptool::runtime
