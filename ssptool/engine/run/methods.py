"""Choice of the methods of a run: interface of each component, integrator, and master with its input approximation."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ssptool.engine.failure import Unsupported, UnsupportedByFmu
from ssptool.engine.masters.master import CouplingMaster, Master
from ssptool.engine.masters.program import HOLD, MEAN, extrapolate, interpolate, mid_step
from ssptool.engine.masters.protocols import InputApproximation
from ssptool.engine.masters.registry import (
    FOLLOWS,
    SAVES,
    Capabilities,
    MasterEntry,
    Situation,
    check_settings_of_master,
    master_entry,
)
from ssptool.engine.masters.step_sizes import SizeControl
from ssptool.engine.method_names import (
    AUTO,
    GAUSS_SEIDEL,
    ITERATED,
    JACOBI,
    ApproximationName,
    ExchangeName,
    ImplementationName,
    IntegratorName,
)
from ssptool.engine.ode.integrator import Integrator, Method
from ssptool.engine.planning.interval import Interval, experiment_place
from ssptool.engine.settings import ASKED, Choice, Settings
from ssptool.engine.stimuli.stimuli import Stimuli
from ssptool.engine.stimuli.time_signals import is_function
from ssptool.errors import NAMED, ContradictingSettings, WrongValue, abbreviated, similar_names
from ssptool.fmu.description import InterfaceType
from ssptool.network.network import FlatComponent, Network, Stated

EXCHANGE, SIMULATION = InterfaceType.MODEL_EXCHANGE, InterfaceType.CO_SIMULATION
ANY = "any"
"""Implementation of a component that the system does not state."""


class Implementations(NamedTuple):
    """Interface of each component; `exchange` are the components of model exchange, which are integrated as one ODE."""

    of: Mapping[str, InterfaceType]
    choice: Choice
    notes: tuple[str, ...] = ()

    @property
    def exchange(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.of.items() if kind is EXCHANGE)


def choose_implementations(
    network: Network, settings: Settings, stimuli: Stimuli, instead: str = ""
) -> Implementations:
    """Choose the interface of each component: as in the settings (`--implementation`); otherwise as in the SSD;
    otherwise model exchange if `exchange_is_default`; otherwise co-simulation if the FMU offers it.

    `instead` is the reason for co-simulation in spite of this default; empty: none.

    Raises
    ------
    UnsupportedByFmu
        An FMU does not offer the requested interface.
    Unsupported
        The system states scheduled execution for a component.
    """
    components = network.components.values()
    of: Mapping[str, InterfaceType]
    if settings.implementation is ImplementationName.ME:
        of = {one.name: _demanded(one, EXCHANGE) for one in components}
        return Implementations(of, Choice("implementation", _value(of), ASKED))
    if settings.implementation is ImplementationName.CS:
        of = _simulated_where_offered(network)
        return Implementations(of, Choice("implementation", _value(of), instead or ASKED))
    if exchange_is_default(network, settings, stimuli):
        of = {one.name: EXCHANGE for one in components}
        return Implementations(of, Choice("implementation", _value(of), BY_DEFAULT))
    of = {one.name: _stated(one) for one in components}
    choice = Choice("implementation", _value(of), *_reason(network, settings, stimuli))
    return Implementations(of, choice, tuple(_notes(network, of)))


BY_DEFAULT = "all FMUs offer it, and the system states none; --implementation cs for co-simulation"
"""Reason for model exchange by default."""


def exchange_is_default(network: Network, settings: Settings, stimuli: Stimuli) -> bool:
    """True if all components are integrated as one ODE by default: all FMUs offer model exchange, some also offer
    co-simulation, and neither the system nor the user states a setting of co-simulation.

    A function as an input counts as such a setting: an integrator would call it at times in any order, and would miss
    its jumps.
    """
    components = network.components.values()
    return (
        settings.implementation is ImplementationName.AUTO
        and not _without_exchange(network)
        and any(one.description.co_simulation is not None for one in components)
        and not any(map(_states, components))
        and not _coupled_by_document(network)
        and not any(settings_of_coupling(settings))
        and not any(_functions(stimuli))
    )


def _without_exchange(network: Network) -> list[str]:
    """Components that cannot be integrated, or only with the tool that made their FMU."""
    every = ((one.name, one.description.model_exchange) for one in network.components.values())
    return [name for name, exchange in every if exchange is None or exchange.needs_tool]


def _states(component: FlatComponent) -> bool:
    return component.implementation != ANY


def _functions(stimuli: Stimuli) -> Iterator[str]:
    return (f"the function that drives {one.signal}" for one in stimuli.sources if is_function(one.time_signal))


def _coupled_by_document(network: Network) -> Stated | None:
    """A step of co-simulation that the system states for other tools."""
    annotated = network.annotated
    return annotated.step_size or next(iter(annotated.step_sizes.values()), None)


def settings_of_coupling(settings: Settings) -> Iterator[str]:
    """Names of settings of the coupling of steps that differ from their default."""
    asked = {
        f"master {settings.master}": settings.master != AUTO,
        f"approximation {settings.approximation}": settings.approximation is not ApproximationName.AUTO,
        "input order": settings.input_order is not None,
        "exchange late": settings.exchange is ExchangeName.LATE,
        f"acceleration {settings.acceleration}": settings.acceleration is not None,
        f"relaxation {settings.relaxation}": settings.relaxation is not None,
        f"iterations {settings.iterations}": settings.iterations is not None,
        f"max_iterations {settings.max_iterations}": settings.max_iterations is not None,
        "prediction order": settings.prediction_order is not None,
        "adaptive steps": settings.adaptive is not None,
        "max_step_size": settings.max_step_size is not None,
        "power bonds": bool(settings.power_bonds),
        "substeps": bool(settings.substeps),
        "delays": bool(settings.delay),
        "convergence": bool(settings.convergence),
    }
    yield from (name for name, given in asked.items() if given)


def _simulated_where_offered(network: Network) -> Mapping[str, InterfaceType]:
    """Co-simulation for all components that offer it; empty if there are none."""
    of = {
        one.name: EXCHANGE if one.description.co_simulation is None else SIMULATION
        for one in network.components.values()
    }
    if SIMULATION not in of.values():
        _demanded(next(iter(network.components.values())), SIMULATION)
    return of


def _demanded(component: FlatComponent, kind: InterfaceType) -> InterfaceType:
    if component.description.interface(kind) is None:
        offered = SIMULATION if kind is EXCHANGE else EXCHANGE
        raise UnsupportedByFmu(component.name, f"offers {kind.words}", f"implementation {kind}", offered.words)
    return kind


def _stated(component: FlatComponent) -> InterfaceType:
    if component.implementation in (EXCHANGE, SIMULATION):
        return _demanded(component, InterfaceType(component.implementation))
    if component.implementation == "ScheduledExecution":
        raise Unsupported(
            f"component {component.name}", "scheduled execution is not supported", "use co-simulation or model exchange"
        )
    if component.description.co_simulation is None:
        return EXCHANGE
    return SIMULATION


def _value(of: Mapping[str, InterfaceType]) -> str:
    by_kind = {kind: [name for name, own in of.items() if own is kind] for kind in (SIMULATION, EXCHANGE)}
    present = {kind: names for kind, names in by_kind.items() if names}
    if len(present) == 1:
        return next(iter(present)).words
    return " and ".join(f"{kind.words} of {abbreviated(names)}" for kind, names in present.items())


def _reason(network: Network, settings: Settings, stimuli: Stimuli) -> tuple[str, str]:
    """Reason for the interfaces that follow from system, settings and inputs, and the location that states it."""
    components = network.components.values()
    if any(map(_states, components)):
        return STATED, ""
    if any(one.description.co_simulation is None for one in components):
        return "all that the FMUs offer", ""
    if without := _without_exchange(network):
        return f"no model exchange of {abbreviated(without)}", ""
    if (stated := _coupled_by_document(network)) is not None:
        return f"a step size is stated by {stated.by}", str(stated.position)
    return f"required by {', '.join([*settings_of_coupling(settings), *_functions(stimuli)])}", ""


STATED = "stated in the system"
"""Reason for interfaces that the SSD states."""


def _notes(network: Network, of: Mapping[str, InterfaceType]) -> Iterator[str]:
    able = all(one.description.model_exchange is not None for one in network.components.values())
    if able and SIMULATION in of.values():
        yield "all components offer model exchange: they can be integrated as one ODE (--implementation me)"


INTEGRATION_TOLERANCE = 1e-8
"""Relative tolerance of an integrator, which limits the error of each step; results accumulate many such errors."""


def unfollowed(network: Network, settings: Settings, step: float, exchange: Collection[str]) -> Iterator[str]:
    """Notes on settings in the documents that the run does not follow.

    `exchange` are the components that run as model exchange.
    """
    annotated = network.annotated
    yield from annotated.notes
    if annotated.step_size is not None and settings.step_size is not None:
        stated = annotated.step_size
        if not math.isclose(stated.value, step, rel_tol=1e-9):
            yield f"{stated.position}: {stated.by} states a step of {stated.value:g} s; {step:g} s was asked for"
    for name, one in annotated.step_sizes.items():
        if not math.isclose(one.value, step, rel_tol=1e-9) and settings.step_size is None:
            yield (
                f"{one.position}: {one.by} states a step of {one.value:g} s for {name}, which steps with the others by "
                f"{step:g} s (--substeps divides macro steps)"
            )
    if annotated.tolerance is not None and not exchange:
        stated = annotated.tolerance
        yield (
            f"{stated.position}: the tolerance {stated.value:g} of {stated.by} is not used: no component is run as "
            "model exchange"
        )


def choose_integrator(
    capabilities: Mapping[str, Capabilities], settings: Settings, network: Network
) -> tuple[Master, tuple[Choice, ...]]:
    """Choose the integrator of a system of model exchange.

    Raises
    ------
    ContradictingSettings
        The settings belong to a master that couples steps.
    WrongValue
        The tolerance is not a positive number below 1.
    """
    if found := list(settings_of_coupling(settings)):
        raise ContradictingSettings(
            f"{', '.join(found)} with model exchange",
            "one integrator solves all components together, so no steps are coupled",
            f"leave {'it' if len(found) == 1 else 'them'} out, or use --implementation cs",
        )
    master, choices = integrator_of(capabilities, settings, network)
    if settings.log_coupling is not None:
        choices = (*choices, Choice("log_coupling", "stays empty", "one integrator solves all components"))
    return master, (Choice("master", master.name, "components of model exchange are one ODE"), *choices)


def refuse_integrator(settings: Settings) -> None:
    """Raise ContradictingSettings if the settings ask for an integrator but there is nothing to integrate."""
    if settings.integrator is not None:
        raise ContradictingSettings(
            f"integrator {settings.integrator} without model exchange",
            "all components are co-simulated, and integrate themselves",
            "use --implementation me, or leave it out",
        )


def integrator_of(
    capabilities: Mapping[str, Capabilities],
    settings: Settings,
    network: Network,
) -> tuple[Integrator, tuple[Choice, ...]]:
    """The integrator of components of model exchange.

    Its tolerance comes from the settings; if these have none, from the system; if that has none, it is the smallest of
    the FMUs' tolerances and the default.

    Raises
    ------
    WrongValue
        The tolerance is not a positive number below 1.
    """
    tolerance, why, place = _tolerance(capabilities, settings, network)
    if not 0 < tolerance < 1:
        raise WrongValue(f"the tolerance of the integrator must be between 0 and 1, found {tolerance:g}")
    lacking = [name for name, can in capabilities.items() if not can.directional_derivatives]
    reason = f"{lacking[0]} has no directional derivatives" if lacking else "all FMUs give them"
    asked = settings.integrator is not None
    name, why_method = _integrator(capabilities, settings, network)
    method = Method.named(name)
    choices: tuple[Choice, ...] = (
        Choice("integrator", method.setting, why_method),
        Choice("tolerance", f"{tolerance:g}", why, place),
    )
    if method.is_implicit:
        choices += (Choice("jacobian", "finite differences" if lacking else "directional derivatives", reason),)
    return Integrator(method, tolerance, not lacking, retreats=not asked), choices


MOST_STATES = 100
"""Largest number of states for which a Jacobian in each step costs little compared with restarts of a multistep method.
"""


def _integrator(names: Collection[str], settings: Settings, network: Network) -> tuple[str, str]:
    """Name of the integrator, and reason; tests/accuracy/integrators.py measures the errors on which the default is
    based.
    """
    if settings.integrator is not None:
        return settings.integrator, ASKED
    every = [network.components[name] for name in names]
    eventful = [one.name for one in every if one.description.event_indicators]
    if not eventful:
        return IntegratorName.BDF, "default; no FMU has state events"
    states = sum(len(one.description.state_derivatives) for one in every)
    if states > MOST_STATES:
        return IntegratorName.BDF, f"default with more than {MOST_STATES} states, here {states}"
    has = "has" if len(eventful) == 1 else "have"
    return IntegratorName.ROSENBROCK, f"{abbreviated(eventful)} {has} state events, after which it starts at full order"


def _tolerance(names: Collection[str], settings: Settings, network: Network) -> tuple[float, str, str]:
    if settings.tolerance is not None:
        return settings.tolerance, ASKED, ""
    if (stated := network.annotated.tolerance) is not None and stated.value < 1:
        return stated.value, f"stated by {stated.by}", str(stated.position)
    of_fmus = [(network.components[name].description.experiment.tolerance, name) for name in names]
    found = [(tolerance, name) for tolerance, name in of_fmus if tolerance is not None and tolerance > 0]
    if not found:
        return INTEGRATION_TOLERANCE, "default", ""
    tolerance, name = min(found)
    place = experiment_place(network.components[name])
    if tolerance > INTEGRATION_TOLERANCE:
        why = f"default, stricter than the {tolerance:g} that the FMU of {name} recommends"
        return INTEGRATION_TOLERANCE, why, place
    return tolerance, f"recommended by the FMU of {name}", place


def refuse_substeps(capabilities: Mapping[str, Capabilities], settings: Settings) -> None:
    """Raise `ContradictingSettings` if the settings ask for substeps of a component of model exchange."""
    for name in capabilities:
        if name in settings.substeps:
            raise ContradictingSettings(
                f"substeps of {name}, which is run as model exchange",
                "the integrator takes the steps that its tolerance allows",
                f"leave them out, or run {name} as co-simulation",
            )


def choose_master(
    situation: Situation, settings: Settings, interval: Interval
) -> tuple[CouplingMaster | SizeControl, tuple[Choice, ...]]:
    """The master algorithm, with input approximation, acceleration and tolerances.

    Raises
    ------
    UnsupportedByFmu
        An FMU lacks a requested capability.
    ContradictingSettings
        Master and input approximation exclude each other.
    WrongValue
        A number is out of range.
    """
    situation = _divided(situation, settings)
    name, name_reason = _master_name(situation, settings)
    entry = master_entry(name)
    if entry.repeats_steps:
        _must_save(name, situation)
    check_settings_of_master(name, settings)
    _check_inputs(settings)
    inputs, inputs_reason = _inputs(name, situation, settings)
    base, more = entry.create(inputs, settings, situation)
    run = inputs if situation.following() else inputs.where_held
    choices = [Choice("master", base.name, name_reason), Choice("approximation", run.name, inputs_reason), *more]
    if settings.log_coupling is not None and not entry.repeats_steps:
        choices.append(Choice("log_coupling", "stays empty", f"master {base.name} iterates nothing"))
    if settings.adaptive is None:
        if settings.max_step_size is not None:
            raise ContradictingSettings(
                "max_step_size without adaptive steps",
                "it limits the size of adaptive macro steps only",
                "add --adaptive, or set a fixed size with --step-size",
            )
        return base, tuple(choices)
    if settings.exchange is ExchangeName.LATE:
        raise ContradictingSettings(
            "exchange late with adaptive steps",
            "late exchange imitates tools with fixed steps",
            "leave out --adaptive, or use exchange consistent",
        )
    from ssptool.engine.run.adaptive_steps import with_adaptive_steps  # rarely needed

    master, how = with_adaptive_steps(base, situation, settings, interval, _alternative(situation))
    return master, (*choices, *how)


def _divided(situation: Situation, settings: Settings) -> Situation:
    """Replace the capabilities of components with substeps: with several steps per macro step, a component can follow
    any inputs, step by step.
    """
    for component, count in settings.stated_substeps.items():
        if component not in situation.everyone:
            near = similar_names(component, situation.everyone) or tuple(situation.everyone)[:NAMED]
            raise WrongValue(f"substeps: there is no component {component!r}; there are {', '.join(near)}")
        if count < 1:
            raise WrongValue(f"substeps of {component} must be at least 1, found {count}")
    able = {
        # FMI 1.0 allows to repeat only the last step.
        name: replace(can, obstacles=(), rejects_steps=False) if settings.stated_substeps.get(name, 1) > 1 else can
        for name, can in situation.capabilities.items()
    }
    return replace(situation, capabilities=able)


_OF_ITERATIONS = ("iterations", "max_iterations", "prediction_order", "convergence")
"""Settings of iterated masters only; if one is set, the master is iterated."""


def _master_name(situation: Situation, settings: Settings) -> tuple[str, str]:
    if settings.master != AUTO:
        return settings.master, ASKED
    if settings.exchange is ExchangeName.LATE:
        return JACOBI, "required by late outputs"
    if asked := [name for name in _OF_ITERATIONS if getattr(settings, name) not in (None, {})]:
        return ITERATED, f"required by {' and '.join(asked)}"
    if settings.approximation in (ApproximationName.INTERPOLATE, ApproximationName.MEAN) or _accelerated(settings):
        return ITERATED, "required by inputs that depend on the end of the step, or by an acceleration"
    if not situation.cycles:
        return _without_cycles(situation, settings)
    if settings.adaptive is not None and not _all_save(situation):
        return JACOBI, "required by steps that are not repeated"
    if settings.approximation is ApproximationName.EXTRAPOLATE:
        return JACOBI, "required by extrapolated inputs"
    names = situation.cyclic
    coupled = "is coupled to itself" if len(names) == 1 else "are mutually coupled"
    feeding = f"{abbreviated(names)} {coupled}"
    smooth = all(situation.capabilities[name].continuous for name in names)
    for name in names:
        if not situation.capabilities[name].repeats_steps:
            return JACOBI, f"{feeding}, but {name} cannot save its state"
        can = situation.capabilities[name]
        if not can.follows and not smooth and settings.approximation is ApproximationName.AUTO:
            return JACOBI, f"{feeding}, but inputs of {name} can only be held"
    saved = all(situation.capabilities[name].saves_state for name in names)
    able = "save states" if saved else "save states or can reject steps"
    return ITERATED, f"{feeding}, and their FMUs {able}"


def _without_cycles(situation: Situation, settings: Settings) -> tuple[str, str]:
    reason = "no components are mutually coupled"
    if settings.approximation is ApproximationName.AUTO and not situation.successors.isdisjoint(situation.following()):
        return GAUSS_SEIDEL, f"{reason}: in their order inputs are known before they are used"
    return JACOBI, reason


def _must_save(name_of_master: str, situation: Situation) -> None:
    for name in situation.cyclic:
        can = situation.capabilities[name]
        if not can.repeats_steps:
            raise UnsupportedByFmu(name, SAVES, f"master {name_of_master}", _alternative(situation))


def _alternative(situation: Situation) -> str:
    """Text for the best settings with fixed steps for these FMUs."""
    name, _ = _master_name(situation, Settings())
    if not situation.following():
        return f"master {name} with held inputs"
    best = master_entry(name).approximation
    if best is ApproximationName.EXTRAPOLATE and _one_side_follows(situation):
        return f"master {name} with inputs at mid-step"
    moving = {ApproximationName.EXTRAPOLATE: "extrapolated", ApproximationName.INTERPOLATE: "interpolated"}[best]
    if situation.obstacles():
        return f"master {name} with approximation auto, {moving} where FMUs follow inputs"
    return f"master {name} with {moving} inputs"


def _accelerated(settings: Settings) -> bool:
    return settings.acceleration is not None or settings.relaxation is not None


def _check_inputs(settings: Settings) -> None:
    if settings.input_order not in (None, 1, 2):
        raise WrongValue(f"the order of inputs must be 1 or 2, found {settings.input_order}")
    if settings.input_order not in (None, 1) and settings.approximation is ApproximationName.HOLD:
        raise ContradictingSettings(
            f"input order {settings.input_order} with approximation hold",
            "inputs that are held have no order",
            "use approximation extrapolate or interpolate, or leave the order out",
        )


_APPROXIMATIONS: Mapping[ApproximationName, Callable[[int, InputApproximation], InputApproximation]] = {
    ApproximationName.HOLD: lambda order, held: held,
    ApproximationName.EXTRAPOLATE: extrapolate,
    ApproximationName.INTERPOLATE: interpolate,
    ApproximationName.MEAN: lambda order, held: interpolate(order, MEAN),
}


def _inputs(name: str, situation: Situation, settings: Settings) -> tuple[InputApproximation, str]:
    entry, order = master_entry(name), settings.input_order or 1
    best = entry.approximation
    if settings.approximation is ApproximationName.MID_STEP:
        return mid_step(ends=best is ApproximationName.INTERPOLATE), ASKED
    if settings.approximation is not ApproximationName.AUTO:
        _must_follow(settings.approximation, situation)
        return _APPROXIMATIONS[settings.approximation](order, HOLD), ASKED
    if settings.exchange is ExchangeName.LATE:
        return HOLD, "required by late outputs"
    if best is ApproximationName.HOLD:
        return HOLD, f"default of master {name}"
    obstacles = situation.obstacles()
    held = _held(entry, situation, settings) if obstacles else HOLD
    if not situation.following():
        return held, f"no FMU supports more ({obstacles})" if obstacles else "no input of an FMU changes in a step"
    is_free = held == mid_step() and settings.input_order is None and not settings.stated_substeps
    if is_free and _one_side_follows(situation):
        return held, f"the same for both sides of a coupling, of which one can only hold inputs ({obstacles})"
    reason = f"held where the FMU supports no more ({obstacles})" if obstacles else "all FMUs follow inputs"
    return _APPROXIMATIONS[best](order, held), reason


def _held(entry: MasterEntry, situation: Situation, settings: Settings) -> InputApproximation:
    """The default for inputs that can only be constant over a step."""
    if settings.adaptive is not None and situation.bonds and not _all_save(situation):
        return HOLD  # step sizes follow from the energy residuals that held inputs cause
    if not entry.repeats_steps:
        known = entry.approximation is ApproximationName.INTERPOLATE
        return mid_step(ends=known, passed=known and settings.adaptive is None)
    cyclic = [can for name, can in situation.capabilities.items() if can.obstacles and name in situation.cyclic]
    able = all(can.saves_state and can.varies_step for can in cyclic)
    return mid_step(ends=True, tried=True) if able else HOLD


def _one_side_follows(situation: Situation) -> bool:
    """True if only some components of a cycle follow their inputs. Their inputs would have the same mean over a step as
    those that are held only where they are smooth; elsewhere, what one side gives is not what the other one gets.
    """
    cycles = ([situation.capabilities[name] for name in cycle] for cycle in situation.cycles)
    return any(
        any(can.follows for can in cycle) and any(can.obstacles and can.continuous for can in cycle) for cycle in cycles
    )


def _all_save(situation: Situation) -> bool:
    return all(can.saves_state for can in situation.everyone.values())


def _must_follow(approximation: ApproximationName, situation: Situation) -> None:
    """Raise UnsupportedByFmu for an FMU that lacks a requested capability."""
    if approximation in (ApproximationName.HOLD, ApproximationName.MEAN):
        return
    for component, can in situation.capabilities.items():
        if not can.follows:
            only_these = "approximation auto, which holds only these inputs"
            all_hold = approximation is ApproximationName.EXTRAPOLATE and _one_side_follows(situation)
            instead = only_these if situation.following() and not all_hold else "approximation mid-step"
            raise UnsupportedByFmu(component, FOLLOWS, f"approximation {approximation}", instead)
