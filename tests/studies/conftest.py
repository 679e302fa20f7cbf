"""Studies of the dual-mass oscillator and of FMUs that misbehave."""

from pathlib import Path

import pytest

from ssptool.studies.study_file import study_from
from tests.engine.systems import write_system
from tests.fmus import build as fmus

OSCILLATOR = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


@pytest.fixture
def oscillating():
    """A study of the dual-mass oscillator over 0.2 s; keyword arguments are tables of the file."""

    def make(source="", lines=None, **tables):
        content = {
            "system": str(OSCILLATOR),
            "settings": {"step_size": 0.01, "stop_time": 0.2},
            "factors": {"System2.k2": {"low": 5.0, "high": 15.0, "count": 3}},
            "results": {"peak": 'max("System1.x1")'},
            **tables,
        }
        return study_from(content, lines, source=source)

    return make


@pytest.fixture
def misbehaving(tmp_path):
    """A study of an FMU that does in each run what `what` says, from 0.5 s on."""

    def make(what, values=(1.0,), **tables):
        system = tmp_path / "misbehaving"
        if not system.exists():
            write_system(
                system, fmus.build() / "fmi2", {"Good": "Misbehaving", "Bad": "Misbehaving"}, [("Good.y", "Bad.u")]
            )
        content = {
            "system": str(system),
            "settings": {"step_size": 0.01},
            "start_values": {"Bad.when": 0.5},
            "factors": {"Bad.what": [float(one) for one in what], "Good.u": list(values)},
            "results": {"y": 'final("Bad.y")'},
            **tables,
        }
        return study_from(content)

    return make
