// The instances of a kernel, and groups of them.
#pragma once

#include <memory>
#include <vector>

#include "instance.hpp"
#include "time_tables.hpp"
#include "wires.hpp"

namespace ssptool {

// Inputs of instances, by type, that time tables do not drive.
struct InputSlots {
  std::vector<Small> floats, typed;
};

struct Member {
  InstancePointer instance;
  Variables inputs, outputs;
  Variables observed;     // got for rows of the trace only
  bool refreshed = true;  // inputs are set before that
  StepReport* report = nullptr;
  bool apart = false;  // stepped by the thread that asks
  InputSlots input_slots{};
  bool driven = false;  // some of its inputs are
};

class Members {
 public:
  explicit Members(const SlotValues& slot_values) : slot_values_(slot_values), owned_(slot_values.size()) {}

  Index add(Member);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] Member& operator[](Index index) noexcept { return all_[index]; }
  [[nodiscard]] const Member& operator[](Index index) const noexcept { return all_[index]; }
  [[nodiscard]] Instance& instance(Index index) const noexcept { return *instances_[index]; }
  [[nodiscard]] const std::vector<Instance*>& instances() const noexcept { return instances_; }

  // By slot: of some instance.
  [[nodiscard]] const std::vector<bool>& owned() const noexcept { return owned_; }
  // Of instances in event mode.
  [[nodiscard]] const std::vector<StepReport*>& reports() const noexcept { return reports_; }
  // Of this instance; null if there is none.
  [[nodiscard]] Following* following(Index index) const noexcept {
    return index < instances_.size() ? &instances_[index]->following() : nullptr;
  }

  // For its instances.
  [[nodiscard]] Memory& memory() noexcept { return memory_; }
  Environment* make_environment();
  // The environment at this address; throws if it is none of this kernel.
  [[nodiscard]] Environment* environment(void* address) const;

 private:
  const SlotValues& slot_values_;
  Memory memory_;  // ends after what is in it
  std::vector<Member> all_;
  std::vector<Instance*> instances_;  // those of the members
  std::vector<bool> owned_;
  std::vector<StepReport*> reports_;
  std::vector<std::unique_ptr<Environment>> environments_;
};

struct Group {
  std::vector<Small> instances;
  std::vector<Small> shared;  // places in `instances` of those that any thread may step
  Wires::Set wires;
  InputSlots inputs;
  std::vector<Failure> failures;  // of a step in parallel, by place
  double seconds = 0.0;           // that the shared ones took one after the other, the shortest time of some
  int measured = 0;
};

class Groups {
 public:
  Groups(Members& members, Wires& wires, const DrivenInputs& driven)
      : members_(members), wires_(wires), driven_(driven) {}

  Index add(const std::vector<Index>& instances);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] Group& operator[](Index index) noexcept { return all_[index]; }
  // Throws if there is none.
  [[nodiscard]] Group& at(Index index);

 private:
  void find_inputs(Member&) const;

  Members& members_;
  Wires& wires_;
  const DrivenInputs& driven_;
  std::vector<Group> all_;
};

}  // namespace ssptool
