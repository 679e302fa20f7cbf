"""A run of one FMU by itself, as another program may have exported it."""

import pytest

import ssptool
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

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


GAIN = [Var("y", "output", needs=["u", "k"]), Var("u", "input", start=1.0), Var("k", "parameter", start=2.0)]
VALUES = """<ssv:ParameterSet version="1.0" name="v"
    xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues">
  <ssv:Parameters><ssv:Parameter name="{}"><ssv:Real value="5"/></ssv:Parameter></ssv:Parameters>
</ssv:ParameterSet>
"""


@pytest.fixture
def gain(tmp_path):
    return make_fmu(tmp_path / "Gain.fmu", GAIN, me=None, calc="v->y = v->k * v->u + 3;")


@pytest.mark.parametrize("prefix", ["", "Gain."])
def test_its_variables_have_their_own_names_everywhere(tmp_path, gain, prefix):
    """y = k u + 3"""
    (tmp_path / "v.ssv").write_text(VALUES.format(f"{prefix}k"))
    (tmp_path / "u.csv").write_text(f"time,{prefix}u\n0,4\n1,4\n")
    settings = {"stop_time": 1, "step_size": 0.25, "record": f"{prefix}y", "output": None}
    for given, expected in [
        ({"start_values": {f"{prefix}k": 7}}, 7 * 1 + 3),
        ({"parameters": tmp_path / "v.ssv"}, 5 * 1 + 3),
        ({"inputs": {f"{prefix}u": 4}}, 2 * 4 + 3),
        ({"inputs": tmp_path / "u.csv"}, 2 * 4 + 3),
        ({"scenario": ssptool.Scenario((ssptool.Event(0.5, f"{prefix}u", "override", 9.0),))}, 2 * 9 + 3),
    ]:
        result = ssptool.simulate(gain, **settings, **given)
        assert result.trace.signals == ("Gain.y",)
        assert result["Gain.y"][-1] == expected
    with ssptool.Simulation(gain, stop_time=1, step_size=0.25) as simulation:
        simulation.set(f"{prefix}u", 6.0)
        simulation.step()
        assert simulation.get(f"{prefix}y") == 2 * 6 + 3


@pytest.mark.parametrize("given", [{"start_values": {"q": 1}}, {"record": "q"}, {"inputs": {"q": 1}}])
def test_a_name_that_it_has_not_is_refused_by_this_name(gain, given):
    with pytest.raises((ValueError, LookupError), match=r"\bq\b"):
        ssptool.simulate(gain, stop_time=1, step_size=0.25, output=None, **given)


def test_in_a_system_of_two_a_name_needs_its_component(tmp_path, gain):
    system = write_system(tmp_path / "system", tmp_path, {"A": "Gain", "B": "Gain"}, [("A.y", "B.u")], 1)
    with pytest.raises(LookupError, match=r"A\.k or B\.k"):
        ssptool.simulate(system, stop_time=1, step_size=0.25, output=None, start_values={"k": 1})


def test_a_parameter_set_of_which_nothing_applies_is_refused(tmp_path, gain):
    system = write_system(tmp_path / "system", tmp_path, {"A": "Gain", "B": "Gain"}, [("A.y", "B.u")], 1)
    (tmp_path / "v.ssv").write_text(VALUES.format("k"))
    with pytest.raises(ValueError, match=r"v\.ssv.*\bk\b.*A\.k"):
        ssptool.simulate(system, stop_time=1, output=None, parameters=tmp_path / "v.ssv")
