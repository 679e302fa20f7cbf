#include "acceleration.hpp"

#include <algorithm>
#include <cmath>

#include "convergence.hpp"

namespace ssptool {

namespace {

// Differences of residuals below this (in nominal values) are rounding.
constexpr double negligible = 1e-12;
// Maximum number of differences used to detect divergence of plain iteration; a difference is ignored if its part that
// is independent of newer ones is at most this fraction.
constexpr std::size_t most_directions = 12;
constexpr double independent = 1e-2;

void subtract(std::span<const double> a, std::span<const double> b, std::span<double> difference) noexcept {
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
}

std::unique_ptr<Proposal> begun(const IterateRule& rule) {
  switch (rule.kind) {
    case RuleKind::aitken: return std::make_unique<AitkenRelaxation>(rule.factor);
    case RuleKind::anderson:
      return std::make_unique<AndersonMixing>(static_cast<std::size_t>(rule.window), rule.factor);
    default: return std::make_unique<Relaxation>(rule.factor);
  }
}

}  // namespace

SecantIterates::SecantIterates(const IterateRule& rule, std::size_t unknowns)
    : size_(unknowns),
      steps_(static_cast<std::size_t>(rule.reuse) + 1),
      room_(static_cast<std::size_t>(rule.max_columns)),
      limit_(rule.filter),
      changes_(room_ * unknowns),
      answers_(room_ * unknowns),
      residual_(unknowns),
      last_residual_(unknowns),
      last_found_(unknowns) {
  counts_.reserve(steps_ + 1);
  columns_.reserve(room_);
}

void SecantIterates::begin() noexcept {
  begun_ = false;
  if (!counts_.empty() && counts_.front() == 0) return;
  counts_.insert(counts_.begin(), 0);
  if (counts_.size() <= steps_) return;
  kept_ -= static_cast<std::size_t>(counts_.back());
  counts_.pop_back();
}

std::vector<double> SecantIterates::next(std::span<const double> x, std::span<const double> found) {
  subtract(found, x, residual_);
  if (begun_) learn(found);
  begun_ = true;
  std::copy(residual_.begin(), residual_.end(), last_residual_.begin());
  std::copy(found.begin(), found.end(), last_found_.begin());
  columns_.clear();
  for (std::size_t k = 0; k < kept_; ++k) columns_.push_back({part(changes_, k), part(answers_, k)});
  std::vector<double> better = correction(columns_, residual_, limit_);
  for (std::size_t i = 0; i < size_; ++i) better[i] = found[i] + better[i];
  return better;
}

void SecantIterates::learn(std::span<const double> found) noexcept {
  Largest most;
  for (std::size_t i = 0; i < size_; ++i) most.add(std::abs(residual_[i] - last_residual_[i]), i);
  if (!(most.value > negligible)) return;
  add();
  subtract(residual_, last_residual_, part(changes_, 0));
  subtract(found, last_found_, part(answers_, 0));
}

// Makes room for one column before all others.
void SecantIterates::add() noexcept {
  if (kept_ == room_) forget_oldest();
  newest_ = (newest_ + room_ - 1) % room_;
  ++kept_;
  ++counts_.front();
}

void SecantIterates::forget_oldest() noexcept {
  --kept_;
  while (counts_.back() == 0) counts_.pop_back();
  --counts_.back();
}

// Each unknown is scaled by its largest part in a difference, so that units do not matter.
bool SecantIterates::repels() const {
  const std::size_t count = std::min({kept_, size_, most_directions});
  std::vector<std::vector<double>> basis, answers;
  const std::vector<double> scales = scales_of(count);
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> change(size_), answer(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      answer[i] = answers_[place(k) * size_ + i] / scales[i];
      change[i] = answer[i] - changes_[place(k) * size_ + i] / scales[i];
    }
    const double whole = norm(change);
    for (std::size_t j = 0; j < basis.size(); ++j) {
      const double share = dot(basis[j], change);
      for (std::size_t i = 0; i < size_; ++i) change[i] -= share * basis[j][i];
      for (std::size_t i = 0; i < size_; ++i) answer[i] -= share * answers[j][i];
    }
    const double rest = norm(change);
    if (!(rest > independent * whole)) continue;
    for (std::size_t i = 0; i < size_; ++i) change[i] /= rest;
    for (std::size_t i = 0; i < size_; ++i) answer[i] /= rest;
    basis.push_back(std::move(change));
    answers.push_back(std::move(answer));
  }
  DenseMatrix projected(basis.size(), basis.size());
  for (std::size_t i = 0; i < basis.size(); ++i)
    for (std::size_t j = 0; j < basis.size(); ++j) projected(i, j) = dot(basis[i], answers[j]);
  return powers_grow(std::move(projected));
}

