"""Plans: what is chosen, what is refused, and what a run will do. No binary is loaded here."""

from dataclasses import replace

import pytest
from pytest import approx

from ssptool import Settings
from ssptool.engine.failure import Unsupported, UnsupportedByFmu
from ssptool.engine.kernel.calls import Op
from ssptool.engine.masters.convergence import relative
from ssptool.engine.masters.gauss_seidel import GaussSeidel
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.jacobi import Jacobi
from ssptool.engine.masters.program import HOLD, extrapolate, interpolate, mid_step
from ssptool.engine.masters.step_sizes import SizeRule
from ssptool.engine.run.make_plan import make_plan
from ssptool.errors import WrongValue
from ssptool.exceptions import ContradictingSettings
from ssptool.fmu.description import FmuExperiment
from ssptool.network.network import Experiment, Signal, UnsupportedFeature, Wire
from ssptool.network.signal_graph import Stage
from ssptool.renderers import call_sequence
from tests.engine.dual_mass import FMI2, FMI3, NO_FLANGE, NOWHERE, WIRES, network, oscillator


def with_interface(net, component, **flags):
    """The network with other capabilities of one FMU."""
    one = net.components[component]
    fmu = replace(one.description, co_simulation=replace(one.description.co_simulation, **flags))
    return replace(net, components=net.components | {component: replace(one, description=fmu)})


def with_port(net, component, variable, **changes):
    one = net.components[component]
    ports = tuple(p._replace(**changes) if p.signal.variable == variable else p for p in one.ports)
    return replace(net, components=net.components | {component: replace(one, ports=ports)})


def choice(plan, setting):
    return next((one.value, one.reason) for one in plan.choices if one.setting == setting)


# -- masters and inputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("master", "told"), [("gauss-seidel", True), ("jacobi", False)])
def test_threads_that_a_master_has_no_use_for_are_told(master, told):
    plan = make_plan(oscillator(), Settings(master=master, threads=2))
    reasons = [one.reason for one in plan.choices if one.setting == "threads"]
    assert bool(reasons) == told and all("master jacobi steps them side by side" in reason for reason in reasons)


@pytest.mark.parametrize("sources", [None, FMI3, NO_FLANGE])
def test_components_that_feed_each_other_are_iterated_with_interpolated_inputs(sources):
    plan = make_plan(oscillator(sources), Settings())
    assert isinstance(plan.master.coupling, Iterated) and plan.master.coupling.inputs.op is Op.INTERPOLATE
    assert "System1, System2 are mutually coupled" in choice(plan, "master")[1]


HOLDS = {"saves_state": False, "input_derivatives": False}


@pytest.mark.parametrize(
    ("flags", "inputs", "reason"),
    [
        ({"saves_state": False}, extrapolate(), "System2 cannot save its state"),
        (HOLDS, mid_step(), "System2 cannot save its state"),
    ],
)
def test_what_an_fmu_lacks_decides_the_master_and_is_the_reason(flags, inputs, reason):
    plan = make_plan(with_interface(oscillator(), "System2", **flags), Settings())
    assert plan.master.coupling == Jacobi(inputs)
    assert reason in choice(plan, "master")[1]
    if "input_derivatives" in flags:
        assert "System2: canInterpolateInputs is not set" in choice(plan, "approximation")[1]


def test_inputs_are_held_at_mid_step_if_no_fmu_can_do_better():
    net = oscillator()
    for name in net.components:
        net = with_interface(net, name, **HOLDS)
    plan = make_plan(net, Settings())
    assert plan.master.coupling == Jacobi(mid_step())


@pytest.mark.parametrize("holding", [["System2"], ["System1", "System2"]])
def test_fmus_that_save_states_are_iterated_although_they_cannot_follow_inputs(holding):
    net = oscillator()
    for name in holding:
        net = with_interface(net, name, input_derivatives=False)
    plan = make_plan(net, Settings())
    assert isinstance(plan.master.coupling, Iterated)
    assert plan.master.coupling.inputs.op is (Op.MID_STEP if len(holding) == 2 else Op.INTERPOLATE)
    assert "System2: canInterpolateInputs is not set" in choice(plan, "approximation")[1]


