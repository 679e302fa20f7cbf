"""Parameters: of the system, exposed ones, and those that one component calculates for another."""

import re

import fmpy
import fmpy.validation
import pytest
from fmpy.fmi1 import FMICallException

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.test_parameter_wires import _rewrite
from tests.exporting.fmus import Messages, exported, initialize, instance, real, set_real, set_up

KINDS = ("input", "output", "parameter", "calculatedParameter", "structuralParameter")
STEP = {"step_size": 0.25}
SET = '<ssv:Parameter name="{}"><ssv:Real value="{}"/></ssv:Parameter>'


@pytest.fixture
def ratios(models, tmp_path):
    """Quotients q = a/b, y = q + u of components; variabilities by component."""

    def write(components, connections, parameters=(), connectors="", variability="tunable", fixed=()):
        parts = dict.fromkeys(components, "fmi3/Ratio")
        given = "".join(SET.format(name, value) for name, value in parameters)
        folder = write_system(tmp_path / "system", models.parent, parts, connections, given, KINDS, connectors)
        document = folder / "SystemStructure.ssd"
        text = document.read_text()
        for name in components:
            own = "fixed" if name in fixed else variability
            _rewrite(folder / "resources/fmi3-Ratio.fmu", folder / "resources" / f"{name}.fmu", own)
            text = re.sub(rf'(name="{name}" source="resources/)[^"]*', rf"\g<1>{name}.fmu", text)
        document.write_text(text)
        return folder

    return write


CHAIN = [("B.q", "C.a"), ("A.q", "B.a"), ("C.q", "D.u")]
VALUES = [("A.a", 12), ("A.b", 2), ("B.b", 3), ("C.b", 4)]


@pytest.mark.parametrize("variability", ["fixed", "tunable"])
def test_calculated_parameters_go_through_a_chain_as_in_a_run(variability, ratios, fmi, tmp_path):
    """12/2 = 6 of A, 6/3 = 2 of B, 2/4 = 0.5 of C; declared against their order, with an input at the end."""
    folder = ratios("DCBA", CHAIN, VALUES, variability=variability)
    run = ssptool.simulate(folder, settings=ssptool.Settings(**STEP)).unwrap()
    fmu = exported(folder, tmp_path, **STEP, fmi=fmi)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        slave.doStep(0.0, 0.25)
        found = {f"{name}.y": real(slave, f"{name}.y") for name in "ABCD"}
    assert found == {name: run[name][-1] for name in found}
    assert list(found.values())[:3] == [6.0, 2.0, 0.5]


@pytest.mark.parametrize("when", ["instantiated", "initialization"])
def test_what_follows_from_a_parameter_that_an_importer_sets_is_passed_on(when, ratios, fmi, tmp_path):
    folder = ratios("DCBA", CHAIN, VALUES, variability="fixed")
    run = ssptool.simulate(folder, settings=ssptool.Settings(**STEP), start_values={"A.a": 24.0}).unwrap()
    fmu = exported(folder, tmp_path, **STEP, fmi=fmi, expose=["A.a", "*.y", "C.q"])
    with instance(fmu, tmp_path / "unpacked") as slave:
        if when == "initialization":
            set_up(slave)
            assert real(slave, "C.y") == 0.5
        set_real(slave, "A.a", 24.0)
        if when == "instantiated":
            set_up(slave)
        assert real(slave, "C.q") == 1.0
        slave.exitInitializationMode()
        slave.doStep(0.0, 0.25)
        for name in "ABCD":
            assert real(slave, f"{name}.y") == run[f"{name}.y"][-1]


def test_during_steps_tunable_parameters_are_passed_on(ratios, fmi, tmp_path):
    """As in our own run with the same changes."""
    folder = ratios("ABCD", [("A.q", "B.a"), ("B.q", "C.a"), ("C.q", "D.u")])
    fmu = exported(folder, tmp_path, **STEP, fmi=fmi, expose=["A.a", "A.b", "B.b", "?.y", "?.q"])
    changes = (("A.a", 12.0), ("A.b", 4.0), ("B.b", 3.0))
    with (
        ssptool.Simulation(folder, settings=ssptool.Settings(stop_time=1.0, **STEP)) as run,
        instance(fmu, tmp_path / "unpacked") as slave,
    ):
        initialize(slave)
        for step, (name, value) in enumerate(changes):
            run.set(name, value)
            set_real(slave, name, value)
            assert [real(slave, f"{one}.y") for one in "ABCD"] == [run.get(f"{one}.y") for one in "ABCD"]
            run.step()
            slave.doStep(step * 0.25, 0.25)
            assert [real(slave, f"{one}.q") for one in "ABCD"] == [run.get(f"{one}.q") for one in "ABCD"]
        assert [real(slave, f"{one}.q") for one in "ABC"] == [3.0, 1.0, 1.0]


