"""What designs have in common."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from ssptool.studies.sources import Setting, Source

MOST_RUNS = 10_000_000

Columns: TypeAlias = dict[str, Sequence[Setting]]
"""Values by factor, all of one length."""


class Design(Protocol):
    """Chooses points for factors whose sources it can use; expressions are not its business."""

    @property
    def word(self) -> str:
        """Its name in study files."""
        ...

    def size(self, sources: Mapping[str, Source]) -> int:
        """How many points there will be."""
        ...

    def problems(self, sources: Mapping[str, Source]) -> Iterator[tuple[str, str]]:
        """What does not fit: the factor (or "" for the design, or the name of its key), and why not."""
        ...

    def columns(self, sources: Mapping[str, Source], nominal: Mapping[str, Setting]) -> Columns:
        """The points. `nominal` has the value of every factor that the system itself gives or the study states."""
        ...


def unusable(sources: Mapping[str, Source], kinds: tuple[type, ...], design: str) -> Iterator[tuple[str, str]]:
    """The factors whose source is none that the design can use."""
    words = " or ".join(str(kind.words) for kind in kinds)  # type: ignore[attr-defined]
    for name, source in sources.items():
        if not isinstance(source, kinds):
            yield name, f"it has {source.words}, of which a {design} design can make nothing; give {words}"


def too_many(runs: int) -> Iterator[tuple[str, str]]:
    if runs > MOST_RUNS:
        yield "", f"there would be {runs:.3g} runs; at most {MOST_RUNS} are possible"