def test_a_system_without_cycle_is_not_iterated():
    plan = make_plan(network({"System1": "System1.fmu"}, []), Settings())
    assert isinstance(plan.master.coupling, Jacobi)
    assert choice(plan, "master")[1] == "no components are mutually coupled"


def test_without_cycle_followers_are_stepped_in_their_order():
    """What comes before them is known over the whole step then, and needs no extrapolation."""
    net = network(FMI2, [("System1.x1", "System2.x1")])
    assert make_plan(net, Settings()).master.coupling == GaussSeidel(interpolate())
    assert make_plan(net, Settings(approximation="hold")).master.coupling == Jacobi(HOLD)
    assert make_plan(net, Settings(approximation="extrapolate")).master.coupling == Jacobi(extrapolate())
    alone = make_plan(network({"System2": "System2.fmu"}, []), Settings())
    # It lets components that are side by side step at the same time.
    assert isinstance(alone.master.coupling, Jacobi)


def test_the_alternative_to_what_an_fmu_lacks_is_one_that_works():
    """System2 can neither be iterated nor follow inputs."""
    net = with_interface(oscillator(), "System2", **HOLDS)
    with pytest.raises(UnsupportedByFmu, match="; use master jacobi with inputs at mid-step"):
        make_plan(net, Settings(master="iterated"))
    with pytest.raises(UnsupportedByFmu, match="; use approximation mid-step"):
        make_plan(net, Settings(master="jacobi", approximation="extrapolate"))
    for approximation in ("auto", "mid-step"):
        plan = make_plan(net, Settings(master="jacobi", approximation=approximation))
        assert plan.master.coupling == Jacobi(mid_step())


def test_an_fmu_outside_of_all_cycles_does_not_keep_others_from_being_iterated():
    """Adaptive steps would need its state to be taken back, iterated ones of fixed size do not."""
    net = network(FMI2 | {"Third": "System1.fmu"}, [*WIRES, ("System2.F", "Third.F")])
    net = with_interface(net, "Third", saves_state=False)
    assert make_plan(net, Settings(adaptive=1e-3)).master.base.rule is SizeRule.DEFECTS
    assert make_plan(net, Settings(master="iterated")).master.coupling == Iterated(
        interpolate(), newton=True, damps=True
    )


@pytest.mark.parametrize(
    ("settings", "master"),
    [
        (Settings(master="jacobi"), Jacobi(extrapolate())),
        (Settings(master="jacobi", approximation="hold"), Jacobi(HOLD)),
        (Settings(master="jacobi", approximation="mid-step"), Jacobi(mid_step())),
        (Settings(master="jacobi", input_order=2), Jacobi(extrapolate(2))),
        (Settings(approximation="extrapolate"), Jacobi(extrapolate())),
        (Settings(master="gauss-seidel"), GaussSeidel(interpolate())),
        (Settings(master="gauss-seidel", approximation="hold"), GaussSeidel(HOLD)),
        (Settings(master="iterated", approximation="hold"), Iterated(HOLD, newton=True)),
        (Settings(master="iterated", approximation="mid-step"), Iterated(mid_step(ends=True), newton=True)),
        (Settings(input_order=2), Iterated(interpolate(2), retreats=True, newton=True, damps=True)),
    ],
)
def test_what_is_asked_for_is_taken(settings, master):
    assert make_plan(oscillator(), settings).master.coupling == master


def test_iteration_settings_reach_the_master():
    plan = make_plan(oscillator(), Settings(acceleration="anderson", tolerance=1e-5, max_iterations=7))
    assert plan.master.coupling.acceleration.name == "Anderson"
    assert (plan.master.coupling.measure, plan.master.coupling.max_iterations) == (relative(1e-5), 7)


