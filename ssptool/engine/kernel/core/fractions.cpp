#include "fractions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace ssptool {

namespace {

constexpr int limb_bits = 32;

Natural common_divisor(Natural a, Natural b) {
  while (!b.zero()) {
    Natural rest = a.over(b).second;
    a = std::exchange(b, std::move(rest));
  }
  return a;
}

}  // namespace

// --- integers --------------------------------------------------------------------------------------------------------

Natural::Natural(std::uint64_t number)
    : limbs_{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> limb_bits)} {
  trim();
}

void Natural::trim() noexcept {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
}

std::int64_t Natural::bits() const noexcept {
  if (limbs_.empty()) return 0;
  return limb_bits * static_cast<std::int64_t>(limbs_.size() - 1) + std::bit_width(limbs_.back());
}

std::uint64_t Natural::low() const noexcept {
  std::uint64_t found = limbs_.empty() ? 0 : limbs_[0];
  if (limbs_.size() > 1) found |= static_cast<std::uint64_t>(limbs_[1]) << limb_bits;
  return found;
}

bool Natural::operator<(const Natural& other) const noexcept {
  if (limbs_.size() != other.limbs_.size()) return limbs_.size() < other.limbs_.size();
  return std::lexicographical_compare(limbs_.rbegin(), limbs_.rend(), other.limbs_.rbegin(), other.limbs_.rend());
}

Natural Natural::operator+(const Natural& other) const {
  const bool less = limbs_.size() < other.limbs_.size();
  const std::vector<std::uint32_t>&longer = less ? other.limbs_ : limbs_, &shorter = less ? limbs_ : other.limbs_;
  Natural sum;
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < longer.size(); ++i) {
    carry += longer[i];
    if (i < shorter.size()) carry += shorter[i];
    sum.limbs_.push_back(static_cast<std::uint32_t>(carry));
    carry >>= limb_bits;
  }
  sum.limbs_.push_back(static_cast<std::uint32_t>(carry));
  sum.trim();
  return sum;
}

Natural Natural::operator-(const Natural& other) const {
  Natural difference = *this;
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    const std::uint64_t taken = borrow + (i < other.limbs_.size() ? other.limbs_[i] : 0U);
    borrow = taken > limbs_[i] ? 1 : 0;
    difference.limbs_[i] = static_cast<std::uint32_t>(limbs_[i] - taken);
  }
  difference.trim();
  return difference;
}

Natural Natural::operator*(const Natural& other) const {
  Natural product;
  product.limbs_.resize(limbs_.size() + other.limbs_.size());
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < other.limbs_.size(); ++j) {
      carry += static_cast<std::uint64_t>(limbs_[i]) * other.limbs_[j] + product.limbs_[i + j];
      product.limbs_[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= limb_bits;
    }
    product.limbs_[i + other.limbs_.size()] = static_cast<std::uint32_t>(carry);
  }
  product.trim();
  return product;
}

Natural Natural::shifted(std::int64_t left) const {
  if (zero() || left == 0) return *this;
  const bool right = left < 0;
  const auto distance = static_cast<std::size_t>(right ? -left : left);
  const std::size_t limbs = distance / limb_bits, rest = distance % limb_bits;
  Natural found;
  if (right) {
    for (std::size_t i = limbs; i < limbs_.size(); ++i) {
      std::uint64_t pair = limbs_[i];
      if (i + 1 < limbs_.size()) pair |= static_cast<std::uint64_t>(limbs_[i + 1]) << limb_bits;
      found.limbs_.push_back(static_cast<std::uint32_t>(pair >> rest));
    }
  } else {
    found.limbs_.resize(limbs);
    std::uint64_t carry = 0;
    for (const std::uint32_t limb : limbs_) {
      carry |= static_cast<std::uint64_t>(limb) << rest;
      found.limbs_.push_back(static_cast<std::uint32_t>(carry));
      carry >>= limb_bits;
    }
    found.limbs_.push_back(static_cast<std::uint32_t>(carry));
  }
  found.trim();
  return found;
}

// Bit by bit: the numbers are short, and clocks tick rarely.
std::pair<Natural, Natural> Natural::over(const Natural& divisor) const {
  Natural quotient, rest = *this;
  if (rest < divisor) return {quotient, rest};
  const std::int64_t first = bits() - divisor.bits();
  quotient.limbs_.resize(static_cast<std::size_t>(first / limb_bits) + 1);
  for (std::int64_t place = first; place >= 0; --place) {
    if (rest.bits() < divisor.bits() + place) continue;
    const Natural part = divisor.shifted(place);
    if (rest < part) continue;
    rest = rest - part;
    quotient.limbs_[static_cast<std::size_t>(place / limb_bits)] |= 1U << static_cast<unsigned>(place % limb_bits);
  }
  quotient.trim();
  return {quotient, rest};
}

