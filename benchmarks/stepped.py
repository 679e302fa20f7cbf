"""The steps of a plan without all that is around them in a run: loaded, initialized, ready for the first one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.engine.assembly.assembly import assemble
from ssptool.engine.run.steps import steps_of
from ssptool.engine.run.system import LoadedSystem, SystemSteps
from ssptool.types import Plan


@contextmanager
def stepped(plan: Plan, system: Path) -> Iterator[SystemSteps]:
    """Steps until the stop time of the plan."""
    loaded = LoadedSystem(plan)
    with Archive.open(system) as archive, assemble(loaded.native, loaded.adopted, plan, archive) as assembly:
        report, found = loaded.initialize(assembly)
        assert report.ok and found is None, report.failure
        yield steps_of(loaded, assembly)
