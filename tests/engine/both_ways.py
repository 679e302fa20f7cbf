"""Runs are carried out at once, and once more row by row, and must be the same: rows, bit by bit, iterations, notes,
failures and what is said of loops. Steps are done many at once by the kernel in the one way, and each by itself in the
other.

With `pytest -p tests.engine.both_ways` this is so for all runs of any tests, which are all in one process then.
"""

import math
from dataclasses import asdict, replace
from itertools import chain

import numpy as np

import ssptool.engine.run.execution as execution
import ssptool.engine.simulate as simulating
import ssptool.studies.worker as worker
from ssptool.engine.trace import NO_ENTRIES
from ssptool.studies.definition import RunStatus, Task
from ssptool.working_directory import absolute

COMPARED = []
"""The names of the systems that were compared so far."""

_execute = execution.execute


class Failures(tuple):
    """With all their facts."""

    def __repr__(self):
        return repr([None if one is None else (str(one), asdict(one)) for one in self])


class _Rows:
    """Keeps what comes, and passes it on."""

    def __init__(self, width, target=None, most=10**6):
        self.target, self.width, self.rows, self.entries, self._space = target, width, [], [], None
        self.most = most

    def initialized(self, report):
        if self.target is not None:
            self.target.initialized(report)

    def space(self, count):
        count = min(count, self.most)
        self._space = np.full((count, self.width), np.nan) if self.target is None else self.target.space(count)
        return self._space

    def commit(self, count, entries=NO_ENTRIES):
        self.rows.append(self._space[:count].copy())
        self.entries.append(entries.new)
        if self.target is not None:
            self.target.commit(count, entries)


def row_by_row(job):
    """Rows and outcome of a run that makes them one by one."""
    rows = _Rows(1 + len(job.plan.recorded), most=1)
    return rows, _execute(job, rows)


def both(job, rows, watch=None, pool=None):
    """`execute`, both ways."""
    quiet = job.plan.settings.fmu_log is None
    if watch is not None or job.realtime or not quiet:
        return _execute(job, rows, watch, pool)
    expected = row_by_row(job)
    expected_logs = logs(job.plan)
    own = _Rows(1 + len(job.plan.recorded), rows)
    found = _execute(job, own, None, pool)
    compare((own, found), expected, job.plan.settings.log_loops is not None)
    compare_logs(logs(job.plan), expected_logs)
    COMPARED.append(job.plan.name)
    return found


def logs(plan):
    """Lines of the logs of iterates of loops and of macro steps."""
    paths = (plan.settings.log_loops, plan.settings.log_coupling)
    return [[] if path is None else absolute(path).read_text().splitlines() for path in paths]


def compare_logs(found, expected):
    """Iterates of loops are more where a chord is tried again (see `said`), or in trial steps; else lines are equal."""
    assert set(found[0]) >= set(expected[0])
    assert found[1] == expected[1]


def compare(found, expected, logged=False):
    """Two ways of a run; `logged`: iterates of loops are."""
    own, other = (np.concatenate(rows.rows) if rows.rows else None for rows, _ in (found, expected))
    assert (own is None) == (other is None)
    if own is not None:
        assert own.shape == other.shape
        assert own.tobytes() == other.tobytes(), np.argwhere((own != other) & ~(np.isnan(own) & np.isnan(other)))[:5]
    assert list(chain(*found[0].entries)) == list(chain(*expected[0].entries))
    assert repr(said(found[1], logged)) == repr(said(expected[1], logged))  # where nan is nan


def said(outcome, logged=False):
    """All that is told of a run, but for times that it took.

    Where iterates of loops are `logged`, Python tries the chord of a loop in a step once before better methods, not
    twice as without a log: what that takes is not compared.
    """
    report = outcome.initialization
    counts = replace(outcome.statistics, seconds=0.0, initialization_seconds=0.0, latest=0.0)
    if logged:
        counts = replace(counts, loops_solved=0, loop_iterations=0)
    loops = [(loop.facts(), str(loop.failure()) if not loop.ok else "") for loop in report.loops]
    problems = [(one.component, dict(one.counts), one.kinds) for one in outcome.problems]
    failures = Failures((report.failure, outcome.failure))
    return (
        asdict(counts),
        loops,
        report.notes,
        report.unheld,
        failures,
        outcome.remarks,
        problems,
        outcome.end,
        outcome.found,
    )


def runs_of_a_study(checked, reuse):
    """Carries out all runs of a study with the result `peak`, and the first one again at last, in one worker; their
    number.
    """
    tasks = [Task(checked.points.ids[k], k, checked.points.at(k)) for k in range(len(checked.points))]
    with worker.StudyWorker(checked.study, checked.signals, reuse=reuse) as carrying:
        found = [carrying.run(task) for task in (*tasks, tasks[0])]
    assert all(one.status is RunStatus.COMPLETED for one in found), [one.message for one in found]
    assert found[0].results == found[-1].results
    assert len({one.results["peak"] for one in found}) == len(tasks)
    assert all(math.isfinite(one.results["peak"]) for one in found)
    return len(found)


def pytest_configure(config):
    simulating.execute = both
    worker.execute = both
    simulating.execute_isolated = lambda job, recorder, limits: simulating._here(job, recorder, None)
