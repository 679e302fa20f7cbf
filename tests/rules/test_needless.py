"""Content that exporters write and nothing uses: parameter connectors that the FMU lacks, values that it calculates."""

import pytest

import ssptool
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

GAIN = 4.0


@pytest.fixture
def system(tmp_path):
    """y = 4 k, with a parameter k that is 0.5, a constant and a calculated value."""
    variables = [
        Var("k", "parameter", start=0.5),
        Var("y", "output", needs=[]),
        Var("g", "local", start=9.81, variability="constant", initial="exact"),
        Var("d", "local", needs=[]),
    ]
    make_fmu(tmp_path / "Gain.fmu", variables, me=None, calc=f"v->y = {GAIN} * v->k; v->d = 2 * v->k;")
    return write_system(tmp_path / "system", tmp_path, {"A": "Gain"}, [])


def with_connectors(system, *connectors, after=""):
    ssd = system / "SystemStructure.ssd"
    text = ssd.read_text()
    assert "<ssd:Connectors>" in text
    more = "".join(
        f'<ssd:Connector name="{name}" kind="{kind}">{type_}</ssd:Connector>' for name, kind, type_ in connectors
    )
    text = text.replace("<ssd:Connectors>", f"<ssd:Connectors>{more}", 1).replace(
        "</ssd:Connectors>", f"</ssd:Connectors>{after}", 1
    )
    ssd.write_text(text)
    return system


def bound(*values):
    parameters = "".join(
        f'<ssv:Parameter name="{name}"><ssv:Real value="{value}"/></ssv:Parameter>' for name, value in values
    )
    return (
        '<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet name="p" version="1.0" '
        'xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"><ssv:Parameters>'
        f"{parameters}</ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding>"
        "</ssd:ParameterBindings>"
    )


def severities(system):
    return [(one.code, str(one.severity)) for one in ssptool.validate(system).diagnostics]


REAL, BINARY = "<ssc:Real/>", '<ssc:Binary mime-type="text/x-modelica"/>'


def test_parameter_connectors_that_the_fmu_lacks_and_nothing_uses_are_left_out(system):
    with_connectors(system, ("_start", "parameter", REAL), ("k", "parameter", BINARY))
    assert severities(system) == [("FMU-002", "warning"), ("FMU-011", "warning")]
    assert ssptool.simulate(system)["A.y"][-1] == GAIN * 0.5
    assert len(ssptool.fix(system).fixed) == 2
    assert severities(system) == []


@pytest.mark.parametrize("kind", ["input", "output"])
def test_signals_that_the_fmu_lacks_stay_errors(system, kind):
    with_connectors(system, ("lost", kind, REAL))
    assert ("FMU-002", "error") in severities(system)


def test_a_connector_that_gets_a_value_stays_an_error(system):
    """The value would be lost without a word."""
    with_connectors(system, ("lost", "parameter", REAL), after=bound(("lost", 3.0)))
    assert ("FMU-002", "error") in severities(system)


def test_values_that_the_fmu_calculates_are_deleted(system):
    with_connectors(system, after=bound(("g", 9.81), ("k", 2.5), ("d", 1.0)))
    assert severities(system) == [("SSD-PAR-018", "error")] * 2
    assert {one.code for one in ssptool.fix(system).fixed} == {"SSD-PAR-018"}
    assert severities(system) == []
    assert ssptool.simulate(system)["A.y"][-1] == GAIN * 2.5
