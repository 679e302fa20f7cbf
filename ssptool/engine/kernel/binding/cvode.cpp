#include "cvode.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <type_traits>
#include <vector>

#include "conversions.hpp"

namespace ssptool::binding {

namespace {

constexpr int normal = 1, one_step = 2;                              // ways to go
constexpr int too_much_work = -1, stop_reached = 1, root_found = 2;  // how it has ended
constexpr int recoverable = 1, unrecoverable = -1;                   // what functions of the problem return

using Integer = std::int64_t;
using Context = void*;

// Functions of SUNDIALS 7, in double precision with 64-bit indices.
struct Functions {
  using Right = int(double t, void* x, void* slopes, void* own);
  using Roots = int(double t, void* x, double* found, void* own);
  using Jacobian = int(double t, void* x, void* slopes, void* matrix, void* own, void*, void*, void*);
  using Report = void(int line, const char* function, const char* file, const char* text, int code, void* own, Context);

  explicit Functions(nb::handle address_of) {
    const auto get = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address(address_of(name)));
    };
    get("SUNContext_Create", context);
    get("SUNContext_Free", free_context);
    get("SUNContext_ClearErrHandlers", silence);
    get("SUNContext_PushErrHandler", listen);
    get("N_VNew_Serial", vector);
    get("N_VDestroy_Serial", free_vector);
    get("N_VGetArrayPointer", numbers);
    get("SUNDenseMatrix", matrix);
    get("SUNMatDestroy_Dense", free_matrix);
    get("SUNDenseMatrix_Data", entries);
    get("SUNLinSol_Dense", linear);
    get("SUNLinSolFree_Dense", free_linear);
    get("CVodeCreate", create);
    get("CVodeFree", free);
    get("CVodeInit", init);
    get("CVodeReInit", again);
    get("CVodeSVtolerances", tolerances);
    get("CVodeSetUserData", own);
    get("CVodeSetLinearSolver", set_linear);
    get("CVodeSetJacFn", set_jacobian);
    get("CVodeRootInit", set_roots);
    get("CVodeSetNoInactiveRootWarn", no_root_warning);
    get("CVodeSetMaxHnilWarns", most_small_step_warnings);
    get("CVodeSetInitStep", set_first_step);
    get("CVodeGetActualInitStep", first_step);
    get("CVodeSetMaxStep", set_longest_step);
    get("CVodeSetStopTime", set_stop);
    get("CVode", integrate);
    get("CVodeGetDky", interpolate);
    get("CVodeGetRootInfo", roots);
    get("CVodeGetNumSteps", steps);
    get("CVodeGetNumRhsEvals", evaluations);
    get("CVodeGetNumErrTestFails", error_test_failures);
    get("CVodeGetNumNonlinSolvConvFails", convergence_failures);
    get("CVodeGetNumJacEvals", jacobians);
    get("CVodeGetNumGEvals", root_evaluations);
  }

  using Count = int(void* memory, long*);

  int (*context)(int communicator, Context*);
  int (*free_context)(Context*);
  int (*silence)(Context);
  int (*listen)(Context, Report*, void* own);
  void* (*vector)(Integer size, Context);
  void (*free_vector)(void*);
  double* (*numbers)(void*);
  void* (*matrix)(Integer rows, Integer columns, Context);
  void (*free_matrix)(void*);
  double* (*entries)(void*);
  void* (*linear)(void* vector, void* matrix, Context);
  int (*free_linear)(void*);
  void* (*create)(int formula, Context);
  void (*free)(void** memory);
  int (*init)(void* memory, Right*, double t, void* x);
  int (*again)(void* memory, double t, void* x);
  int (*tolerances)(void* memory, double rtol, void* atol);
  int (*own)(void* memory, void*);
  int (*set_linear)(void* memory, void* linear, void* matrix);
  int (*set_jacobian)(void* memory, Jacobian*);
  int (*set_roots)(void* memory, int count, Roots*);
  int (*no_root_warning)(void* memory);
  int (*most_small_step_warnings)(void* memory, int count);
  int (*set_first_step)(void* memory, double h);
  int (*first_step)(void* memory, double* h);
  int (*set_longest_step)(void* memory, double h);
  int (*set_stop)(void* memory, double t);
  int (*integrate)(void* memory, double t, void* x, double* reached, int how);
  int (*interpolate)(void* memory, double t, int derivative, void* x);
  int (*roots)(void* memory, int*);
  Count *steps, *evaluations, *error_test_failures, *convergence_failures, *jacobians, *root_evaluations;
};

