"""The example systems: packages inside an installation, or the folders of a clone.

An installation from source contains the sources of the examples. Their FMUs are compiled at first use.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from ssptool.arguments import text
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive
from ssptool.documents.foreign_files import own_output
from ssptool.editing.package import SUFFIX, Unpacked, leave_out, unpack_package
from ssptool.errors import UnknownName, WrongUsage
from ssptool.fmu.compiling import available_compiler, cache_folder
from ssptool.foreign_text import indented
from ssptool.public_calls import public
from ssptool.tempfiles import TemporaryFolder
from ssptool.work_in_progress import tell

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = _PACKAGE / "examples"
_IN_CLONE = _PACKAGE.parent / "systems"
_SOURCES = _PACKAGE / "systems"
_LONG = "-" * 2  # of options of CMake, which are none of ours


@dataclass(frozen=True, slots=True)
class ExampleSystem:
    """An example system: its name, the description of its default variant, and the names of its other variants."""

    name: str
    description: str
    variants: tuple[str, ...]


@public
def list_examples() -> tuple[ExampleSystem, ...]:
    """List the example systems by name.

    Raises
    ------
    WrongUsage
    """
    found = []
    for name, path in _places().items():
        with closing(Archive.open(path)) as archive:
            default, *others = archive.variants()
            variants = tuple(one.root.get("name", "") for one in others)
            found.append(ExampleSystem(name, default.root.get("description", ""), variants))
    return tuple(found)


@public
def example(name: str, folder: Path | str | None = None, *, force: bool = False) -> Unpacked:
    """Write an example system into a folder, with its FMUs.

    Parameters
    ----------
    folder
        Folder to write (default: NAME in the working folder).
    force
        Write into a folder that is not empty. Its other files stay.

    Raises
    ------
    UnknownName, WrongUsage
    FileExistsError
        The folder is not empty.
    """
    places = _places()
    if text("name", name) not in places:
        raise UnknownName(f"there is no example system {name!r}", name, places)
    target = own_output(Path(name)) if folder is None else Path(folder)
    place = places[name]
    if place.parent == _SOURCES:
        place = _with_fmus(_SOURCES) / name
    with closing(Archive.open(place)) as archive:
        if archive.path.is_dir():
            leave_out(archive)
        if not any(entry.endswith(".fmu") for entry in archive.names()):
            raise WrongUsage(f"the FMUs of {archive.path} are not built: call `make setup` in {_PACKAGE.parent}")
        return unpack_package(archive, target, force=force, portable=False)


def _places() -> Mapping[str, Path]:
    """Name → package or folder."""
    if found := {path.stem: path for path in sorted(_INSTALLED.glob(f"*{SUFFIX}"))}:
        return found
    for folder in (_IN_CLONE, _SOURCES):
        if found := {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{DEFAULT_STRUCTURE}"))}:
            return found
    raise WrongUsage(
        "this installation has no example systems; install a wheel built with `make wheels`, "
        "or run `make setup` in a clone"
    )


def _with_fmus(sources: Path) -> Path:
    """Cached copy of the systems with their FMUs; created again after a change of the sources.

    Raises
    ------
    MissingPackage
        There is no C compiler.
    WrongUsage
        The FMUs cannot be compiled.
    """
    files = sorted(path for path in sources.rglob("*") if path.is_file())
    digest = sha256(b"".join(str(path.relative_to(sources)).encode() + path.read_bytes() for path in files)).hexdigest()
    kept = cache_folder() / f"examples-{digest[:16]}"
    if not kept.is_dir():
        available_compiler()
        kept.parent.mkdir(parents=True, exist_ok=True)
        place = TemporaryFolder(kept.parent)
        try:
            made = Path(place.name, "systems")
            shutil.copytree(sources, made)
            tell("compiling the FMUs of the example systems, once")
            _compile(made / "models", Path(place.name, "build"))
            try:
                made.rename(kept)
            except OSError:
                if not kept.is_dir():  # else another process had the same to do
                    raise
        finally:
            place.cleanup()
    return kept


def _compile(models: Path, build: Path) -> None:
    """Compile all models, and copy their FMUs into the systems."""
    cmake = _cmake()
    ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
    for command in (
        [cmake, "-S", models, "-B", build, *ninja, f"-DPython_EXECUTABLE={sys.executable}"],
        [cmake, f"{_LONG}build", build, f"{_LONG}target", "systems", f"{_LONG}parallel"],
    ):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode:
            said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
            raise WrongUsage(f"the FMUs of the example systems cannot be compiled:\n{indented(said)}")


def _cmake() -> str:
    """The cmake program: of the Python package that FMPy requires, or of this machine."""
    try:
        folder: str = import_module("cmake").CMAKE_BIN_DIR
    except (ImportError, AttributeError):
        folder = ""
    found = shutil.which("cmake", path=folder or None) or shutil.which("cmake")
    if found is None:
        raise WrongUsage("the FMUs of the example systems are compiled with CMake: pip install cmake")
    return found
