"""Co-simulation of FMI 1.0, alone and with other versions: without initialization mode, without saved states."""

import math
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from ssptool.engine.failure import Ending, Unsupported, UnsupportedByFmu
from ssptool.engine.run.execution import Job, execute
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.recorder import Recorder
from ssptool.engine.watch import NATIVE, Watch
from ssptool.fmu.description import UnusableFmu
from ssptool.renderers import call_sequence
from tests.engine.dual_mass import FMI1, RESOURCES, WIRES, Folder, network, oscillator, simulate
from tests.engine.masters.test_orders import STEPS, errors, orders
from tests.engine.running import run
from tests.systems.exact_dual_mass import DualMass

WITH_FMI2 = {"System1": "fmi1/System1.fmu", "System2": "System2.fmu"}
WITH_FMI3 = {"System1": "fmi1/System1.fmu", "System2": "fmi3/System2.fmu"}
BEHIND_FMI2 = {"System1": "System1.fmu", "System2": "fmi1/System2.fmu"}
ALL = [FMI1, WITH_FMI2, WITH_FMI3, BEHIND_FMI2]


@pytest.mark.parametrize("sources", ALL)
@pytest.mark.parametrize(
    ("master", "coupling", "order"),
    [
        ("jacobi", "hold", 1),
        ("jacobi", "extrapolate", 2),
        ("gauss-seidel", "hold", 1),
        ("gauss-seidel", "interpolate", 2),
    ],
)
def test_each_coupling_converges_with_its_order(sources, master, coupling, order):
    """± 0.25 as for the other versions (test_orders)."""
    found = errors(oscillator(sources), DualMass(), STEPS, master=master, approximation=coupling)
    assert orders(found) == approx([order, order], abs=0.25)


@pytest.mark.parametrize("sources", ALL)
def test_versions_of_fmi_make_no_difference_to_the_last_bit(sources):
    """The FMUs have the same equations and integrator; held inputs reach them in the same way."""
    settings = {"stop_time": 1.0, "step_size": 0.01, "master": "jacobi", "approximation": "hold"}
    trace = simulate(oscillator(sources), **settings).unwrap()
    assert np.array_equal(trace.y, simulate(oscillator(), **settings).unwrap().y)


@pytest.mark.parametrize("sources", ALL)
def test_the_heavy_flange_starts_in_balance(sources):
    """a1 = (5 − m_c a1)/m1 = 5/3, a loop whose gain is −2."""
    trace = simulate(oscillator(sources, System2__m_c=2.0), stop_time=0.1, step_size=1e-2).unwrap()
    assert (trace["System1.a1"][0], trace["System2.F"][0]) == approx((5 / 3, 5 / 3), rel=1e-10)


@pytest.mark.parametrize("sources", ALL)
def test_no_signal_of_a_row_is_a_step_late(sources):
    """m1 a1 = F − k1 x1 − c1 v1 holds in every row, and both ends of a wire are equal."""
    trace = simulate(oscillator(sources), stop_time=1.0, step_size=1e-2).unwrap()
    x1, v1, a1, force = (trace[f"System1.{name}"] for name in ("x1", "v1", "a1", "F"))
    assert np.max(np.abs(a1 - (force - 10 * x1 - 0.2 * v1))) <= 1e-9
    assert np.array_equal(force, trace["System2.F"])


def test_what_needs_saved_states_is_refused_with_the_best_alternative():
    with pytest.raises(UnsupportedByFmu, match=r"component System1: .*use .*jacobi"):
        make_plan(oscillator(WITH_FMI2), Settings(master="iterated"))


def test_a_simulation_of_fmi1_cannot_be_saved(tmp_path):
    with (
        ssptool.Simulation(Folder().path.parent, variant="FMI1", settings=Settings(step_size=0.1)) as simulation,
        pytest.raises(Exception, match=r"System1.*(sav|serializ)"),
    ):
        simulation.save(tmp_path / "state")


def test_plans_say_how_such_fmus_are_initialized():
    mixed = "\n".join(call_sequence(make_plan(oscillator(WITH_FMI2), Settings())))
    assert "enter initialization mode" in mixed and "System1: initialize (FMI 1.0) at the first visit" in mixed
    assert "initialization mode" not in "\n".join(call_sequence(make_plan(oscillator(FMI1), Settings())))


# -- initialization -------------------------------------------------------------------------------------------------


@pytest.fixture
def steady(engine_models):
    """Systems of Steady and Affine: y = x with der(x) = a u + c − x, at rest at the start; y = a u + b w + c."""
    folder = engine_models.parent

    def simulate(sources, wires, values, **settings):
        net = network(sources, wires, values, experiment=(0.0, 1.0), folder=folder)
        return run(make_plan(net, Settings(step_size=0.1, **settings)), Folder(folder))

    return simulate


