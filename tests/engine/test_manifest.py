"""The manifest of a run: what went in, what was decided, how it went."""

import hashlib
import json

import pytest

import ssptool
from ssptool import Settings, read_manifest
from ssptool.engine.recording.formats import FORMATS
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.manifest import Input, Provenance
from tests.engine.dual_mass import RESOURCES, Folder, oscillator
from tests.engine.running import run


@pytest.mark.parametrize("ending", FORMATS)
def test_a_manifest_travels_with_every_file(tmp_path, ending):
    if package := FORMATS[ending].package:
        pytest.importorskip(package)
    path = tmp_path / f"run{ending}"
    fmu = RESOURCES / "System1.fmu"
    plan = make_plan(oscillator(), Settings(stop_time=0.1, step_size=0.01, master="jacobi"))
    run(plan, Folder(), output=path, provenance=Provenance([Input("resources/System1.fmu", fmu)]))
    facts = read_manifest(path)
    assert facts["status"] == "completed"
    assert facts["interval"] == {"start": 0.0, "stop": 0.1, "step": 0.01}
    assert facts["settings"]["master"] == "jacobi"
    assert {"setting", "value", "reason"} <= set(facts["choices"][0])
    assert facts["columns"][0]["signal"] == "System1.F"
    assert facts["statistics"]["steps"] == 10
    assert facts["versions"]["ssptool"] == ssptool.__version__
    assert facts["versions"]["numpy"]
    digest = hashlib.sha256(fmu.read_bytes()).hexdigest()
    assert facts["inputs"] == [{"name": "resources/System1.fmu", "sha256": digest}]


def test_a_failed_run_says_why_in_its_manifest(tmp_path):
    path = tmp_path / "run.csv"
    plan = make_plan(oscillator(System2__k2=1e4), Settings(stop_time=1.0, step_size=0.1, acceleration="none"))
    run(plan, Folder(), output=path)
    facts = read_manifest(path)
    assert facts["status"] == facts["failure"]["ending"] == "the iteration of a macro step did not converge"
    json.dumps(facts)
