"""Optimization: search for the points of a study with the best results.

One objective: differential evolution (Storn and Price 1997), then, if all factors are ranges, a descent from the best
run: with derivatives from the variational equations, otherwise with quadratic models of the results in a trust region
(COBYQA, Ragonneau 2022). Two objectives: NSGA-II (Deb et al.
2002). Feasible runs rank before infeasible ones; infeasible runs rank by their violation. A run that failed, or has no
value, ranks last.

The runs of a generation are done in parallel, those of the descent one after the other. The choice of points depends
only on the design and on the results of earlier runs. Therefore an interrupted search is simply restarted, and finds
the results of its earlier runs in the folder.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ssptool.arguments import AccuracyName
from ssptool.errors import counted, studies_need
from ssptool.studies.accuracy import MOST_CHECKED, MOST_NAMED, is_checked, wanted_accuracy
from ssptool.studies.bundle import pack
from ssptool.studies.checking import CheckedStudy
from ssptool.studies.dataset import DEFINITION, Dataset, open_dataset, row_of
from ssptool.studies.definition import RunOutcome, RunStatus, Task, rows_of_columns
from ssptool.studies.designs import Computed, FactorValue, Floats, Range
from ssptool.studies.expressions import BadExpression
from ssptool.studies.forecast import Forecast, StudyPace, check_seconds
from ssptool.studies.optimum import MET, Optimize, Row, cell_text, optimum, values_at
from ssptool.studies.run import (
    Evaluations,
    Interrupted,
    StudyStatus,
    checks_of,
    definition_of,
    open_evaluations,
    runs_due,
    study_status,
)
from ssptool.studies.varied_descent import CostAndViolations, Slopes, descend, most_integrations
from ssptool.studies.varied_fit import NoVariation, sides_of
from ssptool.work_in_progress import tell

PERIOD = 10
"""Number of generations without an improvement by `TOLERANCE` of the objective after which the evolution ends."""
TOLERANCE = 1e-5

DESCENT_RUNS = 25
"""Number of runs that are reserved for the descent, per factor plus one; at most a quarter of all runs."""

WIDEST, NARROWEST, LAST = 0.1, 1e-2, 1e-6
"""Radius of the trust region relative to the width of the ranges: largest and smallest at the start, and at the end."""

_NO_VALUE, _NO_RUN = 3.0, 10.0
"""Violation of a constraint without a value, and of a failed run. Other violations are at most 2."""

_WORST = 1e30


class _LimitReached(Exception):
    """No more runs are allowed."""


def optimize_study(
    checked: CheckedStudy,
    output: Path,
    *,
    workers: int | None,
    scheduler: str | Any | None,
    retry_failed: bool,
    announce: Callable[[Forecast], None] | None,
    progress: Callable[[float], None] | None,
) -> StudyStatus:
    """Search, or continue the search in the folder; see `ssptool.study`."""
    study = checked.study
    for module in ("simpleeval", "pyarrow", "pymoo", *(() if scheduler is None else ("distributed",))):
        studies_need(module)
    definition = definition_of(checked, pack(study, checked.points, checked.signals))
    definition |= {"runs": study.design.size({})}
    with open_dataset(output) as dataset, ExitStack() as stack:
        earlier = dataset.definition() if (output / DEFINITION).exists() else {}
        verified = earlier.get("verified", "")
        same = earlier.get("study") == definition["study"] and not retry_failed
        dataset.begin(definition, checked.points, tuple(study.results))
        if retry_failed:
            dataset.forget_failed()

        def start(first: Task) -> Evaluations:
            opened = open_evaluations(
                study, checked.signals, first, points=checked.points, workers=workers, scheduler=scheduler
            )
            return stack.enter_context(opened)

        known = {row["run"]: row for row in dataset.table().to_pylist()} if dataset.parts else {}
        runs = _SearchRuns(checked, dataset, start, known, announce, progress)
        try:
            ended = runs.search(earlier.get("ended", "") if same else "")
            checks = runs.check()
        except KeyboardInterrupt:
            dataset.flush()
            raise Interrupted(study_status(output)) from None
        dataset.flush()
        dataset.gather(checks)
        verified = runs.verdict(checks) or verified
        dataset.describe({**definition, "runs": len(runs.rows), "ended": ended, "verified": verified})
    return replace(study_status(output), notes=checked.notes)


@dataclass(slots=True)
class _SearchRuns:
    """The runs of a search: those in the folder, and those that it does; `limit` is the present limit."""

    checked: CheckedStudy
    dataset: Dataset
    start: Callable[[Task], Evaluations]
    rows: dict[str, Row]
    announce: Callable[[Forecast], None] | None
    progress: Callable[[float], None] | None
    design: Optimize = field(init=False)
    limit: int = field(init=False)
    places: dict[str, Floats] = field(init=False, default_factory=dict)
    last: Floats = field(init=False)
    evaluations: Evaluations | None = field(init=False, default=None)
    pace: StudyPace | None = field(init=False, default=None)
    descending: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        design = self.checked.study.design
        assert isinstance(design, Optimize)
        self.design = design
        self.limit = design.runs

    @property
    def sources(self) -> dict[str, Any]:
        """Sources of the varied factors, by factor."""
        return {f.name: f.source for f in self.checked.study.factors if not isinstance(f.source, Computed)}

    @property
    def kept(self) -> int:
        """Number of runs that are reserved for the descent; 0 if there is no descent."""
        ranges = all(isinstance(one, Range) for one in self.sources.values())
        if len(self.design.objectives) > 1 or not ranges:
            return 0
        return min(DESCENT_RUNS * (len(self.sources) + 1), self.design.runs // 4)

    def search(self, earlier: str) -> str:
        """Search until no better run is found, or no more runs are allowed. Returns the reason for the end.

        `earlier`: that of the same search, if it has ended with the runs in the folder.
        """
        self._report_progress()
        if earlier:
            self.places |= dict.fromkeys(self.rows, np.empty(0))  # they are only counted
            return earlier
        self.limit = self.design.runs - self.kept
        limited = f"the limit of {counted(self.design.runs, 'run')} is reached"
        try:
            ended = self._evolve(len(self.sources))
        except _LimitReached:
            ended = limited
        if not self.kept or (best := optimum(self.design, self._used_rows(), {}).best) is None:
            return ended
        self.limit = self.design.runs
        try:
            return self._descend(self.places[best["run"]])
        except _LimitReached:
            return limited

    def _best(self) -> list[Row]:
        """The best run; with two objectives, both ends of the front."""
        front = optimum(self.design, self._used_rows(), {}).front
        return [front[0], front[-1]] if front else []

    def check(self) -> dict[str, RunOutcome]:
        """Do the missing checks of the first run, of the best runs, and of the extremes of each factor."""
        self.dataset.flush()
        due = runs_due(self.checked, self.dataset, [row["number"] for row in self._best()])
        if due and self.evaluations is None:
            self.evaluations = self.start(replace(due[0], check=False))
        if not due or self.evaluations is None:
            return {}
        return checks_of(outcome for outcomes in self.evaluations.run_tasks(due) for outcome in outcomes)

    def verdict(self, checks: Mapping[str, RunOutcome]) -> str:
        """Text on the changes of objectives and constraints of the best run with half the step; empty if it was not
        checked.
        """
        best = self._best()
        check = checks.get(best[0]["run"]) if best and len(self.design.objectives) == 1 else None
        if check is None or all(value is None for value in check.results.values()):
            return ""
        names = dict.fromkeys([self.design.objectives[0].result, *check.results])
        parts = [f"{name} is {cell_text(check.results[name])} instead of {cell_text(best[0][name])}" for name in names]
        finer = {**best[0], **check.results}
        missed = [one.text for one in self.design.constraints if not one.violation(finer) <= MET]
        told = f"with half the step {', '.join(parts[:MOST_NAMED])}"
        return f"{told}; not met then: {', '.join(missed)}" if missed else told

    def _evolve(self, factors: int) -> str:
        algorithms = "pymoo.algorithms"
        one = len(self.design.objectives) == 1
        kind = (
            studies_need(f"{algorithms}.soo.nonconvex.de").DE if one else studies_need(f"{algorithms}.moo.nsga2").NSGA2
        )
        terminations = studies_need("pymoo.termination.default")
        ending = (
            terminations.DefaultSingleObjectiveTermination(
                xtol=TOLERANCE, ftol=TOLERANCE, period=PERIOD, n_max_gen=self.limit, n_max_evals=self.limit
            )
            if one
            else terminations.DefaultMultiObjectiveTermination(
                period=2 * PERIOD, n_max_gen=self.limit, n_max_evals=self.limit
            )
        )
        first = self.design.first(factors)
        self.last = first
        problem = studies_need("pymoo.core.problem").Problem(
            n_var=factors,
            n_obj=len(self.design.objectives),
            n_ieq_constr=len(self.design.constraints) + 1,
            xl=0.0,
            xu=1.0,
        )
        static = studies_need("pymoo.problems.static").StaticProblem
        algorithm = kind(pop_size=len(first), sampling=first)
        algorithm.setup(problem, termination=ending, seed=self.design.seed, verbose=False)
        while algorithm.has_next():
            generation = algorithm.ask()
            self.last = generation.get("X")
            rows = self.at(self.last)
            if self.last is not first and not any(row["status"] == RunStatus.COMPLETED for row in self._used_rows()):
                return f"none of the first {counted(len(first), 'run')} completed"
            costs, violations = self._judged(rows)
            algorithm.evaluator.eval(static(problem, F=costs, G=violations), generation)
            algorithm.tell(infills=generation)
        return "the runs no longer get better"

    def _descend(self, start: Floats) -> str:
        """Descend with derivatives; where there are none, from the best run without them. Returns the end's reason."""
        tell("descending from the best run")
        try:
            count = descend(self._judged_at, self._slopes, start)
        except NoVariation as reason:
            best = optimum(self.design, self._used_rows(), {}).best
            assert best is not None  # that of the start, if no other one
            return f"{self._descend_without(self.places[best['run']])}; without derivatives, because {reason}"
        integrations = counted(count, "integration")
        return f"there is no better run nearby: derivatives by {integrations} of the variational equations"

    def _judged_at(self, u: Floats) -> CostAndViolations:
        costs, violations = self._judged(self.at(np.clip(u, 0.0, 1.0)[np.newaxis]))
        return CostAndViolations(float(costs[0, 0]) if costs[0, 0] < _WORST else np.nan, violations[0, :-1])

    def _slopes(self, u: Floats) -> Slopes:
        """Derivatives of the cost and of the violations at a point (n,). Raises NoVariation."""
        try:
            point, sides = self._point(u), sides_of(u, self._point)
        except BadExpression as problem:
            raise NoVariation(str(problem)) from None
        if self.evaluations is None:  # all runs so far were known
            self.evaluations = self.start(Task("", 0, point))
        began = perf_counter()
        outcome = self.evaluations.varied(point, sides)
        if outcome.status is RunStatus.FAILED:
            raise NoVariation(outcome.message)
        self._announce_descent(perf_counter() - began)
        points = [point, *(each for one in sides for each in (one.above, one.below))]
        results = [outcome.results, *(one.results for one in outcome.sides)]
        rows = [{**each, **found, "status": RunStatus.COMPLETED} for each, found in zip(points, results, strict=True)]
        costs, violations = self._judged(rows)
        if not (costs < _WORST).all():
            raise NoVariation("a point beside has no value")
        widths = np.array([one.up + one.down for one in sides])
        return Slopes(
            CostAndViolations(float(costs[0, 0]), violations[0, :-1]),
            (costs[1::2, 0] - costs[2::2, 0]) / widths,
            ((violations[1::2, :-1] - violations[2::2, :-1]) / widths[:, np.newaxis]).T,
        )

    def _point(self, u: Floats) -> dict[str, FactorValue]:
        """The values of all factors at a point (n,) of the unit cube. Raises BadExpression."""
        columns, _ = rows_of_columns(self.checked.study, values_at(u[np.newaxis], self.sources))
        return {name: column[0] for name, column in columns.items()}

    def _descend_without(self, start: Floats) -> str:
        optimize: Any = import_module("scipy.optimize")
        radius = float(np.clip(np.median(np.abs(self.last - start)), NARROWEST, WIDEST))
        optimize.minimize(
            lambda u: self._judged_at(u).cost,
            start,
            method="COBYQA",
            bounds=[(0.0, 1.0)] * len(start),
            constraints=[optimize.NonlinearConstraint(lambda u: self._judged_at(u).violations, -np.inf, 0.0)]
            * bool(self.design.constraints),
            options={"initial_tr_radius": radius, "final_tr_radius": LAST, "maxfev": 10 * self.design.runs},
        )
        return f"there is no better run within {LAST:g} of the ranges"

    def at(self, u: Floats) -> list[Row | None]:
        """The runs at points (n, factors) of the unit cube; None if an expression has no value.

        Raises
        ------
        _LimitReached
            More runs than the limit allows are needed; the allowed ones have been done.
        """
        columns = values_at(u, self.sources)
        ids: list[str | None] = []
        tasks: dict[str, Task] = {}
        for place in range(len(u)):
            try:
                points, (run,) = rows_of_columns(
                    self.checked.study, {name: column[place : place + 1] for name, column in columns.items()}
                )
            except BadExpression:
                ids.append(None)
                continue
            ids.append(run)
            self.places.setdefault(run, u[place])
            if run not in self.rows:
                number = len(self.rows) + len(tasks)
                tasks.setdefault(run, Task(run, number, {name: column[0] for name, column in points.items()}))
        allowed = max(0, self.limit - len(self.rows))
        self._run(list(tasks.values())[:allowed])
        if len(tasks) > allowed:
            raise _LimitReached
        return [None if run is None else self.rows[run] for run in ids]

    def _run(self, tasks: Sequence[Task]) -> None:
        if tasks and self.evaluations is None:
            self.evaluations = self.start(tasks[0])
            self._add([self.evaluations.first])
            self._announce(self.evaluations)
            tasks = tasks[1:]
        if tasks and self.evaluations is not None:
            for outcomes in self.evaluations.run_tasks(tasks):
                self._add(outcomes)
                self._announce_revised_forecast(self.evaluations, outcomes)

    def _add(self, outcomes: Sequence[RunOutcome]) -> None:
        self.dataset.add(outcomes)
        for outcome in outcomes:
            empty = dict.fromkeys(self.checked.study.results)
            self.rows[outcome.task.run] = {**empty, **row_of(outcome)}
        self._report_progress()

    def _announce(self, evaluations: Evaluations) -> None:
        if self.announce is not None:
            first = evaluations.first
            completed = first.status is RunStatus.COMPLETED
            notes = [*self.checked.notes, "these are the most runs: it ends when they no longer get better"]
            notes += ["the descent from the best run is announced after its first step"] if self.kept else []
            notes += [] if completed else [f"the first run failed: {first.message}"]
            left = self.design.runs - len(self.rows) + 1
            seconds = evaluations.seconds if completed else None
            checks, one = self._most_checks(seconds), seconds or 0.0
            forecast = Forecast(
                self.design.runs,
                left,
                seconds,
                evaluations.workers,
                tuple(notes),
                checks,
                work=left * one + checks * check_seconds(one, wanted_accuracy(self.checked.study)),
                serial=min(self.kept, left) * one,
                start=evaluations.start,
                abreast=evaluations.abreast,
                at_most=True,
            )
            self.pace = StudyPace(forecast)
            self.announce(forecast)

    def _announce_descent(self, seconds: float) -> None:
        """Announce the descent, after its first integration in this number of seconds."""
        if self.announce is None or self.descending:
            return
        self.descending, most = True, most_integrations(len(self.sources))
        rest = (most - 1) * seconds
        left = self.design.runs - len(self.rows)
        self.announce(
            Forecast(self.design.runs, left, seconds, 1, (), work=rest, serial=rest, at_most=True, integrations=most)
        )

    def _most_checks(self, seconds: float | None) -> int:
        """Largest number of runs that `check` checks, if one takes this many seconds."""
        wanted = wanted_accuracy(self.checked.study)
        if not is_checked(wanted, seconds):
            return 0
        extremes = sum(2 if isinstance(one, Range) else max(2, len(one.values)) for one in self.sources.values())
        most = 1 + len(self.design.objectives) + extremes
        return min(most, MOST_CHECKED) if wanted == AccuracyName.AUTO else most

    def _announce_revised_forecast(self, evaluations: Evaluations, outcomes: Sequence[RunOutcome]) -> None:
        """Announce the search again if these outcomes deviate from the forecast."""
        if self.pace is not None and self.announce is not None:
            revised = self.pace.after(len(outcomes) * evaluations.seconds, self.design.runs - len(self.rows))
            if revised is not None:
                self.announce(revised)

    def _report_progress(self) -> None:
        if self.progress is not None:
            self.progress(min(1.0, len(self.rows) / self.design.runs))

    def _used_rows(self) -> list[Row]:
        """Runs in the folder that this search has used."""
        return [row for run, row in self.rows.items() if run in self.places]

    def _judged(self, rows: Sequence[Row | None]) -> tuple[Floats, Floats]:
        """Costs (n, objectives), and violations (n, constraints + 1); the last violation is that of a failed run."""
        judged = [self._judgement(row) for row in rows]
        return np.array([costs for costs, _ in judged]), np.array([violations for _, violations in judged])

    def _judgement(self, row: Row | None) -> tuple[list[float], list[float]]:
        design = self.design
        costs = [np.nan] * len(design.objectives)
        if row is not None and row["status"] == RunStatus.COMPLETED:
            costs = [one.cost(row) for one in design.objectives]
        if row is None or not np.isfinite(costs).all():
            return [_WORST] * len(costs), [_NO_VALUE] * len(design.constraints) + [_NO_RUN]
        violations = [one.violation(row) for one in design.constraints]
        return costs, [*(_NO_VALUE if np.isnan(one) else one for one in violations), 0.0]
