"""A command that takes long says within a second what it is doing, on a terminal only, and leaves no trace of that."""

import os
import re
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ssptool as library
from ssptool.cli.terminal import busy, progress_bar
from ssptool.rules import runner
from ssptool.work_in_progress import NOTHING, listening, one_by_one, tell
from tests.waiting import until

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
LONG = 1.6
"""Seconds that the opening of a system takes here."""
SLOWLY = f"""
import sys, time
from ssptool.documents.archive import Archive
opened = Archive.open
def slow(*arguments, **options):
    Archive.open = opened
    time.sleep({LONG})
    return opened(*arguments, **options)
Archive.open = slow
sys.argv[0] = "ssptool"
from ssptool.cli.main import main
main()
"""
COMMANDS = {
    "validate": ["validate"],
    "fix": ["validate", "--diff"],
    "plan": ["plan"],
    "graph": ["graph"],
    "draw": ["draw", "-o", "d.svg"],
    "run": ["run", "--stop-time", "0.1", "-o", "r.csv"],
}


class Terminal:
    """A terminal with what a slow command prints, and when."""

    def __init__(self, folder: Path, line: list[str], **environment: str) -> None:
        pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
        own, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (24, 100))
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "CI")}
        process = subprocess.Popen(
            [sys.executable, "-c", SLOWLY, line[0], str(SYSTEM), *line[1:]],
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env={**kept, "TERM": "xterm-256color", **environment},
        )
        os.close(terminal)
        self.parts: list[tuple[float, str]] = []
        while part := _read(own):
            self.parts.append((time.monotonic(), part))
        os.close(own)
        self.status = process.wait()
        self.text = "".join(part for _, part in self.parts)

    def seen(self, words: str) -> float:
        """The time at which they are there."""
        return next(at for at, part in self.parts if words in part)


def _read(descriptor: int) -> str:
    try:
        return os.read(descriptor, 65536).decode()
    except OSError:  # Linux says so that nobody has the other end any more
        return ""


@pytest.mark.parametrize("command", COMMANDS)
def test_words_come_within_a_second_and_go(tmp_path, command):
    terminal = Terminal(tmp_path, COMMANDS[command])
    assert terminal.status == 0
    assert terminal.parts[-1][0] - terminal.seen("reading") > LONG - 1.0, "the work begins with the long part of it"
    bars, wiped, said = terminal.text.rpartition("\x1b[?25h\r\x1b[1A\x1b[2K")
    assert wiped
    assert bars.count("\x1b[?25l") == terminal.text.count("\x1b[?25h"), "the cursor is there again"
    assert said
    assert not re.search("reading|checking|planning", said)


@pytest.mark.parametrize("asked", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_nothing_is_told_where_styles_are_not_wanted(tmp_path, asked):
    assert "reading" not in Terminal(tmp_path, COMMANDS["plan"], **asked).text


def test_nothing_is_told_in_a_pipe(ssptool, monkeypatch):
    opened = runner.load
    monkeypatch.setattr(runner, "load", lambda *given: (time.sleep(0.6), opened(*given))[1])
    status, _, err = ssptool("validate", SYSTEM)
    assert (status, err) == (0, "")


def told(work) -> list[str]:
    words: list[str] = []
    with listening(words.append):
        work()
    return words


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (library.validate, ["reading FMU 1 of 2", "checking FMU 2 of 2", "checking rules"]),
        (library.plan, ["reading FMU 1 of 2", "checking rules", "connecting components", "planning"]),
        (library.graph, ["checking rules", "connecting components", "ordering signals"]),
    ],
)
def test_the_words_say_what_is_being_done(work, words, tmp_path):
    """Of a system that no earlier call has opened."""
    system = shutil.copytree(SYSTEM, tmp_path / "system")
    said = iter(told(lambda: work(system)))
    assert all(word in said for word in words), "in this order"


def test_a_page_tells_its_sheets(tmp_path):
    said = told(lambda: library.draw(SYSTEM, tmp_path / "d.html"))
    assert "drawing sheet" in said, "one alone has no number"
    assert told(lambda: list(one_by_one("drawing sheet", "ab"))) == ["drawing sheet 1 of 2", "drawing sheet 2 of 2"]


def test_a_run_begins_when_all_is_told():
    said = told(lambda: library.simulate(SYSTEM, stop_time=0.01))
    assert said[-1] == NOTHING


@contextmanager
def standard_error(monkeypatch) -> Iterator[Callable[[], str]]:
    """A terminal as standard error; gives what has been written to it, which the system passes on a little later."""
    pty = pytest.importorskip("pty")
    own, other = pty.openpty()
    os.set_blocking(own, False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(other, "w") as stream, os.fdopen(own, "rb", buffering=0) as screen, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stream)

        def seen() -> str:
            parts = []
            while select.select([screen], [], [], 0.05)[0]:
                parts.append(screen.read(65536) or b"")
            return b"".join(parts).decode()

        yield seen


@pytest.mark.parametrize("around", [busy, lambda: progress_bar("running")], ids=["busy", "bar"])
def test_the_thread_ends_when_nothing_is_left_to_tell(monkeypatch, around):
    """A process with more than one is not copied for FMUs."""
    before = set(threading.enumerate())
    with standard_error(monkeypatch) as seen, around():
        assert len(set(threading.enumerate()) - before) == 1
        tell("thinking")
        until(lambda: "thinking" in seen())
        tell(NOTHING)
        assert set(threading.enumerate()) <= before
        assert seen().endswith("\x1b[2K")


def test_the_bar_tells_the_work_after_a_run_and_takes_its_fractions_again(monkeypatch):
    """As for a default step that is refined: one line, whatever is being done."""
    with standard_error(monkeypatch) as seen:
        with progress_bar("running") as update:
            for words, fraction in [("", 0.25), ("checking", None), (NOTHING, None), ("finer", 0.75)]:
                tell(words)
                if fraction is not None:
                    update(fraction)
                    until(lambda shown=f"{100 * fraction:.0f}%": shown in seen())
                elif words:
                    until(lambda shown=words: shown in seen())
        assert "running" not in seen()


def test_the_line_is_wiped_before_an_error_is_told(monkeypatch):
    with standard_error(monkeypatch) as seen:
        with pytest.raises(KeyboardInterrupt), busy():
            time.sleep(1.0)
            raise KeyboardInterrupt
        assert seen().endswith("\x1b[2K")
