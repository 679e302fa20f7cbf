"""docs/formats.md names what is in the files: every key of a manifest, a study and a saved state."""

import json
import re
from pathlib import Path

import numpy as np

import ssptool

ROOT = Path(__file__).parents[2]
OSCILLATOR = ROOT / "systems" / "dual_mass_oscillator"
PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")


def names(heading: str, column: int = 1) -> set[str]:
    """What stands as code in a column of the table below a heading."""
    part = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in part.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row[column])}


def test_every_key_of_a_manifest_is_named(tmp_path):
    ssptool.simulate(OSCILLATOR, stop_time=0.01, start_values={"System2.k2": 80.0}, output=tmp_path / "run.csv")
    manifest = json.loads((tmp_path / "run.csv.json").read_text(encoding="utf-8"))
    assert {*manifest} - {"unstated"} == names("Manifest")
    within = names("Manifest", 2)
    for key in ("columns", "inputs", "overrides", "choices", "loops"):
        assert {*manifest[key][0]} <= within, key
    assert {*manifest["interval"], "unstated"} <= within


def test_every_array_of_a_saved_state_is_named(tmp_path):
    with ssptool.Simulation(OSCILLATOR) as simulation:
        simulation.run_until(0.01)
        simulation.save(tmp_path / "one.state")
    known = names("Saved state")
    with np.load(tmp_path / "one.state") as arrays:
        found = {re.sub(r"^master/.*", "master/…", re.sub(r"_\d+$", "_N", name)) for name in arrays.files}
        facts = json.loads(arrays["facts"].tobytes())
    assert found == known - {"master/…"}  # of masters in Python only
    assert {*facts} <= names("Saved state", 2)
    assert f"Format {facts['format']}." in PAGE


def test_every_key_of_a_study_is_named(tmp_path):
    study = tmp_path / "peaks.toml"
    text = f"system = '{OSCILLATOR}'\n[factors]\n\"System1.c1\" = [0.1]\n[results]\npeak = 'max(\"System1.x1\")'\n"
    study.write_text(text + "[settings]\nstop_time = 0.01\n", encoding="utf-8")
    ssptool.study(study, output=tmp_path / "study")
    content = json.loads((tmp_path / "study" / "study.json").read_text(encoding="utf-8"))
    assert {*content} <= names("Folder of a study", 2)
