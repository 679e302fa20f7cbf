"""Optimization as a design: objectives and constraints of a study, and its best runs so far.

The best runs are found in the table of all runs, independent of the choice of the points.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ssptool.documents.vocabulary import rounded_text
from ssptool.studies.definition import RunStatus
from ssptool.studies.designs import (
    Columns,
    FactorSource,
    FactorValue,
    Floats,
    Levels,
    Range,
    random_values,
    too_many,
    unusable_sources,
)
from ssptool.studies.expressions import FUNCTIONS, BadExpression, Expression

MOST_OBJECTIVES = 2
"""Largest number of objectives: for two, the best runs can be drawn, and a user can choose."""

POPULATIONS = {1: (10, 5), 2: (40, 0)}
"""Default number of points of a generation, by number of objectives: a minimum, and a number per factor."""

SHOWN_RUNS = 20
"""Largest number of runs of a front in a text."""

MET = 1e-6
"""Largest violation of a constraint that counts as met, relative to the larger side."""

AT_BOUND = 1e-3
"""Relative distance below which a constraint limits the best run."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Objective:
    """A result to minimize or maximize."""

    result: str
    maximize: bool = False

    @property
    def word(self) -> str:
        return "maximize" if self.maximize else "minimize"

    def cost(self, row: Row) -> float:
        """Cost to minimize; nan if the result has no value."""
        value = row[self.result]
        return float("nan") if value is None else -float(value) if self.maximize else float(value)

    def __str__(self) -> str:
        return f"{self.word} {self.result}"


