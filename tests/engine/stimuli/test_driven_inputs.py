"""A mass driven from outside: m v' = F, whose solution is known for ramps and steps.

Where an FMU follows its inputs, and they are what the closed form assumes, all that is left is rounding: 1e-12. The
integrator of model exchange is asked for 1e-9, of which it keeps a small multiple over the run.
"""

import threading
import zipfile

import numpy as np
import pandas
import pytest
from pytest import approx

import ssptool
from ssptool.engine.isolation import child
from ssptool.engine.isolation.parent import execute_isolated
from ssptool.engine.run.execution import Job
from ssptool.engine.run.recorder import Recorder
from ssptool.engine.settings import Limits
from ssptool.errors import UnusableFile, WrongValue
from tests.engine.dual_mass import Folder
from tests.engine.stimuli.pushed_mass import MASS, ramp, step

MASTERS = [{"master": master} for master in ("jacobi", "gauss-seidel", "iterated")]
EXACT = [*MASTERS, {"adaptive": 1e-4}, {"substeps": {"Mass": 3}}, {"master": "jacobi", "approximation": "extrapolate"}]
WAYS = [*EXACT, {"implementation": "me", "tolerance": 1e-9}]
AT = 0.35  # no multiple of the step of 0.1 s


def simulated(system, inputs, **settings):
    return ssptool.simulate(system, inputs=inputs, settings=ssptool.Settings(step_size=0.1, **settings)).unwrap()


def allowed(settings):
    return 1e-7 if "implementation" in settings else 1e-12


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_a_ramp_is_followed_exactly_whatever_the_master(pushed, settings):
    trace = simulated(pushed, {"push": lambda t: 3 * t}, **settings)
    z, v = ramp(trace.t, 3.0)
    assert trace["push"] == approx(3 * trace.t)
    assert trace["Mass.z"] == approx(z, abs=allowed(settings))
    assert trace["Mass.v"] == approx(v, abs=allowed(settings))


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_a_step_between_communication_points_takes_effect_when_it_happens(pushed, settings):
    trace = simulated(pushed, {"push": ssptool.types.Table((0.0, AT), (0.0, 4.0), "hold")}, **settings)
    z, v = step(trace.t, AT, 4.0)
    assert trace["Mass.z"] == approx(z, abs=allowed(settings))
    assert trace["Mass.v"] == approx(v, abs=allowed(settings))


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_both_sides_of_a_step_are_recorded_at_its_very_time(pushed, settings):
    trace = simulated(pushed, {"push": ssptool.types.Table((0.0, AT, AT), (0.0, 0.0, 4.0))}, **settings)
    rows = np.flatnonzero(trace.t == AT)
    assert trace["push"][rows].tolist() == [0.0, 4.0]
    assert trace["Mass.F"][rows].tolist() == [0.0, 4.0]


@pytest.mark.parametrize("settings", MASTERS, ids=str)
def test_the_grid_goes_on_after_a_step_as_if_there_had_been_none(pushed2, settings):
    trace = simulated(pushed2, {"push": ssptool.types.Table((0.0, AT), (0.0, 4.0), "hold")}, **settings)
    grid = [0.1 * k for k in range(11)]
    assert sorted({*trace.t.tolist()}) == approx(sorted([*grid, AT]), abs=1e-15)


def test_a_step_at_a_communication_point_that_rounding_has_moved_is_there(pushed2):
    trace = simulated(pushed2, {"push": ssptool.types.Table((0.0, 0.3), (0.0, 4.0), "hold")})
    assert np.sum(np.abs(trace.t - 0.3) < 1e-6) == 2  # 3 · 0.1 is not 0.3
    assert trace["Mass.v"][-1] == approx(4.0 * 0.7 / MASS, abs=1e-12)


def test_after_many_steps_none_is_empty(pushed2):
    """However the number of a point is rounded: 20 000 steps at times around 1e6 s."""
    settings = ssptool.Settings(start_time=1e6, stop_time=1e6 + 2.0, step_size=1e-4)
    inputs = {"push": ssptool.types.Table((1e6, 1e6 + 1.00005), (0.0, 4.0), "hold")}
    trace = ssptool.simulate(pushed2, inputs=inputs, settings=settings).unwrap()
    assert len(trace) == 20_000 + 1 + 2
    assert np.count_nonzero(np.diff(trace.t) <= 0) == 1
    assert trace["Mass.v"][-1] == approx(4.0 * 0.99995 / MASS, rel=1e-6)


