"""Installations of all ways are equal, and recipe, entries for lists of tools, and paper agree with the program."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from lxml import etree
from packaging.requirements import Requirement

import ssptool
from ssptool.engine.failure import UnsupportedByFmu
from ssptool.option_words import ImplementationWord, InterfaceWord, SspWord

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "distribution"
RECIPE = PLACE / "conda" / "recipe.yaml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


# -- conda ----------------------------------------------------------------------------------------------------------


def rendered(platform: str, **variants: list[str]) -> list[dict[str, Any]]:
    conda = pytest.importorskip("rattler_build", reason="py-rattler-build is not installed")
    config = conda.RenderConfig(platform=conda.PlatformConfig(target_platform=platform))
    recipe = conda.Stage0Recipe.from_file(RECIPE)
    return [one.recipe.to_dict() for one in recipe.render(conda.VariantConfig(variants), config)]


def stated(requirements: Iterable[str]) -> dict[str, str]:
    """Specifiers by the name that conda gives the package."""
    found = [Requirement(text) for text in requirements]
    return {one.name.replace("nlohmann-json", "nlohmann_json"): str(one.specifier) for one in found}


@pytest.mark.parametrize("platform", ["linux-64", "linux-aarch64", "osx-arm64"])
def test_the_recipe_renders_and_has_the_requirements_of_the_project(platform):
    for one in rendered(platform, python=["3.11.*", "3.13.*"]):
        assert one["package"] == {"name": "ssptool", "version": ssptool.__version__}
        assert one["build"]["string"].startswith(("py311", "py313"))
        wanted = {"python": PROJECT["project"]["requires-python"], **stated(PROJECT["project"]["dependencies"])}
        assert stated(one["requirements"]["run"]) == wanted
        built_with = {"python": "", "pip": "", **stated(PROJECT["build-system"]["requires"])}
        assert stated(one["requirements"]["host"]) == built_with
        assert one["about"]["license"] == PROJECT["project"]["license"]
        assert one["about"]["summary"] == PROJECT["project"]["description"]


def test_the_commands_that_the_recipe_tests_the_package_with_work(tmp_path):
    (one,) = rendered("linux-64")
    (script,) = (test["script"] for test in one["tests"] if "script" in test)
    for line in script:
        program, *words = line.split()
        subprocess.run([sys.executable, "-m", program, *words], cwd=tmp_path, check=True, capture_output=True)


# -- installations are equal ------------------------------------------------------------------------------------------

PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
FROM_HERE = ["--no-deps", "--no-build-isolation", "--no-index"]
WITHOUT_COMPILER = {**os.environ, "SSPTOOL_NATIVE": "OFF"}
"""Native modules take minutes to compile; which files there are apart from them does not depend on them."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The last commit."""
    pytest.importorskip("scikit_build_core", reason="scikit-build-core is not installed")
    folder = tmp_path_factory.mktemp("clone") / "ssptool"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


def content(names: Iterable[str]) -> set[str]:
    """Files but those that an installer adds: compiled modules, and notes on the installation."""
    added = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
    return {
        name
        for name in names
        if name.startswith("ssptool") and "__pycache__" not in name and name.rpartition("/")[2] not in added
    }


