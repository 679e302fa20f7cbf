#include "variables.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace ssptool {

namespace {

void add(Variables& found, const Variables& known, std::size_t rank) {
  found.slots.push_back(known.slots[rank]);
  found.references.push_back(known.references[rank]);
  found.types.push_back(known.types[rank]);
  found.elements.push_back(known.elements[rank]);
}

// FMI sets and gets arrays as a whole.
void check_whole(const Variables& known, const std::vector<std::size_t>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t rank = ranks[i];
    const bool begins = known.elements[rank] == 0 || (i > 0 && ranks[i - 1] + 1 == rank);
    const bool last = rank + 1 == known.elements.size() || known.elements[rank + 1] == 0;
    if (!begins || !(last || (i + 1 < ranks.size() && ranks[i + 1] == rank + 1)))
      throw std::invalid_argument("slot " + std::to_string(known.slots[rank]) +
                                  " is an element of an array, which is set and got as a whole");
  }
}

}  // namespace

Variables of_type(const Variables& variables, Type type) {
  Variables found;
  for (std::size_t i = 0; i < variables.slots.size(); ++i)
    if (variables.types[i] == type) add(found, variables, i);
  return found;
}

Variables some_of(const Variables& known, const std::vector<Slot>& slots, const char* kind) {
  Variables found;
  std::vector<std::size_t> ranks;
  auto from = known.slots.begin();  // where the last one was: mostly they are in the same order
  for (const Slot slot : slots) {
    auto place = std::find(from, known.slots.end(), slot);
    if (place == known.slots.end()) place = std::find(known.slots.begin(), from, slot);
    if (place == from && (from == known.slots.end() || *from != slot))
      throw std::invalid_argument("slot " + std::to_string(slot) + " is no " + kind + " of the instance called");
    from = place;
    ranks.push_back(static_cast<std::size_t>(place - known.slots.begin()));
    add(found, known, ranks.back());
  }
  check_whole(known, ranks);
  return found;
}

std::vector<Typed> by_type(const Variables& variables) {
  std::vector<Typed> found;
  for (Type type = Type::float32; type <= Type::binary; type = static_cast<Type>(static_cast<int>(type) + 1)) {
    Variables own = of_type(variables, type);
    const std::size_t count = own.slots.size();
    if (count > 0)
      found.push_back({type, std::move(own.slots), own.distinct(), std::vector<std::uint64_t>(count),
                       std::vector<std::size_t>(type == Type::binary ? count : 0)});
  }
  return found;
}

}  // namespace ssptool
