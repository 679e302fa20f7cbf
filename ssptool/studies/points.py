"""The points of a study: the value of every factor in every run, and what each run is called."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from ssptool.dataclass import dataclass
from ssptool.studies.definition import Factor, Study
from ssptool.studies.expressions import FUNCTIONS, BadExpression
from ssptool.studies.sources import Computed, Setting

_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Points:
    """Columns by factor, in the order of the study, without repetitions; `ids` names the runs.

    `repeated` counts the points that were there before.
    """

    columns: Mapping[str, Sequence[Setting]]
    ids: tuple[str, ...]
    repeated: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, number: int) -> dict[str, Setting]:
        return {name: column[number] for name, column in self.columns.items()}


def computed_order(factors: Sequence[Factor]) -> list[str]:
    """Factors that are expressions, each after those that it needs. Raises CycleError."""
    graph = {f.name: _needs(f) for f in factors if isinstance(f.source, Computed)}
    return [name for name in TopologicalSorter(graph).static_order() if name in graph]


def _needs(factor: Factor) -> set[str]:
    if not isinstance(factor.source, Computed):
        return set()
    expression = factor.source.expression
    quoted = {text for call in expression.calls if call.function == "value" for text in call.texts if text}
    return {*expression.names, *quoted}


def cycle(factors: Sequence[Factor]) -> tuple[str, ...]:
    """Factors that need each other; none if all can be computed."""
    try:
        computed_order(factors)
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def make_points(study: Study, nominal: Mapping[str, Setting]) -> Points:
    """All points. Raises BadExpression where an expression has no value."""
    sources = {f.name: f.source for f in study.factors if not isinstance(f.source, Computed)}
    columns: dict[str, Sequence[Setting]] = dict(study.design.columns(sources, nominal))
    count = len(next(iter(columns.values()))) if columns else 1
    for name in computed_order(study.factors):
        source = study.factor(name).source
        assert isinstance(source, Computed)
        columns[name] = [_computed(name, source, columns, k) for k in range(count)]
    ordered = {factor.name: columns[factor.name] for factor in study.factors}
    ids = [run_id({name: column[k] for name, column in ordered.items()}) for k in range(count)]
    first = {each: k for k, each in reversed(list(enumerate(ids)))}
    if len(first) == count:
        return Points(ordered, tuple(ids))
    kept = sorted(first.values())
    unique = {name: [column[k] for k in kept] for name, column in ordered.items()}
    return Points(unique, tuple(ids[k] for k in kept), count - len(kept))


def _computed(name: str, source: Computed, columns: Mapping[str, Sequence[Setting]], number: int) -> Setting:
    names = {known: column[number] for known, column in columns.items()}
    found = source.expression.evaluate(names, {**FUNCTIONS, "value": names.__getitem__})
    if isinstance(found, bool | str):
        return found
    if not isinstance(found, int | float) or found != found:
        raise BadExpression(source.expression.text, f"{name} would be {found!r} in run {number}")
    return float(found)


def run_id(point: Mapping[str, Setting]) -> str:
    """The name of the run at a point: equal points have equal names, whoever computes them and when."""
    canonical = [[name, _canonical(value)] for name, value in sorted(point.items())]
    return hashlib.sha256(json.dumps(canonical, ensure_ascii=False).encode()).hexdigest()[:16]


def _canonical(value: Setting) -> Setting:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and abs(value) < _EXACT else value  # type: ignore[arg-type]