def test_a_step_that_rounding_has_put_before_the_stop_time_leaves_nothing_to_do(pushed2):
    almost = float(np.nextafter(1.0, 0.0))
    trace = simulated(pushed2, {"push": ssptool.types.Table((0.0, almost), (1.0, 5.0), "hold")})
    assert trace["push"][-2:].tolist() == [1.0, 5.0]
    assert len(trace) == 12


def test_rows_at_a_distance_in_time_have_both_sides_of_a_step(pushed2):
    inputs = {"push": ssptool.types.Table((0.0, AT), (0.0, 4.0), "hold")}
    trace = ssptool.simulate(pushed2, inputs=inputs, step_size=0.1, output_step=0.05).unwrap()
    assert trace.t == approx(np.sort([*(0.05 * np.arange(21)), AT]))
    left = int(np.flatnonzero(np.diff(trace.t) < 1e-9)[0])
    assert trace["push"][left : left + 2].tolist() == [0.0, 4.0] and trace.t[left] == approx(AT)


def test_steps_at_the_start_and_at_the_stop_are_seen(pushed2):
    trace = simulated(pushed2, {"push": ssptool.types.Table((0.0, 0.0, 1.0), (9.0, 1.0, 5.0), "hold")})
    assert trace["push"][0] == 1.0
    assert trace["push"][-2:].tolist() == [1.0, 5.0]
    assert trace["Mass.v"] == approx(trace.t / MASS, abs=1e-12)


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_an_input_of_a_component_that_is_connected_to_nothing_can_be_driven(free, settings):
    trace = simulated(free, {"Mass.F": lambda t: 3 * t}, **settings)
    assert trace.signals == ("Mass.F", "Mass.z", "Mass.v")
    assert trace["Mass.F"] == approx(3 * trace.t)
    assert trace["Mass.z"] == approx(ramp(trace.t, 3.0)[0], abs=allowed(settings))


def test_a_short_pulse_is_not_stepped_over_by_the_integrator(pushed2):
    """A triangle of 2 ms in a run of 1 s without anything else: its area is the momentum."""
    pulse = ssptool.types.Table((0.0, 0.499, 0.5, 0.501), (0.0, 0.0, 100.0, 0.0))
    trace = simulated(pushed2, {"push": pulse}, implementation="me", tolerance=1e-9)
    assert trace["Mass.v"][-1] == approx(100.0 * 1e-3 / MASS, rel=1e-6)


def test_held_on_request_a_ramp_lags_by_half_a_step(pushed2):
    """v is the sum of h F(t_k) / m: less than the integral by slope t h / (2 m)."""
    trace = simulated(pushed2, {"push": lambda t: 3 * t}, master="jacobi", approximation="hold")
    lag = 3.0 * trace.t * 0.1 / (2 * MASS)
    assert trace["Mass.v"] == approx(ramp(trace.t, 3.0)[1] - lag, abs=1e-12)


def test_a_component_that_cannot_follow_gets_the_middle_of_a_step(pushed2):
    """Then v, the sum of h F(t_k + h/2) / m, is exact for a ramp."""
    _without(pushed2, "canInterpolateInputs")
    trace = simulated(pushed2, {"push": lambda t: 3 * t}, master="jacobi")
    assert trace["Mass.v"] == approx(ramp(trace.t, 3.0)[1], abs=1e-12)


def test_a_step_inside_of_a_macro_step_is_refused_where_an_fmu_has_steps_of_one_size(pushed2):
    _without(pushed2, "canHandleVariableCommunicationStepSize")
    with pytest.raises(Exception, match=r"component Mass: a jump of an input at t = 0\.35 s, which is inside"):
        simulated(pushed2, {"push": ssptool.types.Table((0.0, AT), (0.0, 4.0), "hold")})
    trace = simulated(pushed2, {"push": ssptool.types.Table((0.0, 0.4), (0.0, 4.0), "hold")})
    assert trace["Mass.v"][-1] == approx(4.0 * 0.6 / MASS, abs=1e-12)


def _without(system, flag):
    """Take a capability away from the FMU."""
    path = system / "resources" / "Mass.fmu"
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    text = content["modelDescription.xml"].decode()
    assert f'{flag}="true"' in text
    content["modelDescription.xml"] = text.replace(f'{flag}="true"', f'{flag}="false"').encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)


