"""Systems of model exchange as one FMU: integrated by the importer, or inside."""

import re

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave
from fmpy.validation import validate_fmu

import ssptool
from ssptool.engine.failure import Unsupported
from ssptool.engine.ode import solvers
from tests.engine.event_mode.systems import write_system as write_hybrid_system
from tests.engine.ode.systems import bounce_times, make_mixture, oscillation, share_in_mixture
from tests.engine.systems import write_system
from tests.exporting.fmus import (
    SYSTEMS,
    Messages,
    assert_same_bits,
    exported,
    follows_a_saved_state,
    in_fmpy,
    initialize,
    instance,
    real,
)
from tests.exporting.of_exchange import exchange_instance

pytestmark = pytest.mark.one_in(3)

KINDS = pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
PARTS = pytest.mark.parametrize("parts", [2, 3], ids="parts{}".format)


@pytest.fixture
def export(exchange_models, tmp_path, fmi):
    """Export a system of these FMUs (name → FMU), with connections and more, as model exchange and co-simulation."""

    def make(components, connections=(), parts=2, change=None, **options):
        folder = write_system(tmp_path / "system", exchange_models.parent / f"fmi{parts}", components, connections)
        if change is not None:
            ssd = folder / "SystemStructure.ssd"
            ssd.write_text(change(ssd.read_text()))
        target = tmp_path / "system.fmu"
        return ssptool.export(folder, target, fmi=fmi, interface="both", **options).path

    return make


def simulated(fmu, kind, **options):
    """What FMPy makes of it: its CVODE, or steps of co-simulation."""
    options = {"relative_tolerance": 1e-9, "stop_time": 1.0, "output_interval": 0.01} | options
    return fmpy.simulate_fmu(str(fmu), fmi_type=kind, **options)


@KINDS
@PARTS
def test_a_ball_bounces_when_it_should(export, parts, kind):
    fmu = export({"Ball": "BouncingBall"}, parts=parts, tolerance=1e-9, expose=["*"])
    found = simulated(fmu, kind, stop_time=2.25, output_interval=0.001)
    times = bounce_times(6)
    for number, t in enumerate(times):
        before = found["Ball.bounces"][np.searchsorted(found["time"], t - 2e-3)]
        after = found["Ball.bounces"][np.searchsorted(found["time"], t + 2e-3)]
        assert (before, after) == (number, number + 1)
    falling = found["time"] < times[0]
    assert found["Ball.h"][falling] == pytest.approx(1 - 9.81 / 2 * found["time"][falling] ** 2, abs=1e-7)


@KINDS
@PARTS
def test_chains_pass_states_on_within_one_evaluation(export, parts, kind):
    """Three equal lags in a row after a unit input: x3 = 1 − e^(−s) (1 + s + s²/2) with s = t/T."""
    wires = [("A.x", "B.u"), ("B.x", "C.u")]
    fmu = export({"C": "Lag", "A": "Lag", "B": "Lag"}, wires, parts, tolerance=1e-9, start_values={"A.u": 1.0})
    found = simulated(fmu, kind)
    s = found["time"] / 0.5
    assert found["C.x"] == pytest.approx(1 - np.exp(-s) * (1 + s + s**2 / 2), abs=2e-7)


@KINDS
@pytest.mark.parametrize("flange_mass", [0.0, 2.0])
def test_algebraic_loops_are_solved_inside(tmp_path, fmi, kind, flange_mass):
    """With the heavy flange (gain −2) as well."""
    target = tmp_path / "oscillator.fmu"
    values = {} if not flange_mass else {"System2.m_c": flange_mass}
    system = SYSTEMS / "dual_mass_oscillator"
    ssptool.export(system, target, fmi=fmi, interface="both", tolerance=1e-9, start_values=values)
    found = simulated(target, kind, stop_time=4.0)
    assert found["System1.x1"] == pytest.approx(oscillation(found["time"], flange_mass)[0], abs=2e-7)


@KINDS
def test_the_governor_is_integrated_as_by_a_run(tmp_path, fmi, kind):
    system, target = SYSTEMS / "flyball_governor", tmp_path / "governor.fmu"
    ssptool.export(system, target, fmi=fmi, interface="both", tolerance=1e-9)
    assert validate_fmu(str(target)) == []
    run = ssptool.simulate(system, tolerance=1e-10)
    found = simulated(target, kind, stop_time=10.0)
    for name in ("Spindle.Omega", "Arms.alpha", "Slider.s"):
        own = np.interp(found["time"], run.t, run[name])
        assert found[name] == pytest.approx(own, abs=2e-6), name


@pytest.mark.parametrize("integrator", ("dormand-prince", "rosenbrock"))
@pytest.mark.parametrize("system", ("dual_mass_oscillator", "flyball_governor"))
def test_it_has_the_bits_of_a_run_by_the_same_integrator(tmp_path, system, integrator, fmi):
    settings = {"implementation": "me", "integrator": integrator, "tolerance": 1e-7, "stop_time": 0.5}
    settings["step_size"] = 0.01
    run = ssptool.simulate(SYSTEMS / system, isolated=False, **settings).unwrap()
    fmu = exported(SYSTEMS / system, tmp_path, fmi=fmi, **settings)
    assert_same_bits(in_fmpy(fmu, 0.01, stop_time=0.5), run)


