#include "checkpoint.hpp"

#include <utility>

namespace ssptool::runtime {

Checkpoint::~Checkpoint() {
  for (Index i = 0; i < parts_.size(); ++i)
    if (states_[i] != nullptr) parts_[i]->release_state(states_[i]);
  if (ode_ != nullptr) ode_->forget(states_.back());
}

void Checkpoint::keep() {
  for (Index i = 0; i < parts_.size(); ++i)
    if (ode_ == nullptr || !parts_[i]->plan().exchange) states_[i] = parts_[i]->save_state(states_[i]);
  if (ode_ != nullptr) ode_->keep(states_.back());
}

void Checkpoint::go_back() {
  for (Index instance = 0; instance < states_.size(); ++instance) go_back(instance);
}

void Checkpoint::go_back(Index instance) {
  const fmi::State state = states_[instance];
  if (state == nullptr) return;
  if (instance < parts_.size())
    parts_[instance]->restore_state(state);
  else
    ode_->go_back(state);
}

}  // namespace ssptool::runtime
