"""Platforms for which FMPy brings no CVODE: another integrator replaces it, and the run says so."""

import subprocess
import sys
from pathlib import Path

import pytest

SYSTEM = Path(__file__).parents[3] / "systems/dual_mass_oscillator"


@pytest.mark.parametrize(
    ("options", "master", "replaced"),
    [
        ({"implementation": "cs"}, "iterated", ""),
        ({"implementation": "me"}, "integrated", "the integrator Rodas5P (Rosenbrock) replaces CVODE (BDF)"),
        (
            {"implementation": "me", "integrator": "adams"},
            "integrated",
            "the integrator Dormand-Prince 5(4) replaces CVODE (ADAMS)",
        ),
        ({"implementation": "me", "integrator": "dormand-prince"}, "integrated", ""),
    ],
)
def test_runs_do_without_cvode(options, master, replaced):
    program = f"""
import sys
sys.modules["fmpy.sundials.libraries"] = None
import ssptool
options = dict({options!r}, stop_time=0.01)
print(ssptool.plan({str(SYSTEM)!r}, **options).master.name)
result = ssptool.simulate({str(SYSTEM)!r}, isolated=False, **options)
print(result.status, *result.notes, sep="; ")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    planned, ended = done.stdout.splitlines()[-2:]
    assert planned == master and ended.startswith("completed"), done.stderr
    assert ("replaces" in ended) == bool(replaced) and replaced in ended
