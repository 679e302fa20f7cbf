// The variables of an instance.
#pragma once

#include <cstddef>
#include <vector>

#include "fmi.hpp"
#include "typed.hpp"
#include "window.hpp"

namespace ssptool {

// Variables: slots, references, types and elements of the same rank belong together.
struct Variables {
  std::vector<Slot> slots;
  std::vector<fmi::Reference> references;
  std::vector<Type> types;
  std::vector<std::size_t> elements;  // the place in an array; 0 of scalars

  // What FMI functions take: of an array one.
  [[nodiscard]] std::vector<fmi::Reference> distinct() const {
    std::vector<fmi::Reference> found;
    for (std::size_t i = 0; i < references.size(); ++i)
      if (elements[i] == 0) found.push_back(references[i]);
    return found;
  }
};

// Those of one type.
Variables of_type(const Variables&, Type);

// The known ones in these slots, of an array all or none; throws for others. `kind` is what they are, in words.
Variables some_of(const Variables& known, const std::vector<Slot>& slots, const char* kind);

// All but those of type Float64, by type.
std::vector<Typed> by_type(const Variables&);

}  // namespace ssptool
