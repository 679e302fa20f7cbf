"""An FMU that is good for co-simulation only runs so, although it offers model exchange, which is the default."""

import json
import zipfile
from math import exp

import pytest

import ssptool
from ssptool.studies.study_file import study_from
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

VARIABLES = [
    Var("k", "parameter", start=2.0),
    Var("x", "state", start=3.0),
    Var("der_x", "der", of="x", needs=["x"]),
    Var("y", "output", needs=["x"]),
]
CALC = "v->der_x = -v->k * v->x; v->y = 5 * v->x + 1;"
FAILED = "model exchange failed before its first step"


def system(folder, completed="return OK;"):
    make_fmu(folder / "A.fmu", VARIABLES, calc=CALC, completed=completed)
    return write_system(folder / "system", folder, {"A": "A"}, [], implementation="any")


def by_steps(result):
    return next(one.value for one in result.choices if one.setting == "implementation") == "co-simulation"


@pytest.fixture
def broken(tmp_path):
    return system(tmp_path, "return ERROR;")


def test_a_good_one_is_integrated(tmp_path):
    result = ssptool.simulate(system(tmp_path))
    assert result.ok and not by_steps(result)
    assert result["A.y"][-1] == pytest.approx(15 * exp(-2) + 1, rel=1e-6)


@pytest.mark.parametrize("isolated", [False, True])
def test_a_refused_call_leads_to_co_simulation(broken, tmp_path, isolated):
    file = tmp_path / "results.csv"
    result = ssptool.simulate(broken, start_values={"A.k": 1.5}, isolated=isolated, output=file, accuracy="check")
    assert result.ok and by_steps(result) and result.accuracy.method == "halved"
    assert result["A.y"][-1] == pytest.approx(15 * exp(-1.5) + 1, rel=1e-6)
    assert sum(FAILED in note for note in result.notes) == 1
    manifest = json.loads(file.with_suffix(".csv.json").read_text())
    assert manifest["settings"]["implementation"] == "cs" and ssptool.reproduce(file).same


def test_a_crash_of_the_child_process_leads_to_co_simulation(tmp_path):
    result = ssptool.simulate(system(tmp_path, "abort(); return OK;"), isolated=True)
    assert result.ok and by_steps(result)


def test_what_was_asked_for_fails(broken):
    assert not ssptool.simulate(broken, implementation="me").ok


def test_a_simulation_that_is_stepped_by_a_program(tmp_path):
    """The library of model exchange is not in the FMU."""
    with zipfile.ZipFile(make_fmu(tmp_path / "whole.fmu", VARIABLES, calc=CALC)) as whole:
        content = {name: whole.read(name) for name in whole.namelist()}
    description = content["modelDescription.xml"].decode()
    other = description.replace('<ModelExchange modelIdentifier="whole"', '<ModelExchange modelIdentifier="missing"')
    assert other != description
    with zipfile.ZipFile(tmp_path / "A.fmu", "w") as archive:
        for name, data in {**content, "modelDescription.xml": other.encode()}.items():
            archive.writestr(name, data)
    folder = write_system(tmp_path / "system", tmp_path, {"A": "A"}, [], implementation="any")
    assert ssptool.simulate(folder).ok
    with ssptool.Simulation(folder, record="A.y", step_size=0.125) as run:
        run.run_until(0.5)
        assert run.trace["A.y"][-1] == pytest.approx(15 * exp(-1) + 1, rel=1e-4)


def test_runs_of_a_study_keep_their_factors(broken, tmp_path):
    factors, results = {"A.k": [1.0, 3.0]}, {"end": 'final("A.y")'}
    study = study_from({"system": str(broken), "factors": factors, "results": results})
    ends = ssptool.study(study, tmp_path / "out").table()["end"].to_pylist()
    assert sorted(ends) == pytest.approx([15 * exp(-3) + 1, 15 * exp(-1) + 1], rel=1e-6)
