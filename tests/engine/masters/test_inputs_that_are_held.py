"""Components that feed each other, but take inputs only that are constant over a step."""

from itertools import pairwise

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.jacobi import Jacobi
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.stepping.simulation import SteppedRun
from tests.accuracy.parts import Part, write_part
from tests.engine.dual_mass import Folder, network, oscillator
from tests.engine.masters.test_adaptive import without
from tests.engine.running import run
from tests.engine.systems import write_system
from tests.exporting.fmus import SYSTEMS, assert_same_bits, exported, in_fmpy

M, K, D, X0 = 2.5, 90.0, 0.8, 0.3
"""kg, N/m, N·s/m and m; the undamped oscillator has ω = 6 rad/s."""

MASS = Part(
    inputs={"F": 0.0},
    states={"x": (X0, "w"), "w": (0.0, f"F / {M}")},
    outputs={"p": "x", "q": "w"},
    saves=True,
)
SPRING = Part(inputs={"x": 0.0, "w": 0.0}, parameters={"k": K, "d": 0.0}, outputs={"f": "-k * x - d * w"}, saves=True)
WIRES = [("Mass.p", "Spring.x"), ("Mass.q", "Spring.w"), ("Spring.f", "Mass.F")]


@pytest.fixture(scope="module")
def fmus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("held")
    forgets = {f"{name}Forgets": part.able(saves=False) for name, part in {"Mass": MASS, "Spring": SPRING}.items()}
    for name, part in ({"Mass": MASS, "Spring": SPRING, "Follows": SPRING.able(follows=True)} | forgets).items():
        write_part(folder / f"{name}.fmu", part)
    return folder


def simulate(folder, spring="Spring", d=0.0, mass="Mass", **settings):
    sources = {"Mass": f"{mass}.fmu", "Spring": f"{spring}.fmu"}
    net = network(sources, WIRES, {"Spring.d": d}, folder=folder)
    plan = make_plan(net, Settings(**settings))
    return plan, run(plan, Folder(folder)).unwrap()


def energy(trace):
    return 0.5 * K * trace["Mass.p"] ** 2 + 0.5 * M * trace["Mass.q"] ** 2


@pytest.mark.parametrize("spring", ["Spring", "Follows"])
def test_by_default_they_are_iterated_and_no_energy_comes_from_the_coupling(fmus, spring):
    """With forces of the start of each step the energy would grow by exp(ω² h t) = e^18."""
    plan, trace = simulate(fmus, spring, stop_time=50.0, step_size=0.01)
    assert isinstance(plan.master.coupling, Iterated)
    assert np.all(np.diff(energy(trace)) < 1e-6 * energy(trace)[0])


def held_inputs(result):
    return next(note for note in result.notes if "can only be held" in note)


def run_default(folder, **settings):
    net = network({"Mass": "Mass.fmu", "Spring": "Spring.fmu"}, WIRES, {"Spring.d": D}, folder=folder)
    return run(make_plan(net, Settings(stop_time=4.0, **settings)), Folder(folder))


@pytest.mark.parametrize("acceleration", [None, "newton", "aitken"])
def test_inputs_of_fmus_that_integrate_them_have_the_mean_of_both_ends_by_default(fmus, acceleration):
    errors = []
    for h in (0.02, 0.01, 0.005):
        result = run_default(fmus, step_size=h, acceleration=acceleration)
        trace = result.unwrap()
        errors.append(np.max(np.abs(trace["Mass.p"] - damped(trace.t))))
        assert "the mean of both ends" in held_inputs(result)
    assert np.diff(np.log2(errors)) == approx([-2, -2], abs=0.05)


FAST = SPRING.able(states={"y": (-K * X0, "5e3 * (-k * x - d * w - y)")}, outputs={"f": "y"})


@pytest.mark.parametrize(
    "parts",
    [
        {"Mass": MASS.able(euler=0.01), "Spring": SPRING},
        {"Mass": MASS, "Spring": FAST},
    ],
    ids=["one step of its own", "it follows within a step"],
)
def test_others_have_the_value_at_the_end_of_the_step(tmp_path, parts):
    for name, part in parts.items():
        write_part(tmp_path / f"{name}.fmu", part)
    result = run_default(tmp_path, step_size=0.01)
    assert "the value at the end" in held_inputs(result)


def test_logs_change_nothing_of_inputs_that_are_tried(fmus, tmp_path):
    plain = run_default(fmus, step_size=0.01)
    logged = run_default(fmus, step_size=0.01, log_coupling=tmp_path / "log.csv")
    assert held_inputs(plain) == held_inputs(logged)
    assert logged.unwrap().y == approx(plain.unwrap().y, abs=1e-12)


def test_a_saved_simulation_goes_on_with_what_trial_steps_have_said(tmp_path):
    net = without(without(oscillator(), "System1", input_derivatives=False), "System2", input_derivatives=False)
    plan = make_plan(net, Settings(stop_time=1.0, step_size=0.01))
    whole = run(plan, Folder())
    with SteppedRun(plan, Folder()) as first:
        first.run_until(0.5)
        first.save(tmp_path / "state")
    with SteppedRun(plan, Folder(), saved=tmp_path / "state") as second:
        second.run_until(1.0)
        assert second["System1.x1"] == whole.unwrap()["System1.x1"][-1]
        assert set(second.notes) >= {held_inputs(whole)}


