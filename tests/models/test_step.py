"""Co-simulation steps against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from fmpy import simulate_fmu
from scipy.linalg import expm

VERSIONS = pytest.mark.parametrize("version", (2, 3))

SYSTEM1 = np.array([[0, 1], [-10, -0.2]])  # x1, v1 for m1 = 1, k1 = 10, c1 = 0.2
SYSTEM2 = np.array([[0, 1], [-30, -0.8]])  # x2, v2 for m2 = 1, k2 = 10, c2 = 0.5, k3 = 20, c3 = 0.3


def exact(matrix, gain, start, polynomials, t):
    """Solution of x' = A x + B u(t) for inputs u_j = p_j0 + p_j1 t + p_j2 t^2/2, by one matrix exponential."""
    n, m = len(start), len(polynomials)
    generator = np.zeros((n + 3 * m, n + 3 * m))
    generator[:n, :n] = matrix
    for j in range(m):
        generator[:n, n + 3 * j] = np.array(gain)[:, j]
        generator[n + 3 * j, n + 3 * j + 1] = generator[n + 3 * j + 1, n + 3 * j + 2] = 1
    return (expm(generator * t) @ np.concatenate([start, *polynomials]))[:n]


def at(polynomial, t):
    """Value and derivatives of order 1 and 2."""
    p0, p1, p2 = polynomial
    return p0 + p1 * t + p2 * t**2 / 2, p1 + p2 * t, p2


class Importer:
    """Supplies polynomial inputs inside the steps, in the way of each FMI version."""

    def __init__(self, make, name, version, polynomials):
        self.polynomials = polynomials
        self.calls = []
        if version == 2:
            self.instance = make(name, 2)
        else:
            references = make(name, 3).reference
            required = [references[n] for n in polynomials]
            self.instance = make(name, 3, intermediateUpdate=self.update, requiredIntermediateVariables=required)

    def update(self, environment, t, set_requested, get_allowed, finished, can_return, requested, early_time):
        self.calls.append((t, set_requested, get_allowed, finished, can_return))
        if set_requested:
            self.instance.set({name: at(p, t)[0] for name, p in self.polynomials.items()})

    def step(self, t, h):
        if self.instance.version == 2:
            for name, polynomial in self.polynomials.items():
                value, *derivatives = at(polynomial, t)
                self.instance.set({name: value})
                self.instance.set_derivatives(name, *derivatives)
        self.instance.step(t, h)


@VERSIONS
def test_system1_is_exact_to_1e_12_over_ten_seconds_in_steps_of_a_hundredth(make, version):
    """The bound is what the coupling of systems needs; the force is about 10 N and the position about 1 m."""
    force = (5.0, -2.0, 0.6)
    importer = Importer(make, "System1", version, {"F": force})
    importer.instance.start(x1_start=0.1)
    for k in range(1000):
        importer.step(k * 0.01, 0.01)
        if k % 50 == 49:
            expected = exact(SYSTEM1, [[0], [1]], [0.1, 0], [force], (k + 1) * 0.01)
            np.testing.assert_allclose(importer.instance.get("x1", "v1"), expected, rtol=0, atol=1e-12)


@VERSIONS
def test_system2_is_exact_to_1e_12_over_ten_seconds_in_steps_of_a_hundredth(make, version):
    inputs = {"x1": (0.1, 0.02, -0.01), "v1": (0.3, -0.1, 0.02), "a1": (1.0, 0.0, 0.0)}
    importer = Importer(make, "System2", version, inputs)
    importer.instance.start(m_c=2)
    gain = [[0, 0], [10, 0.5]]
    polynomials = [inputs["x1"], inputs["v1"]]
    for k in range(1000):
        importer.step(k * 0.01, 0.01)
        if k % 50 == 49:
            t = (k + 1) * 0.01
            x2, v2 = exact(SYSTEM2, gain, [0.5, 0], polynomials, t)
            np.testing.assert_allclose(importer.instance.get("x2", "v2"), [x2, v2], rtol=0, atol=1e-12)
            force = 10 * (x2 - at(inputs["x1"], t)[0]) + 0.5 * (v2 - at(inputs["v1"], t)[0]) - 2 * 1.0
            assert importer.instance.value("F") == pytest.approx(force, abs=1e-11)  # k2 times the bound of x2


