"""A run of one FMU by itself, as another program may have exported it."""

import zipfile

import numpy as np
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
        ({"scenario": ssptool.types.Scenario((ssptool.types.Event(0.5, f"{prefix}u", "override", 9.0),))}, 2 * 9 + 3),
    ]:
        result = ssptool.simulate(gain, **settings, **given)
        assert result.trace.signals == ("y",)
        assert result["y"][-1] == result["Gain.y"][-1] == expected
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


# -- names of results ----------------------------------------------------------------------------------------

DOTTED = [
    Var("ab", "output", needs=["u", "k"]),
    Var("gy", "output", needs=["u"]),
    Var("u", "input", start=1.0),
    Var("k", "parameter", start=2.0),
    Var("x", "state", start=4.0),
    Var("dx", "der", of="x", needs=["x"]),
]
CALLED = {"ab": "a.b[1]", "gy": "Gain.y", "dx": "der(x)"}


@pytest.fixture(params=[2, 3], ids=lambda version: f"fmi{version}")
def dotted(request, tmp_path):
    """An FMU called Gain with a.b[1] = k u + 3, Gain.y = 5 u and der(x) = −x."""
    calc = "v->ab = v->k * v->u + 3; v->gy = 5 * v->u; v->dx = -v->x;"
    (tmp_path / "made").mkdir()
    made = make_fmu(tmp_path / "made" / "Gain.fmu", DOTTED, version=request.param, calc=calc)
    with zipfile.ZipFile(made) as plain, zipfile.ZipFile(tmp_path / "Gain.fmu", "w") as named:
        for entry in plain.namelist():
            content = plain.read(entry)
            for short, name in CALLED.items() if entry == "modelDescription.xml" else ():
                content = content.replace(f'name="{short}"'.encode(), f'name="{name}"'.encode())
            named.writestr(entry, content)
    return tmp_path / "Gain.fmu"


RUN = {"stop_time": 1, "step_size": 0.25}


@pytest.mark.parametrize("kind", ["cs", "me"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "mat", "h5"])
def test_results_have_the_names_of_its_variables_and_are_found_with_the_component(dotted, tmp_path, kind, ending):
    """A variable whose own name begins with that of the component is not mistaken for another."""
    options = {**RUN, "implementation": kind, "inputs": {"Gain.u": 4}, "output": tmp_path / f"r.{ending}"}
    trace = ssptool.simulate(dotted, record=["a.b[1]", "Gain.Gain.y", "Gain.x"], **options).trace
    for one in (trace, ssptool.read_trace(options["output"])):
        assert one.signals == ("a.b[1]", "Gain.y", "x")
        assert (one["a.b[1]"][-1], one["Gain.y"][-1]) == (2 * 4 + 3, 5 * 4)
        assert one["x"][-1] == pytest.approx(4 * np.exp(-1), rel=1e-2)
    assert trace["Gain.a.b[1]"][-1] == 2 * 4 + 3 and trace["Gain.Gain.y"][-1] == 5 * 4
    assert list(trace.to_pandas().columns) == list(trace.signals)
    assert "Gain.u" not in trace and "Gain.k" not in trace


@pytest.mark.parametrize("pattern", ["*", "Gain.*", "*.*", "*y", "Gain.Gain.?"])
def test_patterns_are_of_its_names_or_of_those_with_the_component(dotted, pattern):
    trace = ssptool.simulate(dotted, **RUN, output=None, record=pattern).trace
    assert "Gain.y" in trace.signals
    assert not any(name.startswith("Gain.Gain") for name in trace.signals)


def test_fmpy_has_the_same_names(dotted):
    fmpy = pytest.importorskip("fmpy")
    wanted = fmpy.simulate_fmu(str(dotted), stop_time=1, output=["a.b[1]", "Gain.y", "x"]).dtype.names[1:]
    trace = ssptool.simulate(dotted, **RUN, output=None, record=wanted).trace
    assert trace.signals == wanted


def test_an_unpacked_fmu_has_the_same_names(dotted, tmp_path):
    folder = tmp_path / "unpacked" / "Gain"
    with zipfile.ZipFile(dotted) as packed:
        packed.extractall(folder)
    assert ssptool.simulate(folder, **RUN, output=None, isolated=True).trace.signals == ("a.b[1]", "Gain.y", "u")


