"""Start values that FMUs do not hold at the end of initialization."""

import json
import zipfile
from pathlib import Path

import pytest

import ssptool
from ssptool.engine.run import contradictions
from ssptool.fmu.instance import FmiError, FmuInstance
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

HOLDS = (
    Var("u", "input", start=0.25),
    Var("k", "parameter", start=2.0),
    Var("share", "parameter", start=1.0 / 3.0),
    Var("n", "parameter", "Int32", start=7),
    Var("y", "output", needs=["u"]),
)
CALC = "v->y = v->k * v->u + v->share;"


def declared(path, *changes):
    """The FMU with other start values in its description."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    text = entries["modelDescription.xml"].decode()
    for before, after in changes:
        assert text.count(f'start="{before}"') == 1
        text = text.replace(f'start="{before}"', f'start="{after}"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, text if name == "modelDescription.xml" else content)
    return path


def simulated(system, **more):
    return ssptool.simulate(system, **{"stop_time": 1.0, "step_size": 0.1, "isolated": False, **more})


@pytest.mark.parametrize("implementation", ["me", "cs"])
@pytest.mark.parametrize("version", [2, 3])
def test_a_declared_start_that_the_fmu_does_not_have_is_named(tmp_path, version, implementation):
    fmu = declared(make_fmu(tmp_path / "A.fmu", HOLDS, version=version, calc=CALC), ("2.0", "3.0"), ("7", "9"))
    result = simulated(fmu, implementation=implementation)
    assert result.unwrap()["A.y"][-1] == pytest.approx(2.0 * 0.25 + 1 / 3)  # not what the document says
    (warning,) = result.warnings
    assert (warning.code, warning.signal, warning.size) == ("RUN-108", "k", 2)
    assert "k = 2 " in warning.message and "start=3" in warning.message
    assert "n = 7 " in warning.message and "start=9" in warning.message
    assert simulated(fmu, implementation=implementation, warnings="off").warnings == ()


def test_to_set_it_is_a_remedy(tmp_path):
    fmu = declared(make_fmu(tmp_path / "A.fmu", HOLDS, calc=CALC), ("2.0", "3.0"))
    result = simulated(fmu, start_values={"A.k": 3.0})
    assert result.warnings == ()
    assert result.unwrap()["A.y"][-1] == pytest.approx(3.0 * 0.25 + 1 / 3)


def test_a_value_that_was_set_and_is_not_held_is_named(tmp_path):
    fmu = make_fmu(tmp_path / "A.fmu", HOLDS, calc=f"v->k = 2.0; {CALC}")
    (warning,) = simulated(fmu, start_values={"A.k": 5.0}).warnings
    assert (warning.code, warning.signal, warning.size) == ("RUN-108", "k", 1)
    assert "k = 2 " in warning.message and "set to 5" in warning.message


@pytest.mark.parametrize("connected", [False, True])
def test_an_input_counts_if_nothing_feeds_it(tmp_path, connected):
    declared(make_fmu(tmp_path / "A.fmu", HOLDS, calc=CALC), ("0.25", "0.5"))
    make_fmu(tmp_path / "T.fmu", (Var("y", "output", needs=[]),), calc="v->y = 4.0;")
    wires = [("T.y", "A.u")] * connected
    result = simulated(write_system(tmp_path / "s", tmp_path, {"A": "A", "T": "T"}, wires, 1.0))
    assert [one.signal for one in result.warnings] == ([] if connected else ["A.u"])


def test_a_child_process_finds_it_too_and_the_manifest_has_it(tmp_path):
    fmu = declared(make_fmu(tmp_path / "A.fmu", HOLDS, calc=CALC), ("2.0", "3.0"))
    simulated(fmu, isolated=True, output=tmp_path / "r.csv")
    (stored,) = json.loads(Path(tmp_path / "r.csv.json").read_text())["warnings"]
    assert (stored["code"], stored["signal"]) == ("RUN-108", "k")


@pytest.mark.parametrize("text", ["0.333333", "3.33333e-1", "0.33333334326744"])
def test_texts_of_six_digits_and_single_precision_are_the_same_value(tmp_path, text):
    fmu = declared(make_fmu(tmp_path / "A.fmu", HOLDS, calc=CALC), (repr(1 / 3), text))
    assert simulated(fmu).warnings == ()


@pytest.mark.parametrize("refused", [{"k", "share", "n"}, {"u"}])
def test_an_fmu_that_is_not_read_loses_nothing(tmp_path, monkeypatch, refused):
    fmu = declared(make_fmu(tmp_path / "A.fmu", HOLDS, calc=CALC), ("2.0", "3.0"), ("0.25", "0.5"))
    get = FmuInstance.get

    def refusing(self, names):
        if refused & set(names) and "y" not in names:
            raise FmiError(self.name, "fmi2GetReal", 3, ())
        return get(self, names)

    def asked(assembly):
        monkeypatch.setattr(FmuInstance, "get", refusing)
        try:
            return whole(assembly)
        finally:
            monkeypatch.setattr(FmuInstance, "get", get)

    whole = contradictions.unheld_starts
    monkeypatch.setattr("ssptool.engine.run.initialization.unheld_starts", asked)
    result = simulated(fmu)
    assert result.unwrap()["A.y"][-1] == pytest.approx(2.0 * 0.25 + 1 / 3)
    assert [one.signal for one in result.warnings] == (["k"] if refused == {"u"} else ["u"])


def test_of_very_many_variables_some_are_read_those_that_were_set_first(tmp_path, monkeypatch):
    monkeypatch.setattr(contradictions, "MOST_READ", 1)
    fmu = declared(make_fmu(tmp_path / "A.fmu", HOLDS, calc=f"v->n = 7; {CALC}"), ("2.0", "3.0"))
    (warning,) = simulated(fmu, start_values={"A.n": 8}).warnings
    assert (warning.signal, warning.size) == ("n", 1)


def test_an_fmu_in_event_mode_that_cannot_go_on_after_a_refused_call_is_not_asked(tmp_path, monkeypatch):
    discrete = (*HOLDS, Var("m", "output", "Int32", variability="discrete", needs=[]))
    fmu = make_fmu(tmp_path / "A.fmu", discrete, version=3, me=None, cs='hasEventMode="true"', calc=CALC)
    refused = []

    def asked(assembly):
        with monkeypatch.context() as patch:
            patch.setattr(FmuInstance, "get", lambda self, names: refused.append(names))
            return whole(assembly)

    whole = contradictions.unheld_starts
    monkeypatch.setattr("ssptool.engine.run.initialization.unheld_starts", asked)
    assert ssptool.plan(fmu, step_size=0.1, stop_time=1.0).event_modes.members
    assert simulated(fmu).unwrap()["A.y"][-1] == pytest.approx(2.0 * 0.25 + 1 / 3)
    assert refused == []
