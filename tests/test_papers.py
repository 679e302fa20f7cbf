"""Bill of materials, licences and manual pages name all that the program has and needs."""

import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STATED = {
    canonicalize_name(Requirement(text).name)
    for text in (
        *PROJECT["dependencies"],
        *(text for extra in PROJECT["optional-dependencies"].values() for text in extra),
    )
}


@pytest.fixture
def sbom(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / ".ci")
    return importlib.import_module("sbom")


def test_the_bill_of_materials_is_valid_and_names_every_requirement(sbom):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    text = sbom.bill()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    content = json.loads(text)
    assert {one["name"] for one in content["components"]} >= STATED | {"nanobind", "robin-map"}
    assert content["metadata"]["component"]["version"] == sbom.VERSION
    assert text == sbom.bill()


def test_what_is_compiled_in_comes_with_its_licence(sbom, tmp_path):
    sbom.write(tmp_path)
    texts = {file.stem: file.read_text(encoding="utf-8") for file in tmp_path.glob("licenses/compiled_in/*.txt")}
    assert set(texts) >= {"nanobind", "robin-map", "nlohmann-json"}
    assert [name for name, text in texts.items() if "opyright" not in text] == []


def test_the_page_of_licences_names_every_requirement(sbom):
    rows = re.findall(r"^\| ([\w-]+) \| (.+) \|$", (ROOT / "docs" / "licences.md").read_text(encoding="utf-8"), re.M)
    assert {name for name, _ in rows} >= STATED | {part.name for part in sbom.compiled_in()}


def test_manual_pages_have_every_command_with_every_option(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    commands = importlib.import_module("commands")
    commands.write_manual(tmp_path)
    known = list(commands.commands())
    assert {page.stem for page in tmp_path.iterdir()} == {"ssptool", *(one.title.replace(" ", "-") for one in known)}
    for command in known:
        page = (tmp_path / f"{command.title.replace(' ', '-')}.1").read_text(encoding="utf-8")
        assert page.count("\n.TP\n") == len(command.rows)
        requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
        assert requests <= {".TH", ".SH", ".PP", ".TP", ".B", ".BR", ".RS", ".nf", ".fi", ".RE"}
        text = page.replace("\\-", "-").replace("\\e", "\\")
        assert [name for name, _ in command.rows if f".B {name}" not in text] == []
