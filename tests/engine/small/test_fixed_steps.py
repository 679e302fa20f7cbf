"""FMUs that take fixed steps only: macro steps and substeps that fit all of them, and messages where none does.

Each FMU integrates y' = 3 u exactly, and refuses steps that are not multiples of its own.
"""

import re

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.engine.failure import UnsupportedByFmu
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

VARIABLES = [
    Var("u", "input", start=1.5),
    Var("y", "output", start=2.0, initial="exact", needs=[]),
    Var("size", "output", needs=[]),
]


def fixed(folder, name, size, version=2, varies=False, stated=None):
    """`stated` is the step size of its default experiment; an FMU of FMI 3.0 has its fixed internal step besides."""
    step = (
        f"double n = h / {size!r}; if (fabs(n - round(n)) > 1e-9 || n < 0.5) return ERROR; "
        "v->y += 3 * v->u * h; v->size = h; v->time = t + h; return OK;"
    )
    experiment = 'stopTime="1"' + (f' stepSize="{stated!r}"' if stated is not None else "")
    cs = f'fixedInternalStepSize="{size!r}"' if version == 3 else ""
    return make_fmu(
        folder / f"{name}.fmu",
        VARIABLES,
        version=version,
        me=None,
        cs=cs,
        varies=varies,
        experiment=experiment,
        step=step,
    )


FMI2 = {"version": 2, "stated": 0.1}
FMI3 = {"version": 3}
FMI3_VARYING = {"version": 3, "varies": True}


@pytest.fixture(params=[FMI2, FMI3, FMI3_VARYING], ids=["2", "3", "3 varying"])
def lone(request, tmp_path):
    """An FMU that takes multiples of 0.1 s."""
    return fixed(tmp_path, "Lone", 0.1, **request.param)


@pytest.fixture(params=[2, 3])
def both(request, tmp_path):
    """Two FMUs of different steps in a loop: y' = 3 z, z' = −3 y is what they would do with small steps."""
    for name, size in (("A", 0.1), ("B", 0.25)):
        fixed(tmp_path, name, size, request.param, varies=request.param == 3, stated=size)
    wires = [("A.y", "B.u"), ("B.y", "A.u")]
    return write_system(tmp_path / "system", tmp_path, {"A": "A", "B": "B"}, wires)


def numbers(error, what):
    """Those that a message names as the nearest."""
    found = re.search(rf"nearest {what}s? (?:are|is) ([^,;]+)", str(error.value))
    assert found is not None, error.value
    return [float(one) for one in re.findall(r"[\d.e-]+(?= s)", found[1])]


def test_the_step_is_the_fixed_one_and_the_solution_exact(lone):
    result = ssptool.simulate(lone, stop_time=1.1)
    result.unwrap()
    assert result.trace.t == approx(0.1 * np.arange(12))
    assert result.trace["Lone.y"] == approx(2 + 3 * 1.5 * result.trace.t)
    choice = next(one for one in ssptool.plan(lone, stop_time=1.1).choices if one.setting == "step_size")
    assert choice.value == "0.1 s"
    assert "fixed step of the FMU of Lone" in choice.reason
    assert re.search(r"modelDescription\.xml:\d+$", choice.place)


def test_a_stop_time_between_two_steps_is_refused_with_those_that_fit(lone):
    for settings in ({}, {"step_size": 0.1}):
        with pytest.raises(ssptool.exceptions.WrongUsage, match=r"10\.5 .*0\.1 s.*Lone") as caught:
            ssptool.simulate(lone, stop_time=1.05, **settings)
        assert numbers(caught, "stop time") == [1.0, 1.1]
    for stop in (1.0, 1.1):
        assert ssptool.simulate(lone, stop_time=stop).unwrap()["Lone.y"][-1] == approx(2 + 4.5 * stop)


@pytest.mark.parametrize(
    ("step", "stop", "sizes", "stops"),
    [
        (0.15, 1.2, [0.1, 0.2], None),
        (0.05, 1.0, [0.1], None),
        (0.3, 1.0, [0.2, 0.5], [0.9, 1.2]),
        (0.15, 1.05, [0.1, 0.2], [1.0, 1.1]),
    ],
)
@pytest.mark.parametrize("varies", [False, True])
def test_a_step_size_that_does_not_fit_is_refused_with_those_that_do(tmp_path, varies, step, stop, sizes, stops):
    if varies and step == 0.3:
        pytest.skip("the last step has one internal step only")
    lone = fixed(tmp_path, "Lone", 0.1, 3, varies)
    with pytest.raises(ssptool.exceptions.WrongUsage, match="multiples") as caught:
        ssptool.plan(lone, stop_time=stop, step_size=step)
    assert numbers(caught, "step size") == sizes
    assert ("stop time" in str(caught.value)) is (stops is not None)
    for size in sizes:
        for one in stops or [stop]:
            if round(one / size * 1e6) % 1_000_000 == 0:
                ssptool.plan(lone, stop_time=one, step_size=size)
    if stops:
        assert numbers(caught, "stop time") == stops


