"""README and docs/ are true: links lead somewhere, commands and code run, and what is printed is what they print."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from markdown_it import MarkdownIt

import ssptool as library
from ssptool.cli.app import SUMMARIES, app
from tests.cli.files_of_the_pages import FILES, OF_ANOTHER_TOOL, make_files, named
from tests.systems.peers import where_wheels_are

pytestmark = pytest.mark.one_in(2)

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "recipes").glob("*.md")),
    ROOT / "docs" / "qualification" / "README.md",
    *sorted((ROOT / "systems").glob("*/README.md")),
    ROOT / "schemas" / "README.md",
    ROOT / "editors" / "vscode" / "README.md",
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


# -- code on the pages --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Code that is fenced or indented; `name` is that of the file which the line above announces, as "`NAME`:"."""

    language: str
    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A line to type, and what the page says that it prints, if it does."""

    line: str
    printed: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line, comments=True)

    @property
    def status(self) -> int:
        return max((status for part, status in STATUS.items() if part in self.line), default=0)

    @property
    def is_run(self) -> bool:
        return not self.line.startswith(tuple(NOT_RUN))


SHELL = {"", "sh", "console"}
NOT_RUN = {
    "ssptool studio ": "serves until it is stopped: tests/studio/test_seeing.py",
    "ssptool --install-completion": "changes the shell: tests/cli/test_process.py",
    "pip install ": "changes the installation: .ci/wheels-check",
    "make ": "builds and tests the project",
    ".venv/bin/python -m pytest ": "tests of the project",
    ".venv/bin/python -m tests.qualification ": "tests/qualification/test_evidence.py",
    "python cross_check.py ": "a script: tests/test_cross_check.py",
    "cmake ": "builds what the tests need: tests/cmake_build.py",
    "LD_PRELOAD=": "tests of the project under sanitizers, as `make sanitize`",
    "xmllint ": "another program, with the library of: tests/documents/test_schema_equivalence.py",
    "ssptool lsp --vscode": "installs in an editor: tests/language_server/test_extension.py",
}
"""Beginnings of command lines that are not run here, each with the reason and the test that there is."""

OTHERS = {
    "vim.api.": "Neovim: tests/language_server/test_neovim.py",
    "(add-to-list ": "Emacs, which the tests do not have",
    "[language-server.": "Helix, which the tests do not have",
    "repos:": "pre-commit, which downloads; its hooks: tests/cli/test_validate.py",
    "include:": "a component of GitLab: tests/test_ci_definitions.py",
    "flowchart ": "a drawing: tests/test_layers.py",
    "@UNITS.rule(": "would add a rule: tests/rules/test_catalogue.py",
    "master must be one of": "an error in Python: tests/api/test_arguments.py",
    "error: internal error:": "a bug of ssptool: tests/cli/test_wrong_usage.py",
    "cost            ": "times of the machine: tests/cli/test_statistics.py",
}
"""Beginnings of blocks that are nothing for ssptool to read, each with the reason and the test that there is."""

STATUS = {
    "validate broken": 1,
    "--for omsimulator,fmpy,libcosim,ecos": 1,
    "--init fixed-point": 1,
    "run crash.ssp": 1,
    "run twice": 1,
    "--record x2": 2,
    "study points.toml": 1,
    "compare after.csv before.csv": 1,
    "reproduce short.csv": 1,
    "diff oscillators work": 1,
}
"""Parts of commands that end with another exit status than 0, as their page says."""


@cache
def blocks(page: Path) -> list[Block]:
    found, above = [], ""
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "inline":
            above = token.content
        elif token.type in ("fence", "code_block"):
            name, above = re.search(r"`([^`\s]+)`:$", above), ""
            found.append(Block(token.info, name[1] if name else "", token.content.rstrip("\n")))
    return found


def commands(block: Block) -> list[Command]:
    """Of a transcript, where each command has a prompt; of lines that stand alone; of a definition of CI in YAML."""
    if block.text.startswith(tuple(OTHERS)):
        return []
    if block.language == "yaml":
        return [Command(line) for line in steps(yaml.safe_load(block.text))]
    if block.language not in SHELL:
        return []
    text = block.text.replace("\\\n", "")
    if not text.startswith("$ "):
        return [Command(line) for line in text.splitlines() if line.strip()]
    shown = [part.rstrip().split("\n") for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]
    return [Command(line, tuple(printed)) for line, *printed in shown]


def steps(definition: Any) -> Iterator[str]:
    """Command lines of a definition of CI: what is to `run`, or a `script`."""
    if isinstance(definition, list):
        for one in definition:
            yield from steps(one)
    elif isinstance(definition, dict):
        for key, value in definition.items():
            if key in ("run", "script"):
                yield from [value] if isinstance(value, str) else value
            else:
                yield from steps(value)


def commands_of(page: Path) -> list[Command]:
    return [command for block in blocks(page) for command in commands(block)]


def python_of(page: Path) -> list[str]:
    return [b.text for b in blocks(page) if b.language == "python" and not b.text.startswith(tuple(OTHERS))]


def words_of_commands(page: Path) -> list[str]:
    """Those of commands that run, and the texts in the files that the reader writes for them."""
    run = [word for command in commands_of(page) if command.is_run for word in command.words]
    return run + [word for block in blocks(page) if block.name for word in re.findall(r'"([^"\n]*)"', block.text)]


def words_of_python(page: Path) -> list[str]:
    """Texts, and `new` before that which names a new system."""
    return [word.strip('"') for code in python_of(page) for word in re.findall(r'"[^"\n]*"|\bnew\b', code)]


def on_pages(words: Callable[[Path], list[str]]) -> pytest.MarkDecorator:
    """Parameters: the pages that have such words; those with FMUs of another tool where there is this tool."""
    found = [(page, named(words(page))) for page in PAGES if words(page)]
    pages = [
        pytest.param(
            page,
            id=page.relative_to(ROOT).as_posix(),
            marks=[where_wheels_are] if {*files} & {*OF_ANOTHER_TOOL} else [],
        )
        for page, files in found
    ]
    return pytest.mark.parametrize("page", pages)


def pattern(expected: tuple[str, ...]) -> str:
    """`…` alone in a line stands for lines, inside of one for text; the wall time is what it is."""
    parts = ["(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in expected]
    return re.sub(r"completed\\ in\\ .*\n", "completed in .*\n", "".join(parts))


@on_pages(words_of_commands)
def test_commands_print_what_the_page_shows(ssptool, tmp_path, page):
    """In the order of the page, in one folder with the files of the reader."""
    for block in blocks(page):
        if block.name:
            Path(block.name).write_text(block.text + "\n", encoding="utf-8")
    make_files(words_of_commands(page), tmp_path)
    for command in filter(lambda command: command.is_run, commands_of(page)):
        program, *words = command.words
        if program == "cat":
            printed = Path(*words).read_text(encoding="utf-8")
        else:
            assert program == "ssptool", command.line
            status, out, err = ssptool(*words)
            printed = out + err
            assert status == command.status, f"{command.line}\n{printed}"
        assert not command.printed or re.fullmatch(pattern(command.printed), printed.rstrip("\n") + "\n"), printed


@on_pages(words_of_python)
def test_python_on_the_pages_runs(ssptool, tmp_path, page):
    """In the order of the page; what is called `test_…` is run too."""
    make_files(words_of_python(page), tmp_path)
    names: dict[str, Any] = {"ssptool": library}
    for code in python_of(page):
        exec(compile(code, str(page), "exec"), names)
    for name, check in names.items():
        if name.startswith("test_"):
            check()


@on_every_page
def test_every_block_is_run_or_listed_with_a_reason(page):
    """Commands, Python, files that commands read, and documents; `text` is a drawing or a formula."""
    words = words_of_commands(page)
    for block in blocks(page):
        if not block.text.startswith(tuple(OTHERS)):
            match block.language:
                case "text":
                    assert "ssptool " not in block.text
                case "python" | "json" | "xml":
                    pass
                case _:
                    assert commands(block) or block.name in words or "[tool.ssptool]" in block.text, block


def test_nothing_is_listed_that_no_page_has():
    lines = [command.line for page in PAGES for command in commands_of(page)]
    texts = [block.text for page in PAGES for block in blocks(page)]
    assert [one for one in NOT_RUN if not any(line.startswith(one) for line in lines)] == []
    assert [one for one in OTHERS if not any(text.startswith(one) for text in texts)] == []
    assert [one for one in STATUS if not any(one in line for line in lines)] == []
    code = [words for page in PAGES for words in (words_of_commands(page), words_of_python(page))]
    assert {file for words in code for file in named(words)} == {*FILES}
    tests = {name for reason in (*NOT_RUN.values(), *OTHERS.values()) for name in re.findall(r"\S+/\S+", reason)}
    assert [name for name in tests if not (ROOT / name).exists()] == []


# -- what other programs read, and what is not run here -----------------------------------------------------------


@on_every_page
def test_commands_that_are_not_run_can_be_called(page):
    """Those that serve, and clients of MCP that start one: their options are parsed."""
    lines = [command.words for command in commands_of(page) if not command.is_run]
    servers = [json.loads(block.text)["mcpServers"]["ssptool"] for block in blocks(page) if block.language == "json"]
    for program, *words in (*lines, *([server["command"], *server["args"]] for server in servers)):
        if program == "ssptool" and not words[0].startswith("--"):
            with typer.main.get_command(app).commands[words[0]].make_context(words[0], words[1:]):
                pass


@on_every_page
def test_targets_that_are_named_are_in_the_makefile(page):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    typed = [command.line for command in commands_of(page)] + re.findall(r"`([^`]+)`", page.read_text(encoding="utf-8"))
    for line in typed:
        if line.startswith("make "):
            _, *words = shlex.split(line, comments=True)
            assert {word for word in words if "=" not in word} <= targets, line


@on_every_page
def test_blocks_of_data_are_well_formed(page):
    for block in blocks(page):
        if block.language in PARSERS:
            assert PARSERS[block.language](block.text)


PARSERS: dict[str, Callable[[str], Any]] = {"toml": tomllib.loads, "json": json.loads, "yaml": yaml.safe_load}


def test_hooks_that_a_page_uses_are_offered():
    offered = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    used = [yaml.safe_load(b.text)["repos"] for page in PAGES for b in blocks(page) if b.text.startswith("repos:")]
    assert {hook["id"] for repos in used for repo in repos for hook in repo["hooks"]} == offered


@pytest.mark.parametrize("text", [b.text for page in PAGES for b in blocks(page) if b.language == "xml"])
def test_elements_in_xml_are_valid_where_they_stand(tmp_path, text):
    """In a system of SSP 1.0, with the files that they name."""
    for name in re.findall(r'source="([^"]+)"', text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        make_files([Path(name).name], (tmp_path / name).parent)
    (tmp_path / "SystemStructure.ssd").write_text(AROUND_ELEMENTS.format(text), encoding="utf-8")
    report = library.validate(tmp_path)
    assert not report.errors and not report.warnings, report


AROUND_ELEMENTS = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription version="1.0" name="Plant"
    xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon">
  <ssd:System name="Plant">
    <ssd:Elements>{}</ssd:Elements>
  </ssd:System>
  <ssd:Units><ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit></ssd:Units>
</ssd:SystemStructureDescription>
"""


@pytest.mark.parametrize("text", [b.text for page in PAGES for b in blocks(page) if "[tool.ssptool]" in b.text])
def test_settings_on_a_page_count(ssptool, tmp_path, text):
    """They change what is found in a system that other tools do not read."""
    make_files(["systems"], tmp_path)
    stated = tomllib.loads(text)["tool"]["ssptool"]
    assert library.validate("systems/mass_spring_damper", settings_file=False).errors == ()
    for name, content in (("pyproject.toml", text), ("ssptool.toml", text.partition("\n")[2])):
        (tmp_path / name).write_text(content, encoding="utf-8")
        report = library.validate("systems/mass_spring_damper", settings_file=tmp_path / name)
        assert {one.code[:4] for one in report.errors} == {"PEER"}, report
    assert {"strict", "ignore", "for"} <= {*stated}


def test_the_tour_names_every_command():
    """Inverses apart."""
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8").split("\n## Commands\n")[1]
    inverses = {"remove", "disconnect", "unset", "unbind", "unmap", "unwrap"}
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
