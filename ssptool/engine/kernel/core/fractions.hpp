// Exact fractions, so that sums of times do not drift, whatever their denominators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ssptool {

// An integer ≥ 0 of any size.
class Natural {
 public:
  Natural() = default;
  explicit Natural(std::uint64_t number);

  [[nodiscard]] bool zero() const noexcept { return limbs_.empty(); }
  [[nodiscard]] std::int64_t bits() const noexcept;
  [[nodiscard]] std::uint64_t low() const noexcept;  // the last 64 bits
  [[nodiscard]] bool operator==(const Natural&) const noexcept = default;
  [[nodiscard]] bool operator<(const Natural&) const noexcept;

  [[nodiscard]] Natural operator+(const Natural&) const;
  [[nodiscard]] Natural operator-(const Natural&) const;  // only of a number that is not larger
  [[nodiscard]] Natural operator*(const Natural&) const;
  [[nodiscard]] Natural shifted(std::int64_t left) const;  // negative: to the right
  // Quotient and remainder.
  [[nodiscard]] std::pair<Natural, Natural> over(const Natural& divisor) const;

  // Hexadecimal digits.
  [[nodiscard]] std::string text() const;
  static Natural from_text(std::string_view digits);

 private:
  void trim() noexcept;

  std::vector<std::uint32_t> limbs_;  // the least significant first, the last one not zero
};

// In lowest terms, with a positive denominator.
class Fraction {
 public:
  Fraction() : denominator_(1) {}
  explicit Fraction(double number);
  Fraction(std::uint64_t numerator, std::uint64_t denominator);

  [[nodiscard]] bool zero() const noexcept { return numerator_.zero(); }
  [[nodiscard]] bool positive() const noexcept { return !negative_ && !zero(); }
  [[nodiscard]] bool operator==(const Fraction&) const noexcept = default;
  [[nodiscard]] Fraction operator-() const;
  [[nodiscard]] Fraction operator+(const Fraction&) const;
  [[nodiscard]] Fraction operator-(const Fraction& other) const { return *this + -other; }

  // The nearest floating-point number; ties go to even.
  [[nodiscard]] double number() const;
  [[nodiscard]] const Natural& numerator() const noexcept { return numerator_; }
  [[nodiscard]] const Natural& denominator() const noexcept { return denominator_; }

  // Sign, numerator and denominator in hexadecimal digits, such as -1/a.
  [[nodiscard]] std::string text() const;
  static Fraction from_text(std::string_view text);

 private:
  Fraction(bool negative, Natural numerator, Natural denominator);

  bool negative_ = false;
  Natural numerator_, denominator_;
};

}  // namespace ssptool
