"""Variables inside of FMUs, and connectors of systems inside, in the trace."""

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave

import ssptool
from ssptool import Settings, read_trace
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.recorder import Recording
from ssptool.engine.run.selection import select
from ssptool.errors import UnknownName, WrongValue
from ssptool.types import Event
from tests.engine.dual_mass import FMI1, FMI2, FMI3, MIXED, RESOURCES, Folder, oscillator
from tests.engine.ode.systems import beside
from tests.engine.running import run
from tests.systems.exact_dual_mass import DualMass

SECOND = ["System2.x2", "System2.v2", "System2.der(v2)", "System2.x1", "System2.v1"]
ME = {"implementation": "me"}
MASTERS = [
    {"master": "jacobi"},
    {"master": "jacobi", "approximation": "hold"},
    {"master": "jacobi", "threads": 2},
    {"master": "gauss-seidel"},
    {"master": "iterated"},
    {"master": "iterated", "acceleration": "anderson"},
    {"adaptive": 1e-5},
    ME,
]


def simulate(net, signals=(), *, isolated=False, output=None, **settings):
    plan = make_plan(net, Settings(**{"stop_time": 0.5, "step_size": 0.01, **settings}))
    return run(plan, Folder(), isolated=isolated, recording=Recording(output, signals=signals)).unwrap()


def check(trace, tolerance=0.02):
    """Within a row m2 a2 = −k2 (x2 − x1) − c2 (v2 − v1) − k3 x2 − c3 v2, to rounding; over time x2 is the exact one."""
    x2, v2, a2, x1, v1 = (trace[name] for name in SECOND)
    law = -10.0 * (x2 - x1) - 0.5 * (v2 - v1) - 20.0 * x2 - 0.3 * v2
    assert np.max(np.abs(a2 - law)) < 1e-12
    exact = DualMass().signals(trace.t)["x2"] if np.ptp(np.diff(trace.t)) < 1e-9 else None
    assert exact is None or np.max(np.abs(x2 - exact)) < tolerance
    assert x2[0] == 0.5


@pytest.mark.parametrize("settings", MASTERS, ids=str)
def test_states_and_derivatives_of_the_second_mass_fit_their_row(settings):
    check(simulate(oscillator(), SECOND, **settings))


@pytest.mark.parametrize("sources", [FMI1, FMI3, MIXED], ids=["1.0", "3.0", "mixed"])
def test_every_version_of_fmi_shows_them(sources):
    check(simulate(oscillator(sources), SECOND))


@pytest.mark.parametrize("exchange", ["System1", "System2"])
def test_beside_an_ode(exchange):
    check(simulate(beside(oscillator(), exchange), SECOND))


def test_a_child_process_gives_the_same_bits():
    here, there = (simulate(oscillator(), SECOND, isolated=isolated) for isolated in (False, True))
    assert np.array_equal(here.cells, there.cells)


@pytest.mark.parametrize("settings", MASTERS, ids=str)
def test_looking_changes_nothing(settings):
    plain = simulate(oscillator(), **settings)
    shown = simulate(oscillator(), ["*"], **settings)
    assert np.array_equal(plain.t, shown.t)
    assert all(np.array_equal(plain[name], shown[name]) for name in plain.signals)
    assert len(shown.signals) > len(plain.signals)


@pytest.mark.parametrize("ending", ["csv", "parquet", "mat"])
def test_files_say_what_they_are(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"inside.{ending}"
    trace = simulate(oscillator(), ["System2.x2", "System1.m1"], output=path)
    kept = read_trace(path)
    assert kept.signals == ("System1.m1", "System2.x2")
    assert [column.unit for column in kept.columns] == ["kg", "m"]
    assert kept.columns[1].description == trace.columns[1].description == "position of mass 2"
    assert np.array_equal(kept["System2.x2"], trace["System2.x2"])


def test_they_are_those_of_a_bare_loop_of_fmpy(tmp_path):
    """One FMU without inputs that are driven: the same calls give the same bits."""
    with ssptool.new(tmp_path / "alone", stop_time=1.0) as alone:
        alone.add(str(RESOURCES / "System2.fmu"))
    result = ssptool.simulate(tmp_path / "alone", settings=Settings(step_size=0.01), record=["System2.x2", "*.der(v2)"])
    fmu = RESOURCES / "System2.fmu"
    description = fmpy.read_model_description(fmu)
    references = {v.name: v.valueReference for v in description.modelVariables}
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=fmpy.extract(fmu, tmp_path / "unpacked"),
        modelIdentifier=description.coSimulation.modelIdentifier,
    )
    slave.instantiate()
    slave.setupExperiment(startTime=0.0, stopTime=1.0)
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    wanted = [references["x2"], references["der(v2)"]]
    rows = [slave.getReal(wanted)]
    for k in range(100):
        slave.doStep(k * 0.01, 0.01)
        rows.append(slave.getReal(wanted))
    slave.terminate()
    slave.freeInstance()
    assert np.array_equal(result.trace.cells, np.array(rows))


