"""As what components are run: asked for, stated, or chosen."""

from dataclasses import replace

import pytest

from ssptool import Settings
from ssptool.documents.diagnostics import Position
from ssptool.engine.failure import Unsupported, UnsupportedByFmu
from ssptool.engine.run.make_plan import make_plan
from ssptool.exceptions import ContradictingSettings
from ssptool.fmu.description import InterfaceType
from ssptool.network.network import Annotated, Stated
from ssptool.renderers import call_sequence
from tests.engine.dual_mass import RESOURCES, network, oscillator

EXCHANGE, SIMULATION = InterfaceType.MODEL_EXCHANGE, InterfaceType.CO_SIMULATION


def kinds(plan):
    return [one.interface for one in plan.instances]


def stated(net, **implementations):
    components = {
        name: replace(component, implementation=implementations.get(name, "any"))
        for name, component in net.components.items()
    }
    return replace(net, components=components)


def choices(plan):
    return {choice.setting: (choice.value, choice.reason) for choice in plan.choices}


def test_fmus_that_offer_both_are_one_ode_and_the_reason_names_the_way_back():
    plan = make_plan(stated(oscillator()), Settings(step_size=0.01, tolerance=1e-6, threads=2))
    assert kinds(plan) == [EXCHANGE, EXCHANGE]
    kind, reason = choices(plan)["implementation"]
    assert kind == "model exchange" and "--implementation cs" in reason


OF_COUPLING = [
    {"master": "jacobi"},
    {"approximation": "hold"},
    {"input_order": 2},
    {"acceleration": "aitken"},
    {"relaxation": 0.7},
    {"iterations": 3},
    {"max_iterations": 20},
    {"prediction_order": 1},
    {"adaptive": 1e-3},
    {"substeps": {"System1": 2}},
    {"convergence": {"relative": 1e-5}},
    {"exchange": "late"},
]


@pytest.mark.parametrize("settings", OF_COUPLING, ids=lambda one: next(iter(one)))
def test_a_setting_of_the_coupling_asks_for_co_simulation(settings):
    plan = make_plan(stated(oscillator()), Settings(**settings))
    assert kinds(plan) == [SIMULATION, SIMULATION]
    words = choices(plan)["implementation"][1]
    assert next(iter(settings)).split("_")[0] in words
    assert any("integrated as one ODE (--implementation me)" in note for note in plan.notes)


def test_one_stated_implementation_keeps_all_as_the_system_says():
    plan = make_plan(stated(oscillator(), System1="CoSimulation"), Settings())
    assert kinds(plan) == [SIMULATION, SIMULATION]
    assert choices(plan)["implementation"] == ("co-simulation", "stated in the system")


def test_a_step_that_an_annotation_states_is_one_of_co_simulation():
    step = Stated(0.02, "osp:FixedStepAlgorithm", Position("a.ssd", 7))
    net = replace(stated(oscillator()), annotated=Annotated(step_size=step))
    plan = make_plan(net, Settings())
    assert kinds(plan) == [SIMULATION, SIMULATION]
    choice = next(one for one in plan.choices if one.setting == "implementation")
    assert "osp:FixedStepAlgorithm" in choice.reason and "a.ssd" in choice.place and "7" in choice.place


def test_co_simulation_that_is_asked_for_is_that_of_all_that_offer_it(test_models):
    sources = {"System1": RESOURCES / "System1.fmu", "Ball": test_models / "BouncingBall.fmu"}
    plan = make_plan(stated(network(sources, [])), Settings(implementation="cs"))
    assert kinds(plan) == [SIMULATION, EXCHANGE]
    assert kinds(make_plan(stated(network(sources, [])), Settings())) == [EXCHANGE, EXCHANGE]


def test_an_fmu_without_co_simulation_is_integrated(test_models):
    net = network({"Ball": "BouncingBall.fmu"}, [], folder=test_models)
    plan = make_plan(net, Settings())
    assert kinds(plan) == [EXCHANGE]
    assert choices(plan)["implementation"] == ("model exchange", "all that the FMUs offer")


def test_what_the_system_states_is_done():
    plan = make_plan(stated(oscillator(), System1="ModelExchange", System2="ModelExchange"), Settings())
    assert kinds(plan) == [EXCHANGE, EXCHANGE]
    assert choices(plan)["implementation"] == ("model exchange", "stated in the system")


@pytest.mark.parametrize(("asked", "kind"), (("me", EXCHANGE), ("cs", SIMULATION)))
def test_what_is_asked_for_wins_over_what_is_stated(asked, kind):
    other = SIMULATION if kind is EXCHANGE else EXCHANGE
    net = stated(oscillator(), System1=str(other), System2=str(other))
    plan = make_plan(net, Settings(implementation=asked))
    assert kinds(plan) == [kind, kind]
    assert choices(plan)["implementation"][1] == "asked for"


@pytest.mark.parametrize("settings", ({"implementation": "cs"}, {}))
def test_an_fmu_that_does_not_offer_it_is_named(test_models, settings):
    net = network({"Ball": "BouncingBall.fmu"}, [], folder=test_models)
    if not settings:
        net = stated(net, Ball="CoSimulation")
    with pytest.raises(UnsupportedByFmu, match=r"Ball.*co-simulation.*model exchange"):
        make_plan(net, Settings(**settings))


def test_both_kinds_may_be_side_by_side():
    plan = make_plan(stated(oscillator(), System2="ModelExchange"), Settings())
    assert kinds(plan) == [SIMULATION, EXCHANGE]
    assert choices(plan)["implementation"] == (
        "co-simulation of System1 and model exchange of System2",
        "stated in the system",
    )
    assert choices(plan)["master"][0] == "iterated"
    assert choices(plan)["integrator"][0] == "bdf"
    text = "\n".join(call_sequence(plan))
    for words in ("step System1, the ODE of System2", "CVODE (BDF", "restarts at each macro step"):
        assert words in text


def test_an_integrator_has_no_substeps():
    with pytest.raises(ContradictingSettings, match="substeps of System2, which is run as model exchange"):
        make_plan(stated(oscillator(), System2="ModelExchange"), Settings(substeps={"System2": 2}))


def test_scheduled_execution_is_refused_by_name():
    with pytest.raises(Unsupported, match=r"System1: scheduled execution"):
        make_plan(stated(oscillator(), System1="ScheduledExecution"), Settings())


@pytest.mark.parametrize("settings", ({"master": "jacobi"}, {"approximation": "hold"}, {"acceleration": "aitken"}))
def test_settings_of_masters_do_not_go_with_one_ode(settings):
    with pytest.raises(ContradictingSettings, match="no steps are coupled"):
        make_plan(oscillator(), Settings(implementation="me", **settings))


@pytest.mark.parametrize("tolerance", (1.0, 2.0))
def test_a_tolerance_that_an_integrator_cannot_have_is_refused(tolerance):
    with pytest.raises(ValueError, match="between 0 and 1"):
        make_plan(oscillator(), Settings(implementation="me", tolerance=tolerance))


def test_the_plan_says_how_it_is_integrated():
    plan = make_plan(oscillator(), Settings(implementation="me", tolerance=1e-7, integrator="adams"))
    assert choices(plan)["integrator"] == ("adams", "asked for")
    assert choices(plan)["tolerance"] == ("1e-07", "asked for")
    assert choices(plan)["jacobian"] == ("directional derivatives", "all FMUs give them")
    text = "\n".join(call_sequence(plan))
    for words in ("model exchange", "CVODE (ADAMS", "get derivatives", "new discrete states", "continuous-time mode"):
        assert words in text
