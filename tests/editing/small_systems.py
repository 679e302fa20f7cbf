"""Systems to edit in tests, and what an edit changed in their text."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ssptool
from ssptool.errors import WrongUsage
from ssptool.types import Editor
from tests.network.packages import component, content, package, system
from tests.network.packages import model as model
from tests.network.packages import ssd as any_ssd

DUAL_MASS = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
FMUS = DUAL_MASS / "resources"

SOURCE = model('output y Real unit="m"; output n Integer; output flag Boolean; parameter k Real unit="m" start="1"')
SINK = model('input u Real unit="m" start="0"; input i Integer start="0"; input force Real unit="N" start="0"')


def ssd(system: str, version: str = "2.0") -> str:
    """A system structure that is valid even where nothing is connected."""
    return any_ssd(system, version).replace("<ssd:Connections>\n</ssd:Connections>", "")


def fmu(folder: Path, name: str, description: str, terminals: str = "") -> Path:
    """A file that is an FMU as far as its descriptions go."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", description)
        if terminals:
            archive.writestr("terminalsAndIcons/terminalsAndIcons.xml", terminals)
    return path


def nested(folder: Path, version: str = "2.0") -> Path:
    """Source `A` and, in the system `Sub`, the sink `B`; `Sub` passes its input `u` on."""
    sub = system("Sub", "input u Real m, output y Real m", [component("B", "Sink", "input u Real m")], ["u -> B.u"])
    root = content("", [component("A", "Source", "output y Real m"), sub], ["A.y -> Sub.u"])
    package(folder, ssd(root, version), {"Source": SOURCE, "Sink": SINK})
    return folder


def changed_lines(editor: Editor) -> list[str]:
    """The lines of the diff that were removed and added, without those that name the files."""
    lines = editor.diff().splitlines()
    return [line for line in lines if line[:1] in "+-" and line[:4] not in ("--- ", "+++ ")]


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def errors(path: Path) -> list[str]:
    return [str(each) for each in ssptool.validate(path).errors]


@contextmanager
def refused(path: Path, hint: str, kind: type[Exception] = WrongUsage, **options: object) -> Iterator[Editor]:
    """An edit that has to fail with `hint` in its message, and to leave every byte as it was."""
    before = snapshot(path)
    with pytest.raises(kind) as caught, ssptool.edit(path, **options) as editor:
        yield editor
    assert hint in str(caught.value)
    assert snapshot(path) == before
