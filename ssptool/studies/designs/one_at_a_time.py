"""One factor after the other leaves its nominal value."""

from collections.abc import Iterator, Mapping

from ssptool.dataclass import dataclass
from ssptool.studies.designs.design import Columns, too_many, unusable
from ssptool.studies.sources import STEPPED, Setting, Source


@dataclass(frozen=True, slots=True)
class OneAtATime:
    """First the nominal point, then every level of each factor with all others at their nominal values."""

    word: str = "one-at-a-time"

    def size(self, sources: Mapping[str, Source]) -> int:
        return 1 + sum(source.size for source in sources.values() if isinstance(source, STEPPED))

    def problems(self, sources: Mapping[str, Source]) -> Iterator[tuple[str, str]]:
        yield from unusable(sources, STEPPED, self.word)
        yield from too_many(self.size(sources))

    def columns(self, sources: Mapping[str, Source], nominal: Mapping[str, Setting]) -> Columns:
        points: list[dict[str, Setting]] = [{name: nominal[name] for name in sources}]
        for name, source in sources.items():
            if isinstance(source, STEPPED):
                points += [{**points[0], name: level} for level in source.levels() if level != nominal[name]]
        return {name: [point[name] for point in points] for name in sources}