def test_newmarks_method_in_a_mass_is_stable_by_default():
    """Its step takes the force for the one at the end, so that the coupling adds no damping: z keeps its amplitude."""
    trace = ssptool.simulate(SYSTEMS / "one_dof_oscillator", variant="Newmark.ssd").unwrap()
    k, m = 69.48, 0.03575
    amplitude = np.hypot(trace["Mass.z"], trace["Mass.v"] / np.sqrt(k / m))
    assert amplitude[-1] == approx(amplitude[0], rel=1e-3)


def damped(t):
    w, decay = np.sqrt(K / M - (D / (2 * M)) ** 2), D / (2 * M)
    return X0 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))


FORGETS = {"mass": "MassForgets", "spring": "SpringForgets"}


@pytest.mark.parametrize("able", [FORGETS, {}], ids=["no saved states", "saved states"])
@pytest.mark.parametrize("master", ["auto", "jacobi", "gauss-seidel"])
def test_mid_step_converges_with_order_2(fmus, able, master):
    errors = []
    for h in (0.01, 0.005, 0.0025):
        settings = {"approximation": "mid-step", "master": master, "stop_time": 4.0, "step_size": h}
        _, trace = simulate(fmus, d=D, **settings, **able)
        errors.append(np.max(np.abs(trace["Mass.p"] - damped(trace.t))))
    assert np.diff(np.log2(errors)) == approx([-2, -2], abs=0.25)
    assert errors[-1] < 1e-3 * X0


SOURCE = Part(outputs={"y": "1.5 + sin(3 * time)"})
GAIN = Part(inputs={"u": 0.0}, outputs={"y": "2.5 * u - 0.7"})
INTEGRAL = Part(inputs={"u": 0.0}, states={"x": (0.2, "u")}, outputs={"y": "x"})


@pytest.mark.parametrize("gains", [0, 1, 2])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_a_chain_has_order_2_by_default(tmp_path, master, gains):
    """The source passes through static gains to an integrator; none of the FMUs can do more than hold its inputs."""
    parts = {"S": SOURCE, **{f"G{k}": GAIN for k in range(gains)}, "I": INTEGRAL}
    for name, part in parts.items():
        write_part(tmp_path / f"{name}.fmu", part)
    chain = list(parts)
    wires = [(f"{one}.y", f"{other}.u") for one, other in pairwise(chain)]
    net = network({name: f"{name}.fmu" for name in parts}, wires, folder=tmp_path)
    slope, offset = 2.5**gains, sum(-0.7 * 2.5**k for k in range(gains))
    errors = []
    for h in (0.02, 0.01, 0.005):
        trace = run(make_plan(net, Settings(stop_time=2.0, step_size=h, master=master)), Folder(tmp_path)).unwrap()
        t = trace.t
        exact = 0.2 + (1.5 * slope + offset) * t + slope * (1 - np.cos(3 * t)) / 3
        errors.append(np.max(np.abs(trace["I.y"] - exact)))
        last = f"G{gains - 1}.y" if gains else "S.y"
        assert trace[last] == approx(slope * (1.5 + np.sin(3 * t)) + offset, abs=1e-12)
    assert np.diff(np.log2(errors)) == approx([-2, -2], abs=0.1)


@pytest.mark.parametrize("able", [FORGETS, {}], ids=["no saved states", "saved states"])
def test_a_loop_of_gauss_seidel_has_order_2_by_default(fmus, able):
    errors = []
    for h in (0.01, 0.005, 0.0025):
        _, trace = simulate(fmus, d=D, master="gauss-seidel", stop_time=4.0, step_size=h, **able)
        errors.append(np.max(np.abs(trace["Mass.p"] - damped(trace.t))))
    assert np.diff(np.log2(errors)) == approx([-2, -2], abs=0.25)
    assert errors[-1] < 1e-3 * X0


def test_without_saved_states_mid_step_creates_little_energy(fmus):
    """ω h = 0.06, 1000 steps: the value of the start, held, multiplies the energy by exp(ω² h t/2) = 6; two-step
    extrapolation by about 1 + ω⁴ h⁴ t/(4 h) = 1.003 [Hairer, Nørsett, Wanner].
    """
    plan, trace = simulate(fmus, stop_time=10.0, step_size=0.01, approximation="mid-step", **FORGETS)
    assert isinstance(plan.master.coupling, Jacobi)
    assert 1.0 < energy(trace)[-1] / energy(trace)[0] < 1.03
    _, held = simulate(fmus, stop_time=10.0, step_size=0.01, approximation="hold", **FORGETS)
    assert energy(held)[-1] / energy(held)[0] == approx(np.exp(18 * 0.01 * 10.0), rel=0.15)


LAGS = {name: Part(inputs={"u": 0.0}, states={"x": (1.0, f"{rate} * ({gain} * u - x)")}, outputs={"y": "x"})
        for name, rate, gain in (("Slow", 1.0, 1.0), ("Fast", 4.0, -0.9))}  # fmt: skip


