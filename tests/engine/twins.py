"""Simulations that a system carries out have a twin in Python, and must be the same: rows, bit by bit, what observers
see, notes and errors.

With `pytest -p tests.engine.twins` this is so for all simulations of any tests.
"""

from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np

import ssptool.engine.stepping.simulation as simulation
from ssptool.engine.run.system import carried_out
from ssptool.engine.stepping.simulation import SteppedRun

COMPARED = []
"""The names of the systems of which simulations were compared so far."""

_ALIKE = ("step", "run_until", "set", "save")
_OWN = {name: getattr(SteppedRun, name) for name in ("__init__", "__enter__", "__exit__", "observe", *_ALIKE)}
_making = []  # twins, at present


@contextmanager
def in_python():
    """Simulations that begin are carried out in Python."""
    with patch.object(simulation, "carried_out", lambda plan: False):
        yield


def methods():
    """Methods of `SteppedRun` that do the same with the twin and compare."""
    return {"__init__": _make, "__enter__": _enter, "__exit__": _leave, "observe": _observe} | {
        name: _alike(name) for name in _ALIKE
    }


def _twin_file(path):
    """The file of the twin of a simulation that is saved there."""
    return f"{path}.twin"


def _make(run, plan, sources, *, saved=None):
    _OWN["__init__"](run, plan, sources, saved=saved)
    run.twin, run.seen = None, []
    if not _making and carried_out(plan) and (saved is None or Path(_twin_file(saved)).exists()):
        _making.append(run)
        run.twin = SteppedRun(plan, sources, saved=None if saved is None else _twin_file(saved))
        _making.pop()


def _enter(run):
    with in_python():
        _, expected = _tried(run.twin and (lambda: _OWN["__enter__"](run.twin)))
    _, error = _tried(lambda: _OWN["__enter__"](run))
    if run.twin is not None:
        _compare_errors(error, expected)
    if error is not None:
        raise error
    _compare(run)
    return run


def _leave(run, *error):
    if run.twin is not None and run._running:
        _compare(run)
        assert run.notes == run.twin.notes
        COMPARED.append(run.plan.name)
        _OWN["__exit__"](run.twin, *error)
    return _OWN["__exit__"](run, *error)


def _observe(run, observer):
    def seeing(time, view):
        run.seen.append((time, dict(view)))
        observer(time, view)

    ends = [_OWN["observe"](run, seeing)]
    if run.twin is not None:
        ends.append(_OWN["observe"](run.twin, lambda time, view: run.twin.seen.append((time, dict(view)))))
    return lambda: [end() for end in ends]


def _alike(name):
    def call(run, *given, **named):
        with run._lock:
            if run.twin is None:
                return _OWN[name](run, *given, **named)
            its = map(_twin_file, given) if name == "save" else given
            expected = _tried(lambda: _OWN[name](run.twin, *its, **named))
            found, error = _tried(lambda: _OWN[name](run, *given, **named))
            _compare_errors(error, expected[1])
            if error is not None:
                raise error
            assert found == expected[0]
            _compare(run)
            return found

    return call


def _tried(act):
    """What it gives, and the error that ends it."""
    try:
        return act and act(), None
    except Exception as error:
        return None, error


def _compare_errors(error, expected):
    assert type(error) is type(expected), (error, expected)
    assert str(error) == str(expected).replace(_twin_file(""), "")


def _compare(run):
    """A simulation that is running and its twin."""
    if run.twin is None:
        return
    own, other = run.trace, run.twin.trace
    assert own.cells.shape == other.cells.shape, (own.t[-3:], other.t[-3:])
    assert own.t.tobytes() == other.t.tobytes()
    different = np.argwhere(own.cells.view(np.int64) != other.cells.view(np.int64))
    assert not len(different), (different[:5], own.signals, own.cells[-2:], other.cells[-2:])
    points = [None if one.points is None else one.points.tolist() for one in (own, other)]
    assert points[0] == points[1]
    assert (run.time, run.finished, repr(run.seen)) == (run.twin.time, run.twin.finished, repr(run.twin.seen))


def pytest_configure(config):
    for name, method in methods().items():
        setattr(SteppedRun, name, method)
