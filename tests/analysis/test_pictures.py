"""Responses of linear models against closed forms, and their pictures."""

import re
from math import pi
from pathlib import Path

import numpy as np
import pytest

import ssptool
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