def test_dependencies_of_derivatives_are_true(export):
    """x' of a lag depends on its own state, and on that of the one before it."""
    wires = [("A.x", "B.u"), ("B.x", "C.u")]
    description = fmpy.read_model_description(str(export({"A": "Lag", "B": "Lag", "C": "Lag"}, wires)))
    found = {one.variable.name: {each.name for each in one.dependencies} for one in description.derivatives}
    assert found == {"A.der(x)": {"A.x"}, "B.der(x)": {"A.x", "B.x"}, "C.der(x)": {"B.x", "C.x"}}
    assert [one.variable.derivative.name for one in description.derivatives] == ["A.x", "B.x", "C.x"]


@KINDS
def test_a_system_without_states_follows_time(export, kind):
    fmu = export({"A": "Stateless"}, start_values={"A.u": 4.0, "A.w": 0.5})
    found = simulated(fmu, kind)
    assert found["A.z"] == pytest.approx(found["time"] ** 2, abs=1e-12)


def test_a_stiff_system_is_integrated_inside(export):
    found = simulated(export({"A": "Stiff"}, tolerance=1e-8), "CoSimulation")
    assert found["A.x"] == pytest.approx(np.cos(found["time"]), abs=1e-6)


def connected(text):
    """An input u and an output y of the system, which lead to A and come from it."""
    connectors = (
        '<ssd:Connectors><ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector>'
        '<ssd:Connector name="y" kind="output"><ssc:Real/></ssd:Connector></ssd:Connectors>'
    )
    wires = (
        '<ssd:Connections><ssd:Connection startConnector="u" endElement="A" endConnector="u"/>'
        '<ssd:Connection startElement="A" startConnector="x" endConnector="y"/></ssd:Connections></ssd:System>'
    )
    return text.replace("<ssd:Elements>", connectors + "<ssd:Elements>").replace("</ssd:System>", wires)


@KINDS
def test_an_input_drives_it(export, kind):
    """A unit step at 0.3 s into a lag of 0.5 s."""
    fmu = export({"A": "Lag"}, change=connected, tolerance=1e-9)
    signals = np.array([(0.0, 0.0), (0.3, 0.0), (0.3, 1.0), (1.0, 1.0)], dtype=[("time", float), ("u", float)])
    found = simulated(fmu, kind, input=signals)
    late = found["time"] > 0.301
    # Steps of co-simulation hold the input, so it jumps at a communication point.
    assert found["y"][late] == pytest.approx(1 - np.exp(-(found["time"][late] - 0.3) / 0.5), abs=1e-6)
    assert found["y"][found["time"] < 0.299] == pytest.approx(0.0, abs=1e-12)


def test_directional_derivatives_lead_through_algebraic_loops(tmp_path, fmi):
    """dv1/dt by x1 of the dual-mass oscillator: −k/m of both springs, since v' = M⁻¹ (−K x − C v)."""
    target = tmp_path / "oscillator.fmu"
    ssptool.export(SYSTEMS / "dual_mass_oscillator", target, fmi=fmi, interface="me")
    stiffness, damping = np.array([[20.0, -10.0], [-10.0, 30.0]]), np.array([[0.7, -0.5], [-0.5, 0.8]])
    with exchange_instance(target, tmp_path / "unpacked") as model:
        model.start(0.0)
        states = ["System1.x1", "System1.v1", "System2.x2", "System2.v2"]
        expected = {0: -stiffness[:, 0], 1: -damping[:, 0], 2: -stiffness[:, 1], 3: -damping[:, 1]}
        for number, state in enumerate(states):
            found = model.directional(["System1.der(v1)", "System2.der(v2)"], [state], [1.0])
            assert found == pytest.approx(expected[number], rel=1e-9)


def test_states_are_saved_and_set(export, tmp_path):
    fmu = export({"Ball": "BouncingBall"}, tolerance=1e-9)
    with exchange_instance(fmu, tmp_path / "unpacked") as model:
        model.start(0.0)
        model.set(0.2, [0.5, -1.0])
        state = model.save()
        expected = model.derivatives(), model.indicators()
        model.set(0.3, [0.1, 3.0])
        assert (model.derivatives(), model.indicators()) != expected
        model.restore(state)
        assert (model.derivatives(), model.indicators()) == expected
        assert model.states() == [0.5, -1.0]
        model.restore_bytes(model.bytes(state))
        assert (model.derivatives(), model.indicators()) == expected


def test_what_follows_a_saved_state_of_co_simulation_follows_it_again(export, tmp_path):
    """Bounces included, in the instance that was saved and from bytes after a reset."""
    fmu = export({"Ball": "BouncingBall"}, tolerance=1e-9, expose=["*"])
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)

        def heights(first, count):
            found = []
            for number in range(first, first + count):
                slave.doStep(number * 0.05, 0.05)
                found.append(real(slave, "Ball.h"))
            return found

        expected = follows_a_saved_state(slave, heights, 8, 15)
    assert min(expected) >= -1e-7


