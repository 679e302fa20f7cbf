"""Eigenvalues over a parameter against closed forms."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool import analysis
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu
from tests.systems.exact_dual_mass import DualMass

OSCILLATOR = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


@pytest.fixture
def damped(tmp_path):
    """z'' = -6.25 z - d z', with d = 1.5 at first."""
    variables = (
        Var("d", "parameter", start=1.5),
        Var("z", "state", start=0.3),
        Var("dz", "der", of="z", needs=["w"]),
        Var("w", "state", start=0.0),
        Var("dw", "der", of="w", needs=["z", "w"]),
        Var("force", "output", needs=["z"]),
    )
    make_fmu(
        tmp_path / "Damped.fmu", variables, calc="v->dz = v->w; v->dw = -6.25 * v->z - v->d * v->w; v->force = v->z;"
    )
    return write_system(tmp_path / "damped", tmp_path, {"M": "Damped"})


@pytest.mark.parametrize(("name", "field"), [("System1.c1", "c1"), ("System2.m_c", "m_c")])
def test_eigenvalues_are_those_of_the_matrix_at_each_value(name, field):
    values = np.linspace(0.5, 9, 12)
    locus = analysis.root_locus(OSCILLATOR, name, values)
    for value, found, model in zip(values, locus.eigenvalues, locus.models, strict=True):
        exact = np.sort_complex(np.linalg.eigvals(DualMass(**{field: value}).matrix))
        assert np.sort_complex(found) == pytest.approx(exact, rel=1e-9)
        assert model.margin == pytest.approx(-exact.real.max(), rel=1e-9)
    assert locus.margins == pytest.approx([model.margin for model in locus.models])
    assert locus.crossings == ()


def test_branches_go_on_where_a_pair_becomes_real(damped):
    """Of -d/2 ± sqrt(d²/4 - 6.25), both branches are continuous, also where they meet at d = 5."""
    values = np.arange(0.25, 8.0, 0.5)
    locus = analysis.root_locus(damped, "M.d", values)
    root = np.sqrt(values**2 / 4 - 6.25 + 0j)
    exact = np.stack([-values / 2 + root, -values / 2 - root], axis=1)
    branches = locus.eigenvalues
    if branches[0, 0].imag < 0:
        exact = exact[:, ::-1]
    complex_ones = values < 5
    assert branches[complex_ones] == pytest.approx(exact[complex_ones], rel=1e-6)
    assert np.sort(branches[~complex_ones].real) == pytest.approx(np.sort(exact[~complex_ones].real), rel=1e-6)
    jumps = np.abs(np.diff(branches[~complex_ones], axis=0))
    assert jumps.max() < 2.0  # between the branches it is up to 5.5


def test_the_stability_changes_between_two_values(damped):
    locus = analysis.root_locus(damped, "M.d", [2.0, 0.5, -0.5, -1.0])
    assert locus.crossings == ((0.5, -0.5),)
    assert locus.margins == pytest.approx([1.0, 0.25, -0.25, -0.5], rel=1e-6)
    assert "between M.d = 0.5 and -0.5" in str(locus)


def test_values_are_needed(damped):
    with pytest.raises(ssptool.exceptions.WrongValue, match="no values"):
        analysis.root_locus(damped, "M.d", [])
    with pytest.raises(ssptool.exceptions.UnknownName, match=r"M\.q"):
        analysis.root_locus(damped, "M.q", [1.0])


def test_files_have_every_branch(damped, tmp_path):
    locus = analysis.root_locus(damped, "M.d", [1.5, 3.0])
    locus.save(tmp_path / "locus.csv")
    with (tmp_path / "locus.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["M.d", "real 1 [1/s]", "imaginary 1 [1/s]", "real 2 [1/s]", "imaginary 2 [1/s]"]
    assert [float(row[1]) for row in rows[1:]] == pytest.approx([-0.75, -1.5], rel=1e-6)
    locus.save(tmp_path / "locus.json")
    points = json.loads((tmp_path / "locus.json").read_text())["points"]
    assert [point["margin"] for point in points] == pytest.approx([0.75, 1.5], rel=1e-6)


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_a_picture_shows_plane_and_margin(damped, tmp_path, ending):
    pytest.importorskip("matplotlib")
    analysis.root_locus(damped, "M.d", [1.5, 3.0, 6.0]).draw(tmp_path / f"locus.{ending}")
    text = (tmp_path / f"locus.{ending}").read_text()
    assert text.count("<svg") == 1
    assert ending == "svg" or ("M.d from 1.5" in text and "stability margin" in text)
