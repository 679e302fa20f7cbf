"""Platforms for which FMPy brings no CVODE: they plan and co-simulate as others do; only an integration is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

SYSTEM = Path(__file__).parents[3] / "systems/dual_mass_oscillator"


@pytest.mark.parametrize(
    ("implementation", "master", "ending"),
    [("cs", "iterated", "completed"), ("me", "integrated", "MissingIntegrator: model exchange needs CVODE")],
)
def test_only_integration_needs_cvode(implementation, master, ending):
    program = f"""
import sys
sys.modules["fmpy.sundials.libraries"] = None
import ssptool
options = dict(implementation={implementation!r}, stop_time=0.01)
print(ssptool.plan({str(SYSTEM)!r}, **options).master.name)
try:
    print(ssptool.simulate({str(SYSTEM)!r}, isolated=False, **options).status)
except Exception as error:
    print(f"{{type(error).__name__}}: {{error}}")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    planned, ended = done.stdout.splitlines()[-2:]
    assert planned == master and ended.startswith(ending), done.stderr