class Constraint:
    """A comparison of results and factors that runs must meet, such as `settled <= 4`.

    Raises
    ------
    BadExpression
        It is not a comparison of two sides by <, <=, > or >=.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.expression = Expression(text)
        match self.expression.tree:
            case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()], comparators=[right]):
                self._low, self._high = Expression(ast.unparse(left)), Expression(ast.unparse(right))
            case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE()], comparators=[right]):
                self._low, self._high = Expression(ast.unparse(right)), Expression(ast.unparse(left))
            case _:
                raise BadExpression(text, "a constraint compares two sides, as `settled <= 4` does, by <, <=, > or >=")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraint) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[type["Constraint"], tuple[str]]:
        return Constraint, (self.text,)

    def sides(self, row: Row) -> tuple[float, float]:
        """Values of the smaller and the larger side; nan without a value."""
        names = {name: value for name, value in row.items() if value is not None}
        functions = {**FUNCTIONS, "value": names.__getitem__}
        try:
            low, high = (float(side.evaluate(names, functions)) for side in (self._low, self._high))
        except (BadExpression, KeyError, TypeError, ValueError):
            return float("nan"), float("nan")
        return low, high

    def violation(self, row: Row) -> float:
        """Violation relative to the larger side: at most 0 if the constraint is met; nan without a value."""
        low, high = self.sides(row)
        return (low - high) / (max(abs(low), abs(high)) or 1.0)

    def told(self, row: Row) -> str:
        """Text of the constraint with the values of both sides, and the distance to the bound."""
        low, high = (rounded_text(side, 6) for side in self.sides(row))
        violation = self.violation(row)
        state = "not met" if not violation <= MET else "met, at the bound" if violation > -AT_BOUND else "met"
        return f"{self.text}: {low} <= {high}, {state}"


@dataclass(frozen=True, slots=True)
class Optimize:
    """Points that depend on the results of earlier runs: at most `runs`, in generations of `population` points.

    The first generation is a Latin hypercube; see `ssptool.studies.optimization` for later ones.
    """

    objectives: tuple[Objective, ...]
    runs: int
    seed: int
    constraints: tuple[Constraint, ...] = ()
    population: int | None = None
    word: ClassVar[str] = "optimize"

    def size(self, sources: Mapping[str, FactorSource]) -> int:
        return self.runs

    def generation(self, factors: int) -> int:
        """Number of points of a generation."""
        least, each = POPULATIONS[len(self.objectives)]
        return min(self.population or max(least, each * factors), self.runs)

    def problems(self, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
        yield from unusable_sources(sources, (Levels, Range), self.word)
        yield from too_many(self.runs)
        if not sources:
            yield "", "there is nothing to vary: no factor has low and high, or values"

    def columns(self, sources: Mapping[str, FactorSource], nominal: Mapping[str, FactorValue]) -> Columns:
        """The first generation."""
        return values_at(self.first(len(sources)), sources)

    def first(self, factors: int) -> Floats:
        """The first generation (population, factors), in the unit cube."""
        from scipy.stats import qmc

        random = np.random.default_rng(self.seed)
        return np.asarray(qmc.LatinHypercube(factors, rng=random).random(self.generation(factors)))


def values_at(u: Floats, sources: Mapping[str, FactorSource]) -> Columns:
    """Values of factors at points (n, factors) of the unit cube; 0 and 1 are the bounds."""
    return {name: random_values(source, u[:, k]) for k, (name, source) in enumerate(sources.items())}


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best of the runs so far.

    Attributes
    ----------
    front
        The best run; with two objectives the runs that are not dominated by another one, in the order of the first
        objective.
    feasible
        Completed runs that meet all constraints, in the order of their numbers; `of` is the number of all runs.
    message
        Reason for the end of the search; empty while it runs.
    verified
        Text on the change of the best run with half the step; empty if it was not checked.
    """

    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    front: tuple[Row, ...]
    feasible: tuple[Row, ...]
    of: int
    message: str = ""
    units: Mapping[str, str | None] = field(default_factory=dict)
    verified: str = ""

    @property
    def best(self) -> Row | None:
        """The best run for one objective; None for two."""
        return self.front[0] if self.front and len(self.objectives) == 1 else None

    def lines(self, names: Sequence[str]) -> list[str]:
        """Lines of text, with these factors and results of the best run."""
        lines = [f"{', '.join(map(str, self.objectives))}: {self.verdict}"]
        if (best := self.best) is not None:
            width = max(map(len, names))
            lines += [f"  {name.ljust(width)} = {self._shown(best, name)}" for name in names]
            lines += [f"  {one.told(best)}" for one in self.constraints]
            lines += [self.verified] if self.verified else []
        elif self.front:
            lines += aligned(self.table([*(one.result for one in self.objectives), *names]))
        return lines

    def table(self, names: Sequence[str]) -> list[list[str]]:
        """Headings, and a line for each run of the front; if there are many, runs that are spread over it."""
        columns = ["number", *dict.fromkeys(names)]
        places = np.unique(np.linspace(0, len(self.front) - 1, min(SHOWN_RUNS, len(self.front))).round().astype(int))
        rows = (self.front[place] for place in places)
        return [columns, *([cell_text(row[name]) for name in columns] for row in rows)]

    @property
    def verdict(self) -> str:
        if not self.front:
            whole = " and meets the constraints" if self.constraints else " with a value"
            found = f"none of {self.of} runs completed{whole}"
        elif len(self.objectives) == 1:
            found = f"run {self.front[0]['number']} of {self.of} is the best"
        else:
            found = f"{len(self.front)} of {self.of} runs are on the front, where no other is better in both"
        return f"{found}; {self.message}" if self.message else found

    def _shown(self, row: Row, name: str) -> str:
        unit = self.units.get(name)
        return f"{cell_text(row[name])} {unit}" if unit and row[name] is not None else cell_text(row[name])


def aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def cell_text(value: Any) -> str:
    """Text of a value in such a table."""
    if value is None:
        return "-"
    return rounded_text(value, 6) if isinstance(value, float) else str(value)


def optimum(design: Optimize, rows: Sequence[Row], units: Mapping[str, str | None], message: str = "") -> Optimum:
    """The best runs in these rows of a result table."""
    feasible = tuple(row for row in rows if is_feasible(design, row))
    front = _front(feasible, design.objectives)
    return Optimum(design.objectives, design.constraints, front, feasible, len(rows), message, units)


def is_feasible(design: Optimize, row: Row) -> bool:
    """True if a run completed, has a value for each objective, and meets the constraints (within `MET`)."""
    return (
        row["status"] == RunStatus.COMPLETED
        and all(np.isfinite(one.cost(row)) for one in design.objectives)
        and all(one.violation(row) <= MET for one in design.constraints)
    )


def _front(rows: Sequence[Row], objectives: Sequence[Objective]) -> tuple[Row, ...]:
    ordered = sorted(rows, key=lambda row: [*(one.cost(row) for one in objectives), row["number"]])
    if len(objectives) == 1:
        return tuple(ordered[:1])
    found: list[Row] = []
    for row in ordered:
        if not found or objectives[1].cost(row) < objectives[1].cost(found[-1]):
            found.append(row)
    return tuple(found)