def test_a_row_of_fmus_starts_with_the_inputs_that_the_ones_before_have(steady):
    """A = 3, B = 2 A = 6, C = B + 1 = 7: at rest for ever, as only consistent initial states are."""
    sources = dict.fromkeys("CBA", "fmi1/Steady.fmu")
    values = {"A.c": 3.0, "B.a": 2.0, "C.c": 1.0}
    trace = steady(sources, [("A.y", "B.u"), ("B.y", "C.u")], values).unwrap()
    for name, value in (("A", 3.0), ("B", 6.0), ("C", 7.0)):
        assert trace[f"{name}.y"] == approx([value] * len(trace), rel=1e-12)


@pytest.mark.parametrize("other", ["fmi1", "fmi2", "fmi3"])
def test_initial_states_that_need_each_other_are_found(steady, other):
    """A = B/2 + 1, B = A/2: A = 4/3, B = 2/3."""
    sources = {"A": "fmi1/Steady.fmu", "B": f"{other}/Steady.fmu"}
    result = steady(sources, [("A.y", "B.u"), ("B.y", "A.u")], {"A.a": 0.5, "A.c": 1.0, "B.a": 0.5})
    trace = result.unwrap()
    assert trace["A.y"] == approx([4 / 3] * len(trace), rel=1e-11)
    assert trace["B.y"] == approx([2 / 3] * len(trace), rel=1e-11)


def test_initial_states_that_cannot_be_found_without_a_mode_are_refused(steady):
    """A = 2 B + 1, B = A: a gain of 2 leads away from the solution, −1."""
    sources = {"A": "fmi1/Steady.fmu", "B": "fmi1/Steady.fmu"}
    result = steady(sources, [("A.y", "B.u"), ("B.y", "A.u")], {"A.a": 2.0, "A.c": 1.0})
    assert result.status is Ending.LOOP
    assert "B.u" in result.failure.message and "initialization mode" in result.failure.message
    assert "export the FMUs as FMI 2.0" in result.failure.advice


def test_the_solution_is_reached_from_start_values_where_iterations_lead_away(steady):
    sources = {"A": "fmi1/Steady.fmu", "B": "fmi1/Steady.fmu"}
    values = {"A.a": 2.0, "A.c": 1.0, "A.u": -1.0, "B.u": -1.0}
    trace = steady(sources, [("A.y", "B.u"), ("B.y", "A.u")], values).unwrap()
    assert trace["A.y"][0] == trace["B.y"][0] == -1.0


def test_loops_through_fmus_with_and_without_a_mode_are_solved(steady):
    """y1 = −3 y2 + 1, y2 = y1: a gain of −3, hence y = 1/4."""
    sources = {"P": "fmi1/Affine.fmu", "Q": "fmi2/Affine.fmu"}
    trace = steady(sources, [("P.y", "Q.u"), ("Q.y", "P.u")], {"P.a": -3.0, "P.c": 1.0}).unwrap()
    assert trace["P.y"] == approx([0.25] * len(trace), rel=1e-10)


def test_an_fmu_that_cannot_be_reset_is_named_with_the_start_values_to_give(steady):
    sources = {"A": "fmi1/Unresettable.fmu", "B": "fmi1/Unresettable.fmu"}
    wires, values = [("A.y", "B.u"), ("B.y", "A.u")], {"A.a": 0.5, "A.c": 1.0, "B.a": 0.5}
    result = steady(sources, wires, values)
    assert (result.status, result.failure.component, result.failure.function) == (Ending.FMI, "A", "fmiResetSlave")
    assert any("there is no way back" in message for message in result.failure.messages)
    assert "--set A.u=0.5" in result.failure.advice
    given = {"A.u": 2 / 3, "B.u": 0.5 * (2 / 3) + 1.0}
    assert steady(sources, wires, values | given).unwrap()["A.y"][0] == approx(4 / 3, rel=1e-11)


def test_an_fmu_that_cannot_be_reset_runs_behind_others(steady):
    """Its inputs are known before it is initialized."""
    sources = {"B": "fmi1/Unresettable.fmu", "A": "fmi2/Affine.fmu"}
    trace = steady(sources, [("A.y", "B.u")], {"A.c": 3.0}).unwrap()
    assert trace["B.y"] == approx([3.0] * len(trace), rel=1e-12)


# -- calls and their ends -------------------------------------------------------------------------------------------


@pytest.mark.skipif(not NATIVE, reason="the stand-ins are not built")
def test_every_call_is_counted():
    plan = make_plan(
        oscillator(FMI1), Settings(stop_time=0.5, step_size=0.01, master="jacobi", approximation="extrapolate")
    )
    watch = Watch.private([one.name for one in plan.instances], measured=True)
    assert execute(Job(plan, Folder()), Recorder(plan, None, keep=True), watch).failure is None
    calls = {(one.component, one.function): one.calls for one in watch.calls()}
    assert calls["System1", "fmiDoStep"] == calls["System2", "fmiDoStep"] == 50
    for function in ("fmiInstantiateSlave", "fmiTerminateSlave", "fmiFreeSlaveInstance"):
        assert calls["System1", function] == 1
    assert calls["System1", "fmiInitializeSlave"] == 1 + calls["System1", "fmiResetSlave"]
    # The first step cannot extrapolate yet.
    assert calls["System1", "fmiSetRealInputDerivatives"] == 49