def test_nothing_is_observed_unless_asked_for():
    plan = make_plan(oscillator(), Settings(stop_time=1.0, step_size=0.01))
    for same in (plan, select(plan, ["System1.x1"])):
        assert not same.shown and not any(one.observed for one in same.instances)


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("x2", r"did you mean \*\.x2 or System2\.x2"),
        ("System2.x3", r"did you mean System2\.x"),
        ("x*", r"did you mean \*\.x\*"),
    ],
)
def test_a_pattern_that_fits_nothing_leads_to_one_that_does(pattern, hint):
    with pytest.raises(UnknownName, match=hint):
        select(make_plan(oscillator(FMI2), Settings(stop_time=1.0, step_size=0.01)), [pattern])


def test_a_pattern_in_other_case_means_the_signal_that_it_fits():
    plan = make_plan(oscillator(FMI2), Settings(stop_time=1.0, step_size=0.01))
    assert [column.signal for column in select(plan, ["system2.X2"]).columns] == ["System2.x2"]


def test_a_simulation_reads_and_records_them():
    system = RESOURCES.parent
    with ssptool.Simulation(system, record=["System2.x2", "System2.der(v2)"]) as simulation:
        simulation.run_until(0.5)
        assert simulation.get("System2.x2") == simulation.trace["System2.x2"][-1]
        simulation.set("System2.k3", 40.0)
        assert simulation.get("System2.der(v2)") == simulation.trace["System2.der(v2)"][-1]
        law = simulation.get("System2.F"), simulation.get("System2.x2"), simulation.get("System2.v2")
        assert simulation.get("System2.der(v2)") == pytest.approx(-law[0] - 40.0 * law[1] - 0.3 * law[2], abs=1e-12)


# -- systems inside, and connectors of kind local ------------------------------------------------------------

NESTED = """<ssd:SystemStructureDescription version="2.0" name="Nested"
    xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon">
  <ssd:System name="Nested">
    <ssd:Connectors>
      <ssd:Connector name="where" kind="local"><ssc:Real unit="mm"/></ssd:Connector>
    </ssd:Connectors>
    <ssd:Elements>
      <ssd:Component name="System1" source="resources/System1.fmu">
        <ssd:Connectors>
          <ssd:Connector name="F" kind="input"/><ssd:Connector name="x1" kind="output"/>
          <ssd:Connector name="v1" kind="output"/><ssd:Connector name="a1" kind="output"/>
        </ssd:Connectors>
      </ssd:Component>
      <ssd:System name="inner">
        <ssd:Connectors>
          <ssd:Connector name="x" kind="input"/><ssd:Connector name="v" kind="input"/>
          <ssd:Connector name="a" kind="input"/><ssd:Connector name="k" kind="parameter"/>
          <ssd:Connector name="F" kind="output"><ssc:Real unit="kN"/></ssd:Connector>
          <ssd:Connector name="pos" kind="local"><ssc:Real unit="mm"/></ssd:Connector>
        </ssd:Connectors>
        <ssd:Elements>
          <ssd:Component name="System2" source="resources/System2.fmu">
            <ssd:Connectors>
              <ssd:Connector name="x1" kind="input"/><ssd:Connector name="v1" kind="input"/>
              <ssd:Connector name="a1" kind="input"/><ssd:Connector name="F" kind="output"/>
              <ssd:Connector name="k3" kind="parameter"/><ssd:Connector name="x2" kind="local"/>
              <ssd:Connector name="v2" kind="local"/>
            </ssd:Connectors>
          </ssd:Component>
        </ssd:Elements>
        <ssd:Connections>
          <ssd:Connection startConnector="x" endElement="System2" endConnector="x1"/>
          <ssd:Connection startConnector="v" endElement="System2" endConnector="v1"/>
          <ssd:Connection startConnector="a" endElement="System2" endConnector="a1"/>
          <ssd:Connection startConnector="k" endElement="System2" endConnector="k3"/>
          <ssd:Connection startElement="System2" startConnector="F" endConnector="F"/>
          <ssd:Connection startElement="System2" startConnector="x2" endConnector="pos"/>
        </ssd:Connections>
      </ssd:System>
    </ssd:Elements>
    <ssd:Connections>
      <ssd:Connection startElement="System1" startConnector="x1" endElement="inner" endConnector="x"/>
      <ssd:Connection startElement="System1" startConnector="v1" endElement="inner" endConnector="v"/>
      <ssd:Connection startElement="System1" startConnector="a1" endElement="inner" endConnector="a"/>
      <ssd:Connection startElement="inner" startConnector="F" endElement="System1" endConnector="F"/>
      <ssd:Connection startElement="inner" startConnector="pos" endConnector="where"/>
    </ssd:Connections>
  </ssd:System>
  <ssd:Units>
    <ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit>
    <ssc:Unit name="kN"><ssc:BaseUnit kg="1" m="1" s="-2" factor="1000"/></ssc:Unit>
    <ssc:Unit name="mm"><ssc:BaseUnit m="1" factor="0.001"/></ssc:Unit>
  </ssd:Units>
  <ssd:DefaultExperiment startTime="0" stopTime="0.5"/>
</ssd:SystemStructureDescription>
"""


