"""FMUs whose library has one static instance and does not say so: components have their own all the same."""

import numpy as np
import pytest

import ssptool
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system
from tests.exporting.fmus import exported, in_fmpy

STATIC = "\n#define ONE_INSTANCE\n"
RATE = 2.0


@pytest.fixture
def folder(tmp_path, version):
    """x' = −2 x from a start of its own, alone or twice."""
    variables = [
        *(Var("x0", "parameter", start=1.5), Var("x", "state", start=0.0), Var("dx", "der", of="x", needs=["x"])),
        Var("y", "output", needs=["x"]),
    ]
    calc = f"v->dx = -{RATE} * (v->x + v->x0); v->y = v->x + v->x0;"
    make_fmu(tmp_path / "Lag.fmu", variables, version=version, me=None, own=STATIC, calc=calc)
    return tmp_path


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("isolated", [False, True])
def test_each_component_has_an_instance_of_its_own(folder, isolated):
    system = write_system(folder / "system", folder, {"A": "Lag", "B": "Lag", "C": "Lag"}, [])
    starts = {"A.x0": 1.5, "B.x0": -4.0, "C.x0": 7.0}
    result = ssptool.simulate(system, start_values=starts, step_size=0.01, isolated=isolated)
    trace = result.unwrap()
    for name, start in starts.items():
        exact = start * np.exp(-RATE * trace.t)
        assert trace[f"{name[0]}.y"] == pytest.approx(exact, rel=1e-6)
    told = [note for note in result.notes if "separate process" in note]
    assert [one.split(" returned")[0] for one in told] == ["the FMU of B", "the FMU of C"]


@pytest.mark.parametrize("version", [2, 3])
def test_alone_it_stays_in_the_process(folder):
    system = write_system(folder / "system", folder, {"A": "Lag"}, [])
    result = ssptool.simulate(system, step_size=0.01)
    assert not any("separate process" in note for note in result.notes)
    assert result["A.y"][-1] == pytest.approx(1.5 * np.exp(-RATE), rel=1e-6)


@pytest.mark.parametrize("version", [2, 3])
def test_an_exported_system_refuses_to_be_instantiated(folder, capfd):
    """It has no other process; wrong values would be silent."""
    system = write_system(folder / "system", folder, {"A": "Lag", "B": "Lag"}, [])
    fmu = exported(system, folder)
    with pytest.raises(Exception, match="instantiate"):
        in_fmpy(fmu, 0.1)