// For each unknown, its largest part in one of the newest differences, which are all scaled to equal size.
std::vector<double> SecantIterates::scales_of(std::size_t count) const {
  std::vector<double> scales(size_);
  for (std::size_t k = 0; k < count; ++k) {
    Largest most;
    const auto size_of = [&](std::size_t i) {
      const double answer = answers_[place(k) * size_ + i];
      return std::max(std::abs(answer), std::abs(answer - changes_[place(k) * size_ + i]));
    };
    for (std::size_t i = 0; i < size_; ++i) most.add(size_of(i), i);
    if (!(most.value > 0.0)) continue;
    for (std::size_t i = 0; i < size_; ++i) scales[i] = std::max(scales[i], size_of(i) / most.value);
  }
  for (double& scale : scales) scale = scale > 0.0 ? scale : 1.0;
  return scales;
}

SecantMemory SecantIterates::memory() const {
  SecantMemory memory{.columns = counts_, .changes = {}, .answers = {}};
  for (std::size_t k = 0; k < kept_; ++k)
    for (std::size_t i = 0; i < size_; ++i) {
      memory.changes.push_back(changes_[place(k) * size_ + i]);
      memory.answers.push_back(answers_[place(k) * size_ + i]);
    }
  return memory;
}

// If there are more columns than can be kept, the oldest are dropped.
void SecantIterates::go_on(const SecantMemory& memory) {
  begun_ = false;
  newest_ = kept_ = 0;
  counts_.clear();
  std::size_t seen = 0;
  for (const std::int64_t count : memory.columns) {
    const std::size_t columns = std::min(static_cast<std::size_t>(count), room_ - kept_);
    const auto from = static_cast<std::ptrdiff_t>(seen * size_), numbers = static_cast<std::ptrdiff_t>(columns * size_);
    const auto to = static_cast<std::ptrdiff_t>(kept_ * size_);
    std::copy_n(memory.changes.begin() + from, numbers, changes_.begin() + to);
    std::copy_n(memory.answers.begin() + from, numbers, answers_.begin() + to);
    kept_ += columns;
    seen += static_cast<std::size_t>(count);
    counts_.push_back(static_cast<std::int64_t>(columns));
  }
}

Acceleration::Acceleration(const IterateRule& rule, std::size_t unknowns) : rule_(rule), unknowns_(unknowns) {
  if (rule.kind == RuleKind::secants) secants_.emplace(rule, unknowns);
  if (rule.kind == RuleKind::newton) newton_.emplace();
}

void Acceleration::begin() noexcept {
  forgetful_ = nullptr;
  if (secants_) secants_->begin();
  if (newton_) newton_->begin();
}

std::vector<double> Acceleration::next(std::span<const double> x, std::span<const double> found, RepeatedStep& step) {
  if (secants_) return secants_->next(x, found);
  if (newton_) return newton_->next(x, found, step);
  if (!forgetful_) forgetful_ = begun(rule_);
  return forgetful_->next(x, found);
}

bool Acceleration::repels() const {
  if (secants_) return secants_->repels();
  return newton_ && newton_->repels();
}

void Acceleration::remember(IterationMemory& memory) const {
  if (secants_) memory.secants = secants_->memory();
  if (newton_) memory.jacobian = newton_->memory();
}

void Acceleration::go_on(const IterationMemory& memory) {
  if (secants_) secants_->go_on(memory.secants);
  if (newton_) newton_->go_on(memory.jacobian, unknowns_);
}

}  // namespace ssptool