# -- what a user may give ------------------------------------------------------------------------------------


def test_tables_of_numpy_and_pandas_are_the_same_as_a_table(pushed2):
    times, values = np.array([0.0, 0.5, 0.5, 1.0]), np.array([0.0, 2.0, 6.0, 0.0])
    given = [
        {"push": ssptool.types.Table(tuple(times), tuple(values))},
        pandas.DataFrame({"push": values}, index=times),
        pandas.DataFrame({"time": times, "push": values}),
        np.array(list(zip(times, values, strict=True)), dtype=[("time", float), ("push", float)]),
    ]
    first, *others = [simulated(pushed2, one) for one in given]
    assert first["push"].max() == 6.0
    for other in others:
        assert np.array_equal(first.t, other.t)
        assert np.array_equal(first.y, other.y)


def test_a_constant_is_the_same_as_the_value_of_the_system(pushed2):
    given = simulated(pushed2, {"push": 2}, master="jacobi")
    settings = ssptool.Settings(step_size=0.1, master="jacobi")
    stated = ssptool.simulate(pushed2, start_values={"push": "2"}, settings=settings).unwrap()
    assert np.array_equal(given.y, stated.y)
    assert np.array_equal(given.t, stated.t)


@pytest.mark.parametrize("isolated", [False, True])
def test_a_file_drives_the_system_in_this_process_and_in_a_child(pushed2, tmp_path, isolated):
    path = tmp_path / "push.csv"
    path.write_text("time,push\n0,0\n0.35,0\n0.35,4\n")
    result = ssptool.simulate(
        pushed2, inputs=path, settings=ssptool.Settings(step_size=0.1), isolated=isolated
    ).unwrap()
    assert result["Mass.v"] == approx(step(result.t, AT, 4.0)[1], abs=1e-12)


def driven_by(push, system, *, fork):
    plan = ssptool.plan(system, inputs={"push": push}, settings=ssptool.Settings(step_size=0.1))
    recorder = Recorder(plan, keep=True)
    execute_isolated(Job(plan, Folder(system)), recorder, Limits(), fork=fork)
    return recorder.trace


def defined_in_a_notebook(t):
    return 3 * t


defined_in_a_notebook.__module__ = "__main__"


@pytest.mark.parametrize("push", [lambda t: 3 * t, defined_in_a_notebook], ids=["local", "notebook"])
@pytest.mark.parametrize("fork", [False, True], ids=["fresh", "forked"])
def test_a_function_that_no_module_has_drives_in_any_process(pushed2, push, fork):
    """A process with threads, such as a notebook or one that uses Dask, starts fresh ones."""
    if not fork:
        pytest.importorskip("cloudpickle")
    trace = driven_by(push, pushed2, fork=fork)
    assert trace["Mass.v"] == approx(ramp(trace.t, 3.0)[1], abs=1e-12)


def test_a_function_that_cannot_go_to_a_fresh_process_is_told_of(pushed2):
    lock = threading.Lock()
    with pytest.raises(WrongValue, match=r"define functions .* at the top level"):
        driven_by(lambda t: t * lock.locked(), pushed2, fork=False)


def test_what_could_send_a_local_function_is_named(pushed2, monkeypatch):
    monkeypatch.setattr(child, "find_spec", lambda name: None)
    with pytest.raises(WrongValue, match=r"with the package cloudpickle"):
        driven_by(lambda t: t, pushed2, fork=False)


