"""States of all instances at one communication point, beside those that the master saves on its way."""

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import field, replace

from ssptool.dataclass import dataclass
from ssptool.engine.cells import holds_integer
from ssptool.engine.ending import Failure
from ssptool.engine.kernel import create
from ssptool.engine.kernel.interface import InstanceTable, Kernel, Outcome

Explain = Callable[[Outcome, float], Failure]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A kernel holds one saved state per instance, so a second one on the same instances holds another. `count`: of
    instances.
    """

    kernel: Kernel
    second: Kernel
    group: int
    second_group: int
    explain: Explain
    count: int
    _parts: dict[Set[int], int] = field(default_factory=dict)

    def save(self, time: float) -> Failure | None:
        # The first kernel as well: it then tells the FMUs that they may be set back.
        outcome = self.kernel.save(self.group)
        outcome = self.second.save(self.second_group) if outcome.ok else outcome
        return None if outcome.ok else self.explain(outcome, time)

    def restore(self, time: float, but: Set[int] = frozenset()) -> Failure | None:
        """All but some instances."""
        outcome = self.second.restore(self._part(but) if but else self.second_group)
        return None if outcome.ok else self.explain(outcome, time)

    def _part(self, but: Set[int]) -> int:
        if but not in self._parts:
            self._parts[but] = self.second.group([index for index in range(self.count) if index not in but])
        return self._parts[but]


@contextmanager
def open_checkpoint(kernel: Kernel, tables: Sequence[InstanceTable], explain: Explain) -> Iterator[Checkpoint]:
    """For all instances of a kernel; its states are freed on leaving, which must be before the instances are."""
    integers = {
        slot
        for table in tables
        for slot, kind in zip(
            (*table.input_slots, *table.output_slots), (*table.input_types, *table.output_types), strict=True
        )
        if holds_integer(kind)
    }
    second = create(len(kernel.values), integers=sorted(integers), native=kernel.name == "native")
    for table in tables:
        # It never steps them, so nobody asks it for inputs.
        second.add(replace(table, environment=0))
    everyone = range(len(tables))
    try:
        yield Checkpoint(kernel, second, kernel.group(everyone), second.group(everyone), explain, len(tables))
    finally:
        second.release()
