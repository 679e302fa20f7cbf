"""The action of GitHub, the component of GitLab and the development container: their steps run, their names exist."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import JUnitXml
from markdown_it import MarkdownIt
from packaging.specifiers import SpecifierSet

import ssptool

ROOT = Path(__file__).parents[1]
OSCILLATOR = ROOT / "systems" / "dual_mass_oscillator"
CODE = "SSD-CONN-002"
"""Rule that a connection to a connector that is not there breaks."""

in_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@dataclass(frozen=True)
class Step:
    """Command line with the variables that its definition gives it."""

    line: str
    variables: dict[str, str]


def filled(text: str, opening: str, inputs: dict[str, str], closing: str) -> str:
    """Text with the values of the inputs, as the forge puts them in; an unknown one raises KeyError."""
    pattern = re.escape(opening) + r" inputs\.([\w-]+) " + re.escape(closing)
    return re.sub(pattern, lambda found: inputs[found[1]], text)


def action() -> dict[str, Any]:
    definition: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return definition


def component() -> tuple[dict[str, Any], str]:
    """Inputs of the component, and the text of its job."""
    header, _, job = (ROOT / "templates" / "validate.yml").read_text(encoding="utf-8").partition("\n---\n")
    return yaml.safe_load(header)["spec"]["inputs"], job


def defaults(inputs: dict[str, Any]) -> dict[str, str]:
    return {name: one["default"] for name, one in inputs.items() if "default" in one}


def steps_of_github(**given: str) -> Iterator[Step]:
    inputs = {**defaults(action()["inputs"]), **given}
    for step in action()["runs"]["steps"]:
        if "run" in step:
            assert step["shell"] == "bash"
            variables = {name: filled(text, "${{", inputs, "}}") for name, text in step.get("env", {}).items()}
            yield Step(step["run"], {"GITHUB_ACTION_PATH": str(ROOT), **variables})


def job_of_gitlab(**given: str) -> dict[str, Any]:
    inputs, text = component()
    values = {**defaults(inputs), "package": str(ROOT), **given}
    (job,) = yaml.safe_load(filled(text, "$[[", values, "]]")).values()
    return job


def steps_of_gitlab(**given: str) -> Iterator[Step]:
    job = job_of_gitlab(**given)
    for line in job["script"]:
        yield Step(line, job["variables"])


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Runs steps in a folder with a system that is right, `good`, and one that is wrong, `bad`.

    `ssptool` is this one. `python -m pip install` is written down: tests/test_distribution.py installs.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("good", "bad"):
        shutil.copytree(OSCILLATOR, name)
    ssd = Path("bad/SystemStructure.ssd")
    ssd.write_text(ssd.read_text(encoding="utf-8").replace('startConnector="x1"', 'startConnector="y1"'), "utf-8")
    for name, line in {"ssptool": f'exec "{sys.executable}" -m ssptool "$@"', "python": 'echo "$*"'}.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        program.chmod(0o755)
    around = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def run(steps: Iterator[Step]) -> tuple[int, list[str]]:
        """Exit status of the first step that fails, or 0, and what each step printed."""
        printed = []
        for step in steps:
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.line]
            done = subprocess.run(
                command, env={**around, **step.variables}, capture_output=True, text=True, encoding="utf-8", check=False
            )
            printed.append(done.stdout + done.stderr)
            if done.returncode:
                return done.returncode, printed
        return 0, printed

    return run


@in_bash
@pytest.mark.parametrize(
    ("systems", "options", "status"),
    [("good", "", 0), ("good bad", "", 1), ("bad", f"--ignore {CODE}", 0), ("good", "--strict --for fmpy", 1)],
)
def test_the_action_annotates_findings_and_writes_sarif_whatever_it_finds(shell, systems, options, status):
    ended, (installed, annotations) = shell(steps_of_github(systems=systems, options=options))
    assert installed.split() == ["-m", "pip", "install", "--quiet", str(ROOT)]
    assert ended == status
    assert ("::error file=bad/SystemStructure.ssd,line=32," in annotations) == (
        "bad" in systems.split() and not options
    )
    uploaded = action()["runs"]["steps"][-1]["with"]["sarif_file"]
    results = json.loads(Path(uploaded).read_text(encoding="utf-8"))["runs"][0]["results"]
    found = [one for one in results if one["level"] == "error" and not one.get("suppressions")]
    assert bool(found) == bool(status)


@in_bash
@pytest.mark.parametrize(
    ("systems", "options", "status"),
    [("good", "", 0), ("good bad", "", 1), ("bad", f"--ignore {CODE}", 0), ("good", "--strict --for fmpy", 1)],
)
def test_the_component_prints_findings_and_writes_junit_whatever_it_finds(shell, systems, options, status):
    ended, (installed, _, printed) = shell(steps_of_gitlab(systems=systems, options=options))
    assert installed.split() == ["-m", "pip", "install", "--quiet", str(ROOT)]
    assert ended == status
    assert (f"error {CODE} bad/SystemStructure.ssd:32" in printed) == ("bad" in systems.split() and not options)
    report = JUnitXml.fromfile(job_of_gitlab()["artifacts"]["reports"]["junit"])
    assert bool(report.failures) == bool(status)


@in_bash
@pytest.mark.parametrize("steps", [steps_of_github, steps_of_gitlab], ids=["github", "gitlab"])
def test_wrong_usage_ends_both_at_the_report(shell, steps):
    ended, (_, said) = shell(steps(systems="nowhere"))
    assert ended == 1
    assert said.count("nowhere does not exist") == 1


@in_bash
def test_both_check_the_working_folder_unless_told_otherwise(shell):
    assert shell(steps_of_github())[0] == shell(steps_of_gitlab())[0] == 1
    shutil.rmtree("bad")
    assert shell(steps_of_github())[0] == shell(steps_of_gitlab())[0] == 0


# -- how the page uses them -----------------------------------------------------------------------------------------


def used_on_the_page(beginning: str) -> Any:
    """The definition in docs/ci.md that begins so."""
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    blocks = (token.content for token in MarkdownIt("commonmark").parse(text) if token.type == "fence")
    (found,) = (yaml.safe_load(block) for block in blocks if block.startswith(beginning))
    return found


def test_the_page_gives_the_action_inputs_that_it_has():
    inputs = action()["inputs"]
    (step,) = (one for one in used_on_the_page("permissions:")["steps"] if one.get("uses", "").startswith("OWNER/"))
    assert step["uses"] == f"OWNER/ssptool@v{ssptool.__version__}"
    assert set(step["with"]) < set(inputs)
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| (.*) \|$", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), re.M)
    words = {"the working folder": ".", "none": ""}
    assert {name: words.get(default, default.strip('`"')) for name, default in rows} == defaults(inputs)


def test_the_page_gives_the_component_inputs_that_it_has_and_all_that_it_needs():
    inputs, _ = component()
    (include,) = used_on_the_page("include:")["include"]
    path, _, version = include["component"].partition("@")
    assert (ROOT / "templates" / f"{path.rpartition('/')[2]}.yml").exists()
    assert version == f"v{ssptool.__version__}" == include["inputs"]["package"].rpartition("@")[2]
    assert set(inputs) - set(defaults(inputs)) <= set(include["inputs"]) <= set(inputs)


def test_the_development_container_is_set_up_by_a_target_that_there_is():
    content = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    targets = re.findall(r"^([\w-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    program, target = content["postCreateCommand"].split()
    assert (program, target in targets) == ("make", True)
    folders = [content["remoteEnv"]["PATH"], *content["customizations"]["vscode"]["settings"].values()]
    assert all("${containerWorkspaceFolder}/.venv/bin" in folder for folder in folders)
    assert re.search(r"^VENV := \.venv$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    _, version, _ = re.fullmatch(r"(python):(3\.\d+)(-bookworm)", content["image"]).groups()
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert SpecifierSet(stated).contains(version)


def test_actions_are_pinned_to_commits():
    definitions = [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    used = [one for file in definitions for one in re.findall(r"uses: *(\S+)", file.read_text(encoding="utf-8"))]
    assert len(used) > 10
    assert [one for one in used if not (one.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one))] == []
