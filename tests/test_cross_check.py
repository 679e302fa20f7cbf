"""The cross-check of a folder: each kind of case gets its verdict, and none stops the others."""

import csv
import json
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool import sandbox
from tests.cli.browser import CHROMIUM, browser, violations
from tests.fmus.build import HANG, WRITE_TO_NULL, build

SCRIPT = Path(__file__).parents[1] / "docs" / "cross_check.py"
T = np.linspace(0, 2, 201)
LAG = 3 * (1 - np.exp(-T))
"""y' = 3 - y, y(0) = 0: for u = 3."""

FMI1 = """<fmiModelDescription fmiVersion="1.0" modelName="Old" modelIdentifier="Old" guid="{0}"
    numberOfContinuousStates="0" numberOfEventIndicators="0"><DefaultExperiment startTime="0" stopTime="1"/>
  <ModelVariables><ScalarVariable name="y" valueReference="0" causality="output"><Real/></ScalarVariable>
  </ModelVariables></fmiModelDescription>"""


def write_table(file, **columns):
    with file.open("w", newline="") as target:
        csv.writer(target).writerows(
            [columns, *zip(*(np.asarray(one).tolist() for one in columns.values()), strict=True)]
        )


def lag(path, reference=None, **names):
    """The lag as an FMU, with inputs, options, and a reference for y."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((build() / "fmi2" / "Misbehaving.fmu").read_bytes())
    write_table(path.with_name(f"{path.stem}_in.csv"), time=[0, 2], u=[3, 3])
    path.with_name(f"{path.stem}_ref.opt").write_text("StartTime, 0\nStopTime, 2\nStepSize, 0.01\nRelTol, 1e-8\n")
    if reference is not None:
        write_table(path.with_name(f"{path.stem}_ref.csv"), **{"time": T, **names, "y": reference})


def system(path, what=0):
    """Two lags in a row; the second one misbehaves from 0.5 s on."""
    fmu = build() / "fmi3" / "Misbehaving.fmu"
    with ssptool.new(path, stop_time=1) as made:
        made.add(fmu, name="A").add(fmu, name="B").connect("A.y", "B.u")
        made.set("B.what", what).set("B.when", 0.5)


def checked(folder, *options):
    """Exit status, and cases by their names."""
    output = folder / "out"
    command = [sys.executable, SCRIPT, folder / "in", "--output", output, *options]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert not done.stderr
    verdicts = json.loads((output / "verdicts.json").read_text())
    return done.returncode, {case["name"]: case for case in verdicts["cases"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cross-check")
    cases = folder / "in"
    lag(cases / "cs" / "Lag.fmu", LAG)
    lag(cases / "me" / "Lag.fmu", LAG)
    lag(cases / "Deviates.fmu", 1.1 * LAG)
    lag(cases / "Lacks.fmu", LAG, z=LAG)
    lag(cases / "Alone.fmu")
    lag(cases / "Unclear.fmu")
    (cases / "Unclear_ref.opt").write_text("StopTime, soon\n")
    with zipfile.ZipFile(cases / "Alone.fmu") as made, zipfile.ZipFile(cases / "Bare.fmu", "w") as bare:
        bare.writestr("modelDescription.xml", made.read("modelDescription.xml"))
    with zipfile.ZipFile(cases / "Old.fmu", "w") as old:
        old.writestr("modelDescription.xml", FMI1)
    (cases / "Torn.fmu").write_bytes(b"PK")
    system(cases / "Crashes.ssp", WRITE_TO_NULL)
    system(cases / "Unpacked")
    system(cases / "Good.ssp")
    t = np.linspace(0, 1, 201)
    write_table(cases / "Good_ref.csv", **{"time": t, "A.y": 1 - np.exp(-t), "B.y": 1 - (1 + t) * np.exp(-t)})
    return folder, *checked(folder)


def test_each_case_has_its_verdict_and_none_stops_the_others(run):
    _, status, cases = run
    assert status == 1
    assert {name: case["verdict"] for name, case in cases.items()} == {
        "Alone.fmu": "ran",
        "Bare.fmu": "not for this platform",
        "Crashes.ssp": "failed",
        "Deviates.fmu": "failed",
        "Good.ssp": "passed",
        "Lacks.fmu": "failed",
        "Old.fmu": "rejected",
        "Torn.fmu": "rejected",
        "Unclear.fmu": "rejected",
        "Unpacked/SystemStructure.ssd": "ran",
        "cs/Lag.fmu": "passed",
        "me/Lag.fmu": "passed",
    }
    assert [cases[f"{kind}/Lag.fmu"]["interface"] for kind in ("cs", "me")] == ["co-simulation", "model exchange"]


def test_a_verdict_has_its_reason(run):
    _, _, cases = run
    assert "model exchange of FMI 1.0" in cases["Old.fmu"]["text"]
    assert "Unclear_ref.opt: could not convert" in cases["Unclear.fmu"]["text"]
    assert "no binaries at all" in cases["Bare.fmu"]["text"]
    assert "crashed" in cases["Crashes.ssp"]["text"] and "B" in cases["Crashes.ssp"]["text"]
    (signal,) = cases["Deviates.fmu"]["signals"]
    assert signal["deviation"] == pytest.approx(0.1 * LAG[-1], rel=1e-3)
    assert signal["half_width"] == pytest.approx(1.1e-3 * LAG[-1], rel=1e-6)
    assert {one["signal"]: one["verdict"] for one in cases["Lacks.fmu"]["signals"]} == {"z": "missing", "y": "agrees"}


def test_results_are_called_as_the_variables_and_a_failed_comparison_has_a_picture(run):
    folder, _, cases = run
    output = folder / "out"
    names = "cs/Lag.fmu/Lag_out.csv", "Crashes.ssp/Crashes_out.csv"
    traces = [ssptool.read_trace(output / name) for name in names]
    assert ssptool.compare(traces[0], folder / "in" / "cs" / "Lag_ref.csv")
    assert 0.4 < traces[1].t[-1] < 0.5
    assert {name for name, case in cases.items() if case["picture"]} == {"Deviates.fmu"}
    assert (output / cases["Deviates.fmu"]["picture"]).read_text().startswith("<?xml")


@browser
def test_the_page_has_all_cases_and_is_accessible(run):
    folder, _, cases = run
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engines:
        chromium = engines.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for scheme in ("light", "dark"):
            page = chromium.new_page(color_scheme=scheme)
            page.goto((folder / "out" / "index.html").as_uri())
            assert page.locator("tbody th").all_inner_texts() == list(cases)
            assert page.evaluate("[...document.images].every(one => one.naturalWidth > 100)")
            assert violations(page) == []
        chromium.close()


def test_an_fmu_that_hangs_costs_no_more_than_the_limit(tmp_path):
    (tmp_path / "in").mkdir()
    system(tmp_path / "in" / "Hangs.ssp", HANG)
    status, cases = checked(tmp_path, "--timeout", "3")
    assert (status, cases["Hangs.ssp"]["verdict"]) == (1, "failed")
    assert "time" in cases["Hangs.ssp"]["text"] and cases["Hangs.ssp"]["seconds"] < 30


@pytest.mark.parametrize("option", ["--relative=-1", "--timeout=soon", "--timeout=inf"])
def test_an_impossible_option_is_refused_before_the_first_case(option, tmp_path):
    command = [sys.executable, str(SCRIPT), str(tmp_path), "--output", str(tmp_path / "out"), option]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, (tmp_path / "out").exists()) == (2, False)
    assert option.partition("=")[0] in done.stderr.splitlines()[-1]


def test_the_sandbox_of_the_environment_counts(tmp_path, monkeypatch):
    """An environment without namespaces, and a sandbox that nobody has typed."""
    lag(tmp_path / "in" / "Alone.fmu")
    for said, verdict in (("1", "rejected"), ("0", "ran")):
        monkeypatch.setenv("SSPTOOL_SANDBOX", said)
        module = runpy.run_path(str(SCRIPT))
        monkeypatch.setattr(sandbox, "missing_layers", lambda: {sandbox.NAMESPACES: "they are not here"})
        module["main"]([str(tmp_path / "in"), "--output", str(tmp_path / "out")])
        (case,) = json.loads((tmp_path / "out" / "verdicts.json").read_text())["cases"]
        assert case["verdict"].startswith(verdict), case
