"""Draw docs/images/sensitivity.svg: which parameters matter to two results of the dual-mass oscillator, by a study."""

import tempfile
from pathlib import Path

import ssptool

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "sensitivity.svg"

STUDY = {
    "name": "dual-mass oscillator",
    "system": str(ROOT / "systems" / "dual_mass_oscillator"),
    "settings": {"stop_time": 4.0, "step_size": 0.02},
    "factors": {
        "System1.m1": {"low": 0.8, "high": 1.5},
        "System1.c1": {"low": 0.05, "high": 1.0},
        "System2.k2": {"low": 5.0, "high": 20.0},
        "System2.k3": {"low": 10.0, "high": 30.0},
    },
    "results": {"peak": 'max("System1.x1")', "swing": 'rms("System2.x2")'},
    "design": {"kind": "saltelli", "runs": 512, "seed": 1},
    "accuracy": "off",
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        ssptool.studies.plot_study(ssptool.study(STUDY, Path(folder) / "study"), PICTURE, kind="sensitivity")
