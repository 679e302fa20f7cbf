"""`ssptool run` with an FMU that takes the process along."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from pytest import approx

from ssptool import read_manifest, read_trace
from ssptool.cli.app import command as run_command
from tests.engine.carriers import build as build_carriers
from tests.fmus import build as fmus
from tests.waiting import PATIENCE

SYSTEM = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription version="1.0" name="Lag"
    xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon">
  <ssd:System name="Lag">
    <ssd:Elements>
      <ssd:Component name="Bad" type="application/x-fmu-sharedlibrary" implementation="CoSimulation"
          source="resources/Misbehaving.fmu">
        <ssd:Connectors>
          <ssd:Connector name="u" kind="input"><ssc:Real unit="1"/></ssd:Connector>
          <ssd:Connector name="y" kind="output"><ssc:Real unit="1"/></ssd:Connector>
          <ssd:Connector name="what" kind="parameter"><ssc:Real unit="1"/></ssd:Connector>
          <ssd:Connector name="when" kind="parameter"><ssc:Real unit="s"/></ssd:Connector>
        </ssd:Connectors>
      </ssd:Component>
    </ssd:Elements>
  </ssd:System>
  <ssd:Units>
    <ssc:Unit name="1"><ssc:BaseUnit/></ssc:Unit>
    <ssc:Unit name="s"><ssc:BaseUnit s="1"/></ssc:Unit>
  </ssd:Units>
  <ssd:DefaultExperiment startTime="0" stopTime="1"/>
</ssd:SystemStructureDescription>
"""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "lag"
    (folder / "resources").mkdir(parents=True)
    (folder / "SystemStructure.ssd").write_text(SYSTEM, encoding="utf-8")
    shutil.copy(fmus.build() / "fmi2" / "Misbehaving.fmu", folder / "resources")
    return folder