@pytest.mark.parametrize("h", [0.2, 1.0, 2.0])
def test_mid_step_is_stable_where_held_inputs_are(tmp_path, h):
    """x' = y − x, y' = 4 (−0.9 x − y): for steps beyond its time constants the loop is x ← −0.9 x of the step before.
    To extrapolate that would multiply it by 1.5, so steps that do not resolve the motion hold their inputs.
    """
    for name, part in LAGS.items():
        write_part(tmp_path / f"{name}.fmu", part)
    net = network({name: f"{name}.fmu" for name in LAGS}, [("Slow.y", "Fast.u"), ("Fast.y", "Slow.u")], folder=tmp_path)
    plan = make_plan(net, Settings(stop_time=400 * h, step_size=h, approximation="mid-step"))
    trace = run(plan, Folder(tmp_path)).unwrap()
    assert np.max(np.abs(trace["Slow.y"][-10:])) < 1e-6


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"approximation": "mid-step"}, "mid-step (extrapolated)"),
        ({}, "mid-step (extrapolated)"),
        ({"approximation": "hold"}, "hold"),
        ({"approximation": "mid-step", "master": "gauss-seidel"}, "mid-step (mean of both ends)"),
    ],
)
def test_the_plan_says_how_inputs_are_held(fmus, settings, word):
    plan, _ = simulate(fmus, stop_time=0.1, step_size=0.01, **FORGETS, **settings)
    assert word in next(one.value for one in plan.choices if one.setting == "approximation")


@pytest.mark.parametrize("spring", ["Spring", "Follows"])
@pytest.mark.parametrize("h", [0.02, 0.2, 0.9])
def test_with_the_mean_of_both_ends_energy_is_conserved_at_any_step(fmus, spring, h):
    """The phase is that of average acceleration: x = X0 cos φn, with tan(φ/2) = ω h/2."""
    _, trace = simulate(
        fmus, spring, approximation="mean", stop_time=100 * h, step_size=h, convergence={"relative": 1e-12}
    )
    assert energy(trace) == approx(np.full(101, energy(trace)[0]), rel=1e-8)
    phase = 2 * np.arctan(0.5 * np.sqrt(K / M) * h)
    assert trace["Mass.p"] == approx(X0 * np.cos(phase * np.arange(101)), abs=1e-7)


def test_the_mean_of_both_ends_converges_with_order_2(fmus):
    errors = []
    for h in (0.02, 0.01, 0.005):
        _, trace = simulate(fmus, approximation="mean", d=D, stop_time=4.0, step_size=h)
        errors.append(np.max(np.abs(trace["Mass.p"] - damped(trace.t))))
    assert np.diff(np.log2(errors)) == approx([-2, -2], abs=0.05)


SWITCH = Part(
    inputs={"x": 0.0},
    outputs={"f": "x > 0 ? -1.0 : 1.0", "b": "on", "level": "held"},
    kept={"on": True, "held": 0.5},
    each_step="on = x > 0; held = on ? -1.0 : 1.0;",
    saves=True,
)


@pytest.mark.parametrize(
    ("switch", "wires"),
    [
        (SWITCH.able(inputs={"x": 0.0, "was": True}), [("Switch.f", "Mass.F"), ("Switch.b", "Switch.was")]),
        (SWITCH, [("Switch.level", "Mass.F")]),
        (
            SWITCH.able(exchange=True, co_simulation=False, each_step="", kept={}, outputs={"f": "-x"}),
            [("Switch.f", "Mass.F")],
        ),
    ],
    ids=["a Boolean", "a discrete real number", "model exchange"],
)
def test_where_signals_may_jump_in_a_cycle_inputs_that_are_held_keep_it_from_being_iterated(tmp_path, switch, wires):
    """They belong to the start of the step that follows the jump, and not to the end of the one before."""
    for name, part in {"Mass": MASS, "Switch": switch}.items():
        write_part(tmp_path / f"{name}.fmu", part)
    net = network({"Mass": "Mass.fmu", "Switch": "Switch.fmu"}, [("Mass.p", "Switch.x"), *wires], folder=tmp_path)
    master = make_plan(net, Settings()).master
    assert isinstance(getattr(master, "base", master), Jacobi)


@pytest.mark.parametrize(
    ("master", "approximation"),
    [
        *((master, word) for master in ("iterated", "gauss-seidel") for word in ("mean", "mid-step", "auto")),
        *(("jacobi", word) for word in ("mid-step", "auto")),  # it does not know the end of a step
    ],
)
def test_an_exported_system_has_the_same_bits(fmus, tmp_path, master, approximation):
    folder = write_system(tmp_path / "system", fmus, {"Mass": "Mass", "Spring": "Spring"}, WIRES)
    options = {"approximation": approximation, "master": master, "stop_time": 0.5, "step_size": 0.01}
    trace = ssptool.simulate(folder, **options).unwrap()
    assert_same_bits(in_fmpy(exported(folder, tmp_path, **options), 0.01), trace)