def test_what_an_fmu_lacks_for_the_master_asked_for_is_refused_with_an_alternative():
    net = with_interface(oscillator(), "System2", saves_state=False)
    with pytest.raises(UnsupportedByFmu) as caught:
        make_plan(net, Settings(master="iterated"))
    assert caught.value.component == "System2"
    assert "saves and restores its state" in str(caught.value)
    assert "master jacobi with extrapolated inputs" in str(caught.value)


@pytest.mark.parametrize("flags", [{"input_derivatives": False}])
@pytest.mark.parametrize(
    "settings", [Settings(master="jacobi", approximation="extrapolate"), Settings(approximation="interpolate")]
)
def test_inputs_that_an_fmu_cannot_follow_are_refused(flags, settings):
    with pytest.raises(UnsupportedByFmu, match=r"component System1: approximation \w+ requires an FMU that follows"):
        make_plan(with_interface(oscillator(), "System1", **flags), settings)


def test_an_fmi3_fmu_follows_only_inputs_that_it_takes_inside_a_step():
    net = with_interface(oscillator(FMI3), "System1", intermediate_update=False)
    assert "System1: providesIntermediateUpdate is not set" in choice(make_plan(net, Settings()), "approximation")[1]


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (Settings(master="jacobi", approximation="interpolate"), "use master iterated"),
        (Settings(master="iterated", approximation="extrapolate"), "use approximation interpolate"),
        (Settings(master="jacobi", acceleration="aitken"), "use master iterated"),
    ],
)
def test_settings_that_exclude_each_other_are_refused_with_advice(settings, advice):
    with pytest.raises(ContradictingSettings, match=advice):
        make_plan(oscillator(), settings)


@pytest.mark.parametrize("wrong", [{"input_order": 3}, {"max_iterations": 0}, {"tolerance": -1.0}])
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        make_plan(oscillator(), Settings(**wrong))


def test_an_unknown_name_is_refused_with_those_known():
    with pytest.raises(ValueError, match=r"iterated \(did you mean jacobi\?\); found 'jakobi'"):
        Settings(master="jakobi")


# -- times ---------------------------------------------------------------------------------------------------


def with_experiment(net, name, **stated):
    """The network with another default experiment of the FMU of a component."""
    one = net.components[name]
    other = replace(one, description=replace(one.description, experiment=FmuExperiment(**stated)))
    return replace(net, components=net.components | {name: other})


def test_the_smallest_recommended_step_size_is_taken():
    net = oscillator()
    one = net.components["System2"]
    finer = replace(one, description=replace(one.description, experiment=FmuExperiment(step_size=5e-4)))
    plan = make_plan(replace(net, components=net.components | {"System2": finer}), Settings())
    assert (plan.interval.step, plan.interval.steps) == (5e-4, 20000)
    assert choice(plan, "step_size") == ("0.0005 s", "recommended by the FMU of System2")


@pytest.mark.parametrize("stop", [0.0105, 1.0, 20.0, 50.0])
def test_a_recommended_step_size_is_kept_whatever_the_stop_time(stop):
    plan = make_plan(oscillator(), Settings(stop_time=stop))
    assert (plan.interval.step, plan.interval.stop) == (approx(1e-3, rel=1e-12), approx(stop, rel=1e-15))
    reason = choice(plan, "step_size")[1]
    assert ("the last step is 0.0005 s" in reason) is (stop == 0.0105)


def test_a_recommended_step_size_is_made_to_fit_where_an_fmu_takes_steps_of_one_size_only():
    net = with_experiment(with_interface(oscillator(), "System2", variable_step=False), "System2")
    plan = make_plan(net, Settings(stop_time=0.0105))
    assert (plan.interval.steps, plan.interval.end) == (11, None)
    assert "made to fit the interval, since the FMU of System2" in choice(plan, "step_size")[1]


def silent(**stated):
    """A system whose FMUs state nothing but this, in System2; nor does the system."""
    net = replace(oscillator(), experiment=Experiment(None, None))
    return with_experiment(with_experiment(net, "System1"), "System2", **stated)


