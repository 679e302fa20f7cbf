"""The points that somebody wrote down."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from ssptool.dataclass import dataclass
from ssptool.studies.designs.design import Columns, too_many, unusable
from ssptool.studies.sources import Setting, Source, Tabled


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values, by factor. `file` says where they come from."""

    values: Mapping[str, Sequence[Setting]] = field(default_factory=dict)
    file: str = ""
    word: str = "table"

    def size(self, sources: Mapping[str, Source]) -> int:
        return max(map(len, self.values.values()), default=0)

    def problems(self, sources: Mapping[str, Source]) -> Iterator[tuple[str, str]]:
        yield from unusable(sources, (Tabled,), self.word)
        for name in sources:
            if name not in self.values:
                yield name, f"the table has no column {name!r}; it has {', '.join(self.values) or 'none'}"
        if len({len(column) for column in self.values.values()}) > 1:
            yield "", f"its columns have different lengths: {', '.join(str(len(c)) for c in self.values.values())}"
        if not self.size(sources):
            yield "", "the table has no rows"
        yield from too_many(self.size(sources))

    def columns(self, sources: Mapping[str, Source], nominal: Mapping[str, Setting]) -> Columns:
        return {name: list(self.values[name]) for name in sources}
