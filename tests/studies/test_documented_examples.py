"""The first example of docs/studies.md gives the points and results that its expressions state."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import ssptool

ROOT = Path(__file__).parents[2]

pytest.importorskip("distributed")


def test_the_first_study_has_the_values_of_its_expressions(tmp_path):
    shutil.copytree(ROOT / "systems" / "dual_mass_oscillator", tmp_path / "dual_mass_oscillator")
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    (tmp_path / "springs.toml").write_text(re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S)[0], encoding="utf-8")
    table = ssptool.study(tmp_path / "springs.toml", tmp_path / "springs.study").to_pandas()
    assert len(table) == 3 * 4
    damping = 2 * table["zeta"] * np.sqrt(table["System2.k2"])
    np.testing.assert_allclose(table["System2.c2"], damping, rtol=1e-12)
    np.testing.assert_allclose(table["quality"], table["peak"] / table["settled"], rtol=1e-12)
