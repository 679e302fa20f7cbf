"""Every combination of levels."""

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.studies.designs.design import Columns, too_many, unusable
from ssptool.studies.sources import STEPPED, Setting, Source


@dataclass(frozen=True, slots=True)
class Grid:
    """The full factorial; the last factor varies fastest."""

    word: str = "grid"

    def size(self, sources: Mapping[str, Source]) -> int:
        return prod(source.size for source in sources.values() if isinstance(source, STEPPED))

    def problems(self, sources: Mapping[str, Source]) -> Iterator[tuple[str, str]]:
        yield from unusable(sources, STEPPED, self.word)
        yield from too_many(self.size(sources))

    def columns(self, sources: Mapping[str, Source], nominal: Mapping[str, Setting]) -> Columns:
        levels = {name: source.levels() for name, source in sources.items() if isinstance(source, STEPPED)}
        shape = tuple(map(len, levels.values()))
        places = np.unravel_index(np.arange(prod(shape)), shape) if shape else ()
        return {name: [each[k] for k in at] for (name, each), at in zip(levels.items(), places, strict=True)}
