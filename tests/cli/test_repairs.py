"""Documents as other tools leave them: in other encodings, without versions, with prefixes that nothing declares."""

import re
import shutil
from pathlib import Path

import pytest

import ssptool as api

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
TITLE = "Zwei Massen, 5 µm Spiel"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A system whose description has letters beyond ASCII."""
    shutil.copytree(SYSTEM, tmp_path / "system")
    path = tmp_path / "system" / "SystemStructure.ssd"
    text = path.read_text(encoding="utf-8")
    assert text.startswith(DECLARATION)
    path.write_text(text.replace('description="Two masses', f'description="{TITLE}: two masses', 1), encoding="utf-8")
    assert not api.validate(tmp_path / "system").errors
    return tmp_path / "system"


ENCODED = [
    ("utf-16", "UTF-16"),
    ("utf-16-le", "UTF-16"),
    ("utf-16-be", "UTF-16"),
    ("iso-8859-1", "ISO-8859-1"),
    ("windows-1252", "windows-1252"),
    ("utf-8", "UTF8"),
    ("utf-8", "UTF-16"),
]


@pytest.mark.parametrize(("encoding", "declared"), ENCODED)
def test_a_document_in_another_encoding_is_rewritten_as_utf8(encoding, declared, folder, ssptool):
    path = folder / "SystemStructure.ssd"
    before = path.read_bytes()
    text = before.decode("utf-8").replace('encoding="UTF-8"', f'encoding="{declared}"')
    path.write_bytes(text.encode(encoding))
    assert "XML-002" in ssptool("validate", folder)[1]
    assert f"+{DECLARATION}" in ssptool("validate", folder, "--diff")[1]
    assert path.read_bytes() == text.encode(encoding)
    status, out, said = ssptool("validate", folder, "--fix")
    assert (status, "XML-002" in out, "fixed XML-002" in said) == (0, False, True)
    assert path.read_bytes() == before
    assert "nothing to fix" in ssptool("validate", folder, "--fix", "--diff")[2]


def test_an_encoding_that_nobody_states_is_a_guess(folder, ssptool):
    path = folder / "SystemStructure.ssd"
    before = path.read_bytes()
    path.write_bytes(before.decode("utf-8").encode("windows-1252"))
    assert ssptool("validate", folder, "--fix")[0] == 1
    assert ssptool("validate", folder, "--unsafe-fixes")[0] == 0
    assert path.read_bytes() == before


def test_prefixes_that_nothing_declares_are_declared(folder, ssptool):
    path = folder / "SystemStructure.ssd"
    declared = ' xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon"'
    before = path.read_text(encoding="utf-8")
    spoilt = before.replace(declared.strip(), "", 1)
    assert spoilt != before
    path.write_text(spoilt, encoding="utf-8")
    assert "the prefix ssc has no namespace" in ssptool("validate", folder)[1]
    status, _, said = ssptool("validate", folder, "--fix")
    assert status == 0
    assert "fixed XML-001" in said
    name = "<ssd:SystemStructureDescription"
    assert path.read_text(encoding="utf-8") == spoilt.replace(name, name + declared, 1)


def test_a_prefix_of_which_nobody_knows_the_namespace_is_left_alone(folder, ssptool):
    path = folder / "SystemStructure.ssd"
    text = path.read_text(encoding="utf-8").replace("<ssd:Elements>", "<ssd:Elements><my:note/>", 1)
    path.write_text(text, encoding="utf-8")
    assert ssptool("validate", folder, "--fix")[0] == 1
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("stated", ["", 'version="1"', 'version="v1.0"', 'version="1.0.1"', 'version="1.0 "'])
def test_a_missing_or_almost_right_version_is_written(stated, folder, ssptool):
    path = folder / "SystemStructure.ssd"
    before = path.read_text(encoding="utf-8")
    head, version, tail = before.partition('version="1.0" name')
    assert version
    path.write_text(f"{head}{stated} name{tail}", encoding="utf-8")
    assert "VER-001" in ssptool("validate", folder)[1]
    assert ssptool("validate", folder, "--fix")[0] == 0
    if stated:
        assert path.read_text(encoding="utf-8") == before
    else:
        fixed = path.read_text(encoding="utf-8").removeprefix(DECLARATION)
        assert re.sub(r'\s*version="1.0"', "", fixed, count=1) == f"{head} name{tail}".removeprefix(DECLARATION)


def test_a_version_that_there_is_not_is_a_guess(folder, ssptool):
    path = folder / "SystemStructure.ssd"
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace('version="1.0" name', 'version="1.5" name', 1), encoding="utf-8")
    assert ssptool("validate", folder, "--fix")[0] == 1
    assert ssptool("validate", folder, "--unsafe-fixes")[0] == 0
    assert path.read_text(encoding="utf-8") == before