def test_an_fmu_that_only_wants_steps_of_one_size_gets_the_one_that_is_asked_for(tmp_path):
    """It is right in steps of 0.05 s, although it states 0.1 s."""
    lone = fixed(tmp_path, "Lone", 0.05, stated=0.1)
    trace = ssptool.simulate(lone, stop_time=1.05, step_size=0.05).unwrap()
    assert trace["Lone.size"][1:] == approx(0.05)
    assert trace["Lone.y"] == approx(2 + 4.5 * trace.t)
    assert ssptool.simulate(lone, stop_time=1.0, accuracy="check").accuracy.steps == approx((0.1, 0.05))
    with pytest.raises(ssptool.exceptions.WrongUsage) as caught:
        ssptool.plan(lone, stop_time=1.02, step_size=0.05)
    assert numbers(caught, "stop time") == [1.0, 1.05]


def test_multiples_that_are_asked_for_are_the_steps_of_the_fmu(lone):
    trace = ssptool.simulate(lone, stop_time=1.2, step_size=0.4).unwrap()
    assert trace.t == approx([0, 0.4, 0.8, 1.2])
    assert trace["Lone.size"][1:] == approx(0.4)
    assert trace["Lone.y"] == approx(2 + 4.5 * trace.t)


@pytest.mark.parametrize(
    ("step", "stop", "sizes"), [(0.4, 1.0, [0.4, 0.4, 0.2]), (0.3, 0.5, [0.3, 0.2]), (0.4, 0.2, [0.2])]
)
def test_the_last_step_may_have_fewer_internal_steps_if_steps_may_vary(tmp_path, step, stop, sizes):
    """As the FMU of Stair of the Reference FMUs declares it; y = 2 + 4.5 t."""
    path = fixed(tmp_path, "Lone", 0.1, **FMI3_VARYING)
    result = ssptool.simulate(path, output=None, stop_time=stop, step_size=step, accuracy="off")
    assert np.diff(result.unwrap().t) == approx(sizes)
    assert result["Lone.y"] == approx(2 + 4.5 * result.t, rel=1e-12)
    assert result["Lone.size"][1:] == approx(sizes)
    rigid = fixed(tmp_path, "Rigid", 0.1, **FMI3)
    with pytest.raises(ssptool.exceptions.WrongUsage, match="the nearest step size"):
        ssptool.simulate(rigid, output=None, stop_time=stop, step_size=step)


def test_macro_step_and_substeps_fit_all_fmus(both):
    made = ssptool.plan(both, stop_time=3)
    assert (made.interval.step, made.interval.steps) == (0.5, 6)
    assert dict(made.substep_counts) == {"A": 5, "B": 2}
    trace = ssptool.simulate(both, stop_time=3, master="jacobi", approximation="hold").unwrap()
    assert trace["A.size"][1:] == approx(0.1)
    assert trace["B.size"][1:] == approx(0.25)
    y = z = 2.0
    for row in range(1, 7):  # held over each macro step
        y, z = y + 1.5 * z, z + 1.5 * y
        assert (trace["A.y"][row], trace["B.y"][row]) == (approx(y), approx(z))


def test_the_choices_name_the_fixed_steps_and_their_places(both):
    step, substeps = (
        next(one for one in ssptool.plan(both, stop_time=3).choices if one.setting == name)
        for name in ("step_size", "substeps")
    )
    assert step.value == "0.5 s"
    assert "0.1 s of A" in step.reason and "0.25 s of B" in step.reason
    assert substeps.value == "5 of A, 2 of B"


def test_no_stop_time_between_common_multiples(both):
    with pytest.raises(ssptool.exceptions.WrongUsage, match=r"0\.1 s of A.*0\.25 s of B") as caught:
        ssptool.plan(both, stop_time=3.25)
    assert numbers(caught, "stop time") == [3.0, 3.5]


def test_an_fmu_beside_steps_by_no_more_than_it_recommends(tmp_path):
    """That is 0.03 s; the macro step is a multiple of 0.1 s."""
    fixed(tmp_path, "A", 0.1, stated=0.1)
    fixed(tmp_path, "B", 0.001, varies=True, stated=0.03)
    system = write_system(tmp_path / "system", tmp_path, {"A": "A", "B": "B"}, [("A.y", "B.u")])
    made = ssptool.plan(system)
    assert (made.interval.step, dict(made.substep_counts)) == (0.1, {"B": 4})
    assert "made a multiple of the fixed step 0.1 s of A" in next(
        one.reason for one in made.choices if one.setting == "step_size"
    )
    assert dict(ssptool.plan(system, step_size=0.2).substep_counts) == {}


