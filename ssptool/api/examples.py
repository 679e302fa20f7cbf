"""The example systems of the project: packages that an installation brings, or the folders of a clone."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ssptool.arguments import text
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive
from ssptool.documents.foreign_files import own_output
from ssptool.editing.package import SUFFIX, Unpacked, leave_out, unpack_package
from ssptool.errors import WrongUsage, similar_names

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = _PACKAGE / "examples"
_IN_CLONE = _PACKAGE.parent / "systems"


@dataclass(frozen=True, slots=True)
class ExampleSystem:
    """An example system, what its default variant says that it is, and the names of its other variants."""

    name: str
    description: str
    variants: tuple[str, ...]


class UnknownExample(WrongUsage, LookupError):
    """There is no example system of this name; `known` are those that there are."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        near = similar_names(name, known)
        meant = f"did you mean {' or '.join(near)}? There" if near else "there"
        super().__init__(f"there is no example system {name!r}; {meant} are {', '.join(known)}")
        self.name = name
        self.known = known


class ExamplesMissing(WrongUsage):
    """This installation has no example systems, or not their FMUs."""


def list_examples() -> tuple[ExampleSystem, ...]:
    """The example systems, by name.

    Raises
    ------
    ExamplesMissing
    """
    found = []
    for name, path in _places().items():
        with closing(Archive.open(path)) as archive:
            default, *others = archive.variants()
            variants = tuple(one.root.get("name", "") for one in others)
            found.append(ExampleSystem(name, default.root.get("description", ""), variants))
    return tuple(found)


def example(name: str, folder: Path | str | None = None, *, force: bool = False) -> Unpacked:
    """Write an example system into a folder, with its FMUs.

    Parameters
    ----------
    folder
        Else that of its name.
    force
        Write into a folder that is not empty; its other files stay.

    Raises
    ------
    UnknownExample, ExamplesMissing
    FileExistsError
        The folder is not empty.
    """
    places = _places()
    if text("name", name) not in places:
        raise UnknownExample(name, tuple(places))
    target = own_output(Path(name)) if folder is None else Path(folder)
    with closing(Archive.open(places[name])) as archive:
        if archive.path.is_dir():
            leave_out(archive)
        if not any(entry.endswith(".fmu") for entry in archive.names()):
            raise ExamplesMissing(f"the FMUs of {archive.path} are not built: call `make setup` in {_PACKAGE.parent}")
        return unpack_package(archive, target, force=force, portable=False)


def _places() -> Mapping[str, Path]:
    """Name → package or folder."""
    found = {path.stem: path for path in sorted(_INSTALLED.glob(f"*{SUFFIX}"))}
    found = found or {path.parent.name: path.parent for path in sorted(_IN_CLONE.glob(f"*/{DEFAULT_STRUCTURE}"))}
    if not found:
        raise ExamplesMissing(
            "this installation brings no example systems; packages of `make wheels` bring them, "
            "and a clone has them after `make setup`"
        )
    return found
