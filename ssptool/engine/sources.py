"""Sources of FMUs for a run: an archive, or copies that were compiled from the sources that FMUs bring."""

from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ssptool.dataclass import dataclass
from ssptool.engine.plan import Plan
from ssptool.fmu.compiling import Compiled, compiled, lacks_library, say


class Sources(Protocol):
    """Where FMUs come from; an archive is one."""

    def local_path(self, name: str) -> Path:
        """A file, or a folder, that can be read under this path."""
        ...


@dataclass(frozen=True, slots=True)
class WithLibraries:
    """An archive with copies of some of its FMUs that have a library for this platform."""

    archive: Sources
    copies: dict[str, Path]

    def local_path(self, name: str) -> Path:
        return self.copies.get(name) or self.archive.local_path(name)


def with_libraries(plan: Plan, archive: Sources) -> tuple[Plan, Sources]:
    """Compile the FMUs of a plan that have no library for this platform; the plan has a note on each.

    Raises
    ------
    NotCompiled
        There is no compiler, an FMU lists no sources, or the compiler refuses them.
    UnreadableFmu
        An FMU cannot be unpacked.
    """
    made: dict[str, Compiled] = {}
    for one in plan.instances:
        path = archive.local_path(one.source)
        if one.source not in made and lacks_library(path, one.description):
            made[one.source] = compiled(path, one.description)
    if not made:
        return plan, archive
    copies = {source: one.path for source, one in made.items()}
    return replace(plan, notes=(*plan.notes, *say(made))), WithLibraries(archive, copies)
