"""What commands print on a terminal: lines that fit, broken between words, and styles where they are welcome."""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssptool.cli.terminal import laid_out

pytestmark = pytest.mark.one_in(3)

SYSTEMS = Path(__file__).parents[2] / "systems"
STYLE = re.compile("\x1b\\[[0-9;?]*[a-zA-Z]")

PROGRESS = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h\r\x1b\[1A\x1b\[2K", re.DOTALL)
"""Words on what is being done, which are wiped: on a busy machine all commands have them."""

COMMANDS = {
    "validate": ["validate", "mass_spring_damper"],
    "plan": ["plan", "flyball_governor"],
    "graph": ["graph", "dual_mass_oscillator"],
    "explain": ["explain", "dual_mass_oscillator", "--all"],
    "info": ["info", "mass_spring_damper"],
    "rule": ["rule", "--all"],
    "wrong": ["validate", "nowhere"],
}


def on_terminal(line: list[str], width: int, **environment: str) -> str:
    """What a command prints on a terminal of so many columns, styles included."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    own, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, width))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLUMNS", "CI")}
    process = subprocess.Popen(
        [sys.executable, "-m", "ssptool", *line],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        cwd=SYSTEMS,
        env={**kept, "TERM": "xterm-256color", **environment},
    )
    os.close(terminal)
    said = b""
    while True:
        try:
            part = os.read(own, 65536)
        except OSError:  # Linux says so that nobody has the other end any more
            break
        if not part:
            break
        said += part
    os.close(own)
    process.wait()
    return PROGRESS.sub("", said.decode()).replace("\r\n", "\n")


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", COMMANDS)
def test_lines_are_as_wide_as_the_terminal_and_have_styles(command, width):
    said = on_terminal(COMMANDS[command], width)
    lines = STYLE.sub("", said).splitlines()
    assert lines
    assert [line for line in lines if len(line) > width and " " in line.strip()] == []
    if command == "rule":
        assert max(map(len, lines)) > width - 20, "long lines use the whole width"
    assert bool(STYLE.search(said)) is (command != "rule"), "a list of rules has neither headings nor findings"


def test_the_width_that_the_environment_states_wins():
    lines = STYLE.sub("", on_terminal(COMMANDS["rule"], 120, COLUMNS="60")).splitlines()
    assert 40 < max(map(len, lines)) <= 60


@pytest.mark.parametrize("asked", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
@pytest.mark.parametrize("command", COMMANDS)
def test_styles_are_off_where_they_are_not_wanted(command, asked):
    assert not STYLE.search(on_terminal(COMMANDS[command], 80, **asked))


@pytest.mark.parametrize("command", ["plan", "explain"])
def test_in_a_pipe_each_line_stands_as_it_is(command):
    line = [sys.executable, "-m", "ssptool", *COMMANDS[command]]
    environment = {**os.environ, "COLUMNS": "40"}
    said = subprocess.run(line, cwd=SYSTEMS, env=environment, capture_output=True, text=True, check=True).stdout
    assert not STYLE.search(said)
    assert max(map(len, said.splitlines())) > 80


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("command", ["validate", "run"])
def test_source_lines_are_shortened_to_the_terminal_and_their_markers_stand_below(tmp_path, command, width):
    """Whatever standard output is: a refusal is printed on standard error."""
    copytree(SYSTEMS / "dual_mass_oscillator", tmp_path / "osc")
    structure = tmp_path / "osc/SystemStructure.ssd"
    structure.write_text(structure.read_text("utf-8").replace('endConnector="x1"', 'endConnector="x9"'), "utf-8")
    lines = STYLE.sub("", on_terminal([command, str(tmp_path / "osc"), "--variant", structure.name], width)).split("\n")
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= width
    source = next(number for number, line in enumerate(lines) if " | " in line)
    start, end = re.search("~+", lines[source + 1]).span()
    assert lines[source][start:end] == 'endConnector="x9"'
    assert "…" in lines[source]
    assert len(lines[source]) > width - 20


def test_json_is_not_broken():
    said = on_terminal(["graph", "dual_mass_oscillator", "--format", "json"], 40)
    assert not STYLE.search(said)
    assert max(map(len, said.splitlines())) > 40


words = st.text("abcdefgh-/.ö→", min_size=1, max_size=30)
gaps = st.sampled_from([" ", "  ", "      "])
rows = st.lists(st.tuples(words, gaps), max_size=30).map(lambda pairs: "".join(map("".join, pairs)).rstrip())
texts = st.lists(st.tuples(st.sampled_from(["", "  ", "    "]), rows).map("".join), min_size=1, max_size=6).map(
    "\n".join
)


@given(texts, st.integers(40, 120), st.booleans())
def test_words_stay_and_lines_fit_unless_a_word_is_too_long(text, width, colour):
    shown = STYLE.sub("", laid_out(text, width, colour=colour))
    assert shown.split() == text.split()
    assert all(len(line) <= width for line in shown.split("\n"))


def test_the_rest_of_a_named_text_goes_on_below_it():
    assert laid_out("  note   " + "word " * 9, 40, colour=False) == (
        "  note   word word word word word word\n         word word word"
    )


def test_headings_findings_and_remarks_have_styles():
    shown = laid_out("Plan\n  step  1 s  (default)\nerror: no\n  more", 80, colour=True)
    assert shown == (
        "\x1b[1mPlan\x1b[0m\n  step  1 s  \x1b[2m(default)\x1b[0m\n\x1b[31m\x1b[1merror\x1b[0m: no\n  more"
    )


@pytest.mark.parametrize("width", [80, 120])
def test_rows_of_the_table_of_calls_are_not_broken(tmp_path, width):
    """Names, which may be long, are at the end of a row."""
    output = str(tmp_path / "out.csv")
    line = ["run", "rotational_spring_mass_damper", "--stop-time", "0.01", "--statistics", "text", "--output", output]
    said = STYLE.sub("", on_terminal(line, width))
    head, *rows = said[said.index("\ncalls ") + 1 : said.index("\nresults")].split("\n")
    assert head.split() == ["calls", "time", "[s]", "number", "each", "[µs]", "function"]
    assert len(rows) > 50
    for row in rows:
        assert re.fullmatch(r" +[\d.]+ +\d+ +[\d.]+  fmi2\w+ \w+", row), row