@pytest.fixture
def nested(tmp_path):
    (tmp_path / "resources").mkdir()
    for name in ("System1.fmu", "System2.fmu"):
        (tmp_path / "resources" / name).write_bytes((RESOURCES / name).read_bytes())
    (tmp_path / "SystemStructure.ssd").write_text(NESTED)
    return tmp_path


@pytest.mark.parametrize("settings", [{}, ME], ids=str)
def test_connectors_of_systems_inside_have_the_values_that_pass_through_them(nested, settings):
    """In their own units: the force in kN, the position in mm; a parameter has the value of what it leads to."""
    signals = ["inner.?", "inner.k", "inner.pos", "inner.System2.F", "System1.x1", "inner.System2.x2"]
    settings = Settings(step_size=0.01, **settings)
    trace = ssptool.simulate(nested, settings=settings, record=signals).unwrap()
    units = {column.signal: column.unit for column in trace.columns}
    assert (units["inner.F"], units["inner.pos"], units["inner.x"]) == ("kN", "mm", "m")
    assert trace["inner.F"] == pytest.approx(trace["inner.System2.F"] / 1000, rel=1e-15)
    assert np.array_equal(trace["inner.x"], trace["System1.x1"])
    assert trace["inner.pos"] == pytest.approx(1000 * trace["inner.System2.x2"], rel=1e-15)
    assert np.all(trace["inner.k"] == 20.0)


@pytest.mark.parametrize("settings", [{}, {"master": "gauss-seidel"}, ME], ids=str)
@pytest.mark.parametrize("action", ["override", "bias"])
def test_connectors_of_systems_inside_show_what_a_scenario_makes_of_their_source(nested, settings, action):
    """From 0.2 s to 0.3 s the force is 500 N, or 500 N more: as System1 gets it, and in kN at the connector between."""
    events = [Event(0.2, "inner.System2.F", action, 500.0), Event(0.3, "inner.System2.F", "reset")]
    settings = Settings(step_size=0.01, **settings)
    signals = ["inner.F", "System1.F", "inner.System2.F"]
    result = ssptool.simulate(nested, settings=settings, record=signals, scenario=ssptool.types.Scenario(tuple(events)))
    trace = result.unwrap()
    assert trace["inner.F"][-5:] == pytest.approx(trace["inner.System2.F"][-5:] / 1000, rel=1e-15)
    during = (trace.t > 0.205) & (trace.t < 0.295)
    given = trace["inner.System2.F"][during] if action == "bias" else 0.0
    assert trace["inner.F"][during] == pytest.approx((given + 500.0) / 1000, rel=1e-12)


def test_a_local_connector_that_is_connected_is_an_output_and_another_one_is_not(nested):
    trace = ssptool.simulate(nested, settings=Settings(step_size=0.01)).unwrap()
    assert trace["where"] == pytest.approx(1000 * trace["inner.System2.x2"], rel=1e-15)
    assert trace["inner.System2.x2"] == pytest.approx(DualMass().signals(trace.t)["x2"], abs=1e-3)
    assert "inner.System2.v2" not in trace.signals and "inner.pos" not in trace.signals
    found = ssptool.simulate(nested, settings=Settings(step_size=0.01), record=["*.v2"])
    assert found.unwrap().signals == ("inner.System2.v2",)


def test_a_simulation_reads_connectors_of_systems_and_says_what_to_set_instead(nested):
    with ssptool.Simulation(nested, settings=Settings(step_size=0.01)) as simulation:
        simulation.step(5)
        assert simulation.get("inner.pos") == 1000 * simulation.get("inner.System2.x2")
        assert simulation.get("inner.k") == 20.0
        with pytest.raises(WrongValue, match=r"inner\.k.*set inner\.System2\.k3"):
            simulation.set("inner.k", 3.0)
        with pytest.raises(WrongValue, match=r"continuous local"):
            simulation.set("inner.System2.v2", 3.0)


def test_what_is_set_in_a_nested_system_has_both_sides(nested):
    with ssptool.Simulation(nested, settings=Settings(step_size=0.01)) as simulation:
        simulation.step(5)
        simulation.set("inner.System2.m_c", 3.0)
        simulation.set("inner.System2.m_c", 2.0)
        simulation.step()
        trace = simulation.trace
    assert trace.t[4:8] == pytest.approx([0.04, 0.05, 0.05, 0.06], abs=1e-12)
    before, after = trace.rows([5]), trace.rows([6])
    assert after["System1.x1"] == before["System1.x1"]
    assert after["System1.F"] != before["System1.F"]