@pytest.mark.parametrize("stop", [0.5, 10.0, 1e3])
@pytest.mark.parametrize(
    ("net", "step", "reason"),
    [
        (
            replace(silent(), experiment=Experiment(2.0, 22.0)),
            0.02,
            "thousandth of the default experiment of the system",
        ),
        (silent(stop=5.0), 0.005, "thousandth of the default experiment of the FMU of System2"),
        (with_experiment(silent(stop=5.0), "System1", start=1.0, stop=3.0), 0.002, "FMU of System1, the shortest"),
        (silent(), 0.001, "a guess: neither the system nor its FMUs"),
    ],
)
def test_the_default_step_does_not_follow_the_stop_time_that_is_asked_for(net, step, reason, stop):
    plan = make_plan(net, Settings(start_time=0.25, stop_time=0.25 + stop))
    assert plan.interval.step == approx(step, rel=1e-12)
    assert reason in choice(plan, "step_size")[1]
    assert any("is a guess" in note for note in plan.notes) is (step == 0.001)


def test_rows_of_model_exchange_alone_divide_the_interval_where_nothing_is_stated():
    plan = make_plan(silent(), Settings(stop_time=500.0, implementation="me"))
    assert (plan.interval.step, plan.interval.steps) == (0.5, 1000)
    assert not any("guess" in note for note in plan.notes)


def test_without_any_recommendation_there_are_a_thousand_steps():
    net = replace(silent(), experiment=oscillator().experiment)
    assert make_plan(net, Settings()).interval.steps == 1000


def test_a_step_size_that_does_not_divide_the_interval_is_refused_with_one_that_does():
    rigid = with_experiment(with_interface(oscillator(), "System2", variable_step=False), "System2")
    with pytest.raises(
        ValueError, match=r"10\.0 s is not a whole number of steps of 0\.003 s.*FMU of System2"
    ) as caught:
        make_plan(rigid, Settings(step_size=0.003))
    sizes = str(caught.value).rsplit("fit are ", 1)[1].split(" and ")
    fitting = [float(size.removesuffix(" s")) for size in sizes]
    assert [make_plan(rigid, Settings(step_size=size)).interval.steps for size in fitting] == [3333, 3334]
    with pytest.raises(ValueError, match=r"the nearest step size that fits is 0\.1 s"):
        make_plan(rigid, Settings(step_size=0.3, stop_time=0.1))


def test_the_last_step_is_shorter_where_all_fmus_accept_that():
    plan = make_plan(oscillator(), Settings(step_size=0.003))
    assert (plan.interval.step, plan.interval.steps, plan.interval.stop) == (0.003, 3334, 10.0)
    assert choice(plan, "step_size") == ("0.003 s", "asked for; the last step is 0.001 s")


@pytest.mark.parametrize("step", [0.1, 1e-3, 1 / 3, 1e-6])
def test_step_sizes_that_fit_but_for_rounding_are_taken(step):
    plan = make_plan(oscillator(), Settings(step_size=step))
    assert plan.interval.stop == approx(10, rel=1e-15)


@pytest.mark.parametrize("step", [0.0, -1.0, float("nan"), float("inf")])
def test_a_step_size_that_is_not_positive_is_refused(step):
    with pytest.raises(ValueError, match="step size"):
        make_plan(oscillator(), Settings(step_size=step))


def test_a_stop_time_before_the_start_is_refused():
    with pytest.raises(ValueError, match="must not be before the start time, found 0 s … -1 s"):
        make_plan(oscillator(), Settings(stop_time=-1.0))


@pytest.mark.parametrize("step", [1e5, 1e6])
def test_a_run_of_more_steps_than_can_be_done_is_refused_with_their_number(step):
    with pytest.raises(WrongValue, match=rf"there are {1e20 / step:.3g} macro steps of {step:g} s".replace("+", r"\+")):
        make_plan(oscillator(), Settings(stop_time=1e20, step_size=step))