def test_a_simulation_and_what_it_saves_have_the_names_of_its_variables(dotted, tmp_path):
    with ssptool.Simulation(dotted, **RUN) as one:
        seen = []
        one.observe(lambda t, values: seen.append(dict(values)))
        one.set("Gain.u", 3.0)
        one.set("u", 4.0)
        one.step()
        one.save(tmp_path / "state")
        assert one.get("a.b[1]") == one.get("Gain.a.b[1]") == 11
        assert seen[-1] == {"a.b[1]": 11.0, "Gain.y": 20.0, "u": 4.0}
    with ssptool.Simulation(dotted, **RUN, saved=tmp_path / "state") as other:
        assert other.trace.signals == ("a.b[1]", "Gain.y", "u")
        with pytest.raises(LookupError, match=r"'q'"):
            other.get("q")


def test_results_of_an_fmu_and_of_its_system_are_compared(dotted, tmp_path):
    """The system has one component of the same name; errors and units are found by either name."""
    system, parts = tmp_path / "system", tmp_path / "system" / "resources"
    write_system(system, tmp_path, {"Gain": "Gain"}, [], 2)
    alone = ssptool.simulate(dotted, **RUN, output=tmp_path / "alone.csv", accuracy="check")
    within = ssptool.simulate(system, **RUN, output=tmp_path / "within.csv", accuracy="check")
    assert parts.exists() and within.trace.signals == tuple(f"Gain.{name}" for name in alone.trace.signals)
    for one, other in ((alone, within), (within, alone)):
        assert ssptool.compare(one, other).agrees
    assert ssptool.compare(tmp_path / "alone.csv", tmp_path / "within.csv", signals="Gain.Gain.y").agrees
    assert ssptool.compare(tmp_path / "within.csv", tmp_path / "alone.csv", signals="a.*").agrees


def test_warnings_and_errors_of_a_run_name_its_variables(dotted):
    result = ssptool.simulate(dotted, **RUN, implementation="cs", output=None, record=["x", "u"], accuracy="check")
    assert result.accuracy.signal in ("x", "")
    assert not any("Gain.x" in str(one) or "Gain.u" in str(one) for one in (*result.notes, *result.warnings))


def test_plots_and_studies_find_both_names(dotted, tmp_path):
    result = ssptool.simulate(dotted, **RUN, output=None)
    assert [curve.label for curve in ssptool.plot(result, signals=["Gain.y"]).curves] == ["Gain.y"]
    assert [curve.label for curve in ssptool.plot(result, signals=["Gain.a.*"]).curves] == ["a.b[1]"]
    (tmp_path / "study.toml").write_text(
        'system = "Gain.fmu"\n[settings]\nstop_time = 1\nstep_size = 0.25\n[factors]\nk = [2, 3]\n'
        '[results]\na = \'final("a.b[1]")\'\nb = \'final("Gain.a.b[1]")\'\n[traces]\nsignals = ["Gain.a.b*"]\n'
    )
    table = ssptool.study(tmp_path / "study.toml", tmp_path / "out", workers=1)
    assert [(row["a"], row["b"]) for row in table.table().to_pylist()] == [(5.0, 5.0), (6.0, 6.0)]
    assert table.trace(table.table()["run"].to_pylist()[0]).signals == ("a.b[1]",)


def test_an_export_of_it_has_the_names_of_its_variables(dotted, tmp_path):
    fmpy = pytest.importorskip("fmpy")
    ssptool.export(dotted, tmp_path / "out.fmu", expose=["Gain.k", "x", "a.b[1]"])
    names = {one.name for one in fmpy.read_model_description(tmp_path / "out.fmu").modelVariables}
    assert {"k", "x", "a.b[1]"} <= names


@pytest.mark.parametrize("name", ["a.b[1]", "Gain.a.b[1]"])
def test_its_variables_are_explained_by_either_name(dotted, name):
    (found,) = ssptool.explain(dotted, name)
    assert (str(found.signal), found.signal.variable) == ("a.b[1]", "a.b[1]")


def test_a_variable_called_like_the_component_is_set_by_its_own_name(tmp_path):
    """Gain.k is a parameter of the FMU called Gain, and so is k: y = 10 Gain.k + k."""
    variables = [Var("gk", "parameter", start=1.0), Var("k", "parameter", start=2.0), Var("y", "output")]
    (tmp_path / "made").mkdir()
    made = make_fmu(tmp_path / "made" / "Gain.fmu", variables, me=None, calc="v->y = 10 * v->gk + v->k;")
    with zipfile.ZipFile(made) as plain, zipfile.ZipFile(tmp_path / "Gain.fmu", "w") as named:
        for entry in plain.namelist():
            named.writestr(entry, plain.read(entry).replace(b'name="gk"', b'name="Gain.k"'))
    for given, y in (("Gain.k", 10 * 7 + 2), ("k", 10 * 1 + 7), ("Gain.Gain.k", 10 * 7 + 2)):
        result = ssptool.simulate(tmp_path / "Gain.fmu", **RUN, output=None, start_values={given: 7})
        assert result["y"][-1] == y
