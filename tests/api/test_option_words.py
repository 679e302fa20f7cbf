"""Types of the Python API: words are the same as at run time, and type checkers find mistakes in a script."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from ssptool import option_words
from ssptool.arguments import AccuracyName
from ssptool.editing.versions import Version
from ssptool.engine import method_names
from ssptool.engine.settings import EACH
from ssptool.engine.stimuli.time_signals import Action, Interpolation
from ssptool.exporting.capabilities import ExportInterface
from ssptool.option_words import DrawnConnections, Highlight, Sharing, Types
from ssptool.studies.charts import ChartKind
from ssptool.studies.first_draft import StudyKind

ROOT = Path(__file__).parents[2]
WORDS = {
    "MasterWord": method_names.words(),
    "AccelerationWord": method_names.AccelerationName,
    "ApproximationWord": method_names.ApproximationName,
    "InitWord": method_names.InitName,
    "ExchangeWord": method_names.ExchangeName,
    "ImplementationWord": method_names.ImplementationName,
    "IntegratorWord": method_names.IntegratorName,
    "WarningsWord": method_names.WarningsName,
    "FmuLogWord": method_names.FmuLogLevel,
    "ProcessesWord": (EACH,),
    "InterpolationWord": Interpolation,
    "ActionWord": Action,
    "AccuracyWord": AccuracyName,
    "HighlightWord": Highlight,
    "ConnectionsWord": DrawnConnections,
    "SharedWord": Sharing,
    "SspWord": Version,
    "TypesWord": Types,
    "InterfaceWord": ExportInterface,
    "ChartWord": ChartKind,
    "StudyWord": StudyKind,
}


def test_words_of_type_checkers_are_those_of_the_program():
    stated = {name: get_args(kind) for name, kind in vars(option_words).items() if name.endswith("Word")}
    assert stated == {name: tuple(map(str, words)) for name, words in WORDS.items()}


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "ssptool/py.typed").is_file()


SCRIPT = """
from pathlib import Path

import numpy as np
import ssptool
from ssptool.exceptions import InvalidSystem


def load(t: float) -> float:
    return 2.5 * t


def main(plant: Path) -> float:
    report = ssptool.validate(plant, strict=True)
    if not report:
        print(report)
    try:
        result = ssptool.simulate(
            plant,
            stop_time="10ms",
            init="fixed-point",
            start_values={"System1.m1": 2.5, "System1.p": [1, 2, 3], "System2.q": np.eye(2)},
            inputs={"push": load, "pull": 3.5, "shift": ssptool.types.Table([0.0, 1.5], [2.0, 3.0], "hold")},
            interpolation={"shift": "hold"},
            accuracy=1e-3,
            record=["*.x1"],
        )
    except InvalidSystem as problem:
        print(problem.report)
        raise
    for name, values in result.items():
        print(name, values.max(), result.units[name])
    print(result.manifest["created"], result.accuracy, result.warnings, len(result), "System1.x1" in result)
    settings = ssptool.Settings(stop_time="2min", acceleration="iqn-ils", step_size=1e-3)
    plan = ssptool.plan(plant, settings=settings, variant="heavy", master="jacobi")
    print(plan, ssptool.explain(plant, "System1.m1"), ssptool.graph(plant), ssptool.info(plant))
    with ssptool.Simulation(plant, stop_time=1.0) as run:
        run["System2.k3"] = 12.5
        run.run_until("0.5s")
        print(run["System1.x1"], run.time)
    with ssptool.edit(plant, shared="copy") as system:
        system.set({"System1.m1": 2.5}).connect("System1.x1", "System2.x1", factor=2.5)
    study = ssptool.study({"system": str(plant), "factors": {"System2.k2": [5, 10]}}, "out")
    print(study["peak"].mean(), study.optimum())
    ssptool.plot({"first": result, "second": "other.csv"}, "both.svg", signals="*.x1")
    return float(result["System1.x1"][-1])
"""
MISTAKES = {
    "strict=True": "strikt=True",
    'master="jacobi"': 'master="jacoby"',
    "result.warnings": "result.warnigns",
}


def wrong_lines(script: str) -> set[int]:
    """Numbers of the lines with a planted mistake."""
    return {number for number, line in enumerate(script.splitlines(), 1) if any(m in line for m in MISTAKES.values())}


@pytest.fixture(params=["correct", "wrong"])
def script(request, tmp_path):
    text = SCRIPT
    for right, wrong in MISTAKES.items() if request.param == "wrong" else ():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    (tmp_path / "script.py").write_text(text, encoding="utf-8")
    return tmp_path / "script.py"


def test_mypy_finds_the_mistakes_of_a_script_and_nothing_else(script):
    """With the options of `make types`, which has examined the package then: what mypy knows of it is used again."""
    options = ["--no-error-summary", "--no-pretty", "--hide-error-context", "--platform", sys.platform]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--cache-dir", ROOT / f"build/mypy-{sys.platform}", script],
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode < 2, done.stdout + done.stderr
    errors = [line for line in done.stdout.splitlines() if "script.py:" in line and ": error: " in line]
    found = {int(line.split(".py:")[1].split(":")[0]) for line in errors}
    assert found == wrong_lines(script.read_text(encoding="utf-8")), done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright (a package of npm) is not installed")
def test_pyright_finds_the_mistakes_of_a_script_and_nothing_else(script):
    config = {"extraPaths": [str(ROOT)], "pythonVersion": "3.11", "typeCheckingMode": "standard", "venv": ".venv"}
    (script.parent / "pyrightconfig.json").write_text(json.dumps({**config, "venvPath": str(ROOT)}), encoding="utf-8")
    done = subprocess.run(
        ["pyright", "--outputjson", "script.py"], capture_output=True, text=True, cwd=script.parent, check=False
    )
    findings = json.loads(done.stdout)["generalDiagnostics"]
    found = {one["range"]["start"]["line"] + 1 for one in findings if one["severity"] == "error"}
    assert found == wrong_lines(script.read_text(encoding="utf-8")), done.stdout
