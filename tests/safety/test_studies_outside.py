"""A study file of somebody else names no file beyond its folder, and writes none, unless the caller says so."""

import shutil
from pathlib import Path

import pytest

import ssptool
from ssptool.documents.diagnostics import BadData
from tests.safety.command_line import typed

pytest.importorskip("pyarrow")

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
SECRET = "password=hunter2"
HEAD = "[settings]\nstep_size = 0.01\nstop_time = 0.1\n[results]\npeak = 'max(\"System1.x1\")'\n"
FACTOR = '[factors]\n"System2.k2" = [5.0, 10.0]\n'
TABLE = HEAD + '[design]\nkind = "table"\nfile = "OUT"\n'
FILES = {
    "inputs": 'system = "plant"\ninputs = ["OUT"]\n' + HEAD + FACTOR,
    "parameters": 'system = "plant"\nparameters = ["OUT"]\n' + HEAD + FACTOR,
    "scenario": 'system = "plant"\nscenario = "OUT"\n' + HEAD + FACTOR,
    "table": 'system = "plant"\n' + TABLE,
    "factor": 'system = "plant"\n' + HEAD + '[factors]\nsets = {parameters = true, values = ["OUT"]}\n',
    "log": 'system = "plant"\n' + HEAD.replace("[settings]\n", '[settings]\nfmu_log = "OUT"\n') + FACTOR,
}
"""Key of a study → a study that names a file with it."""


@pytest.fixture
def received(tmp_path, monkeypatch):
    """A folder with a study of somebody else and a system; beside it is a secret, which is not the caller's to give."""
    folder = tmp_path / "world" / "received"
    shutil.copytree(SYSTEM, folder / "plant", ignore=shutil.ignore_patterns("fmi?", "no_flange"))
    for variant in (folder / "plant").glob("*.ssd"):
        if variant.name != "SystemStructure.ssd":
            variant.unlink()
    (tmp_path / "world" / "secret.csv").write_text(f"time,{SECRET}\n0,1\n1,2\n", encoding="utf-8")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder


def ways(folder):
    """Names of the secret: from the folder, absolute, and through a link."""
    secret = folder.parent / "secret.csv"
    (folder / "innocent.csv").symlink_to(secret)
    return ["../secret.csv", str(secret), "innocent.csv", "plant/../../secret.csv"]


@pytest.mark.parametrize("key", FILES)
def test_a_study_reaches_no_file_beyond_its_folder(received, key):
    secret = (received.parent / "secret.csv").read_bytes()
    for way in ways(received):
        study = received / "a.toml"
        study.write_text(FILES[key].replace("OUT", way), encoding="utf-8")
        with pytest.raises(BadData, match="outside the folder of the study") as problem:
            ssptool.study(study, "results")
        assert "hunter2" not in str(problem.value)
    assert (received.parent / "secret.csv").read_bytes() == secret
    assert [one.name for one in received.parent.iterdir() if one.name.startswith("secret")] == ["secret.csv"]


def test_a_calibration_reads_no_measurement_beyond_its_folder(received):
    study = received / "a.toml"
    ranges = '[factors]\n"System2.k2" = {low = 5.0, high = 15.0}\n[calibration]\n'
    for way in ways(received):
        study.write_text(f'system = "plant"\n{HEAD}{ranges}data = "{way}"\n', encoding="utf-8")
        with pytest.raises(BadData, match="outside the folder of the study") as problem:
            ssptool.calibrate(study)
        assert "hunter2" not in str(problem.value)


def test_files_of_the_folder_of_the_caller_and_of_its_work_are_read(received, monkeypatch):
    table = "System2.k2\n5\n10\n"
    (received / "points.csv").write_text(table, encoding="utf-8")
    study = received / "a.toml"
    study.write_text('system = "plant"\n' + TABLE.replace("OUT", "points.csv"), encoding="utf-8")
    assert ssptool.study(study, "results").status.completed == 2
    (received.parent / "points.csv").write_text(table, encoding="utf-8")
    study.write_text('system = "plant"\n' + TABLE.replace("OUT", "../points.csv"), encoding="utf-8")
    assert ssptool.study(study, "allowed", allow_outside=received.parent).status.completed == 2
    assert typed("study", study, "--output", "typed", "--allow-outside", received.parent).code == 0
    monkeypatch.chdir(received.parent)
    assert ssptool.study(study, "work").status.completed == 2


@pytest.mark.parametrize(("command", "least"), [("run", 3), ("calibrate", 1)])
def test_the_command_line_lists_all_errors_of_a_study_that_functions_list(received, command, least):
    study = received / "a.toml"
    errors = '[traces]\nevery = "often"\n[calibration]\ndata = "m.csv"\n'
    study.write_text(
        f'system = "plant"\n{HEAD.replace("0.01", "-0.01")}[factors]\n"No.where" = [1.0]\n{errors}', encoding="utf-8"
    )
    with pytest.raises(BadData) as listed:
        (ssptool.study if command == "run" else ssptool.calibrate)(study)
    places = [line.split(": ")[0] for line in str(listed.value).splitlines()[1:]]
    done = typed("study", command, study)
    assert len(places) >= least and [place for place in places if place.strip() not in done.err] == []