@VERSIONS
@pytest.mark.parametrize("h", (1e-6, 1e-3, 0.1, 1.0, 10.0))
def test_any_step_size_gives_the_exact_solution(make, version, h):
    instance = make("System1", version).start(F=5.0, x1_start=-0.2)
    instance.step(0, h)
    expected = exact(SYSTEM1, [[0], [1]], [-0.2, 0], [(5.0, 0, 0)], h)
    np.testing.assert_allclose(instance.get("x1", "v1"), expected, rtol=0, atol=2e-12)


def test_changing_the_step_size_does_not_change_the_solution(make):
    steps = np.random.default_rng(1).uniform(1e-4, 0.05, 100)
    instance = make("System1", 2).start(F=1.0)
    t = 0.0
    for h in steps:
        instance.step(t, h)
        t += h
    expected = exact(SYSTEM1, [[0], [1]], [0, 0], [(1.0, 0, 0)], t)
    np.testing.assert_allclose(instance.get("x1", "v1"), expected, rtol=0, atol=1e-12)


@VERSIONS
def test_the_dual_mass_oscillator_starts_with_5_newton_and_5_metres_per_second_squared(make, version):
    system1, system2 = make("System1", version).enter(), make("System2", version).enter()
    system2.set(x1=system1.value("x1"), v1=system1.value("v1"))
    assert system2.value("F") == 5.0
    system1.set(F=system2.value("F"))
    assert system1.value("a1") == 5.0


@VERSIONS
def test_a_heavy_flange_changes_the_force_at_the_same_instant(make, version):
    instance = make("System2", version).start(m_c=2.0)
    for acceleration in (0.0, 5 / 3, -1.0):
        instance.set(a1=acceleration)
        assert instance.value("F") == pytest.approx(5 - 2 * acceleration, abs=1e-15)


@VERSIONS
def test_outputs_follow_inputs_and_tunable_parameters_without_a_step(make, version):
    instance = make("System1", version).start(F=3.0)
    assert instance.value("a1") == 3.0
    instance.set(F=4.0, m1=2.0)
    assert instance.value("a1") == 2.0
    assert instance.value("x1") == 0.0


@VERSIONS
def test_a_parameter_tuned_between_steps_acts_from_then_on(make, version):
    instance = make("System1", version).start(F=1.0)
    instance.step(0, 0.5)
    middle = instance.get("x1", "v1")
    instance.set(k1=40.0)
    instance.step(0.5, 0.5)
    expected = exact(np.array([[0, 1], [-40, -0.2]]), [[0], [1]], middle, [(1.0, 0, 0)], 0.5)
    np.testing.assert_allclose(instance.get("x1", "v1"), expected, rtol=0, atol=1e-12)


def test_both_fmi_versions_compute_the_same_bits(make):
    """Same equations, same operations; inputs held, because input polynomials arrive in different forms."""
    traces = []
    for version in (2, 3):
        instance = make("System2", version).start(m_c=0.3)
        trace = []
        for k in range(200):
            instance.set(x1=0.1 * np.sin(k), v1=np.cos(k), a1=1.0 / (k + 1))
            instance.step(k * 0.003, 0.003)
            trace.append(instance.get("F", "x2", "v2", "a2"))
        traces.append(np.array(trace))
    assert np.array_equal(*traces)


@VERSIONS
@pytest.mark.parametrize("interface", ("ModelExchange", "CoSimulation"))
def test_fmpy_simulates_system2(fmus, version, interface):
    result = simulate_fmu(
        fmus["System2", version],
        fmi_type=interface,
        stop_time=1,
        output_interval=0.01,
        relative_tolerance=1e-10,
        output=["x2", "v2"],
    )
    expected = exact(SYSTEM2, [[0], [0]], [0.5, 0], [(0, 0, 0)], 1.0)
    tolerance = 1e-7 if interface == "ModelExchange" else 1e-12  # CVODE's global error at rtol 1e-10
    assert result["time"][-1] == pytest.approx(1)
    np.testing.assert_allclose([result["x2"][-1], result["v2"][-1]], expected, rtol=0, atol=tolerance)


# Input polynomials


@VERSIONS
def test_an_input_ends_the_step_at_the_end_of_its_polynomial(make, version):
    importer = Importer(make, "System1", version, {"F": (1.0, 2.0, 4.0)})
    importer.instance.start()
    importer.step(0.0, 0.5)
    assert importer.instance.value("F") == pytest.approx(1 + 2 * 0.5 + 4 * 0.125, abs=1e-14)


