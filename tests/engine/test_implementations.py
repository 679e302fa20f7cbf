"""As what components are run: asked for, stated, or chosen."""

from dataclasses import replace

import pytest

from ssptool import ContradictingSettings, Settings, call_sequence
from ssptool.engine.failure import Unsupported, UnsupportedByFmu
from ssptool.engine.run.make_plan import make_plan
from ssptool.fmu.description import InterfaceType
from tests.engine.dual_mass import network, oscillator

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


def test_an_fmu_that_offers_both_is_co_simulated_and_a_note_says_what_else_could_be():
    plan = make_plan(oscillator(), Settings())
    assert kinds(plan) == [SIMULATION, SIMULATION]
    assert any("integrated as one ODE (--implementation me)" in note for note in plan.notes)


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


@pytest.mark.parametrize("settings", ({"master": "jacobi"}, {"input": "hold"}, {"acceleration": "aitken"}))
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
