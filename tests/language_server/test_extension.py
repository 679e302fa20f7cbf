"""The extension for VS Code starts the server that there is, for the documents that it knows."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from lxml import etree
from typer.testing import CliRunner

import ssptool
from ssptool.cli.app import SUMMARIES, app
from ssptool.errors import WrongUsage
from ssptool.language_server import extension
from ssptool.language_server.extension import install_extension
from ssptool.language_server.systems import SUFFIXES

NODE = shutil.which("node")
SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
FOLDER = Path(__file__).parents[2] / "editors" / "vscode"


def test_the_extension_has_the_version_the_command_and_the_endings_of_the_server():
    stated = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    contributed = stated["contributes"]
    command = contributed["configuration"]["properties"]["ssptool.command"]["default"]
    assert stated["version"] == ssptool.__version__
    assert command[0] == "ssptool"
    assert command[1] in SUMMARIES
    assert contributed["languages"][0]["extensions"] == list(SUFFIXES)


def test_findings_of_the_task_appear_under_problems(tmp_path):
    system = Path(shutil.copytree(SYSTEM, tmp_path / "dual"))
    text = (system / "SystemStructure.ssd").read_text()
    (system / "SystemStructure.ssd").write_text(text.replace('endConnector="x1"', 'endConnector="x9"'))
    (matcher,) = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["contributes"]["problemMatchers"]
    pattern = matcher["pattern"]
    command = [sys.executable, "-m", "ssptool", "validate", "dual", "--format", "github"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    found = [one for line in printed.splitlines() if (one := re.match(pattern["regexp"], line))]
    assert len(found) == printed.count("::error ") + printed.count("::notice ") > 5
    error = found[0]
    assert error[pattern["severity"]] == "error"
    assert (tmp_path / error[pattern["file"]]).samefile(system / "SystemStructure.ssd")
    line, first, last = (int(error[pattern[name]]) for name in ("line", "column", "endColumn"))
    assert text.splitlines()[line - 1].replace("x1", "x9", 2)[first - 1 : last - 1].endswith('endConnector="x9"')
    assert error[pattern["code"]] == "SSD-CONN-002"


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_parts_of_the_extension():
    assert NODE is not None
    names = {"SSPTOOL": str(Path(sys.executable).with_name("ssptool")), "SYSTEM": str(SYSTEM)}
    done = subprocess.run(
        [NODE, "--test", "test/"], cwd=FOLDER, env=os.environ | names, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "# pass 5" in done.stdout


@pytest.fixture
def bundled(tmp_path):
    """The folder of the extension with a bundle of one package of npm, in place of that which npm makes."""
    source = Path(shutil.copytree(FOLDER, tmp_path / "vscode", ignore=shutil.ignore_patterns("node_modules", "dist")))
    package = source / "node_modules" / "@scope" / "part"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "@scope/part", "version": "1.2.3"}')
    (package / "LICENSE.md").write_text("Copyright of somebody\n")
    (source / "dist").mkdir()
    (source / "dist" / "extension.js").write_text("module.exports = {};\n")
    inputs = {"node_modules/@scope/part/lib/one.js": {}, "extension.js": {}}
    (source / "dist" / "bundle.json").write_text(json.dumps({"inputs": inputs}))
    return source


def packed(source: Path, target: Path) -> zipfile.ZipFile:
    spec = importlib.util.spec_from_file_location("vsix", FOLDER.parents[1] / ".ci" / "vsix.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write(target, source)
    return zipfile.ZipFile(target)


def test_the_package_has_all_that_it_names_and_the_licences_of_its_parts(bundled, tmp_path):
    stated = json.loads((bundled / "package.json").read_text(encoding="utf-8"))
    with packed(bundled, tmp_path / "one.vsix") as package, packed(bundled, tmp_path / "two.vsix"):
        names = {*package.namelist()}
        named = [stated["main"], *(one["path"] for one in stated["contributes"]["grammars"])]
        named += [one["configuration"] for one in stated["contributes"]["languages"]]
        assert {f"extension/{name.removeprefix('./')}" for name in named} < names
        manifest = etree.fromstring(package.read("extension.vsixmanifest"))
        identity = manifest.find(".//{*}Identity")
        assert [identity.get(name) for name in ("Id", "Version", "Publisher")] == [
            stated[name] for name in ("name", "version", "publisher")
        ]
        assert {one.get("Path") for one in manifest.iter("{*}Asset")} < names
        types = etree.fromstring(package.read("[Content_Types].xml"))
        assert {Path(name).suffix for name in names - {"[Content_Types].xml"}} == {
            one.get("Extension") for one in types
        }
        notices = package.read("extension/NOTICES.txt").decode()
        assert "@scope/part 1.2.3" in notices
        assert "Copyright of somebody" in notices
    assert (tmp_path / "one.vsix").read_bytes() == (tmp_path / "two.vsix").read_bytes()


def test_a_part_without_a_licence_is_not_packed(bundled, tmp_path):
    (bundled / "node_modules" / "@scope" / "part" / "LICENSE.md").unlink()
    with pytest.raises(SystemExit, match="part has no licence"):
        packed(bundled, tmp_path / "one.vsix")


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """An installation with the extension, and a folder for commands that is the whole path."""
    commands = tmp_path / "commands"
    (tmp_path / "ssptool" / "editors").mkdir(parents=True)
    commands.mkdir()
    (tmp_path / "ssptool" / "editors" / "ssptool.vsix").write_bytes(b"PK")
    monkeypatch.setattr(extension, "PACKAGE", tmp_path / "ssptool")
    monkeypatch.setenv("PATH", str(commands))
    return tmp_path


def command(folder: Path, name: str, script: str) -> None:
    """A command of a shell, which the path need not have."""
    (folder / "commands" / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / "commands" / name).chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="needs scripts of a shell")
def test_the_extension_is_installed_by_the_command_of_the_editor(installation):
    command(installation, "codium", f'printf "%s\\n" "$@" > "{installation}/asked"')
    told = CliRunner().invoke(app, ["lsp", "--vscode"])
    assert told.exit_code == 0, told.output
    file = installation / "ssptool" / "editors" / "ssptool.vsix"
    assert (installation / "asked").read_text().split() == ["--install-extension", str(file), "--force"]
    assert str(file) in told.output


@pytest.mark.skipif(os.name == "nt", reason="needs scripts of a shell")
def test_without_an_editor_the_file_is_named_and_a_failure_has_its_words(installation):
    file = installation / "ssptool" / "editors" / "ssptool.vsix"
    with pytest.raises(WrongUsage, match=re.escape(f"code --install-extension {file}")):
        install_extension()
    command(installation, "code", 'echo "the disk is full" >&2; exit 3')
    with pytest.raises(WrongUsage, match="the disk is full"):
        install_extension()
    file.unlink()
    with pytest.raises(WrongUsage, match="has no extension"):
        install_extension()
    (installation / "editors" / "vscode").mkdir(parents=True)
    (installation / "editors" / "vscode" / "package.json").write_text("{}")
    with pytest.raises(WrongUsage, match="make vsix"):
        install_extension()