def test_a_step_that_is_discarded_ends_the_run_with_component_function_and_time():
    """An infinite stiffness leaves no solution over the step."""
    net = oscillator(FMI1, System2__k3=math.inf)
    result = simulate(net, stop_time=1.0, step_size=0.1, master="jacobi", approximation="hold")
    assert result.status is Ending.FMI
    assert (result.failure.component, result.failure.function) == ("System2", "fmiDoStep")
    assert "returned discard" in result.failure.message and result.failure.time == 0.0
    assert any("no solution" in message for message in result.failure.messages)


def test_a_value_that_an_fmu_refuses_ends_the_run_with_its_words():
    result = simulate(oscillator(FMI1, System1__x1=1.0), stop_time=1.0, step_size=0.1)
    assert (result.failure.component, result.failure.function) == ("System1", "fmiSetReal")
    assert any("x1 is computed by the model" in message for message in result.failure.messages)


def test_a_binary_without_the_functions_of_its_version_says_which_is_missing():
    net = oscillator()
    old = {n: replace(c, description=replace(c.description, fmi_version="1.0")) for n, c in net.components.items()}
    with pytest.raises(UnusableFmu, match="System1_fmi"):
        simulate(replace(net, components=old), stop_time=0.1, step_size=0.1)


def test_model_exchange_and_coupling_with_a_tool_are_refused_by_name():
    net = oscillator(FMI1)
    one = net.components["System1"]
    interface = one.description.co_simulation
    for description, name in (
        (replace(one.description, co_simulation=None, model_exchange=interface), "model exchange of FMI 1.0"),
        (replace(one.description, co_simulation=replace(interface, needs_tool=True)), "CoSimulation_Tool"),
    ):
        components = net.components | {"System1": replace(one, description=description)}
        with pytest.raises(Unsupported, match=f"component System1: .*{name}.* not supported"):
            make_plan(replace(net, components=components), Settings())


def test_negated_aliases_are_refused_with_the_variable_to_use():
    net = oscillator(FMI1)
    one = net.components["System1"]
    fmu = one.description
    variables = {**fmu.variables, "F": fmu.variables["F"]._replace(negated=True)}
    variables["minus_F"] = fmu.variables["F"]._replace(name="minus_F")
    changed = replace(one, description=replace(fmu, variables=variables))
    with pytest.raises(Unsupported, match=r"connector System1\.F: negated aliases .* use minus_F"):
        make_plan(replace(net, components=net.components | {"System1": changed}), Settings())


# -- steps that are done again -------------------------------------------------------------------------------------


@pytest.fixture
def rejecting(tmp_path):
    """The FMUs of the oscillator, of which those of FMI 1.0 can reject steps."""
    for name in ("System1", "System2"):
        for version in ("fmi1", "", "fmi3"):
            source, target = RESOURCES / version / f"{name}.fmu", tmp_path / version / f"{name}.fmu"
            target.parent.mkdir(exist_ok=True)
            with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
                for entry in old.infolist():
                    content = old.read(entry)
                    if version == "fmi1" and entry.filename == "modelDescription.xml":
                        content = content.replace(b"<Capabilities ", b'<Capabilities canRejectSteps="true" ')
                    new.writestr(entry, content)
    return tmp_path


def repeated(folder, sources, **settings):
    settings = {"stop_time": 1.0, "step_size": 0.01, **settings}
    plan = make_plan(network(sources, WIRES, folder=folder), Settings(**settings))
    return plan, run(plan, Folder(folder))


@pytest.mark.parametrize("acceleration", ["none", "iqn-ils"])
@pytest.mark.parametrize("sources", ALL)
def test_steps_of_what_can_reject_them_are_iterated(rejecting, sources, acceleration):
    """To the last bit as FMI 2.0 with saved states: the FMUs have the same equations and integrator."""
    settings = {"master": "iterated", "approximation": "interpolate", "acceleration": acceleration}
    _, result = repeated(rejecting, sources, **settings)
    assert result.statistics.iterations_max > 1
    others = {name: fmu.replace("fmi1/", "") for name, fmu in sources.items()}
    _, saved = repeated(rejecting, others, **settings)
    assert np.array_equal(result.unwrap().y, saved.unwrap().y)


def test_the_master_for_what_can_reject_steps_is_the_iterated_one(rejecting):
    plan, _ = repeated(rejecting, FMI1)
    choice = next(one for one in plan.choices if one.setting == "master")
    assert choice.value == "iterated"
    assert choice.reason.endswith("their FMUs save states or can reject steps")


def test_only_the_last_step_can_be_done_again(rejecting):
    """So not where a component does several in each macro step."""
    with pytest.raises(UnsupportedByFmu, match="master iterated requires an FMU that saves"):
        repeated(rejecting, FMI1, master="iterated", substeps={"System1": 2})
