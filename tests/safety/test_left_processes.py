"""What an FMU starts ends with the run, however that ends, also what has left its session and its parent."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import ssptool
from ssptool.engine.failure import Ending
from tests.engine.systems import write_system
from tests.fmus import build as fmus
from tests.safety.test_sandbox import closable
from tests.safety.test_terminals import state_of

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="only Linux has guards"), pytest.mark.one_in(3)]

PATIENCE_SECONDS, LEFT = 60, 20

BOXES = [pytest.param(False, id="no sandbox"), pytest.param(True, id="sandbox", marks=closable)]


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """One component leaves processes behind, and the other can misbehave later."""
    components = {"Leaves": "Misbehaving", "Bad": "Misbehaving"}
    write_system(tmp_path / "s", fmus.build() / "fmi2", components, [("Leaves.y", "Bad.u")])
    return tmp_path / "s"


def starts(then: int) -> dict[str, float]:
    return {"Leaves.what": fmus.LEAVE_BEHIND, "Leaves.when": 0.1, "Bad.what": then, "Bad.when": 0.5}


def left() -> set[int]:
    found = set()
    for name in Path("/proc").glob("[0-9]*/comm"):
        try:
            if name.read_text(encoding="utf-8") == "left-behind\n":
                found.add(int(name.parent.name))
        except OSError:  # it has just ended
            continue
    return found


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    """One such test at a time: the processes of others have the same name."""
    with Path(tempfile.gettempdir(), "left-behind.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
        for process in left():
            os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("sandbox", BOXES)
def test_after_a_run_nothing_is_left(system, sandbox):
    result = ssptool.simulate(system, isolated=True, sandbox=sandbox, start_values=starts(fmus.NOTHING))
    assert result.ok and not left()


@pytest.mark.parametrize("sandbox", BOXES)
@pytest.mark.parametrize(
    ("then", "ending", "how"),
    [
        (fmus.ABORT, Ending.CRASHED, "SIGABRT"),
        (fmus.WRITE_TO_NULL, Ending.CRASHED, "SIGSEGV"),
        (fmus.EXIT_WITH_3, Ending.EXITED, "status 3"),
    ],
)
def test_after_a_crash_nothing_is_left_and_the_reason_is_told(system, then, ending, how, sandbox):
    result = ssptool.simulate(system, isolated=True, sandbox=sandbox, start_values=starts(then))
    assert result.failure.ending is ending and how in str(result.failure)
    assert not left()


def command(system: Path, *options: str) -> list[str]:
    values = [f"--set={name}={value}" for name, value in starts(fmus.HANG).items()]
    return [
        str(Path(sys.executable).with_name("ssptool")),
        "run",
        str(system),
        "-o",
        str(system / "a.csv"),
        *values,
        *options,
    ]


@pytest.mark.parametrize("box", [[], pytest.param(["--sandbox"], marks=closable)])
def test_after_a_time_limit_nothing_is_left(system, box):
    done = subprocess.run(command(system, "--timeout", "2", *box), capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "time limit of 2 s" in done.stdout + done.stderr
    assert not left()


@pytest.mark.parametrize("box", [[], pytest.param(["--sandbox"], marks=closable)])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_after_a_killed_command_nothing_is_left(system, number, box):
    process = subprocess.Popen(command(system, *box), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert happens(lambda: len(left()) == LEFT)
    process.send_signal(number)
    process.wait(PATIENCE_SECONDS)
    assert happens(lambda: not left())


def happens(condition) -> bool:
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


GUARDED = """
import os, sys, time
from ssptool import guard
close = guard._close_files
guard._close_files = lambda: (time.sleep(1), close())
guard.stand_guard(int(sys.argv[1]))
if os.fork() == 0:
    print(os.getpid(), flush=True)
time.sleep(100)
"""
COMMAND = "import os, subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1], str(os.getpid())])"


def test_after_a_command_that_is_killed_before_the_guard_is_ready_nothing_is_left():
    begun = subprocess.Popen([sys.executable, "-c", COMMAND, GUARDED], stdout=subprocess.PIPE, text=True)
    assert begun.stdout is not None
    with begun.stdout:
        started = int(begun.stdout.readline())
        begun.kill()
        begun.wait()
        try:
            assert happens(lambda: not state_of(started))
        finally:
            with suppress(ProcessLookupError):
                os.kill(started, signal.SIGKILL)
