"""FMUs have no terminal: what they print is shown as text, and nothing that they do is typed or obeyed."""

import errno
import fcntl
import gc
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest

import ssptool
from ssptool import sandbox
from ssptool.child_processes import Fork, start_interpreter
from ssptool.engine.failure import Ending
from ssptool.fmu.processes import AVAILABLE
from ssptool.foreign_output import ChildOutput
from tests.engine.systems import write_system
from tests.fmus import build as fmus

SSPTOOL = str(Path(sys.executable).with_name("ssptool"))
OWN, EACH = ["--processes", "each"], ["--in-process", "--processes", "each"]
closable = pytest.mark.skipif(bool(sandbox.missing()), reason=f"no sandbox here: {sandbox.missing()}")
processes = pytest.mark.skipif(not AVAILABLE, reason="Linux only")
MODES = [
    pytest.param([], id="isolated"),
    pytest.param(OWN, id="processes", marks=processes),
    pytest.param(EACH, id="in process with processes", marks=processes),
    pytest.param(["--sandbox"], id="sandbox", marks=closable),
    pytest.param(["--sandbox", *OWN], id="sandbox with processes", marks=closable),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """With a system `s` whose component Bad misbehaves from 0.5 s on."""
    components = {"Good": "Misbehaving", "Bad": "Misbehaving"}
    write_system(tmp_path / "s", fmus.build() / "fmi2", components, [("Good.y", "Bad.u")])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_of(what: int, options=(), when: float = 0.5) -> list[str]:
    return [SSPTOOL, "run", "s", "-o", "r.csv", "--set", f"Bad.what={what}", "--set", f"Bad.when={when}", *options]


class Terminal:
    """A terminal in which a command has been started."""

    def __init__(self, command: list[str]) -> None:
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)
        self.shown = b""

    def read(self, wanted: bytes | None = None) -> str:
        """What is shown until these bytes come, or to the end."""
        with suppress(OSError):  # the end
            while (wanted is None or wanted not in self.shown) and (content := os.read(self._master, 1 << 16)):
                self.shown += content
        return self.shown.decode()

    def press(self, key: bytes) -> None:
        os.write(self._master, key)

    def status(self) -> int:
        self.read()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def children_of(pid: int) -> list[int]:
    """The processes that it has started, and those that they have."""
    found = []
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            for number in map(int, path.read_text(encoding="ascii").split()):
                found += [number, *children_of(number)]
    return found


def state_of(pid: int) -> str:
    """One letter as of `ps`; empty: it has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""
    return "" if state in "ZX" else state


def wait_until(true, seconds: float = 60.0) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.01)


# -- what FMUs print


@pytest.mark.parametrize("options", MODES)
def test_the_last_words_of_an_fmu_are_shown_and_not_obeyed(folder, options):
    shown = Terminal(run_of(fmus.SHOUT, options)).read()
    for stream in ("stdout", "stderr"):
        assert f"\\x1b]0;from {stream}\\x07 last words" in shown
    assert "\x1b]" not in shown and "\x07" not in shown  # others are of the progress that ssptool shows
    assert shown.index("last words") < shown.index("SIGABRT")


def test_in_process_they_are_obeyed(folder):
    """So that the test above cannot pass because nothing was printed; docs/untrusted_fmus.md says so."""
    assert "\x1b]0;from stderr\x07" in Terminal(run_of(fmus.SHOUT, ["--in-process"])).read()


@pytest.mark.parametrize("options", MODES)
def test_more_than_a_pipe_holds_comes_through_and_not_to_standard_output(folder, options):
    done = subprocess.run(run_of(fmus.FLOOD, options), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    for stream in ("out", "err"):
        assert [line for line in lines if line.startswith(stream)] == [f"{stream} {k:0123}" for k in range(8192)]
    assert "out 0" not in done.stdout


@pytest.mark.parametrize("fork", [True, False])
def test_python_programs_see_it_on_their_standard_error(folder, fork, monkeypatch, capsys):
    monkeypatch.setattr("ssptool.engine.isolation.child._may_fork", lambda _: fork)
    result = ssptool.simulate("s", isolated=True, start_values={"Bad.what": float(fmus.SHOUT), "Bad.when": 0.5})
    assert result.failure.ending is Ending.CRASHED
    seen = capsys.readouterr()
    assert seen.err.count(" last words") == 2 and "\x1b" not in seen.err and "last words" not in seen.out


STUDY = """
system = "s"
settings = {{step_size = 0.01}}
[start_values]
"Bad.what" = {what}
[factors]
"Bad.when" = [0.5, 0.6]
[results]
y = 'final("Bad.y")'
[effort]
retries = 0
"""


def test_a_study_shows_it_as_text(folder):
    pytest.importorskip("pyarrow")
    (folder / "s.toml").write_text(STUDY.format(what=float(fmus.SHOUT)), encoding="utf-8")
    shown = Terminal([SSPTOOL, "study", "s.toml"]).read()
    assert shown.count("\\x1b]0;from stdout\\x07 last words") >= 2
    assert "\x1b]" not in shown and "\x07" not in shown


def test_lines_stay_whole_and_commands_of_services_are_neutralized(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)

    def work():
        for part in (b"a\xe2\x82", b"\xac b\n:", b":error::c\n", b"\xff\xfe\n", b"x" * 200_000, b"y"):
            os.write(1, part)

    child = Fork(work)
    assert child.wait() == 1
    first, second, third, *rest = shown.getvalue().splitlines()
    assert [first, second, third] == ["a€ b", ":\\x3aerror::c", "\\xff\\xfe"]
    assert "".join(rest) == "x" * 200_000 + "y" and shown.getvalue().endswith("y\n")


def test_what_a_child_has_started_is_not_waited_for():
    """It has the pipe open: the end of the child is that of its output."""
    child = Fork(lambda: os.execv("/bin/sh", ["sh", "-c", "sleep 60 & exit 0"]))
    began = time.monotonic()
    assert child.wait() == 0
    assert time.monotonic() - began < 30
    os.killpg(child.pid, signal.SIGKILL)


def test_no_stream_of_the_parent_is_written_to_by_a_copy(capfd):
    """What the parent has printed and not yet shown is shown once."""
    code = (
        "import sys; from ssptool.child_processes import Fork; from ssptool.foreign_text import safe_stream\n"
        "sys.stdout = safe_stream(sys.stdout); sys.stdout.write('once;')\n"
        "assert Fork(lambda: print('child')).wait() == 1"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("once;", "child\n")


# -- terminals


@pytest.mark.parametrize("options", MODES)
def test_an_fmu_reaches_no_terminal(folder, options):
    assert "reached 0, typed 0" in Terminal(run_of(fmus.TYPE, options)).read()


def test_in_process_it_reaches_the_terminal(folder):
    assert re.search(r"reached [1-9]", Terminal(run_of(fmus.TYPE, ["--in-process"])).read())


def look():
    """Entry of an interpreter: its streams, session and terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as problem:
        terminal = -problem.errno
    seen = {
        "links": [str(Path(f"/proc/self/fd/{stream}").readlink()).partition(":")[0] for stream in range(3)],
        "leads": os.getsid(0) == os.getpid(),
        "terminal": terminal,
    }
    os.write(int(sys.argv[1]), json.dumps(seen).encode())


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize("fork", [True, False])
def test_children_have_a_session_and_no_streams_of_their_parent(fork, monkeypatch):
    theirs, ours = os.pipe()
    monkeypatch.setattr(sys, "argv", ["", str(ours)])
    child = Fork(look) if fork else start_interpreter(f"{__name__}:look", (ours,), (ours,))
    os.close(ours)
    with os.fdopen(theirs) as file:
        seen = json.load(file)
    child.wait()
    assert seen == {"links": ["/dev/null", "pipe", "pipe"], "leads": True, "terminal": -errno.ENXIO}


