"""Documents as exporters write them: they run as they come, with a warning and a fix, where nothing is lost."""

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


@pytest.mark.parametrize(("fmu", "stated", "severity"), [("Int32", "Real", "warning"), ("Float64", "Integer", "error")])
def test_a_connector_of_another_type_is_a_warning_where_each_value_is_exact(tmp_path, fmu, stated, severity):
    """As easySSP writes them. n counts by 2 from 3 in each step, and y = 4 n."""
    count = [Var("n", "output", fmu, start=3, initial="exact", variability="discrete")]
    make_fmu(tmp_path / "Count.fmu", count, me=None, calc="", step="v->n += 2; return OK;")
    make_fmu(
        tmp_path / "Gain.fmu",
        [Var("u", "input", start=0.0), Var("y", "output", needs=["u"])],
        me=None,
        calc="v->y = 4 * v->u;",
    )
    system = write_system(tmp_path / "system", tmp_path, {"N": "Count", "G": "Gain"}, [("N.n", "G.u")])
    ssd = system / "SystemStructure.ssd"
    own = {"Int32": "Integer", "Float64": "Real"}[fmu]
    ssd.write_text(ssd.read_text().replace(f"<ssc:{own}/>", f"<ssc:{stated}/>", 1))
    assert ("FMU-005", severity) in severities(system)
    if severity == "warning":
        options = {"stop_time": 0.1, "step_size": 0.01}
        assert ssptool.simulate(system, **options)["G.y"][-1] == 4 * (3 + 2 * 10)
        assert [one.code for one in ssptool.fix(system).fixed] == ["FMU-005"]
        assert "FMU-005" not in dict(severities(system))
        assert ssptool.simulate(system, **options)["G.y"][-1] == 4 * (3 + 2 * 10)