def test_substeps_that_are_asked_for_are_multiples_too(both):
    made = ssptool.plan(both, stop_time=3, substeps={"A": 1})
    assert (made.interval.step, dict(made.substep_counts)) == (0.5, {"A": 1, "B": 2})
    made = ssptool.plan(both, stop_time=3, substeps={"A": 10})
    assert (made.interval.step, dict(made.substep_counts)) == (1.0, {"A": 10, "B": 4})


def test_steps_without_a_common_multiple_are_refused_by_name(tmp_path):
    for name, size in (("A", 0.1), ("B", 0.1 * 2**0.5)):
        fixed(tmp_path, name, size, stated=size)
    system = write_system(tmp_path / "system", tmp_path, {"A": "A", "B": "B"}, [("A.y", "B.u")])
    with pytest.raises(ssptool.exceptions.WrongUsage, match=r"0\.1 s of A .*0\.141421356237 s of B"):
        ssptool.plan(system, stop_time=3)


def test_what_needs_other_steps_is_refused(lone):
    with pytest.raises(UnsupportedByFmu, match="Lone: an adaptive step size"):
        ssptool.plan(lone, stop_time=1, adaptive=1e-4)
    with pytest.raises(UnsupportedByFmu, match=r"Lone: a jump of an input at t = 0\.25 s"):
        ssptool.plan(lone, stop_time=1, inputs={"Lone.u": ssptool.types.Table((0.0, 0.25), (1.0, 2.0), "hold")})
    trace = ssptool.simulate(
        lone, stop_time=1, inputs={"Lone.u": ssptool.types.Table((0.0, 0.3), (1.0, 2.0), "hold")}
    ).unwrap()
    assert trace["Lone.y"][-1] == approx(2 + 3 * (0.3 * 1.0 + 0.7 * 2.0))


def test_step_by_step_too(lone):
    with ssptool.Simulation(lone, stop_time=1.1) as simulation:
        simulation.step()
        assert simulation.time == approx(0.1)
        simulation.run_until(1.1)
        assert simulation.get("Lone.y") == approx(2 + 4.5 * 1.1)
    with pytest.raises(ssptool.exceptions.WrongUsage, match=r"1 s and 1\.1 s"):
        ssptool.Simulation(lone, stop_time=1.05)


def test_running_until_a_time_that_no_step_leads_to_is_refused_with_the_nearest_times(lone):
    with ssptool.Simulation(lone, stop_time=1.1) as simulation:
        for between, nearest in ((0.25, r"0\.2 s or 0\.3 s$"), (0.05, r" 0\.1 s$")):
            with pytest.raises(ssptool.exceptions.WrongValue, match=f"Lone.*{nearest}"):
                simulation.run_until(between)
            assert simulation.time == 0.0 and len(simulation.trace) == 1
        assert simulation.run_until(0.3) == approx(0.3) and simulation.run_until(0.25) == approx(0.3)
        assert simulation.run_until(1.1) == approx(1.1)


def test_macro_steps_are_cut_at_multiples_of_an_internal_step_and_divided_steps_are_not(tmp_path):
    """A takes multiples of 0.1 s; a macro step of 0.5 s that is asked for is one, of its own 5 substeps of 0.1 s."""
    path = fixed(tmp_path, "A", 0.1, version=3, varies=True)
    with ssptool.Simulation(path, stop_time=2, step_size=0.5) as simulation:
        with pytest.raises(ssptool.exceptions.WrongValue, match=r"0\.7 s or 0\.8 s$"):
            simulation.run_until(0.75)
        assert simulation.run_until(0.7) == approx(0.7)
        assert simulation.get("A.y") == approx(2 + 4.5 * 0.7)
        assert simulation.step() == 1.0 and simulation.get("A.size") == approx(0.3)
    with (
        ssptool.Simulation(path, stop_time=2, step_size=0.5, substeps={"A": 5}) as simulation,
        pytest.raises(ssptool.exceptions.WrongValue, match=r"0\.5 s or 1 s$"),
    ):
        simulation.run_until(0.7)


@pytest.mark.parametrize("fmi", [2, 3])
def test_an_exported_system_takes_its_common_step_only(both, tmp_path, fmi):
    made = ssptool.export(both, tmp_path / "Both.fmu", fmi=fmi, stop_time=3).path
    plan = ssptool.plan(made, stop_time=3)
    assert (plan.interval.step, plan.interval.steps) == (0.5, 6)
    with pytest.raises(ssptool.exceptions.WrongUsage) as caught:
        ssptool.plan(made, stop_time=3.25)
    assert numbers(caught, "stop time") == [3.0, 3.5]
    own, exported = ssptool.simulate(both, stop_time=3).unwrap(), ssptool.simulate(made, stop_time=3).unwrap()
    assert exported["Both.A.y"].tolist() == own["A.y"].tolist()
