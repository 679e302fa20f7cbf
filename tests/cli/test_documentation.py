"""README and docs/ are true: links lead somewhere, commands can be called, and what is printed is what they print."""

import re
import shlex
import shutil
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import ssptool as library
from ssptool.cli.app import SUMMARIES, app
from tests.fmu import chatty_fmu
from tests.fmus import build as misbehaving_fmu
from tests.foreign.generators import python_fmu
from tests.systems.peers import where_wheels_are

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "docs" / "qualification" / "README.md",
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


def transcripts(page: Path) -> list[tuple[list[str], list[str]]]:
    """Words of commands in indented code, each with what it is said to print."""
    blocks = re.findall(
        r"^( {4,})\$ (.*)\n((?:\1(?!\$ ).+\n|\n(?=\1(?!\$)))*)", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [
        (shlex.split(command), [line.removeprefix(indent) for line in printed.splitlines()])
        for indent, command, printed in blocks
    ]


def examples(page: Path) -> list[str]:
    """Code in no language: blocks that are indented or fenced."""
    text = page.read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"(?<=\n\n)(?: {4,}.*\n(?:\n(?= {4}))?)+", rest)
    return [code for language, code in fenced if language in {"", "sh", "text", "console"}] + indented


NOT_COMPARED = {
    ".ssp, .ssd, .fmu ── documents": "a drawing",
    "master must be one of": "an error in Python: tests/api/test_arguments.py",
    "error: internal error:": "a bug of ssptool: tests/cli/test_wrong_usage.py",
    "cost            ": "times of the machine, and components in their order: tests/cli/test_statistics.py",
    "pip install": "changes the installation; the commands below it run a study: tests/cli/test_report.py",
    "make run": "builds the project",
    "python cross_check.py": "a script, not the command: tests/test_cross_check.py",
    "cd editors/vscode": "builds the extension: editors/vscode/README.md",
    "page (ssptool/studio/page)": "a drawing",
}
"""Examples on pages, by their beginning, whose output no test of this file compares, each with the reason."""


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_output_on_a_page_is_compared_or_listed_with_a_reason(page):
    """Output stands below its command; commands without output stand alone."""
    shown = [textwrap.dedent(code).strip("\n") for code in examples(page)]
    alone = [code for code in shown if not code.startswith("$ ") and not is_commands(code)]
    assert not [code for code in alone if not code.startswith(tuple(NOT_COMPARED))]


def is_commands(code: str) -> bool:
    return all(line.startswith(("ssptool ", "#")) for line in code.splitlines() if line.strip())


def pattern(expected: list[str]) -> str:
    """`…` alone in a line stands for lines, inside of one for text; the wall time is what it is."""
    parts = ["(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in expected]
    return re.sub(r"steps,\\ .*real\\ time", "steps,.*real\\\\ time", "".join(parts))


# -- what the transcripts need: each page shows commands on small systems of the reader ---------------------------


def systems_of_the_reader(folder: Path) -> None:
    """The example systems; a copy to edit, one with a misspelt connector, one with a connection that stands twice."""
    (folder / "systems").symlink_to(ROOT / "systems")
    example = ROOT / "systems" / "dual_mass_oscillator"
    shutil.copytree(example, folder / "oscillators")
    text = (example / "SystemStructure.ssd").read_text(encoding="utf-8")
    (connection,) = re.findall(r".*startConnector=\"x1\".*/>\n", text)
    twice = connection + connection.replace("/>", ' suppressUnitConversion="true"/>')
    mistakes = {"broken": ('startConnector="x1"', 'startConnector="y1"'), "plant": (connection, twice)}
    for name, (right, wrong) in mistakes.items():
        shutil.copytree(example, folder / name)
        (folder / name / "SystemStructure.ssd").write_text(text.replace(right, wrong), encoding="utf-8")


def files_of_the_pages(folder: Path) -> None:
    """A table, an FMU with a parameter set inside, two systems of them, a study with two mistakes, an optimization."""
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
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    (damping,) = (
        one for one in re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "optimize" in one
    )
    (folder / "damping.toml").write_text(damping.replace('"dual_mass', '"systems/dual_mass'), encoding="utf-8")


def files_that_the_reader_writes(page: Path, folder: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, content in re.findall(r"^Write `(\S+)`:\n\n```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(content, encoding="utf-8")


def fmus_that_fail(folder: Path) -> None:
    """A system of which one FMU crashes at 0.455 s, and an FMU that logs."""
    shutil.copy(chatty_fmu.build(folder) / "chatty2.fmu", folder / "B.fmu")
    misbehaving = misbehaving_fmu.build() / "fmi2" / "Misbehaving.fmu"
    with library.new(folder / "crash.ssp", stop_time=1) as crash:
        crash.add(misbehaving, name="Good").add(misbehaving, name="Bad").connect("Good.y", "Bad.u")
        crash.set("Bad.what", misbehaving_fmu.WRITE_TO_NULL).set("Bad.when", 0.455)


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
    fmus_that_fail(tmp_path)
    files_that_the_reader_writes(page, tmp_path)
    for (program, *words), expected in transcripts(page):
        printed = Path(*words).read_text(encoding="utf-8") if program == "cat" else "".join(ssptool(*words)[1:])
        assert not expected or re.fullmatch(pattern(expected), printed.rstrip("\n") + "\n"), printed


@where_wheels_are
def test_the_first_screen_of_the_readme_works_with_fmus_of_another_tool(ssptool, tmp_path):
    """Its commands; the Python below them says where this ends: der(w) = (150 - w - w / 2) / inertia, at w = 100."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shell = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0]
    for name in ("Motor", "Load"):
        python_fmu(name, 2, tmp_path)
    for line in shell.splitlines():
        status, out, err = ssptool(*shlex.split(line, comments=True)[1:])
        assert status == 0, out + err


PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITH_PYTHON = [page for page in PAGES if PYTHON.search(page.read_text(encoding="utf-8"))]


@where_wheels_are
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python_on_the_pages_runs(ssptool, tmp_path, page):
    """In the order of the page; what is called `test_…` is run too."""
    for name in ("Motor", "Load", "Half"):
        python_fmu(name, 2, tmp_path)
    (tmp_path / "Half.fmu").rename(tmp_path / "Sensor.fmu")
    with library.new("plant.ssp", "Motor.fmu", "Load.fmu", stop_time=3) as plant:
        plant.connect("Motor", "Load")
    (tmp_path / "systems").symlink_to(ROOT / "systems")
    oscillator = shutil.copytree(ROOT / "systems" / "dual_mass_oscillator", tmp_path / "dual_mass_oscillator")
    library.simulate(oscillator, stop_time=0.1, output="other.csv")
    shutil.copy("other.csv", "slow.csv")
    shutil.copy("other.csv.json", "slow.csv.json")
    with library.new("masses.ssp", *sorted(oscillator.glob("resources/System?.fmu"))) as masses:
        masses.connect("System1", "System2")
    if page.name == "packages.md":
        library.unpack("plant.ssp", "plant")
    if page.name in ("packages.md", "README.md"):
        Path("plant.ssp").unlink()
    names: dict[str, Any] = {"ssptool": library}
    for code in PYTHON.findall(page.read_text(encoding="utf-8")):
        exec(compile(code, str(page), "exec"), names)
    for name, check in names.items():
        if name.startswith("test_"):
            check()


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


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["version"] == library.__version__