// Internally, time is relative to the last start, so that steps and roots keep their precision at late times.
// Hindmarsh et al. 2005, "SUNDIALS: Suite of nonlinear and differential/algebraic equation solvers".
class Cvode final : public OdeSolver {
 public:
  Cvode(MultistepFormula formula, OdeProblem& problem, OdeSize size, double rtol, nb::handle address_of)
      : call_(address_of),
        context_(make_context()),
        x_(make_vector(size.states)),
        atol_(make_vector(size.states)),
        between_(make_vector(size.states)),
        matrix_(call_.matrix(count(size.states), count(size.states), context_)),
        linear_(call_.linear(x_, matrix_, context_)),
        memory_(call_.create(static_cast<int>(formula), context_)),
        evaluation_(problem, size),
        rtol_(rtol),
        found_(size.indicators) {}

  Cvode(const Cvode&) = delete;
  Cvode& operator=(const Cvode&) = delete;

  ~Cvode() override {
    call_.free(&memory_);
    call_.free_linear(linear_);
    call_.free_matrix(matrix_);
    for (void* const vector : {x_, atol_, between_}) call_.free_vector(vector);
    call_.free_context(&context_);
  }

  [[nodiscard]] std::span<double> x() noexcept override { return numbers(x_); }
  [[nodiscard]] std::span<double> atol() noexcept override { return numbers(atol_); }
  [[nodiscard]] std::span<double> between() noexcept override { return numbers(between_); }

  void start(double t, double first_step) override {
    if (started_) {
      done_ = effort();
      evaluation_.start(t);
      t_ = 0.0;
      require(call_.again(memory_, 0.0, x_));
    } else {
      evaluation_.start(t);
      begin();
    }
    require(call_.tolerances(memory_, rtol_, atol_));
    require(call_.set_first_step(memory_, first_step));
  }

  Arrival reach(double limit, bool step_by_step) override {
    const double end = evaluation_.elapsed(limit);
    require(call_.set_stop(memory_, end));
    const int flag = call_.integrate(memory_, end, x_, &t_, step_by_step ? one_step : normal);
    if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
    if (flag == too_much_work) return {time(), {}};
    require(flag);
    if (flag != root_found) return {flag == stop_reached ? limit : time(), {}};
    require(call_.roots(memory_, found_.data()));
    Arrival arrival{time(), {}};
    for (std::size_t i = 0; i < found_.size(); ++i)
      if (found_[i] != 0) arrival.roots.push_back(i);
    return arrival;
  }

  void interpolate(double t) override { require(call_.interpolate(memory_, evaluation_.elapsed(t), 0, between_)); }

  void limit_step(double h) override { require(call_.set_longest_step(memory_, std::isinf(h) ? 0.0 : h)); }

  [[nodiscard]] double time() const noexcept override { return evaluation_.absolute(t_); }
  [[nodiscard]] double elapsed() const noexcept override { return t_; }
  [[nodiscard]] double first_step() const noexcept override {
    double found = 0.0;
    return number(call_.error_test_failures) > 0 || call_.first_step(memory_, &found) < 0 ? 0.0 : found;
  }
  [[nodiscard]] bool has_moved() const noexcept override { return number(call_.steps) > 0; }