def files_below(folder: Path) -> set[str]:
    return content(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


@pytest.fixture(scope="module")
def wheel(clone, tmp_path_factory):
    """Names of the files in the wheel that is built from the last commit."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([*PIP, "wheel", *FROM_HERE, "--wheel-dir", folder, clone], env=WITHOUT_COMPILER, check=True)
    (built,) = folder.iterdir()
    with zipfile.ZipFile(built) as archive:
        return content(archive.namelist())


@pytest.mark.slow
@pytest.mark.parametrize("way", ["{}", "git+file://{}"], ids=["pip install .", "pip install git+"])
def test_an_installation_from_sources_has_the_files_of_the_wheel(clone, wheel, tmp_path, way):
    command = [*PIP, "install", *FROM_HERE, "--target", tmp_path / "made", way.format(clone)]
    subprocess.run(command, env=WITHOUT_COMPILER, check=True)
    assert files_below(tmp_path / "made") == wheel
    assert "ssptool/systems/dual_mass_oscillator/SystemStructure.ssd" in wheel
    assert "ssptool/py.typed" in wheel


@pytest.mark.slow
def test_the_recipe_builds_a_package_with_the_files_of_the_wheel(clone, wheel, tmp_path):
    """With this Python and its tools in place of those of a channel, as none is in reach."""
    conda = pytest.importorskip("rattler_build", reason="py-rattler-build is not installed")
    (recipe,) = rendered("linux-64")
    del recipe["context"], recipe["requirements"]["build"], recipe["requirements"]["host"]
    recipe["source"] = [{"path": str(clone)}]
    place = {
        "PYTHON": sys.executable,
        "SSPTOOL_NATIVE": "OFF",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    script = f"export PIP_PREFIX=$PREFIX PIP_NO_INDEX=1\n{recipe['build']['script']}"
    recipe["build"] = {"number": 0, "script": {"content": script, "env": place}}
    (result,) = conda.Stage0Recipe.from_dict(recipe, recipe_dir=tmp_path / "recipe").run_build(
        channels=[], output_dir=tmp_path / "made", tool_config=conda.ToolConfiguration(test_strategy="skip")
    )
    package = conda.Package.from_file(result.packages[0])
    assert (package.name, str(package.version), package.license) == ("ssptool", ssptool.__version__, "BSD-2-Clause")
    assert package.depends == recipe["requirements"]["run"]
    assert "bin/ssptool" in package.files
    assert content(name.partition("/site-packages/")[2] for name in package.files) == wheel


# -- lists of tools ---------------------------------------------------------------------------------------------------

OF_VERSIONS = {
    "1.0": "resources/fmi1/System1.fmu",
    "2.0": "resources/System1.fmu",
    "3.0": "resources/fmi3/System1.fmu",
}


def runs(version: str, implementation: ImplementationWord) -> bool:
    fmu = ROOT / "systems" / "dual_mass_oscillator" / OF_VERSIONS[version]
    with zipfile.ZipFile(fmu) as archive:
        assert etree.fromstring(archive.read("modelDescription.xml")).get("fmiVersion") == version
    try:
        return ssptool.simulate(fmu, stop_time=0.01, implementation=implementation, output=None).ok
    except UnsupportedByFmu:
        return False


def test_the_entry_for_the_list_of_fmi_tools_names_what_runs_and_what_is_exported(tmp_path):
    entry = json.loads((PLACE / "fmi_tools.json").read_text(encoding="utf-8"))
    ways = [word for word in get_args(ImplementationWord) if word != "auto"]
    running = {version: {way for way in ways if runs(version, way)} for version in OF_VERSIONS}
    assert entry["fmiVersions"] == [version for version, found in running.items() if found]
    assert {word.lower() for word in entry["fmuImport"]} == set.union(*running.values())
    assert {word.lower() for word in entry["fmuExport"]} == {*get_args(InterfaceWord)} - {"both"}
    for interface in entry["fmuExport"]:
        ssptool.export(ROOT / "systems/dual_mass_oscillator", tmp_path / "one.fmu", interface=interface.lower())
    tested = [text for text in PROJECT["project"]["classifiers"] if text.startswith("Operating System :: ")]
    assert entry["platforms"] == [text.rpartition(" :: ")[2] for text in tested]
    assert entry["license"] == "osi"
    assert entry["vendor"] == authors()


def test_the_entry_for_the_list_of_ssp_tools_names_the_versions_that_are_read_and_written():
    name, vendor, _, licence, read, written = etree.parse(PLACE / "ssp_tools.html").getroot()
    versions = "/".join(get_args(SspWord))
    assert (name.findtext("a"), vendor.text, licence.text) == ("ssptool", authors(), "free")
    assert (read.text, written.text) == (versions, versions)


# -- the paper --------------------------------------------------------------------------------------------------------


def citation() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return content


def authors() -> str:
    (one,) = citation()["authors"]
    return str(one["name"])


def rows(text: str) -> set[tuple[str, ...]]:
    """First five cells of the rows of tables."""
    lines = (line for line in text.splitlines() if line.startswith("| "))
    return {tuple(cell.strip() for cell in line.strip("|").split("|"))[:5] for line in lines}


def test_the_paper_has_the_authors_of_the_citation_and_the_figures_of_the_readme():
    _, head, text = (PLACE / "paper.md").read_text(encoding="utf-8").split("---\n", 2)
    stated = yaml.safe_load(head)
    assert [one["name"] for one in stated["authors"]] == [authors()]
    assert stated["tags"] == citation()["keywords"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(rows(text)) == 6 and rows(text) <= rows(readme)
    assert set(re.findall(r"\d+ (?:systems with exact answers|claims)", text)) == set(
        re.findall(r"\d+ (?:systems with exact answers|claims)", readme)
    )


def test_the_paper_refers_to_each_entry_of_its_bibliography_and_to_no_other():
    text = (PLACE / "paper.md").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),$", (PLACE / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"@(\w+)", text)) == {*entries}
    assert len(entries) == len({*entries})
