// Evaluation of instances at one instant, without a step.
#pragma once

#include <vector>

#include "access.hpp"

namespace ssptool {

// Places among all calls of a kernel.
struct CallRange {
  Small first, end;
};

class Calls {
 public:
  Calls(Cells& cells, Wires& wires, Members& members, Access& access)
      : cells_(cells), wires_(wires), members_(members), access_(access), tangents_(cells.size()) {}

  // Throws if one cannot be right.
  CallRange resolve(const std::vector<Call>&);
  bool perform(CallRange) noexcept;

  // One number per slot.
  [[nodiscard]] std::vector<double>& tangents() noexcept { return tangents_; }
  // The tangents of the outputs from those of the inputs.
  bool pass_on(CallRange) noexcept;

 private:
  struct alignas(cache_line) QuickCall : QuickAccess {
    Small instance;
    Wires::Set wires;
  };

  // The whole of it.
  struct ResolvedCall {
    Transfer inputs, outputs;  // of type Float64
    std::vector<Typed> typed_inputs, typed_outputs;
    Window input_tangents, output_tangents;
  };

  void resolve(const Call&);
  bool perform(ResolvedCall&) noexcept;
  bool pass_on(ResolvedCall&) noexcept;

  Cells& cells_;
  Wires& wires_;
  Members& members_;
  Access& access_;
  std::vector<QuickCall> quick_;
  std::vector<ResolvedCall> resolved_;  // each at the place of its quick one
  std::vector<double> tangents_;
};

}  // namespace ssptool
