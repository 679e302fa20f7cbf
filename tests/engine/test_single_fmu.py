"""A run of one FMU by itself, as another program may have exported it."""

import pytest

import ssptool
from tests.engine.small.fmus import Var, make_fmu

FALL = [Var("speed", "state", start=3.0), Var("der_speed", "der", of="speed"), Var("v", "output", needs=["speed"])]


@pytest.fixture
def fmu(tmp_path):
    def made(experiment=""):
        calc = "v->der_speed = -2; v->v = v->speed;"
        return make_fmu(
            tmp_path / "Fall.fmu",
            FALL,
            me=None,
            calc=calc,
            step="rk4(s, t, h); calc(v); return OK;",
            experiment=experiment,
        )

    return made


@pytest.mark.parametrize(("experiment", "start"), [("", 0.0), ('startTime="4"', 4.0)])
def test_without_a_stop_time_it_runs_for_a_second_and_says_so(fmu, experiment, start):
    result = ssptool.simulate(fmu(experiment), output=None)
    assert result.t[0] == start and result.t[-1] == start + 1
    assert result["Fall.v"][-1] == pytest.approx(3 - 2 * 1)
    assert any("--stop-time" in note for note in result.notes)


def test_with_a_stop_time_nothing_is_said(fmu):
    path = fmu('stopTime="0.5" stepSize="0.125"')
    for settings in ({"stop_time": 0.25}, {}):
        result = ssptool.simulate(path, output=None, **settings)
        assert result.t[-1] == settings.get("stop_time", 0.5)
        assert not any("--stop-time" in note for note in result.notes)


def test_a_stated_stop_time_at_the_start_is_a_note_with_its_line(fmu):
    result = ssptool.simulate(fmu('startTime="0" stopTime="0"'), output=None)
    assert len(result.t) == 1
    (note,) = [one for one in result.notes if "--stop-time" in one]
    assert "modelDescription.xml:" in note
