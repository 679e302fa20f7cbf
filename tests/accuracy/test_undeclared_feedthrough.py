"""FMUs whose outputs depend on inputs although ModelStructure denies it: found by a probe, and counted with."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.engine.run.saved import NotSavable
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

IN = Var("u", "input", start=0.25)
SPEED = Var("speed", "parameter", start=2.0)
LOOP = [("A.y", "B.u"), ("B.y", "A.u")]


def gain(path, needs, **more):
    """y = 3 + speed · t − 0.5 u, of which the description says what it `needs`."""
    y = Var("y", "output", needs=needs, at_start=needs)
    return make_fmu(path, (IN, y, SPEED), calc="v->y = 3 + v->speed * v->time - 0.5 * v->u;", **more)


def passing(path, **more):
    return make_fmu(path, (IN, Var("y", "output", needs=["u"])), calc="v->y = v->u;", **more)


def without_state(path):
    """The same FMU, which cannot save its state."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    description = entries["modelDescription.xml"].decode()
    for flag in ("canGetAndSetFMUstate", "canGetAndSetFMUState", "canSerializeFMUstate", "canSerializeFMUState"):
        description = description.replace(f'{flag}="true"', "")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, description if name == "modelDescription.xml" else content)


def loop(folder, needs, **more):
    """y = 3 + 2 t − 0.5 u and u = y."""
    gain(folder / "A.fmu", needs, **more)
    passing(folder / "B.fmu", **more)
    return write_system(folder / "loop", folder, {"A": "A", "B": "B"}, LOOP)


def simulated(system, **more):
    return ssptool.simulate(system, stop_time=1.0, step_size=0.05, keep=True, **{"isolated": False, **more})


@pytest.mark.parametrize("saves", [True, False], ids=["saves", "cannot save"])
@pytest.mark.parametrize("version", [2, 3])
def test_a_hidden_loop_is_found_and_solved(tmp_path, version, saves):
    system = loop(tmp_path, [], version=version, me=None)
    if not saves:
        for name in ("A", "B"):
            without_state(system / "resources" / f"{name}.fmu")
    result = simulated(system)
    trace = result.unwrap()
    np.testing.assert_allclose(trace["A.y"], (3 + 2 * trace.t) / 1.5, rtol=1e-12)
    np.testing.assert_allclose(trace["A.u"], trace["A.y"], rtol=1e-12)
    (warning,) = result.warnings
    assert (warning.code, warning.signal, warning.time, warning.size) == ("RUN-105", "A.y", 0.0, 1)
    assert "A.u" in warning.message
    assert result.initialization.loops
    assert "newton" in next(one.value for one in result.choices if one.setting == "init")


@pytest.mark.parametrize("needs", [["u"], None], ids=["declared", "undeclared"])
def test_who_denies_nothing_is_not_told(tmp_path, needs):
    result = simulated(loop(tmp_path, needs, me=None))
    np.testing.assert_allclose(result.unwrap()["A.y"][-1], 5 / 1.5, rtol=1e-12)
    assert result.warnings == ()


def test_a_child_process_finds_it_too_and_the_manifest_has_it(tmp_path):
    output = tmp_path / "r.csv"
    result = simulated(loop(tmp_path, [], me=None), isolated=True, output=output)
    assert result.unwrap()["A.y"][0] == pytest.approx(2.0, rel=1e-12)
    (stored,) = json.loads(Path(f"{output}.json").read_text())["warnings"]
    assert (stored["code"], stored["signal"]) == ("RUN-105", "A.y")


def test_model_exchange_counts_with_it(tmp_path):
    """x' = y − x along a loop that A denies: y = (3 + 2 t)/1.5, x from 0.5."""
    lag = (
        Var("u", "input", start=0.0),
        Var("x", "state", start=0.5),
        Var("dx", "der", of="x", needs=["u", "x"]),
        Var("y", "output", needs=["u"]),
    )
    gain(tmp_path / "A.fmu", [], cs=None)
    make_fmu(tmp_path / "B.fmu", lag, cs=None, calc="v->dx = v->u - v->x; v->y = v->u;")
    system = write_system(tmp_path / "loop", tmp_path, {"A": "A", "B": "B"}, LOOP)
    result = simulated(system, tolerance=1e-9)
    trace = result.unwrap()
    np.testing.assert_allclose(trace["A.y"], (3 + 2 * trace.t) / 1.5, rtol=1e-9)
    assert [one.code for one in result.warnings] == ["RUN-105"]


def test_a_chain_has_no_row_that_is_a_step_behind(tmp_path):
    """u = t is zero at the start, as the input of A; afterwards A.y = 3 + 2 t − 0.5 t."""
    clock = (Var("y", "output", needs=[]),)
    make_fmu(tmp_path / "T.fmu", clock, me=None, calc="v->y = v->time;")
    gain(tmp_path / "A.fmu", [], me=None)
    system = write_system(tmp_path / "chain", tmp_path, {"A": "A", "T": "T"}, [("T.y", "A.u")])
    result = simulated(system, start_values={"A.u": 0.0})
    trace = result.unwrap()
    np.testing.assert_allclose(trace["A.y"], 3 + 1.5 * trace.t, rtol=1e-12)
    assert [one.code for one in result.warnings] == ["RUN-105"]


def test_the_probe_leaves_no_trace(tmp_path):
    """An integrator that counts how often it has been given an input keeps neither count nor value of the probe."""
    variables = (
        Var("u", "input", start=0.0),
        Var("y", "output", start=0.5, initial="exact", needs=[]),
        Var("seen", "output", start=0.0, initial="exact", needs=[]),
    )
    step = "if (v->u > v->seen) v->seen = v->u; v->y += h * v->u; return OK;"
    make_fmu(tmp_path / "A.fmu", variables, me=None, step=step)
    make_fmu(tmp_path / "T.fmu", (Var("y", "output", needs=[]),), me=None, calc="v->y = 4.0;")
    system = write_system(tmp_path / "s", tmp_path, {"A": "A", "T": "T"}, [("T.y", "A.u")])
    result = simulated(system)
    trace = result.unwrap()
    np.testing.assert_allclose(trace["A.y"], 0.5 + 4 * trace.t, rtol=1e-14)
    assert trace["A.seen"][-1] == 4.0 and result.warnings == ()


def test_step_by_step_it_is_solved_as_well(tmp_path):
    system = loop(tmp_path, [], me=None)
    with ssptool.Simulation(system, stop_time=1.0, step_size=0.05) as simulation:
        assert simulation.get("A.y") == pytest.approx(2.0, rel=1e-12)
        simulation.step(4)
        assert simulation.get("A.y") == pytest.approx(3.4 / 1.5, rel=1e-12)
        with pytest.raises(NotSavable, match="feedthrough"):
            simulation.save(tmp_path / "state")