def test_input_derivatives_hold_for_one_step_only(make):
    instance = make("System1", 2).start(F=1.0)
    instance.set_derivatives("F", 2.0)
    instance.step(0.0, 0.1)
    middle = instance.get("x1", "v1")
    instance.step(0.1, 0.1)
    assert instance.value("F") == pytest.approx(1.2, abs=1e-15)
    expected = exact(SYSTEM1, [[0], [1]], middle, [(1.2, 0, 0)], 0.1)
    np.testing.assert_allclose(instance.get("x1", "v1"), expected, rtol=0, atol=1e-13)


def test_input_derivatives_may_be_set_before_the_input(make):
    first, second = make("System1", 2).start(), make("System1", 2).start()
    first.set(F=1.0)
    first.set_derivatives("F", 2.0, 3.0)
    second.set_derivatives("F", 2.0, 3.0)
    second.set(F=1.0)
    for instance in (first, second):
        instance.step(0.0, 0.1)
    assert np.array_equal(first.get("x1", "v1", "a1"), second.get("x1", "v1", "a1"))


def test_without_input_derivatives_the_input_is_held(make):
    instance = make("System1", 2).start(F=2.0)
    instance.step(0.0, 0.3)
    expected = exact(SYSTEM1, [[0], [1]], [0, 0], [(2.0, 0, 0)], 0.3)
    np.testing.assert_allclose(instance.get("x1", "v1"), expected, rtol=0, atol=1e-13)


def test_intermediate_update_asks_for_inputs_at_start_middle_and_end(make):
    importer = Importer(make, "System1", 3, {"F": (1.0, 0.0, 0.0)})
    importer.instance.start(start=2.0)
    importer.step(2.0, 0.5)
    assert importer.calls == [(t, True, False, False, False) for t in (2.0, 2.25, 2.5)]


def test_intermediate_update_gives_outputs_at_the_end_of_the_step(make):
    seen = []

    def update(environment, t, set_requested, get_allowed, finished, *rest):
        seen.append((t, set_requested, get_allowed, finished, instance.value("x1")))

    instance = make("System1", 3, intermediateUpdate=update, requiredIntermediateVariables=[2])
    instance.start(F=1.0)
    instance.step(0.0, 0.1)
    assert seen == [(0.1, False, True, True, instance.value("x1"))]


def test_an_intermediate_update_that_sets_nothing_holds_the_inputs(make):
    quiet = make("System1", 3, intermediateUpdate=lambda *_: None, requiredIntermediateVariables=[1])
    plain = make("System1", 3)
    for instance in (quiet, plain):
        instance.start(F=3.0)
        instance.step(0.0, 0.1)
    assert np.array_equal(quiet.get("x1", "v1"), plain.get("x1", "v1"))


# Other kinds of models


@VERSIONS
def test_a_model_without_states_steps_and_knows_the_time(make, version):
    instance = make("Stateless", version).start(u=4.0, w=0.5, a=3.0)
    instance.step(0.0, 0.5)
    np.testing.assert_allclose(instance.get("time", "y", "z"), [0.5, 6 + np.sin(0.5), 0.25], rtol=1e-15)


@VERSIONS
@pytest.mark.parametrize("h", (1e-3, 1e-2, 0.1))
def test_a_stiff_model_stays_on_its_smooth_solution(make, version, h):
    """x = cos t with an eigenvalue of -8000/s: lambda h goes up to 800."""
    instance = make("Stiff", version).start()
    for k in range(10):
        instance.step(k * h, h)
    assert instance.value("x") == pytest.approx(np.cos(10 * h), abs=1e-12)


@VERSIONS
def test_an_initial_state_follows_inputs_until_the_end_of_initialization(make, version):
    """h(0) = (J_hub + J_arms) Omega0 with J_hub = m_s B²/6 = 0.5; afterwards h is constant, so Omega follows J_arms."""
    instance = make("Spindle", version).enter(m_r=0.0, m_s=3.0, B=1.0, Omega0=2.0, J_arms=1.0)
    assert instance.value("h") == 3.0
    instance.set(J_arms=2.5)
    assert instance.value("h") == 6.0
    instance.fmu.exitInitializationMode()
    assert instance.value("Omega") == 2.0
    instance.set(J_arms=5.5)
    np.testing.assert_allclose(instance.get("h", "Omega"), [6.0, 1.0], rtol=1e-15)
    instance.step(0.0, 1.0)
    np.testing.assert_allclose(instance.get("h", "phi"), [6.0, 1.0], rtol=1e-14)
