"""Every command that runs FMUs does so in a sandbox if that is wanted, also where it is only the default."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import ssptool
from ssptool import sandbox
from ssptool.engine.failure import Ending
from ssptool.errors import ContradictingSettings
from tests.engine.systems import write_system
from tests.fmus import build as fmus
from tests.safety.test_left_processes import LEFT, happens, left, no_process_left  # noqa: F401
from tests.safety.test_sandbox import closable

pytestmark = pytest.mark.one_in(3)

pytest.importorskip("pyarrow")


@pytest.fixture
def curious(tmp_path, monkeypatch):
    """A folder with a secret, and a system that tries to reach it after 0.5 s."""
    components = {"Good": "Misbehaving", "Bad": "Misbehaving"}
    write_system(tmp_path / "s", fmus.build() / "fmi2", components, [("Good.y", "Bad.u")])
    monkeypatch.chdir(tmp_path)
    Path("secret").write_text("secret", encoding="utf-8")
    gate = socket.socket(socket.AF_UNIX)
    gate.bind("gate")
    gate.listen()
    yield tmp_path
    gate.close()


def study(what=fmus.REACH_OUT, **more):
    return {
        "system": "s",
        "settings": {"step_size": 0.01},
        "start_values": {"Bad.what": float(what), "Bad.when": 0.5},
        "factors": {"Good.u": {"low": 1.0, "high": 2.0, "count": 3}},
        "results": {"y": 'final("Good.y")'},
        **more,
    }


@closable
def test_runs_of_a_study_reach_nothing(curious):
    inside = ssptool.study(study(), "inside", sandbox=True)
    assert inside.status.ok and not Path("reached").exists()
    again = ssptool.studies.resume_study("inside", sandbox=True)
    assert again.status.completed == 3
    outside = ssptool.study(study(), "outside", sandbox=False)
    assert not outside.status.ok


@closable
def test_values_in_a_sandbox_are_those_outside(curious):
    inside = ssptool.study(study(fmus.NOTHING), "inside", sandbox=True)
    outside = ssptool.study(study(fmus.NOTHING), "outside")
    assert [one["y"] for one in inside.rows()] == [one["y"] for one in outside.rows()]
    assert all(0.5 < one["y"] < 2 for one in inside.rows())


@closable
def test_sweeps_and_calibrations_reach_nothing(curious, monkeypatch):
    monkeypatch.setenv(sandbox.DEFAULT, "1")
    swept = ssptool.sweep(
        "s", {"Good.u": [1.0, 2.0], "Bad.what": [float(fmus.REACH_OUT)], "Bad.when": [0.5]}, 'max("Good.y")'
    )
    assert swept.status.ok
    ranges = {"Good.u": {"low": 0.5, "high": 4.0}}
    fit = ssptool.calibrate(study(factors=ranges), targets={"y": 1.3})
    assert fit.converged and not Path("reached").exists()


@closable
def test_a_sandbox_can_be_the_default(curious, monkeypatch):
    start = {"Bad.what": float(fmus.REACH_OUT), "Bad.when": 0.5}
    monkeypatch.setenv(sandbox.DEFAULT, "1")
    assert ssptool.simulate("s", start_values=start).ok and not Path("reached").exists()
    assert ssptool.simulate("s", start_values=start, sandbox=False, isolated=True).failure.ending is Ending.CRASHED
    command = [str(Path(sys.executable).with_name("ssptool")), "run", "s", "-o", "a.csv"]
    values = [f"--set={name}={value}" for name, value in start.items()]
    assert subprocess.run([*command, *values], capture_output=True, check=False).returncode == 0
    refused = subprocess.run([*command, "--in-process"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "isolat" in refused.stderr


@closable
def test_messages_of_fmus_cannot_be_written_by_a_study_in_a_sandbox(curious):
    settings = {"step_size": 0.01, "fmu_log": "log.csv"}
    with pytest.raises(ContradictingSettings, match="fmu_log"):
        ssptool.study(study(settings=settings), "inside", sandbox=True)


@closable
def test_the_studio_runs_fmus_in_a_sandbox(curious):
    pytest.importorskip("starlette")
    from ssptool.studio.calls import PageCalls
    from ssptool.studio.session import EditSession

    values = (f"Bad.what={fmus.REACH_OUT}", "Bad.when=0.5")
    subprocess.run([Path(sys.executable).with_name("ssptool"), "set", "s", *values], check=True, capture_output=True)
    for boxed, status in ((True, "completed"), (False, "the process of the FMUs crashed")):
        calls = PageCalls(EditSession(Path("s"), sandbox=boxed), lambda _: None)
        calls.call("run", {"settings": {}})
        run = calls._runs._runs[0]
        run.ended.wait(120)
        assert run.status == status
        calls.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has guards")
@pytest.mark.usefixtures("no_process_left")
@pytest.mark.parametrize("boxed", [False, pytest.param(True, marks=closable)])
def test_what_runs_of_a_study_start_ends_with_it(curious, boxed):
    done = ssptool.study(study(fmus.LEAVE_BEHIND), "results", sandbox=boxed)
    assert done.status.ok and not left()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has guards")
@pytest.mark.usefixtures("no_process_left")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_runs_have_started_ends_with_a_killed_study(curious, number):
    values = {"Bad.what": float(fmus.LEAVE_BEHIND), "Bad.when": 0.1, "Good.what": float(fmus.HANG), "Good.when": 0.5}
    text = "\n".join(
        (
            'system = "s"\n[start_values]',
            *(f'"{name}" = {value}' for name, value in values.items()),
            '[factors]\n"Good.u" = [1.0, 2.0]\n[results]\ny = \'final("Good.y")\'\n',
        )
    )
    Path("a.toml").write_text(text, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("ssptool")), "study", "a.toml"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert happens(lambda: len(left()) >= LEFT)
    os.kill(process.pid, number)
    process.wait(60)
    assert happens(lambda: not left())


def marked(path):
    """Mark a file as browsers mark downloads."""
    try:
        os.setxattr(path, "user.xdg.origin.url", f"https://example.org/{path.name}".encode())
    except OSError:
        pytest.skip("this file system keeps no attributes")


def said(*words):
    done = subprocess.run(
        [Path(sys.executable).with_name("ssptool"), *words], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr


@closable
def test_a_downloaded_system_gets_a_line_of_advice(curious):
    said("pack", "s", "s.ssp")
    marked(Path("s.ssp"))
    run = ("run", "s.ssp", "--stop-time", "0.1", "-o", "a.csv")
    advised = said(*run)
    assert "https://example.org/s.ssp" in advised and "--sandbox" in advised
    assert "example.org" not in said(*run, "--sandbox") + said(*run, "--no-sandbox") + said(*run, "--in-process")


@closable
def test_what_is_downloaded_is_found_in_folders_and_behind_studies_and_results(curious, monkeypatch):
    said("run", "s", "--stop-time", "0.1", "-o", "a.csv")
    marked(Path("s", "resources", "Misbehaving.fmu"))
    text = 'system = "s"\nsettings.stop_time = 0.1\n[factors]\n"Good.u" = [1.0]\n[results]\ny = \'final("Good.y")\'\n'
    Path("a.toml").write_text(text, encoding="utf-8")
    marked(Path("a.csv"))
    for words, name in (
        (("run", "s", "--stop-time", "0.1", "-o", "b.csv"), "Misbehaving.fmu"),
        (("study", "a.toml"), "Misbehaving.fmu"),
        (("plan", "s", "--stability"), "Misbehaving.fmu"),
        (("reproduce", "a.csv"), "a.csv"),
    ):
        assert f"https://example.org/{name}" in said(*words), words
    monkeypatch.setenv(sandbox.DEFAULT, "0")  # somebody has decided
    assert "example.org" not in said("run", "s", "--stop-time", "0.1", "-o", "b.csv")


def test_where_there_is_no_sandbox_the_advice_says_so(curious, monkeypatch):
    marked(Path("s", "SystemStructure.ssd"))
    for lacking, told in (
        ((), "--sandbox keeps"),
        ((sandbox.NAMESPACES,), "--sandbox=best keeps its FMUs from your files"),
        ((sandbox.NAMESPACES, sandbox.LANDLOCK), "no sandbox here"),
    ):
        monkeypatch.setattr(sandbox, "missing_layers", lambda lacking=lacking: dict.fromkeys(lacking, "it is not here"))
        line = sandbox.advice([Path("s")], None)
        assert told in line and ("network" in line) == (not lacking)