@pytest.fixture
def misbehave(folder, monkeypatch, capsys, tmp_path):
    """Run the system, in which Bad misbehaves from t = 0.455 s on; gives exit status, output and complaints."""
    monkeypatch.chdir(tmp_path)

    def call(what, *arguments):
        given = ["--set", f"Bad.what={what}", "--set", "Bad.when=0.455", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", ["ssptool", "run", str(folder), *given])
        with pytest.raises(SystemExit) as ending:
            run_command()
        printed = capsys.readouterr()
        return int(ending.value.code or 0), printed.out, printed.err

    return call


@pytest.mark.parametrize(
    ("what", "arguments", "words"),
    [
        (fmus.WRITE_TO_NULL, [], "SIGSEGV"),
        (fmus.HANG, ["--step-timeout", 1.5], "1.5 s"),
        (fmus.EAT_MEMORY, ["--memory-limit", 400], "400 MiB"),
        (fmus.NOT_A_NUMBER, [], "nan"),
    ],
)
def test_a_run_that_an_fmu_ruins_says_so_and_exits_with_1(misbehave, tmp_path, what, arguments, words):
    status, out, err = misbehave(what, "--output", "r.csv", *arguments)
    assert (status, err) == (1, "")
    # Of the value, which has a row, or of the last row before.
    time, rows = ("at t = 0.46 s", 47) if what == fmus.NOT_A_NUMBER else ("at t = 0.45 s", 46)
    for word in ("Bad", time, "fmi2", words, "r.csv", f"{rows} rows"):
        assert word in out
    assert len(read_trace(tmp_path / "r.csv")) == rows


def test_what_an_fmu_prints_is_not_among_the_results_and_not_lost(folder, tmp_path):
    """It stands in the buffer of the C library when the FMUs' process ends."""
    command = [sys.executable, "-c", "from ssptool.cli.main import main; main()", "run", folder, "--statistics", "json"]
    command += ["--output", "r.csv", "--set", f"Bad.what={fmus.PRINT}", "--set", "Bad.when=0.455"]
    done = subprocess.run(list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["rows"] == 101
    assert "says the FMU;" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet", "mat"])
@pytest.mark.parametrize("how", [[], ["--in-process"]], ids=["isolated", "in-process"])
def test_an_fmu_that_goes_to_another_working_directory_takes_no_file_along(folder, tmp_path, ending, how):
    """System, results and picture are named relative to where the command was given."""
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    command = [sys.executable, "-c", "from ssptool.cli.main import main; main()", "run", folder.name, *how]
    command += ["--output", f"r.{ending}", "--set", f"Bad.what={fmus.GO_ELSEWHERE}", "--set", "Bad.when=0.455"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path / f"r.{ending}"
    assert (len(read_trace(path)), read_manifest(path)["status"]) == (101, "completed")


def test_limits_without_a_child_are_wrong_usage(misbehave):
    status, _, err = misbehave(fmus.NOTHING, "--in-process", "--timeout", 5)
    assert status == 2
    assert "--in-process" in err


def test_a_limit_of_nothing_is_wrong_usage(misbehave):
    status, _, err = misbehave(fmus.NOTHING, "--timeout", 0)
    assert status == 2
    assert "greater than 0" in err


def test_a_limit_of_memory_is_told_in_the_unit_that_it_was_given_in(misbehave):
    status, _, err = misbehave(fmus.NOTHING, "--memory-limit", -5)
    assert status == 2
    assert "-5" in err and "x>=1" in err


def test_a_run_in_process_does_the_same(misbehave, tmp_path):
    assert misbehave(fmus.NOTHING, "--output", "a.csv")[0] == 0
    assert misbehave(fmus.NOTHING, "--output", "b.csv", "--in-process")[0] == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


# -- the end of the whole command ----------------------------------------------------------------------------


@pytest.fixture
def start(folder, tmp_path):
    """Start the command in a process group of its own, slowed down so that it takes some seconds."""
    started = []

    def start(output, *arguments):
        command = [sys.executable, "-c", "from ssptool.cli.main import main; main()", "run", folder, "--output", output]
        command += ["--step-size", "0.001", "--set", f"Bad.what={fmus.KILL_COMMAND}", *arguments]
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(list(map(str, command)), cwd=tmp_path, start_new_session=True, **streams))
        return started[-1]

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def patiently():
    """Goes round long enough for any machine; whoever waits for something leaves when it has come."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        yield
        time.sleep(0.02)


@pytest.mark.parametrize("ending", ["csv", "parquet", "mat"])
def test_a_run_that_is_killed_at_90_percent_leaves_what_it_had(start, tmp_path, ending):
    """Bad kills the command at t = 0.9 s, after a break at 0.8 s that is longer than any rows wait to be written: the
    first ones after it bring all before them into the file, and a second break leaves the time for that.
    """
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"run.{ending}"
    assert start(path, "--set", "Bad.when=0.9").wait(timeout=PATIENCE) == -signal.SIGKILL
    trace = read_trace(path)
    assert 0.79 < trace.t[-1] <= 0.9
    assert trace["Bad.y"] == approx(1 - np.exp(-trace.t), abs=1e-9)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_a_killed_run_leaves_has_its_types(start, folder, tmp_path, ending):
    """With a component beside Bad that passes values on which no double could be."""
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    build_carriers(tmp_path)
    (tmp_path / "carrier3.fmu").rename(folder / "resources/carrier3.fmu")
    description = folder / "SystemStructure.ssd"
    description.write_text(
        SYSTEM.replace('version="1.0" name', 'version="2.0" name').replace(
            "</ssd:Elements>", CARRIER + "</ssd:Elements>"
        ),
        encoding="utf-8",
    )
    path, large, text = tmp_path / f"run.{ending}", 2**63 - 1, 'off,\n"on"'
    given = ["--set", "Bad.when=0.9", "--set", f"A.Int64_u={large}", "--set", f"A.String_u={text}"]
    assert start(path, *given).wait(timeout=PATIENCE) == -signal.SIGKILL
    trace = read_trace(path)
    assert 0.79 < trace.t[-1] <= 0.9
    assert (set(trace["A.Int64_is"].tolist()), set(trace["A.String_is"])) == ({large}, {text})
    assert trace["A.Boolean_is"].tolist() == [False] * len(trace)
    assert read_manifest(path) == {}


CARRIER = """<ssd:Component name="A" type="application/x-fmu-sharedlibrary" source="resources/carrier3.fmu">
  <ssd:Connectors>
    <ssd:Connector name="Int64_u" kind="input"/>
    <ssd:Connector name="Int64_is" kind="output"/>
    <ssd:Connector name="Boolean_is" kind="output"/>
    <ssd:Connector name="String_u" kind="input"/>
    <ssd:Connector name="String_is" kind="output"/>
  </ssd:Connectors>
</ssd:Component>"""


def test_no_process_outlives_a_command_that_was_killed(start, tmp_path):
    process = start(tmp_path / "run.csv", "--set", "Bad.when=0.1")
    process.wait(timeout=PATIENCE)
    with pytest.raises(ProcessLookupError):
        for _ in patiently():
            os.killpg(process.pid, 0)


def test_what_a_killed_command_has_unpacked_is_removed_by_the_next(start, folder, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    shutil.make_archive(str(tmp_path / "lag"), "zip", folder)
    system = (tmp_path / "lag.zip").rename(tmp_path / "lag.ssp")
    shutil.rmtree(folder)
    system.rename(folder)
    start(tmp_path / "a.csv", "--set", "Bad.when=0.1").wait(timeout=PATIENCE)
    left = list(scratch.iterdir())
    assert left
    for each in left:
        os.utime(each, (0, 0))
    start(tmp_path / "b.csv", "--set", "Bad.when=0.1").wait(timeout=PATIENCE)
    assert not {*left} & {*scratch.iterdir()}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupted_run_leaves_what_it_had(start, tmp_path, monkeypatch, number, status):
    path, scratch = tmp_path / "run.csv", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    process = start(path)
    for _ in patiently():
        if path.exists() and len(path.read_text().splitlines()) > 50:
            break
    # As the terminal does to all, a scheduler of jobs to the one that it has started.
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    assert process.wait(timeout=PATIENCE) == status
    assert 50 <= len(read_trace(path)) < 1001
    assert read_manifest(path)["status"] == "interrupted"
    assert not list(scratch.iterdir())
    what = "interrupted" if number == signal.SIGINT else "terminated"
    said = re.fullmatch(
        rf"error: {what}: the run had reached t = (\S+) s; (\d+) rows until then are in {re.escape(str(path))}\n",
        process.stderr.read(),
    )
    trace = read_trace(path)
    assert said is not None
    assert (float(said[1]), int(said[2])) == (approx(trace.t[-1]), len(trace))