def test_a_missing_stop_time_is_refused_with_advice():
    net = replace(oscillator(), experiment=Experiment(None, None))
    silent = {
        name: replace(one, description=replace(one.description, experiment=FmuExperiment()))
        for name, one in net.components.items()
    }
    with pytest.raises(ValueError, match=r"no stop time.*--stop-time"):
        make_plan(replace(net, components=silent), Settings())


def test_without_an_experiment_of_the_system_the_longest_of_its_fmus_counts():
    net = replace(oscillator(), experiment=Experiment(None, None))
    stated = {"System1": FmuExperiment(0.5, 2.0, 0.1), "System2": FmuExperiment(1.0, 3.0, 0.25)}
    parts = {
        name: replace(one, description=replace(one.description, experiment=stated[name]))
        for name, one in net.components.items()
    }
    plan = make_plan(replace(net, components=parts), Settings())
    assert (plan.interval.start, plan.interval.stop, plan.interval.step) == (0.5, 3.0, 0.1)
    assert choice(plan, "stop_time")[1].startswith("default experiment of the FMU of System2")


# -- schedules -----------------------------------------------------------------------------------------------


def test_the_algebraic_loop_is_planned_for_both_stages_with_its_jacobian():
    plan = make_plan(oscillator(), Settings())
    assert [loop.stage for loop in plan.loops] == [Stage.INITIALIZATION, Stage.COMMUNICATION]
    for loop in plan.loops:
        assert len(loop.torn) == 1
        assert loop.calls.directional
        assert {str(s) for s in loop.signals} == {"System1.F", "System1.a1", "System2.a1", "System2.F"}


def test_a_loop_with_an_fmu_without_directional_derivatives_takes_finite_differences():
    plan = make_plan(with_interface(oscillator(), "System1", directional_derivatives=False), Settings())
    assert not any(loop.calls.directional for loop in plan.loops)


def test_without_flange_there_is_no_loop():
    plan = make_plan(oscillator(NO_FLANGE), Settings())
    assert plan.loops == ()
    assert choice(plan, "init") == ("one pass", "no algebraic loop at the start")


def test_groups_come_in_the_order_of_the_signal_flow():
    """System2 is declared first, but System1 drives it."""
    net = network({"B": "System2.fmu", "A": "System1.fmu"}, [("A.x1", "B.x1"), ("A.v1", "B.v1"), ("A.a1", "B.a1")])
    plan = make_plan(net, Settings())
    assert [plan.instances[group.instances[0]].name for group in plan.groups] == ["A", "B"]
    assert all(group.unknowns == () for group in plan.groups)


def test_start_values_of_connected_inputs_are_guesses_of_their_sources():
    plan = make_plan(oscillator(System1__F=7.0), Settings())
    assert {str(plan.signals[slot]): value for slot, value in plan.guesses.items()} == {"System2.F": 7.0}


def test_the_call_sequence_names_every_phase_and_component():
    text = "\n".join(call_sequence(make_plan(oscillator(System2__m_c=2.0), Settings())))
    for phrase in (
        "System2: m_c = 2.0",
        "enter initialization mode at t = 0 s",
        "solve the algebraic loop for System1.a1 (Jacobian: directional derivatives)",
        "10000 macro steps of 0.001 s, master iterated",
        "System1: get F, a1, as first guesses",
        "save states of System1, System2",
        "System1: set F, step, get ",
        "terminate and free",
    ):
        assert phrase in text


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_equal_networks_give_equal_plans(master):
    one, other = (make_plan(oscillator(), Settings(master=master)) for _ in range(2))
    assert (one.signals, one.groups, one.loops, one.initialization, one.choices) == (
        other.signals,
        other.groups,
        other.loops,
        other.initialization,
        other.choices,
    )


