"""Names of entries that Linux, macOS or Windows cannot hold: found, and refused by `unpack --portable`."""

import zipfile
from pathlib import Path, PureWindowsPath

import pytest

import ssptool
from ssptool.documents.uri import LONGEST_NAME, LONGEST_PART, unportable, unportable_names
from ssptool.editing.changes import EditError
from tests.safety.command_line import typed

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
RESERVED = [
    "CON",
    "prn",
    "Aux.txt",
    "NUL",
    "nul.tar.gz",
    "COM1",
    "com9.x",
    "LPT1.ssv",
    "COM¹",
    "lpt³.a",
    "CONIN$",
    "conout$",
]
FREE = ["CONSOLE", "auxiliary.txt", "a.nul", "COM", "COM10", "LPTx", "com.ssv", "xCON", "nul_", "$CON", "COM1x.ssv"]
UNPORTABLE = [
    *(
        f"resources/{name}"
        for name in (*RESERVED, "a:b", "a?", "a*b", "a|b", "<a>", '"a"', "a.", "a ", "..a.", "x" * 256)
    ),
    *("resources/nul/inside.ssv", "resources/sub./a", "resources/sub /a", "resources/é" + "é" * 127),
    "/".join(["resources", *["deeper"] * 40]),
]
PAIRS = [
    ("resources/a.ssv", "resources/A.ssv"),
    ("resources/sub/a", "resources/SUB/b"),
    ("resources/straße", "resources/STRASSE"),
    ("resources/é", "resources/E\u0301"),
]


@pytest.mark.parametrize("name", [*RESERVED, *FREE])
def test_the_names_that_python_takes_for_devices_of_windows_are_unportable(name):
    assert (unportable(name) is not None) == PureWindowsPath(name).is_reserved()


def test_lengths_are_exact():
    assert unportable("x" * 200) is None
    assert LONGEST_PART > LONGEST_NAME
    assert unportable("é" * (LONGEST_PART // 2)) is None
    assert "bytes" in (unportable("é" * (LONGEST_PART // 2 + 1)) or "")
    assert unportable("/".join(["d" * 79] * 3)) is None
    assert "characters" in (unportable("/".join(["d" * 79] * 3) + "/x") or "")


def package(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        packed.write(SYSTEM / "SystemStructure.ssd", "SystemStructure.ssd")
        for name in names:
            packed.writestr(name, b"text")
    return path


@pytest.mark.parametrize("names", [*((name,) for name in UNPORTABLE), *PAIRS])
def test_such_names_are_found_and_nothing_is_unpacked_with_portable(tmp_path, names):
    path = package(tmp_path / "p.ssp", *names)
    found = [one for one in ssptool.validate(path).diagnostics if one.code == "PKG-102"]
    assert [one.position.file for one in found] == [names[-1]]
    with pytest.raises(EditError, match="not every system can hold"):
        ssptool.unpack(path, tmp_path / "target", portable=True)
    done = typed("unpack", path, tmp_path / "target", "--portable")
    assert done.code == 1
    assert "not every system can hold" in done.err
    assert "Traceback" not in done.err
    assert [each.name for each in tmp_path.iterdir()] == ["p.ssp"]


def test_portable_names_are_unpacked(tmp_path):
    names = [f"resources/{name}" for name in (*FREE, "a b.c", "é", ".hidden")]
    path = package(tmp_path / "p.ssp", *names)
    assert "PKG-102" not in {one.code for one in ssptool.validate(path).diagnostics}
    assert set(ssptool.unpack(path, tmp_path / "target", portable=True).names) == {"SystemStructure.ssd", *names}
    assert typed("unpack", path, tmp_path / "typed", "--portable").code == 0
    assert (tmp_path / "typed" / "resources" / "auxiliary.txt").read_bytes() == b"text"


def test_each_name_has_one_reason():
    names = ["a/nul.", "A/nul.", "b/x", "b/X", "b/y"]
    assert [name for name, _ in unportable_names(names)] == ["a/nul.", "A/nul.", "b/X"]
