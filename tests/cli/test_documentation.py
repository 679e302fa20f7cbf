"""README and docs/ are true: links lead somewhere, commands can be called, and what is printed is what they print."""

import re
import shlex
import shutil
import textwrap
import zipfile
from pathlib import Path

import pytest
import typer

import ssptool as library
from ssptool.cli.app import SUMMARIES, app
from tests.foreign.generators import python_fmu
from tests.systems.peers import where_wheels_are

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "systems").glob("*/README.md")),
    ROOT / "schemas" / "README.md",
]
on_every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def anchors(page: Path) -> set[str]:
    """Of headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@on_every_page
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if not path.startswith("http"):
            there = page.parent / path if path else page
            assert there.exists(), target
            assert not anchor or anchor in anchors(there), target


@pytest.mark.parametrize(
    "page", [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"], ids=lambda page: page.name
)
def test_files_and_folders_that_are_named_are_there(page):
    """Relative to the project or to `ssptool/`; those of the example rule and the example names apart."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names = {name for name in re.findall(r"`([\w./]+(?:\.py|\.pyi|\.cpp|/))`", text) if "UNIT-099" not in name}
    assert len(names) > 10
    assert not [name for name in names if not any((ROOT / top / name).exists() for top in ("", "ssptool"))]


def commands(page: Path) -> list[str]:
    """Lines of code that call the command, without comments and what it prints."""
    text = page.read_text(encoding="utf-8")
    fenced = "\n".join(re.findall(r"^```.*\n((?:.*\n)*?)```", text, re.MULTILINE)).splitlines()
    lines = [*fenced, *(line for line in text.splitlines() if line.startswith("    "))]
    calls = re.compile(r"\s*(?:\$ |- run: |- )?ssptool ([a-z].*?)(?:\s+#.*)?$")
    return [found[1] for line in lines if (found := calls.match(line))]


@on_every_page
def test_commands_can_be_called(page):
    """They are parsed and not run."""
    for line in commands(page):
        name, *words = shlex.split(line)
        with typer.main.get_command(app).commands[name].make_context(name, words):
            pass


@on_every_page
def test_options_that_are_named_with_their_command_are_there(page):
    for line in re.findall(r"`(?:\$ )?ssptool ([^`]+)`", page.read_text(encoding="utf-8")):
        name, *words = line.split()
        assert name in {*SUMMARIES, "COMMAND"}
        command = typer.main.get_command(app).commands.get(name)
        below = (*getattr(command, "commands", {}).values(),)
        known = {
            flag
            for each in (command, *below)
            if each
            for one in each.params
            for flag in (*one.opts, *one.secondary_opts)
        }
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= {*known, "--help"}, line


@on_every_page
def test_python_compiles_and_calls_what_there_is(page):
    for text in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        compile(textwrap.dedent(text), str(page), "exec")
        for name in re.findall(r"ssptool\.(\w+)", text):
            assert hasattr(library, name), name