std::string Natural::text() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string found;
  for (std::int64_t place = (bits() + 3) / 4 - 1; place >= 0; --place)
    found += digits[(limbs_[static_cast<std::size_t>(place / 8)] >> (4 * static_cast<unsigned>(place % 8))) & 15U];
  return found.empty() ? "0" : found;
}

Natural Natural::from_text(std::string_view digits) {
  Natural found;
  for (const char digit : digits) {
    const bool letter = digit >= 'a' && digit <= 'f';
    if (!letter && (digit < '0' || digit > '9')) throw std::invalid_argument("a fraction of other than hex digits");
    found = found.shifted(4) + Natural(static_cast<std::uint64_t>(letter ? digit - 'a' + 10 : digit - '0'));
  }
  return found;
}

// --- fractions -------------------------------------------------------------------------------------------------------

Fraction::Fraction(bool negative, Natural numerator, Natural denominator) {
  if (denominator.zero()) throw std::invalid_argument("a fraction with the denominator 0");
  const Natural divisor = common_divisor(numerator, denominator);
  const bool lowest = divisor == Natural(1);
  numerator_ = lowest ? std::move(numerator) : numerator.over(divisor).first;
  denominator_ = lowest ? std::move(denominator) : denominator.over(divisor).first;
  negative_ = negative && !numerator_.zero();
}

Fraction::Fraction(std::uint64_t numerator, std::uint64_t denominator)
    : Fraction(false, Natural(numerator), Natural(denominator)) {}

Fraction::Fraction(double number) : denominator_(1) {
  if (!std::isfinite(number)) throw std::invalid_argument("a fraction must be finite");
  constexpr int digits = 53;
  int exponent = 0;
  const double part = std::frexp(std::abs(number), &exponent);  // 53 bits after the binary point
  auto whole = static_cast<std::uint64_t>(std::ldexp(part, digits));
  exponent -= digits;
  if (whole == 0) return;
  const int even = std::countr_zero(whole);
  whole >>= static_cast<unsigned>(even);
  exponent += even;
  negative_ = number < 0.0;
  numerator_ = exponent > 0 ? Natural(whole).shifted(exponent) : Natural(whole);
  denominator_ = exponent < 0 ? Natural(1).shifted(-exponent) : Natural(1);
}

Fraction Fraction::operator-() const {
  Fraction found = *this;
  found.negative_ = !negative_ && !zero();
  return found;
}

Fraction Fraction::operator+(const Fraction& other) const {
  const bool same = denominator_ == other.denominator_;
  const Natural a = same ? numerator_ : numerator_ * other.denominator_;
  const Natural b = same ? other.numerator_ : other.numerator_ * denominator_;
  Natural denominator = same ? denominator_ : denominator_ * other.denominator_;
  if (negative_ == other.negative_) return {negative_, a + b, std::move(denominator)};
  const bool less = a < b;
  return {less ? other.negative_ : negative_, less ? b - a : a - b, std::move(denominator)};
}

double Fraction::number() const {
  if (zero()) return 0.0;
  // The quotient has more bits than the result, for rounding; subnormal numbers have fewer.
  constexpr std::int64_t digits = 53, smallest = -1074;
  const std::int64_t size = numerator_.bits() - denominator_.bits();
  const std::int64_t shift = std::max(size - digits - 2, smallest - 2);
  const auto [quotient, rest] = (shift < 0 ? numerator_.shifted(-shift) : numerator_)
                                    .over(shift > 0 ? denominator_.shifted(shift) : denominator_);
  const auto extra = static_cast<unsigned>(std::max(quotient.bits() - digits, smallest - shift));
  const std::uint64_t half = std::uint64_t{1} << (extra - 1), lost = quotient.low() & (2 * half - 1);
  std::uint64_t kept = quotient.low() >> extra;
  if (lost > half || (lost == half && (!rest.zero() || (kept & 1) != 0))) ++kept;
  const double found = std::ldexp(static_cast<double>(kept), static_cast<int>(shift) + static_cast<int>(extra));
  return negative_ ? -found : found;
}

std::string Fraction::text() const { return (negative_ ? "-" : "") + numerator_.text() + "/" + denominator_.text(); }

Fraction Fraction::from_text(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t bar = text.find('/');
  if (bar == std::string_view::npos || bar == 0 || bar + 1 == text.size())
    throw std::invalid_argument("a fraction needs numerator and denominator");
  return {negative, Natural::from_text(text.substr(0, bar)), Natural::from_text(text.substr(bar + 1))};
}

}  // namespace ssptool