def test_a_function_with_steps_jumps_there(pushed2):
    function = ssptool.types.Function(lambda t: 4.0 if t >= AT else 0.0, (AT,))
    trace = simulated(pushed2, {"push": function})
    assert trace["Mass.v"] == approx(step(trace.t, AT, 4.0)[1], abs=1e-12)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"pusch": 1.0}, r"pusch: the system has no input of this name; did you mean push"),
        ({"Mass.F": 1.0}, r"Mass\.F: it is connected: push drives it"),
        ({"Mass.z": 1.0}, r"Mass\.z: it is of kind output"),
        ({"push": "x"}, r"push: found 'x', expected a number"),
        ({"push": float("nan")}, r"push: found nan, expected a finite number"),
        ({"push": ssptool.types.Table((0.0, 1.0, 0.5), (1.0, 2.0, 3.0))}, r"row 2: time 0\.5 after 1\.0"),
        ({"push": ssptool.types.Table((0.1,), (1.0,))}, r"first value is at t = 0\.1 s, and the run starts at 0 s"),
        ({"push": lambda t: "x"}, r"at t = 0\.0 s the function returned 'x', expected a number"),
        (3.0, r"float is not understood"),
        ([{"push": 1.0}, {"push": 2.0}], r"push: it is given twice, before in the constant 1\.0"),
        (ssptool.types.Inputs({"push": 1.0}, columns={"pull": "hold"}), r"pull: no input of this name"),
    ],
)
def test_inputs_that_cannot_be_are_refused_by_name(pushed2, inputs, message):
    with pytest.raises(ssptool.exceptions.BadData, match=message):
        simulated(pushed2, inputs)


def test_an_interpolation_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="must be one of hold, linear; found 'cubic'"):
        ssptool.types.Inputs("x.csv", "cubic")


# -- what is said of it --------------------------------------------------------------------------------------


def test_the_plan_says_how_many_rows_there_are_and_how_inputs_run(pushed, pushed2):
    table = ssptool.types.Table((0.0, 1.0, 1.0, 4.0), (0.0, 1.0, 2.0, 2.0))
    line, _ = ssptool.renderers.input_origins(ssptool.plan(pushed2, inputs={"push": table}))
    assert line == "push: a table, 4 rows from 0 s to 4 s, 1 jump; 0.0 at the start"
    for given, settings, words in (
        (ssptool.types.Table((0.0,), (1.0,), "hold"), {}, "held from the start of each step"),
        (table, {"approximation": "hold"}, "held from the start of each step"),
        (table, {"implementation": "me"}, "has its value at every instant"),
    ):
        plan = ssptool.plan(pushed, inputs={"push": given}, settings=ssptool.Settings(**settings))
        *_, way = ssptool.renderers.input_origins(plan)
        assert way.strip() == f"Mass.F: {words}"


def test_the_plan_says_where_each_input_comes_from(pushed2, tmp_path):
    path = tmp_path / "push.csv"
    path.write_text("time,push [kN]\n0,0.001\n")
    line, way = ssptool.renderers.input_origins(ssptool.plan(pushed2, inputs=path))
    assert line == f"push: {path}, column push (linear, converted from kN to N); 1.0 at the start"
    assert way.strip() == "Mass.F: follows it over each step"
    (line,) = ssptool.renderers.input_origins(ssptool.plan(pushed2))
    assert line == "push: 0.0 all the time, the value that Mass.F starts from"
    (line,) = ssptool.renderers.input_origins(ssptool.plan(pushed2, start_values={"push": "2"}))
    assert line.startswith("push: 2.0 all the time, its value in the system")


def test_the_manifest_names_the_files_with_their_hashes(pushed2, tmp_path):
    path, output = tmp_path / "push.csv", tmp_path / "out.csv"
    path.write_text("time,push\n0,1\n")
    ssptool.simulate(pushed2, inputs=path, output=output).unwrap()
    manifest = ssptool.read_manifest(output)
    assert str(path) in {one["name"] for one in manifest["inputs"] if one["sha256"]}
    assert list(manifest["stimuli"]["inputs"]) == ["push"]


# -- under the control of a program --------------------------------------------------------------------------


def test_a_simulation_goes_through_jumps_and_its_observers_see_both_sides(pushed2):
    seen = []
    inputs = {"push": ssptool.types.Table((0.0, AT), (0.0, 4.0), "hold")}
    settings = ssptool.Settings(step_size=0.1)
    with ssptool.Simulation(pushed2, inputs=inputs, settings=settings) as run:
        run.observe(lambda t, now: seen.append((t, now["push"], now["Mass.v"])))
        assert [run.step() for _ in range(5)] == approx([0.1, 0.2, 0.3, 0.35, 0.4])
        assert run.step(6) == approx(1.0)
        assert run.finished
        trace = run.trace
    rows = [row for row in seen if row[0] == AT]
    assert [(push, v) for _, push, v in rows] == [(0.0, 0.0), (4.0, 0.0)]
    assert [row[0] for row in seen] == trace.t[1:].tolist()
    assert np.array_equal(trace.y, simulated(pushed2, inputs).y)


