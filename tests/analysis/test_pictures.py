"""Responses of linear models against closed forms, and their pictures."""

import re
from math import pi
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.analysis.modes import Mode
from ssptool.analysis.pictures import draw_nyquist, usual_frequencies
from tests.analysis.systems import drive, thermal_chain

SYSTEMS = Path(__file__).parents[2] / "systems"


def test_a_step_response_is_that_of_the_poles(tmp_path):
    """K/((L s + R)(J s + d) + K²) has real poles here; its step response is a sum of exponentials."""
    model = ssptool.linearize(drive(tmp_path))
    R, L, k, J, d = 1.5, 0.01, 0.25, 0.05, 0.002
    one, two = np.roots([L * J, L * d + R * J, R * d + k * k]).real
    times = np.linspace(0, 3, 31)
    gain = k / (L * J * one * two)
    exact = gain * (1 + (two * np.exp(one * times) - one * np.exp(two * times)) / (one - two))
    assert model.step_response(times)[:, 0, 0] == pytest.approx(exact, rel=1e-7, abs=1e-9)


def test_a_frequency_response_begins_at_the_static_gain(tmp_path):
    model = ssptool.linearize(thermal_chain(tmp_path, 2), measure=["N0.out"])
    assert model.response([0.0])[0, 0] == pytest.approx([2 / 3, 1 / 3])


def test_a_sharp_resonance_is_drawn_to_its_peak():
    """Peak of 1/(1 - r² + 2 d r i) in closed form; 400 frequencies of equal ratio miss half of it."""
    damping, own = 1e-4, 2 * pi * 3.7
    pole = own * complex(-damping, np.sqrt(1 - damping**2))
    slow = Mode(complex(-0.01), {}, {})
    frequencies = usual_frequencies([Mode(pole, {}, {}), slow])
    ratio = 2 * pi * frequencies / own
    response = 1 / (1 - ratio**2 + 2j * damping * ratio)
    assert np.abs(response).max() == pytest.approx(1 / (2 * damping * np.sqrt(1 - damping**2)), rel=1e-3)
    turns = np.abs(np.diff(np.angle(response)))
    assert turns.max() < 0.2


def test_the_locus_has_both_signs_of_the_frequency_and_the_critical_points():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axis = figure.subplots()
    response = np.array([2.0 + 0.5j, 1.0 - 1.5j, 0.1 - 0.2j])
    draw_nyquist(axis, [response], None)
    drawn = [complex(x, y) for line in axis.lines for x, y in line.get_xydata()]
    assert drawn == [*response, *response.conj(), -1, 1]
    small = figure.subplots()
    draw_nyquist(small, [1e-3 * response], None)
    assert len(small.lines) == 2


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_pictures_name_signals_and_components(tmp_path, ending):
    pytest.importorskip("matplotlib")
    model = ssptool.linearize(drive(tmp_path))
    model.draw_response(tmp_path / f"bode.{ending}")
    model.draw_modes(tmp_path / f"modes.{ending}")
    text = (tmp_path / f"bode.{ending}").read_text()
    assert text.count("<svg") == 1
    if ending == "html":  # where texts stay texts
        assert "speed / u" in text
        modes = (tmp_path / f"modes.{ending}").read_text()
        assert all(re.search(rf">{name}<", modes) for name in "AR")


def test_what_cannot_be_drawn_is_told(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(ssptool.exceptions.WrongValue, match="no output depends on an input"):
        ssptool.linearize(SYSTEMS / "dual_mass_oscillator").draw_response(tmp_path / "bode.svg")
    with pytest.raises(ssptool.exceptions.WrongValue, match=r"\.svg"):
        ssptool.linearize(SYSTEMS / "dual_mass_oscillator").draw_modes(tmp_path / "modes.gif")


def test_the_command_lists_modes(tmp_path):
    model = ssptool.linearize(SYSTEMS / "rotational_spring_mass_damper")
    found = ssptool.renderers.LINEAR_RENDERERS["modes"](model)
    assert "-0.331414 ± 1.82742i" in found
    assert f"{1.8274183222 / (2 * pi):.6g}" in found