def try_terminals():
    """Entry of an interpreter in a sandbox: what it can do with a terminal that it has nevertheless."""
    output, terminal = map(int, sys.argv[1:])
    sandbox.close_files(sandbox.system_paths(), [])
    seen = {}
    for name in ("TIOCSTI", "TIOCLINUX", "TIOCGWINSZ"):
        try:
            fcntl.ioctl(terminal, getattr(termios, name, 0x541C), b"#" * 8)
            seen[name] = 0
        except OSError as problem:
            seen[name] = problem.errno
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError as problem:
        seen["/dev/tty"] = problem.errno
    os.write(output, json.dumps(seen).encode())


@closable
def test_a_sandbox_refuses_to_type_into_a_terminal_that_is_open():
    (theirs, ours), (master, slave) = os.pipe(), pty.openpty()
    process = start_interpreter(f"{__name__}:try_terminals", (ours, slave), (ours, slave), guarded=True, offline=True)
    os.close(ours)
    with os.fdopen(theirs) as file:
        seen = json.load(file)
    assert process.wait() == 0
    assert seen.pop("/dev/tty") in (errno.ENOENT, errno.ENXIO, errno.EACCES)
    assert seen == {"TIOCSTI": errno.EPERM, "TIOCLINUX": errno.EPERM, "TIOCGWINSZ": 0}
    os.close(master)
    os.close(slave)


# -- job control


@pytest.fixture
def started():
    """Terminals whose commands end with the test."""
    open_ones = []

    def start(command):
        open_ones.append(Terminal(command))
        return open_ones[-1]

    yield start
    for one in open_ones:
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)


def fmus_at_work(terminal: Terminal, number: int = 1) -> list[int]:
    wait_until(lambda: len(children_of(terminal.pid)) >= number and Path("r.csv").exists())
    return children_of(terminal.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize(("options", "number"), [([], 1), (OWN, 3), (["--sandbox", *OWN], 3)])
def test_an_interrupt_of_the_terminal_ends_the_run_and_all_its_processes(folder, started, options, number):
    if "--sandbox" in options and sandbox.missing():
        pytest.skip("no sandbox here")
    terminal = started(run_of(fmus.HANG, options))
    children = fmus_at_work(terminal, number)
    terminal.press(b"\x03")
    assert terminal.status() == 130
    wait_until(lambda: not any(map(state_of, children)))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize("options", [[], OWN])
def test_processes_of_fmus_end_with_the_command(folder, started, options):
    terminal = started(run_of(fmus.HANG, options))
    children = fmus_at_work(terminal)
    os.kill(terminal.pid, signal.SIGKILL)
    wait_until(lambda: not any(map(state_of, children)))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_stop_of_the_terminal_stops_the_fmus_and_they_are_continued(folder, started):
    terminal = started(run_of(fmus.CRAWL, when=0.0))
    children = fmus_at_work(terminal)
    terminal.press(b"\x1a")
    wait_until(lambda: {state_of(one) for one in (terminal.pid, *children)} == {"T"})
    os.kill(terminal.pid, signal.SIGCONT)
    wait_until(lambda: "T" not in {state_of(one) for one in (terminal.pid, *children)})
    terminal.press(b"\x03")
    assert terminal.status() == 130
    wait_until(lambda: not any(map(state_of, children)))


def test_an_output_without_a_child_leaves_nothing_open():
    gc.collect()  # files that earlier tests have left open
    before = len(list(Path("/dev/fd").iterdir()))
    ChildOutput().give_up()
    assert len(list(Path("/dev/fd").iterdir())) == before
