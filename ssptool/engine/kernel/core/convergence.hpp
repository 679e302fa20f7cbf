// Convergence of iterated steps: agreement, stagnation, noise and divergence, determined from iterates and their
// results.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "calls.hpp"

namespace ssptool {

// Noise of FMUs up to this fraction of the size of a signal is accepted as the reason why changes stop decreasing.
inline constexpr double noise_limit = 1e-3;

// The largest of some non-negative numbers, the first one if several are equal; nan is larger than all numbers.
struct Largest {
  double value = 0.0;
  std::size_t place = 0;

  void add(double number, std::size_t i) noexcept {
    if (i == 0 || (!(number <= value) && !std::isnan(value))) {
      value = number;
      place = i;
    }
  }
};

class Agreement {
 public:
  // `nominal` has one value per unknown and must outlive this object, as must `measures`. If `count` is not 0, it is a
  // fixed number of iterations, and nothing else is considered.
  Agreement(std::span<const MeasureLimit> measures, std::int64_t count, std::span<const double> nominal)
      : measures_(measures),
        fixed_count_(count),
        nominal_(nominal),
        scaled_(nominal.size()),
        best_(nominal.size()),
        change_(nominal.size(), std::numeric_limits<double>::quiet_NaN()),
        probes_(7 * nominal.size()) {
    judged_.reserve(2 * judged_room);
  }

  // Starts a step whose changes up to `floor` are known to be noise.
  void begin(double floor) noexcept;
  bool reached(std::span<const double> x, std::span<const double> found) noexcept;
  bool lost(std::span<const double> x, std::span<const double> found) noexcept;

  // Measures the noise of the step, a function that maps unknowns to unknowns in place, in nominal values.
  template <class Step>
  void probe(const Step& step) noexcept {
    probed_ = true;
    noise_ = 0.0;
    if (!(least_ < infinity)) return;
    for (const int place : probed_places) {
      const std::span<double> x = probes(place);
      move_best(place, x);
      step(x);
    }
    noise_ = scatter();
  }

  [[nodiscard]] bool noisy() const noexcept { return noisy_; }
  [[nodiscard]] bool probed() const noexcept { return probed_; }
  [[nodiscard]] bool grows() const noexcept { return grows_; }
  [[nodiscard]] double first() const noexcept { return first_; }
  [[nodiscard]] double last() const noexcept { return last_; }
  // Excess of the last iterate over the limit.
  [[nodiscard]] double last_excess() const noexcept { return last_excess_; }
  [[nodiscard]] double least() const noexcept { return least_; }
  [[nodiscard]] double noise() const noexcept { return noise_; }
  [[nodiscard]] std::size_t worst() const noexcept { return worst_; }
  [[nodiscard]] std::size_t last_worst() const noexcept { return last_worst_; }
  [[nodiscard]] std::span<const double> best() const noexcept { return best_; }
  // The result for it minus the iterate.
  [[nodiscard]] std::span<const double> change() const noexcept { return change_; }
  // For each iterate, the largest change and the excess.
  [[nodiscard]] std::span<const double> judged() const noexcept { return judged_; }
  // Whether noise explains the smallest change, and this change is small enough.
  [[nodiscard]] bool is_noise() const noexcept;
  // Only the first of these conditions.
  [[nodiscard]] bool is_explained() const noexcept;
  [[nodiscard]] bool stagnates() const noexcept;

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::size_t window = 6;
  // Places around an iterate, in an order in which noise that changes slowly from call to call does not look like a
  // smooth response.
  static constexpr std::array<int, 7> probed_places{0, -3, 2, -1, 3, -2, 1};

  [[nodiscard]] std::span<double> probes(int place) noexcept {
    return std::span(probes_).subspan(static_cast<std::size_t>(place + 3) * nominal_.size(), nominal_.size());
  }
  void move_best(int place, std::span<double> x) const noexcept;
  [[nodiscard]] double size_of_best(std::size_t i) const noexcept;
  [[nodiscard]] double scatter() const noexcept;
  [[nodiscard]] double excess(std::span<const double> x, std::span<const double> found) noexcept;
  [[nodiscard]] double excess(const MeasureLimit&, std::span<const double> x, std::span<const double> found) noexcept;
  [[nodiscard]] double residual_excess(double limit, std::span<const double> x, std::span<const double> found) noexcept;
  void remember(const Largest& change, double excess, std::span<const double> x,
                std::span<const double> found) noexcept;

  std::span<const MeasureLimit> measures_;
  std::int64_t fixed_count_;
  std::span<const double> nominal_;
  std::vector<double> scaled_;
  double floor_ = 0.0;
  bool noisy_ = false, probed_ = false, grows_ = false;
  double first_ = infinity, last_ = infinity, least_ = infinity, noise_ = 0.0;
  double last_excess_ = infinity;
  double first_size_ = infinity, smallest_size_ = infinity;  // in nominal values
  double first_norm_ = 0.0;                                  // of the residual, in nominal values
  std::size_t worst_ = 0, last_worst_ = 0;
  std::vector<double> best_, change_;
  std::vector<double> judged_;               // no more than there is room for
  std::vector<double> probes_;               // what came out at the probed places, in their order
  std::array<double, window + 1> leasts_{};  // the latest at the place of its number, modulo their count
  std::size_t count_ = 0, judgements_ = 0;
};

class PlainIterationSwitch {
 public:
  explicit PlainIterationSwitch(std::int64_t plain_iterations)
      : given_up_(plain_iterations == 1), plain_iterations_(plain_iterations) {
    misses_.reserve(room);
  }

  bool goes_on_plainly(std::int64_t iteration, double t, double h) noexcept;

  [[nodiscard]] bool given_up() const noexcept { return given_up_; }
  // The oldest one is first.
  [[nodiscard]] const std::vector<double>& misses() const noexcept { return misses_; }
  void go_on(bool given_up, std::span<const double> misses) noexcept;

 private:
  static constexpr std::size_t room = 5;

  void add_miss(double t) noexcept;

  bool given_up_;
  std::int64_t plain_iterations_;
  std::vector<double> misses_;
};

}  // namespace ssptool
