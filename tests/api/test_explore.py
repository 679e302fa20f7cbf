"""Sliders over parameters: each move runs the system, here without a browser, against the motion of a spring."""

import sys
from math import cos, sqrt
from pathlib import Path

import pytest

import ssptool

pytest.importorskip("ipywidgets")
SYSTEM = Path(__file__).parents[2] / "systems" / "one_dof_oscillator"
SETTINGS = {"stop_time": 0.2, "step_size": 1e-3}
M, START = 0.03575, 0.0016


def end(stiffness, mass=M):
    return START * cos(sqrt(stiffness / mass) * 0.2)


@pytest.fixture
def explorer():
    ranges = {"SpringDamper.k": (40, 120), "Mass.m": (0.03575, 0.08)}
    return ssptool.explore(SYSTEM, ranges, show="Mass.z", settings=SETTINGS)


def test_sliders_begin_at_the_values_of_the_system(explorer):
    assert explorer.values == {"SpringDamper.k": pytest.approx(69.48), "Mass.m": pytest.approx(M)}
    assert explorer.sliders["SpringDamper.k"].description == "SpringDamper.k [N/m]"
    assert explorer.result.trace.signals == ("Mass.z",)
    assert explorer.result["Mass.z"][-1] == pytest.approx(end(69.48), abs=2e-5)


def test_a_moved_slider_runs_the_system_and_draws_it_again(explorer):
    before, picture = explorer.result, explorer.widget.children[-1].value
    explorer.sliders["SpringDamper.k"].value = 110.0
    assert explorer.result is not before
    assert explorer.result["Mass.z"][-1] == pytest.approx(end(110.0), abs=2e-5)
    explorer.sliders["Mass.m"].value = 0.06
    assert explorer.result["Mass.z"][-1] == pytest.approx(end(110.0, 0.06), abs=2e-5)
    assert explorer.widget.children[-1].value != picture
    assert "svg" in explorer.widget.children[-1].value
    assert "application/vnd.jupyter.widget-view+json" in explorer._repr_mimebundle_()


def test_a_value_outside_of_the_range_begins_at_its_end():
    found = ssptool.explore(SYSTEM, {"SpringDamper.k": (80.0, 90.0)}, settings=SETTINGS)
    assert found.values == {"SpringDamper.k": 80.0}
    assert found.result["Mass.z"][-1] == pytest.approx(end(80.0), abs=2e-5)


def test_sliders_of_a_lone_fmu():
    """A mass with a start value of its speed: z = z0 + v0 t."""
    found = ssptool.explore(SYSTEM / "resources/Mass.fmu", {"v": (0.5, 3.0)}, show="z", settings=SETTINGS)
    found.sliders["v"].value = 2.0
    assert found.result["z"][-1] == pytest.approx(START + 2.0 * 0.2)


@pytest.mark.parametrize(
    ("ranges", "told"),
    [
        ({"SpringDamper.kk": (1, 2)}, "SpringDamper.k"),
        ({"SpringDamper.k": (2, 1)}, "smallest and the largest"),
        ({"SpringDamper.k": 3}, "smallest and the largest"),
        ({}, "at least one parameter"),
    ],
)
def test_what_has_no_slider_is_refused_by_name(ranges, told):
    with pytest.raises((ValueError, LookupError), match=told):
        ssptool.explore(SYSTEM, ranges)


def test_names_are_found_without_their_case():
    found = ssptool.explore(SYSTEM, {"springdamper.K": (40, 120)}, show="Mass.z", settings=SETTINGS)
    assert list(found.values) == ["SpringDamper.k"]


def test_without_ipywidgets_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ssptool.exceptions.MissingPackage, match=r"ssptool\[widgets\]"):
        ssptool.explore(SYSTEM, {"SpringDamper.k": (40, 120)})