def test_observers_can_only_read(pushed2):
    def meddle(t, now):
        now["push"] = 1.0

    with ssptool.Simulation(pushed2, settings=ssptool.Settings(step_size=0.1)) as run:
        run.observe(meddle)
        with pytest.raises(TypeError, match="does not support item assignment"):
            run.step()


def test_an_input_of_the_system_can_be_set_between_steps_unless_it_is_driven(pushed2):
    settings = ssptool.Settings(step_size=0.1)
    with ssptool.Simulation(pushed2, settings=settings) as run:
        run.run_until(0.5)
        run.set("push", 4.0)
        run.run_until(1.0)
        assert run.get("push") == 4.0
        assert run.get("Mass.v") == approx(4.0 * 0.5 / MASS, abs=1e-12)
    with (
        ssptool.Simulation(pushed2, inputs={"push": 1.0}, settings=settings) as run,
        pytest.raises(ValueError, match=r"push cannot be set: it is driven, by the constant 1\.0"),
    ):
        run.set("push", 4.0)


@pytest.mark.parametrize("settings", WAYS, ids=str)
@pytest.mark.parametrize("at", [0.25, AT, 0.5])
def test_a_driven_simulation_that_is_saved_goes_on_with_the_same_bits(pushed, tmp_path, settings, at):
    """With a jump before it, at it or after it, a ramp, and parameters and connections that a scenario changes."""
    events = (
        ssptool.types.Event(0.2, "Mass.m", "override", 1.5),
        ssptool.types.Event(0.45, "Mass.F", "bias", 0.5),
        ssptool.types.Event(0.6, "Mass.m", "reset"),
    )
    acting = {
        "inputs": {"push": ssptool.types.Table((0.0, AT, AT, 1.0), (0.0, 1.0, 4.0, 2.0))},
        "scenario": ssptool.types.Scenario(events),
        "settings": ssptool.Settings(step_size=0.1, **settings),
    }
    with ssptool.Simulation(pushed, **acting) as run:
        run.run_until(at)
        run.save(tmp_path / "state")
        run.run_until(1.0)
        first = run.trace
    with ssptool.Simulation(pushed, saved=tmp_path / "state", **acting) as run:
        run.run_until(1.0)
        second = run.trace
    count = len(second)
    assert count > 4
    assert np.array_equal(first.t[-count:], second.t)
    assert np.array_equal(first.y[-count:], second.y)


def test_a_simulation_is_not_resumed_with_other_inputs(pushed2, tmp_path):
    settings = ssptool.Settings(step_size=0.1)
    with ssptool.Simulation(pushed2, inputs={"push": 1.0}, settings=settings) as run:
        run.save(tmp_path / "state")
    with (
        pytest.raises(UnusableFile, match=r"was saved with stimuli .*, but stimuli is now"),
        ssptool.Simulation(pushed2, inputs={"push": 2.0}, settings=settings, saved=tmp_path / "state"),
    ):
        pass


@pytest.mark.parametrize("settings", [{}, {"implementation": "me"}, {"adaptive": 1e-4}], ids=str)
@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize(
    ("bad", "message"),
    [(lambda: float("nan"), "returned nan, expected a finite number"), (lambda: 1 / 0, "raised ZeroDivisionError")],
)
def test_a_function_that_fails_on_the_way_ends_the_run_with_its_results_so_far(
    pushed2, settings, isolated, bad, message
):
    result = ssptool.simulate(
        pushed2,
        inputs={"push": lambda t: 1.0 if t < 0.55 else bad()},
        settings=ssptool.Settings(step_size=0.1, **settings),
        isolated=isolated,
    )
    assert result.status == "an input has no value"
    assert "input push: at t = 0." in str(result.failure)
    assert message in str(result.failure)
    # An integrator, and a master that chooses its steps, look further ahead than a step.
    assert result.trace.t[-1] == approx(0.5) if not settings else result.trace.t[-1] < 0.55


@pytest.mark.parametrize("interpolation", ["linear", "hold"])
def test_a_zero_keeps_its_sign_on_its_way(pushed2, interpolation):
    trace = simulated(pushed2, {"push": ssptool.types.Table((0.0, 1.0), (-0.0, -0.0), interpolation)})
    assert np.signbit(trace["push"]).all()
    assert np.signbit(trace["Mass.F"]).all()
