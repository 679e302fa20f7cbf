"""`ssptool plot --live`: what stands on a terminal while a run writes its results, and after it."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ssptool as library
from ssptool.documents.csv_columns import sidecar
from tests.waiting import PATIENCE

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
STYLE = re.compile("\x1b\\[[0-9;]*m")
SEQUENCE = re.compile("\x1b\\[[0-9;?]*[a-zA-Z]")
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
"""Of the second screen of a terminal."""


class OnTerminal:
    """A command on a terminal of this size, with what it has printed so far."""

    def __init__(self, arguments: list[object], columns: int = 80, rows: int = 30, **environment: str) -> None:
        pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
        self._own, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (rows, columns))
        unset = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "LINES", "CI")
        kept = {name: value for name, value in os.environ.items() if name not in unset}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ssptool", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=terminal,
            env={**kept, "TERM": "xterm-256color", **environment},
            start_new_session=True,
        )
        os.close(terminal)
        self._said = b""

    @property
    def said(self) -> str:
        return self._said.decode(errors="ignore").replace("\r\n", "\n")

    def until(self, words: str) -> str:
        """Read until these words are there."""
        deadline = time.monotonic() + PATIENCE
        while not re.search(words, self.said):
            assert time.monotonic() < deadline, self.said
            assert self._read(0.5), f"the command ended without {words!r}: {self.said}"
        return self.said

    def end(self) -> tuple[int, str]:
        """The exit status, and all that was printed."""
        while self._read(PATIENCE):
            pass
        os.close(self._own)
        return self.process.wait(), self.said

    def _read(self, seconds: float) -> bool:
        """False at the end."""
        if not select.select([self._own], [], [], seconds)[0]:
            return True
        try:
            part = os.read(self._own, 65536)
        except OSError:  # Linux says so that nobody has the other end any more
            return False
        self._said += part
        return bool(part)


def pictures(said):
    """What stood on the second screen from one refresh to the next, and what was left on the first one."""
    live, _, last = said.partition(LEAVE)
    shown = re.split("\x1b\\[H", live.partition(ENTER)[2])
    return [picture for picture in shown if SEQUENCE.sub("", picture)], SEQUENCE.sub("", last)


@pytest.fixture
def done(tmp_path):
    path = tmp_path / "done.csv"
    library.simulate(SYSTEM, stop_time=1.0, output=path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_run_in_another_process_is_followed_from_before_its_beginning_to_its_end(tmp_path, ending):
    path = tmp_path / f"run.{ending}"
    watching = OnTerminal(["plot", path, "--live", "--signals", "*.x1"])
    watching.until("waiting")
    call = ["run", SYSTEM, "--stop-time", 4, "--realtime", 1, "--output", path]
    running = subprocess.Popen([sys.executable, "-m", "ssptool", *map(str, call)], stdout=subprocess.DEVNULL)
    status, said = watching.end()
    assert running.wait() == 0
    assert status == 0
    live, last = pictures(said)
    assert {picture.count("\n") for picture in live} == {29}, "each picture takes the place of the one before"
    assert all(SEQUENCE.sub("", picture).startswith(f"run.{ending}: ") for picture in live)
    reached = [float(time) for time in re.findall(r"running, t = ([\d.]+) s", "".join(live))]
    assert reached, "at least one picture before the end"
    assert reached == sorted(reached)
    assert reached[-1] <= 4.0
    assert last.startswith(f"run.{ending}: completed, t = 4 s, 4001 rows\n")
    value = library.read_trace(path)["System1.x1"][-1]
    assert f"System1.x1 = System2.x1: {value:.6g} m\n" in last
    assert any(0x2800 < ord(letter) < 0x2900 for letter in last)


@pytest.mark.parametrize(("columns", "rows"), [(80, 30), (120, 40), (40, 12)])
def test_a_picture_has_the_size_of_the_terminal(done, columns, rows):
    status, said = OnTerminal(["plot", done, "--live"], columns, rows).end()
    live, last = pictures(said)
    lines = last.rstrip("\n").split("\n")
    assert status == 0
    assert len(lines) == rows - 1
    assert columns - 2 <= max(map(len, lines)) <= columns
    assert len(live) == 1
    assert "done.csv: completed, t = 1 s" in live[0]


@pytest.mark.parametrize("asked", [{}, {"NO_COLOR": "1"}], ids=["styles", "none"])
def test_styles_are_off_where_they_are_not_wanted(done, asked):
    _, said = OnTerminal(["plot", done, "--live"], **asked).end()
    coloured = [style for style in STYLE.findall(said) if style not in ("\x1b[0m", "\x1b[m")]
    assert bool(coloured) is not bool(asked)


def test_a_terminal_without_a_cursor_gets_the_last_picture_alone(done):
    status, said = OnTerminal(["plot", done, "--live"], TERM="dumb").end()
    assert status == 0
    assert not SEQUENCE.search(said)
    assert said.startswith("done.csv: completed")


def test_ctrl_c_leaves_the_last_picture_and_the_status_of_an_interrupted_command(done):
    sidecar(done).write_text(
        json.dumps({"status": "running", "columns": []}), encoding="utf-8"
    )  # a run that was killed
    watching = OnTerminal(["plot", done, "--live"])
    watching.until("running, t = 1 s")
    os.killpg(watching.process.pid, signal.SIGINT)
    status, said = watching.end()
    assert status == 130
    assert said.count(ENTER) == said.count(LEAVE) == 1
    last = pictures(said)[1]
    assert last.startswith("done.csv: running, t = 1 s, 1001 rows\n")
    assert last.endswith("error: interrupted\n")


def test_without_a_terminal_the_last_picture_is_printed_plainly_and_whole(ssptool, done):
    status, out, err = ssptool("plot", done, "--live", "--title", "Two masses")
    assert (status, err) == (0, "")
    assert "\x1b" not in out
    lines = out.splitlines()
    assert lines[0] == "Two masses: completed, t = 1 s, 1001 rows"
    assert sum("┤" in line for line in lines) == 8, "two ends of four panels: N, m, m/s, m/s2"
    assert max(map(len, lines)) <= 80


def test_a_failed_run_is_shown_with_its_reason(ssptool, done):
    facts = json.loads(sidecar(done).read_text(encoding="utf-8"))
    facts |= {"status": "an FMU refused a call", "failure": {"message": "System1 refused", "time": 1.0}}
    sidecar(done).write_text(json.dumps(facts), encoding="utf-8")
    status, out, _ = ssptool("plot", done, "--live")
    assert status == 0
    assert out.startswith("done.csv: an FMU refused a call, t = 1 s")
    assert out.endswith("at t = 1 s: System1 refused\n")


def test_results_of_another_tool_end_at_the_stop_time(ssptool, tmp_path):
    (tmp_path / "tool.csv").write_text("time,x [m]\n0,1\n1,3\n", encoding="utf-8")
    status, out, _ = ssptool("plot", "tool.csv", "--live", "--stop-time", "1000ms")
    assert status == 0
    assert out.startswith("tool.csv: at the stop time, t = 1 s, 2 rows\n─ x: 3 m\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["done.csv", "other.csv"], "one run is followed at a time, found 2 results"),
        (["done.csv", "--output", "p.png"], "no --output"),
        (["done.csv", "--size", "85x60mm"], "no --size"),
        (["done.csv", "--kind", "tornado", "--factors", "a", "--colour", "a"], "no --kind, --factors, --colour"),
        (["."], "is a folder"),
        (["nowhere/run.csv"], "nowhere: no such folder"),
        (["run.mat"], ".csv or .parquet"),
        (["run.h5"], ".csv or .parquet"),
        (["run.txt"], ".csv, .parquet, .mat"),
        (["done.csv", "--signals", "x1"], "did you mean *.x1"),
        (["done.csv", "--stop-time", "soon"], "a number of seconds"),
    ],
)
def test_what_does_not_go_with_it_is_refused_by_name(ssptool, done, arguments, words):
    status, out, err = ssptool("plot", *arguments, "--live")
    assert status == 2
    assert words in " ".join(re.sub("[│╭╮╰╯─]", " ", err).split())
    assert not out


def test_a_stop_time_is_for_a_live_plot(ssptool, done):
    status, _, err = ssptool("plot", done, "--stop-time", 1)
    assert status == 2
    assert "--live" in err


def test_signals_that_cannot_be_drawn_are_told(ssptool, tmp_path):
    (tmp_path / "words.csv").write_text("time,word\n0,a\n1,b\n", encoding="utf-8")
    status, _, err = ssptool("plot", "words.csv", "--live", "--stop-time", 1)
    assert status == 2
    assert "no signal to draw" in err


def test_no_package_of_other_plots_is_needed(ssptool, done, monkeypatch):
    for name in ("matplotlib", "plotly", "jinja2"):
        monkeypatch.setitem(sys.modules, name, None)
    assert ssptool("plot", done, "--live")[0] == 0


def test_an_output_that_cannot_show_dots_is_told(done):
    call = [sys.executable, "-m", "ssptool", "plot", done, "--live"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done_ = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    assert done_.returncode == 2
    assert "PYTHONIOENCODING=utf-8" in done_.stderr