# -- refused by name -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("Int32", r"values of type Float64 cannot become values of type Int32 without loss"),
        ("Binary", r"values of type Float64 cannot become values of type Binary without loss"),
    ],
)
def test_wires_that_lose_information_are_refused(kind, reason):
    net = with_port(oscillator(), "System1", "F", type=kind)
    with pytest.raises(Unsupported, match=r"System2\.F → System1\.F: " + reason):
        make_plan(net, Settings())


def test_connected_parameters_are_refused():
    net = with_port(oscillator(), "System1", "F", kind="parameter")
    with pytest.raises(Unsupported, match=r"System1\.F is of kind parameter"):
        make_plan(net, Settings())


def test_scheduled_execution_alone_is_refused():
    net = oscillator()
    one = net.components["System1"]
    other = replace(one, description=replace(one.description, co_simulation=None, model_exchange=None))
    with pytest.raises(Unsupported, match=r"component System1: .*not supported"):
        make_plan(replace(net, components=net.components | {"System1": other}), Settings())


def test_what_the_network_lists_as_unsupported_is_refused():
    net = replace(oscillator(), unsupported=(UnsupportedFeature(NOWHERE, "a signal dictionary"),))
    with pytest.raises(Unsupported, match="hand-made:1: not supported: a signal dictionary"):
        make_plan(net, Settings())


def test_a_system_without_components_is_refused():
    with pytest.raises(Unsupported, match="has no components"):
        make_plan(network({}, []), Settings())


def test_ports_that_are_not_exchanged_are_noted():
    net = with_port(network({"System1": "System1.fmu"}, []), "System1", "x1", type="Binary")
    assert any("System1.x1" in note for note in make_plan(net, Settings()).notes)


def test_a_conversion_leads_a_guess_back_to_its_source():
    net = oscillator(System1__F=7.0)
    from_f = Signal("System2", "F")
    wires = tuple(
        Wire(w.source, w.destination, replace(w.conversion, factor=2.0, offset=1.0)) if w.source == from_f else w
        for w in net.wires
    )
    plan = make_plan(replace(net, wires=wires), Settings())
    assert list(plan.guesses.values()) == [3.0]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"iterations": 2}, "iterations"),
        ({"max_iterations": 5}, "max_iterations"),
        ({"prediction_order": 0, "iterations": 2}, "iterations and prediction_order"),
        ({"convergence": {"absolute": 1e-6}}, "convergence"),
    ],
)
def test_settings_of_iterations_ask_for_the_master_that_iterates(settings, reason):
    """Also where nothing is mutually coupled, so that another master is chosen without them."""
    uncoupled = network(FMI2, WIRES[:1])
    assert not isinstance(make_plan(uncoupled, Settings(stop_time=1.0, step_size=0.1)).master.coupling, Iterated)
    plan = make_plan(uncoupled, Settings(stop_time=1.0, step_size=0.1, **settings))
    assert isinstance(plan.master.coupling, Iterated)
    assert choice(plan, "master")[1] == f"required by {reason}"


# -- inputs that nothing drives --------------------------------------------------------------------------------


def loose(*ends):
    """The oscillator without the wires to these inputs."""
    return network(FMI2, [wire for wire in WIRES if wire[1] not in ends])


@pytest.mark.parametrize(
    ("ends", "noted"),
    [
        ((), []),
        (
            ["System2.v1"],
            [
                "1 input is not connected and keeps its start value: System2.v1 = 0 m/s "
                "(connect it: ssptool connect SYSTEM System1.v1 System2.v1)"
            ],
        ),
        (
            ["System2.x1", "System1.F"],
            [
                "2 inputs are not connected and keep their start values: System1.F = 0 N, System2.x1 = 0 m "
                "(connect e.g.: ssptool connect SYSTEM System2.F System1.F)"
            ],
        ),
    ],
)
def test_inputs_that_nothing_drives_are_noted_with_their_values(ends, noted):
    notes = make_plan(loose(*ends), Settings(stop_time=1.0, step_size=0.1)).notes
    assert [note for note in notes if "not connected" in note] == noted