def transcripts(page: Path) -> list[tuple[str, list[str]]]:
    """Commands in indented code, each with what it is said to print."""
    blocks = re.findall(
        r"^    \$ ssptool (.*)\n((?:    (?!\$ ).+\n|\n(?=    (?!\$)))*)", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [(command, [line[4:] for line in printed.splitlines()]) for command, printed in blocks]


def pattern(expected: list[str]) -> str:
    """`…` alone in a line stands for lines, inside of one for text; the wall time is what it is."""
    parts = ["(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in expected]
    return re.sub(r"steps,\\ .*real\\ time", "steps,.*real\\\\ time", "".join(parts))


# -- what the transcripts need: each page shows commands on small systems of the reader ---------------------------


def systems_of_the_reader(folder: Path) -> None:
    """The example systems; one with a misspelt connector, one with a connection that stands twice."""
    (folder / "systems").symlink_to(ROOT / "systems")
    example = ROOT / "systems" / "dual_mass_oscillator"
    text = (example / "SystemStructure.ssd").read_text(encoding="utf-8")
    (connection,) = re.findall(r".*startConnector=\"x1\".*/>\n", text)
    twice = connection + connection.replace("/>", ' suppressUnitConversion="true"/>')
    mistakes = {"broken": ('startConnector="x1"', 'startConnector="y1"'), "plant": (connection, twice)}
    for name, (right, wrong) in mistakes.items():
        shutil.copytree(example, folder / name)
        (folder / name / "SystemStructure.ssd").write_text(text.replace(right, wrong), encoding="utf-8")


def files_of_the_pages(folder: Path) -> None:
    """A table, an FMU with a parameter set inside, two systems of them, and a study with two mistakes."""
    (folder / "push.csv").write_text("time,F [N]\n0,0\n2,10\n", encoding="utf-8")
    oscillator = ROOT / "systems" / "one_dof_oscillator"
    shutil.copy(oscillator / "resources" / "Mass.fmu", folder / "mass.fmu")
    with zipfile.ZipFile(folder / "mass.fmu", "a") as fmu:
        fmu.writestr("extra/org.example.sets/heavy.ssv", HEAVY)
    with library.new(folder / "plant.ssp", folder / "mass.fmu"):
        pass
    library.pack(oscillator, folder / "oscillator.ssp")
    (folder / "points.csv").write_text("System2.k2,System1.c1\n5,abc\n", encoding="utf-8")
    (folder / "points.toml").write_text(POINTS, encoding="utf-8")


HEAVY = """<?xml version="1.0" encoding="UTF-8"?>
<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" version="1.0" name="Heavy">
  <ssv:Parameters>
    <ssv:Parameter name="m"><ssv:Real value="2"/></ssv:Parameter>
    <ssv:Parameter name="k"><ssv:Real value="2"/></ssv:Parameter>
  </ssv:Parameters>
</ssv:ParameterSet>
"""
POINTS = """system = "systems/dual_mass_oscillator"

[results]
peak = 'max("System1.x1")'

[design]
kind = "table"
file = "points.csv"

[factors]
"System1.m1" = {}
"""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if transcripts(page)], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_the_pages_show_what_is_printed(ssptool, tmp_path, page):
    """Commands of a page in their order, in one folder."""
    systems_of_the_reader(tmp_path)
    files_of_the_pages(tmp_path)
    for command, expected in transcripts(page):
        _, out, err = ssptool(*shlex.split(command))
        assert not expected or re.fullmatch(pattern(expected), (out + err).rstrip("\n") + "\n"), out + err


@where_wheels_are
def test_the_first_screen_of_the_readme_works_with_fmus_of_another_tool(ssptool, tmp_path):
    """The commands, then the Python examples: der(w) = (150 - w - w / 2) / inertia ends at w = 100."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shell, *examples = re.findall(r"^```(?:sh|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for name in ("Motor", "Load"):
        python_fmu(name, 2, tmp_path)
    for line in shell.splitlines():
        status, out, err = ssptool(*shlex.split(line, comments=True)[1:])
        assert status == 0, out + err
    (tmp_path / "plant.ssp").unlink()
    names: dict[str, object] = {}
    for example in examples[:2]:
        exec(example, names)
    names["test_the_load_reaches_its_speed"]()


def test_the_readme_names_every_command():
    """Inverses apart."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Commands\n")[1]
    inverses = {"remove", "disconnect", "unset", "unbind", "unmap"}
    assert {name for name in SUMMARIES if f"`{name}`" not in text} == inverses


def test_the_readme_counts_the_claims_of_the_verification():
    (stated,) = re.findall(r"\[(\d+) claims\]", (ROOT / "README.md").read_text(encoding="utf-8"))
    rows = re.findall(
        r"^\| \[.*\| (\d+) \| (\d+) \|$", (ROOT / "docs/verification.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [sum(int(row[k]) for row in rows) for k in (0, 1)] == [int(stated)] * 2