  [[nodiscard]] Effort effort() const noexcept override {
    if (!started_) return {};
    return {done_.steps + number(call_.steps),
            done_.evaluations + number(call_.evaluations),
            done_.error_test_failures + number(call_.error_test_failures),
            done_.convergence_failures + number(call_.convergence_failures),
            done_.jacobians + number(call_.jacobians),
            done_.root_evaluations + number(call_.root_evaluations)};
  }

 private:
  static Integer count(std::size_t size) noexcept { return static_cast<Integer>(size); }

  // By default, messages would go to standard error.
  Context make_context() {
    Context context = nullptr;
    call_.context(0, &context);
    call_.silence(context);
    call_.listen(
        context,
        [](int, const char*, const char*, const char* text, int, void* own, Context) {
          static_cast<Cvode*>(own)->message_ = text;
        },
        this);
    return context;
  }

  void* make_vector(std::size_t size) { return call_.vector(count(size), context_); }
  [[nodiscard]] std::span<double> numbers(void* vector) const noexcept {
    return {call_.numbers(vector), evaluation_.size.states};
  }

  void begin() {
    require(call_.init(memory_, &Cvode::right, 0.0, x_));
    require(call_.own(memory_, this));
    require(call_.set_linear(memory_, linear_, matrix_));
    if (evaluation_.has_jacobian()) require(call_.set_jacobian(memory_, &Cvode::fill));
    if (!found_.empty()) {
      require(call_.set_roots(memory_, static_cast<int>(found_.size()), &Cvode::indicate));
      require(call_.no_root_warning(memory_));
    }
    require(call_.most_small_step_warnings(memory_, -1));
    started_ = true;
  }

  void require(int flag) const {
    if (flag < 0)
      throw IntegrationFailed(time(), message_.empty() ? "CVODE ended with " + std::to_string(flag) : message_);
  }

  [[nodiscard]] std::int64_t number(Functions::Count* of) const noexcept {
    long found = 0;
    return of(memory_, &found) == 0 ? found : 0;
  }

  // Exceptions cannot pass through C, so they are stored until CVODE has returned.
  template <class Evaluate>
  int evaluated(const Evaluate& evaluate) noexcept {
    try {
      return evaluate() ? 0 : recoverable;
    } catch (...) {
      raised_ = std::current_exception();
      return unrecoverable;
    }
  }

  static int right(double t, void* x, void* slopes, void* own) noexcept {
    auto& self = *static_cast<Cvode*>(own);
    return self.evaluated([&] { return self.evaluation_.slopes(t, self.numbers(x), self.numbers(slopes)); });
  }

  static int indicate(double t, void* x, double* found, void* own) noexcept {
    auto& self = *static_cast<Cvode*>(own);
    return self.evaluated([&] { return self.evaluation_.indicators(t, self.numbers(x), {found, self.found_.size()}); });
  }

  static int fill(double t, void* x, void*, void* matrix, void* own, void*, void*, void*) noexcept {
    auto& self = *static_cast<Cvode*>(own);
    const std::size_t n = self.evaluation_.size.states;
    return self.evaluated(
        [&] { return self.evaluation_.jacobian(t, self.numbers(x), {self.call_.entries(matrix), n * n}); });
  }

  const Functions call_;
  std::string message_;  // the last one
  Context context_;
  void *x_, *atol_, *between_, *matrix_, *linear_, *memory_;
  OdeEvaluation evaluation_;
  double rtol_;
  std::vector<int> found_;  // of each indicator: whether it has crossed zero
  std::exception_ptr raised_;
  Effort done_;  // until the last start
  bool started_ = false;
  double t_ = 0.0;  // elapsed
};

}  // namespace

std::unique_ptr<OdeSolver> make_cvode(MultistepFormula formula, OdeProblem& problem, OdeSize size, double rtol,
                                      nb::handle address_of) {
  return std::make_unique<Cvode>(formula, problem, size, rtol, address_of);
}

}  // namespace ssptool::binding
