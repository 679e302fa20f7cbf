"""Systems that stay open between calls in one process, with their findings, plans and data of earlier runs.

A system is kept from its second use on. It is used again only if its files, and all files that its documents look for,
have not changed since it was opened. One caller at a time uses a kept system.
"""

import atexit
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from ssptool.confinement import confined_to
from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.documents.outside import working_folders
from ssptool.documents.unchanged import Footprint, NotComparable, Snapshot
from ssptool.rules.report import Report
from ssptool.rules.runner import check
from ssptool.working_directory import absolute

if TYPE_CHECKING:
    from ssptool.engine.assembly.instances import EarlierRuns
    from ssptool.engine.planning.plan import Plan
    from ssptool.engine.run.manifest import Input

MOST_SYSTEMS = 4
"""Largest number of kept systems. If there are more, the least recently used one is closed."""

MOST_PLANS = 4
"""Largest number of kept plans of a system."""

MOST_KNOWN = 64
"""Largest number of systems that are remembered as opened once."""


class OpenedSystem:
    """An open archive, a structure in it, its findings, and further results of opening it.

    `earlier` contains data of earlier runs; None: the system is used once.
    """

    def __init__(self, path: Path | str, variant: str | None, outside: Sequence[Path]) -> None:
        self.archive = Archive.open(path, outside=outside, reading=True)
        try:
            self.structure: Document = self.archive.structure(variant)
            self.report: Report = check(self.archive, self.structure.name)
        except BaseException:
            self.archive.close()
            raise
        self.earlier: EarlierRuns | None = None
        self._plans: OrderedDict[Hashable, KeptPlan] = OrderedDict()

    def plan(self, key: Callable[[], Hashable], make: "Callable[[], Plan]") -> "KeptPlan":
        """The kept plan with this key, or a new one. A plan is not kept if the key is None, or changes while the plan
        is made.
        """
        stated = None if self.earlier is None else key()
        if stated is None:
            return KeptPlan(make())
        plan = found = self._plans.pop(stated, None)
        if plan is None:
            plan = KeptPlan(make())
        if found is not None or key() == stated:
            self._plans[stated] = plan
            if len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        return plan

    def close(self) -> None:
        """Remove the unpacked files."""
        if self.earlier is not None:
            self.earlier.close()
        self.archive.close()


class KeptPlan:
    """A plan, and the files of its run (None until they are requested)."""

    def __init__(self, plan: "Plan") -> None:
        self.plan = plan
        self.inputs: tuple[Input, ...] | None = None


@contextmanager
def opened_system(
    path: Path | str, variant: str | None, outside: Sequence[Path], *, keep: bool
) -> Iterator[OpenedSystem]:
    """A system for exclusive use by the caller; with `keep`, a system of an earlier call if nothing has changed.

    Raises as `Archive.open` and `Archive.structure`.
    """
    if not keep:
        opened = OpenedSystem(path, variant, outside)
        try:
            yield opened
        finally:
            opened.close()
        return
    key = _key(path, variant, outside)
    system = _systems.take(key)
    if system is None:
        system = _Kept(path, variant, outside, _systems.footprint(key))
    try:
        yield system.opened
    except BaseException:
        system.opened.close()
        raise
    _systems.give_back(key, system)


def _key(path: Path | str, variant: str | None, outside: Sequence[Path]) -> Hashable:
    """Everything except files that affects opening and checking a system."""
    here = absolute(Path())
    return str(path), str(here), variant, tuple(map(str, outside)), working_folders(), confined_to()


class _Kept:
    """An opened system, and the state of its files before opening, if its footprint was known."""

    def __init__(
        self, path: Path | str, variant: str | None, outside: Sequence[Path], footprint: Footprint | None
    ) -> None:
        self.footprint, self.snapshot = footprint, None if footprint is None else _snapshot(footprint)
        self.opened = OpenedSystem(path, variant, outside)
        if self.snapshot is not None:
            from ssptool.engine.assembly.instances import EarlierRuns  # which a check does not need

            self.opened.earlier = EarlierRuns()
        self._was_used = False

    def is_current(self) -> bool:
        """True if no file has changed since the system was opened."""
        return self.snapshot is not None and self.footprint is not None and self.snapshot.holds(self.footprint)

    def can_be_kept(self) -> bool:
        """True if all visited places are known and had the same files before and after opening."""
        if self.snapshot is None or self.opened.archive.footprint() != self.footprint:
            return False
        if not self._was_used:  # files may have changed between the snapshot and the reading
            self._was_used = self.is_current()
        return self._was_used


def _snapshot(footprint: Footprint) -> Snapshot | None:
    try:
        return Snapshot.of(footprint)
    except NotComparable:
        return None


class _Systems:
    """Kept systems by the arguments of opening them; safe for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[Hashable, Footprint] = OrderedDict()
        self._idle: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._ends_with_process = False

    def footprint(self, key: Hashable) -> Footprint | None:
        """Places that were read when the system was last opened."""
        with self._lock:
            return self._known.get(key)

    def take(self, key: Hashable) -> _Kept | None:
        """Take a kept system whose files have not changed. The caller owns it until `give_back`."""
        with self._lock:
            system = self._idle.pop(key, None)
        if system is None or system.is_current():
            return system
        system.opened.close()
        return None

    def give_back(self, key: Hashable, system: _Kept) -> None:
        """Keep a system that is no longer in use, or close it if it cannot be kept."""
        closed: list[_Kept] = []
        kept = system.can_be_kept()
        footprint = system.opened.archive.footprint()
        system.opened.archive.release()
        with self._lock:
            if footprint is not None:
                self._known[key] = footprint
                self._known.move_to_end(key)
                if len(self._known) > MOST_KNOWN:
                    self._known.popitem(last=False)
            if not kept or key in self._idle:
                closed.append(system)
            else:
                self._idle[key] = system
                self._end_with_process()
                if len(self._idle) > MOST_SYSTEMS:
                    closed.append(self._idle.popitem(last=False)[1])
        for one in closed:
            one.opened.close()

    def _end_with_process(self) -> None:
        """Register `close` at exit. This follows the first temporary folder, so that it runs before their removal."""
        if not self._ends_with_process:
            atexit.register(self.close)
            self._ends_with_process = True

    def close(self) -> None:
        """Close all systems that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, OrderedDict()
        for system in idle.values():
            system.opened.close()

    def forget(self) -> None:
        """Drop all systems in a forked process: they belong to the parent, and a lock may have lost its thread."""
        self.__init__()  # type: ignore[misc]


_systems = _Systems()
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_systems.forget)
