"""States of all instances at one communication point, beside those that the master saves on its way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ssptool.engine.cells import holds_integer
from ssptool.engine.ending import Failure
from ssptool.engine.kernel import create
from ssptool.engine.kernel.interface import InstanceTable, Kernel, Outcome

Explain = Callable[[Outcome, float], Failure]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A kernel holds one saved state per instance, so a second one on the same instances holds another."""

    kernel: Kernel
    second: Kernel
    group: int
    second_group: int
    explain: Explain

    def save(self, time: float) -> Failure | None:
        # The first kernel as well: it then tells the FMUs that they may be set back.
        outcome = self.kernel.save(self.group)
        outcome = self.second.save(self.second_group) if outcome.ok else outcome
        return None if outcome.ok else self.explain(outcome, time)

    def restore(self, time: float) -> Failure | None:
        outcome = self.second.restore(self.second_group)
        return None if outcome.ok else self.explain(outcome, time)


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
        yield Checkpoint(kernel, second, kernel.group(everyone), second.group(everyone), explain)
    finally:
        second.release()