def test_parameters_that_are_calculated_from_each_other_without_end_are_reported(ratios, fmi, tmp_path):
    folder = ratios("AB", [("A.q", "B.a"), ("B.q", "A.a")], [("A.b", 2), ("B.b", 2)])
    said = Messages()
    fmu = exported(folder, tmp_path, **STEP, fmi=fmi)
    with (
        instance(fmu, tmp_path / "unpacked", said) as slave,
        pytest.raises(FMICallException, match="nterInitializationMode"),
    ):
        set_up(slave)
    assert said[-1][2].startswith("parameters that are calculated from each other do not settle, after 100 passes: ")
    assert "A.a" in said[-1][2]


def test_what_a_component_calculates_and_what_it_calculates_it_for_are_described(ratios, fmi, tmp_path):
    """A parameter that another component calculates is not a parameter of the FMU any more."""
    connectors = '<ssd:Connector name="q" kind="calculatedParameter"><ssc:Real/></ssd:Connector>'
    folder = ratios("ABC", [("A.q", "B.a"), ("B.q", "C.a"), ("C.q", ".q")], connectors=connectors, fixed="C")
    fmu = exported(folder, tmp_path, **STEP, fmi=fmi, expose=["A.a", "B.a", "B.q", "C.b"])
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    found = {one.name: (one.causality, one.variability) for one in fmpy.read_model_description(str(fmu)).modelVariables}
    assert {name: found[name] for name in ("q", "A.a", "B.a", "B.q", "C.b")} == {
        "q": ("calculatedParameter", "fixed"),
        "A.a": ("parameter", "fixed"),  # since C.a, which follows from it, is fixed
        "B.a": ("local", "tunable"),
        "B.q": ("local", "tunable"),
        "C.b": ("parameter", "fixed"),
    }
    with instance(fmu, tmp_path / "unpacked") as slave:
        set_real(slave, "A.a", 6.0)
        initialize(slave)
        assert real(slave, "q") == real(slave, "B.a") == 6.0


K = '<ssd:Connector name="k" kind="parameter"><ssc:Real/></ssd:Connector>'


@pytest.mark.parametrize(("fixed", "variability"), [("", "tunable"), ("B", "fixed")])
def test_a_parameter_of_the_system_is_tunable_if_all_are_that_it_leads_to(fixed, variability, ratios, fmi, tmp_path):
    folder = ratios("AB", [(".k", "A.a"), (".k", "B.a")], [("k", 6)], K, fixed=fixed)
    fmu = exported(folder, tmp_path, **STEP, fmi=fmi, expose=["?.y"])
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    k, *_ = fmpy.read_model_description(str(fmu)).modelVariables
    assert (k.name, k.causality, k.variability, k.start) == ("k", "parameter", variability, "6.0")
    said = Messages()
    with instance(fmu, tmp_path / "unpacked", said) as slave:
        initialize(slave)
        slave.doStep(0.0, 0.25)
        if fixed:
            with pytest.raises(FMICallException, match=r"fmi.Set"):
                set_real(slave, "k", 8.0)
            assert said[0][2] == "k, of causality parameter, cannot be set now"
            return
        set_real(slave, "k", 8.0)
        assert real(slave, "k") == real(slave, "A.y") == real(slave, "B.y") == 8.0


def test_a_parameter_of_the_system_is_read_as_it_was_set(ratios, fmi, tmp_path):
    """Converted twice, 0.3 mm would be another number: 0.3 · 0.001 / 0.001."""
    wire = '<ssc:LinearTransformation factor="0.001" offset="1"/>'
    folder = ratios("AB", [(".k", "A.a"), (".k", "B.a")], [("k", 6)], K)
    ssd = folder / "SystemStructure.ssd"
    text = re.sub(r'(<ssd:Connection [^>]*endElement="B"[^>]*)/>', rf"\1>{wire}</ssd:Connection>", ssd.read_text())
    ssd.write_text(text)
    fmu = exported(folder, tmp_path, **STEP, fmi=fmi, expose=["B.a"])
    with instance(fmu, tmp_path / "unpacked") as slave:
        set_real(slave, "k", 0.3)
        initialize(slave)
        assert real(slave, "k") == 0.3 and real(slave, "B.a") == 0.001 * 0.3 + 1.0
        state = slave.getFMUState() if _saves(fmu) else None
        slave.terminate()
        assert real(slave, "k") == 0.3
        if state is not None:
            slave.setFMUState(state)
            assert real(slave, "k") == 0.3


def _saves(fmu):
    return fmpy.read_model_description(str(fmu)).coSimulation.canGetAndSetFMUstate