def test_a_component_without_model_exchange_is_named(tmp_path):
    fmu = tmp_path / "oscillator.fmu"
    system = write_system(tmp_path / "system", SYSTEMS / "one_dof_oscillator" / "resources", {"M": "NewmarkMass"}, ())
    with pytest.raises(Unsupported, match="component M"):
        ssptool.export(system, fmu, interface="me")
    assert not fmu.exists()


@pytest.mark.parametrize("interface", ["cs", "me", "both"])
def test_an_exported_fmu_offers_what_was_asked_for(tmp_path, fmi, interface):
    fmu = tmp_path / "oscillator.fmu"
    ssptool.export(SYSTEMS / "dual_mass_oscillator", fmu, fmi=fmi, interface=interface)
    description = fmpy.read_model_description(str(fmu))
    assert (description.modelExchange is None) is (interface == "cs")
    assert (description.coSimulation is None) is (interface == "me")
    assert validate_fmu(str(fmu)) == []


def test_there_is_no_instance_for_co_simulation_of_a_system_exported_without_it(tmp_path):
    fmu = tmp_path / "oscillator.fmu"
    ssptool.export(SYSTEMS / "dual_mass_oscillator", fmu, interface="me")
    description = fmpy.read_model_description(str(fmu))
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=fmpy.extract(str(fmu), unzipdir=str(tmp_path / "unpacked")),
        modelIdentifier=description.modelExchange.modelIdentifier,
        instanceName="exported",
    )
    said = Messages()
    with pytest.raises(Exception, match="instantiate"):
        slave.instantiate(callbacks=said.callbacks())
    assert "this FMU offers model exchange only" in said[0][2]


def test_where_rodas_gets_no_jacobian_another_integrator_goes_on(tmp_path, fmi, monkeypatch):
    """In runs without CVODE too, with the same bits."""
    models = tmp_path / "models"
    models.mkdir()
    system = write_system(tmp_path / "system", make_mixture(models, version=fmi), {"M": "Mixture"}, ())
    settings = {"stop_time": 1.0, "step_size": 0.1, "tolerance": 1e-7}
    monkeypatch.setattr(solvers, "_cvode", raise_import_error)
    run = ssptool.simulate(system, isolated=False, **settings)
    assert run["M.y"] == pytest.approx(share_in_mixture(run.t), abs=1e-6)
    fmu = exported(system, tmp_path, fmi=fmi, **settings)
    assert_same_bits(in_fmpy(fmu, 0.1, stop_time=1.0), run)
    messages = Messages()
    with instance(fmu, tmp_path / "unpacked", messages) as slave:
        initialize(slave)
        slave.doStep(currentCommunicationPoint=0.0, communicationStepSize=0.1)
    ((_, _, text),) = [message for message in messages if "replaces it" in message[2]]
    assert text.startswith("Rodas5P (Rosenbrock) cannot go on from t = 0 s")


def raise_import_error():
    raise ImportError("none")


VALVE = {"Tank": "Vessel", "Valve": "Switch", "Log": "Clerk"}
"""A tank is filled by 1/s, and emptied by 3/s through a valve that opens at 0.75 and shuts at 0.25; a clerk writes."""
LINKS = [("Tank.x", "Valve.u"), ("Valve.on", "Tank.open"), ("Valve.on", "Log.on"), ("Valve.count", "Log.count")]


@KINDS
def test_discrete_signals_pass_between_components_at_events(models, tmp_path, fmi, kind):
    """x rises by 1/s to 0.75 and falls by 2/s to 0.25, after the first time from 0.25."""
    components = {name: f"fmi2/{fmu}" for name, fmu in VALVE.items()}
    system = write_hybrid_system(tmp_path / "system", models.parent, components, LINKS)
    ssd = system / "SystemStructure.ssd"
    ssd.write_text(
        re.sub(r'<ssd:Connector name="\w+" kind="\w+"><ssc:Enumeration/></ssd:Connector>', "", ssd.read_text())
    )
    fmu = tmp_path / "tank.fmu"
    options = {"expose": ["Tank.x", "Log.told_count"], "start_values": {"Tank.fill": 1.0, "Tank.drain": 3.0}}
    ssptool.export(system, fmu, fmi=fmi, interface="both", tolerance=1e-9, stop_time=2.9, **options)
    found = simulated(fmu, kind, stop_time=2.9, output_interval=0.1)
    phase = np.mod(found["time"] - 0.75, 0.75)
    level = np.where(phase < 0.25, 0.75 - 2 * phase, 0.25 + (phase - 0.25))
    expected = np.where(found["time"] < 0.75, found["time"], level)
    apart = np.min(np.abs(np.subtract.outer(found["time"], [0.75, 1.0, 1.5, 1.75, 2.25, 2.5])), axis=1) > 1e-6
    assert found["Tank.x"][apart] == pytest.approx(expected[apart], abs=1e-6)
    assert found["Log.told_count"][-1] == 6
