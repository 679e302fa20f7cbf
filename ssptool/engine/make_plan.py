"""From a network and settings to a plan."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from ssptool.engine import event_mode, masters
from ssptool.engine import ode as model_exchange
from ssptool.engine.choices import (
    COUPLED_TOLERANCE,
    Choice,
    Interval,
    choose_integrator,
    choose_interval,
    integrator_of,
    refuse_integrator,
    refuse_substeps,
    unfollowed,
)
from ssptool.engine.event_mode.planned import EventModes, plan_event_modes
from ssptool.engine.fmu_log import check_fmu_log
from ssptool.engine.implementations import Implementations, choose_implementations
from ssptool.engine.iteration_log import check_log_name
from ssptool.engine.master_choice import Situation, choose_master
from ssptool.engine.masters.master import Master
from ssptool.engine.ode.planned_events import plan_ode_events
from ssptool.engine.parameter_wires import settle_parameters, with_connected_locals
from ssptool.engine.passed_on import check_settings
from ssptool.engine.plan import Plan, PlannedLoop, PlannedOde
from ssptool.engine.planned_calls import Schedules
from ssptool.engine.power_bonds import NO_UNITS, PowerBond, Units, bonds_of
from ssptool.engine.processes import distribute
from ssptool.engine.refusals import refuse
from ssptool.engine.settings import InitName, MasterName, Settings
from ssptool.engine.slot_table import SlotTable
from ssptool.engine.stimuli.acting import acted_on
from ssptool.engine.stimuli.stimuli import NO_STIMULI, Stimuli, extended, notes_on_tables
from ssptool.fmu.description import InterfaceType
from ssptool.network.dependencies import Stage
from ssptool.network.network import Network
from ssptool.network.signals import Wire
from ssptool.network.unconnected import notes_on_inputs
from ssptool.network.units import notes_on_units


def make_plan(
    network: Network,
    settings: Settings,
    stimuli: Stimuli = NO_STIMULI,
    bonds: tuple[PowerBond, ...] = (),
    units: Units = NO_UNITS,
) -> Plan:
    """Resolve names to slots, dependencies to sweeps, and what the user left open to choices with reasons.

    `bonds` are power bonds that are taken where the settings declare none; `units` define those of the system.

    Raises
    ------
    Unsupported, UnsupportedByFmu, UnsupportedCombination
        The system or the settings need what cannot be simulated.
    ValueError
        A time or a number does not fit.
    BadInputs
        A driven input has no value at the start time.
    """
    prepared = _prepare(network, settings, stimuli)
    network, implementations = prepared.network, prepared.implementations
    table = SlotTable(network, implementations.of, prepared.stimuli, prepared.events.beside(prepared.of_ode))
    instances = tuple(table.instance(name) for name in network.components)
    check_fmu_log(settings, instances)
    distribution = distribute(instances, settings)
    numbered = zip(instances, distribution.processes, strict=True)
    instances = tuple(replace(one, process=number) if number else one for one, number in numbered)
    choices, notes = (*prepared.choices, *distribution.choices), (*prepared.notes, *distribution.notes)
    prepared = prepared._replace(choices=choices, notes=notes)
    return _planned(prepared, settings, Schedules(table, instances, implementations.exchange), bonds, units)


class _Prepared(NamedTuple):
    """A network as it is planned: with driven inputs as its own, and with what is to be known of each component."""

    network: Network
    interval: Interval
    stimuli: Stimuli
    parameter_wires: tuple[Wire, ...]
    implementations: Implementations
    events: EventModes
    of_ode: EventModes
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]


def _prepare(network: Network, settings: Settings, stimuli: Stimuli) -> _Prepared:
    network = with_connected_locals(network)
    refuse(network)
    for log in (settings.log_loops, settings.log_coupling):
        if log is not None:
            check_log_name(log)
    interval, choices = choose_interval(network, settings, lambda: _in_equal_steps(network, settings))
    stimuli.check_start(interval.start)
    network, parameter_wires, notes = settle_parameters(network)
    notes = (*notes, *notes_on_tables(stimuli, interval.start, interval.stop))
    notes = (*notes, *notes_on_inputs(network, {one.signal for one in stimuli.driven}))
    notes = (*notes, *notes_on_units(network.assumed_units))
    network = extended(network, stimuli, interval.start)
    check_settings(network, parameter_wires, (one.signal for one in stimuli.settings))
    implementations = choose_implementations(network, settings)
    events = plan_event_modes(network, implementations.of)
    of_ode = plan_ode_events(network, implementations.of)
    if events and implementations.exchange:
        events, of_ode = event_mode.shared_with_ode(network, implementations.of, events, of_ode)
    choices = (*choices, implementations.choice)
    notes = (*notes, *unfollowed(network, settings, interval.step, implementations.exchange))
    return _Prepared(network, interval, stimuli, parameter_wires, implementations, events, of_ode, choices, notes)


def _in_equal_steps(network: Network, settings: Settings) -> list[str]:
    """Components whose FMUs take communication steps of one size only."""
    of = choose_implementations(network, settings).of
    found = ((name, one.description.interface(of[name])) for name, one in network.components.items())
    return [
        name
        for name, interface in found
        if of[name] is InterfaceType.CO_SIMULATION and interface is not None and not interface.variable_step
    ]


def _planned(
    prepared: _Prepared, settings: Settings, schedules: Schedules, bonds: tuple[PowerBond, ...], units: Units
) -> Plan:
    network, table, events = prepared.network, schedules.table, prepared.events
    initialization = schedules.initialization()
    ode = schedules.ode(prepared.of_ode)
    groups = schedules.groups() if ode is None or not ode.alone else (schedules.whole(ode),)
    power = bonds_of(network, settings, bonds, schedules.exchange, units)
    master, choices = _choose_master(schedules, settings, ode, events, prepared.interval, power)
    return Plan(
        network=network,
        settings=settings,
        interval=prepared.interval,
        master=master,
        init=settings.init,
        signals=table.signals,
        nominal=table.nominal,
        types=table.types,
        columns=tuple(table.column(table.ports[slot]) for slot in table.recorded),
        recorded=table.recorded,
        instances=tuple(schedules.instances),
        wires=table.wires(),
        groups=groups,
        ode=ode,
        initialization=initialization,
        loops=tuple(schedules.loops),
        constants=MappingProxyType(table.constants() | table.driven(prepared.interval.start)),
        guesses=MappingProxyType(table.guesses()),
        choices=(
            *prepared.choices,
            *choices,
            *_threads(settings, master, ode),
            _init_choice(settings, schedules.loops),
        ),
        notes=(*prepared.notes, *table.notes(), *prepared.implementations.notes, *events.notes),
        stimuli=prepared.stimuli,
        event_modes=events,
        parameter_wires=prepared.parameter_wires,
    )


def _choose_master(
    schedules: Schedules,
    settings: Settings,
    ode: PlannedOde | None,
    events: EventModes,
    interval: Interval,
    bonds: tuple[PowerBond, ...],
) -> tuple[Master, tuple[Choice, ...]]:
    everyone = {one.name: one.capabilities for one in schedules.instances}
    exchange = {name: everyone[name] for name in schedules.exchange}
    if ode is not None and ode.alone:
        return choose_integrator(exchange, settings, schedules.table.network)
    fed = {
        one.name: one.capabilities for one in schedules.instances if one.name in exchange or schedules.table.feeds(one)
    }
    bonded = tuple(dict.fromkeys(signal.component for bond in bonds for signal in (bond.first, bond.second)))
    successors = frozenset(wire.destination.component for wire in schedules.table.flow.wires if wire.source.component)
    power, cycles = tuple(map(schedules.table.bond, bonds)), schedules.cycles()
    single = any("Float32" in one.input_types for one in schedules.instances if any(one.name in c for c in cycles))
    situation = Situation(fed, cycles, everyone, power, bonded, successors, single)
    base, choices = choose_master(situation, settings)
    acted = acted_on(base, schedules.table.stimuli, everyone, interval)
    base = event_mode.with_event_mode(base, events) if events else acted
    if interval.end is not None and not base.chooses_steps:
        base = masters.WithShortStep(base)
    if ode is None:
        refuse_integrator(settings)
        return base, choices
    refuse_substeps(exchange, settings)
    integrator, more = integrator_of(exchange, settings, schedules.table.network, COUPLED_TOLERANCE)
    return model_exchange.Beside(base, integrator), (*choices, *more)


def _threads(settings: Settings, master: Master, ode: PlannedOde | None) -> Iterator[Choice]:
    """What becomes of the threads that were asked for."""
    if settings.threads == 1:
        return
    if ode is not None and ode.alone:
        yield Choice("threads", "1", "components of model exchange are integrated as one")
    elif master.name == MasterName.GAUSS_SEIDEL:
        reason = "gauss-seidel steps one component after the other; master jacobi steps them side by side"
        yield Choice("threads", "1", reason)
    elif ode is not None:
        reason = "one integrates the components of model exchange while the others step those of co-simulation"
        yield Choice("threads", str(settings.threads), reason)


def _init_choice(settings: Settings, loops: Sequence[PlannedLoop]) -> Choice:
    at_start = [loop for loop in loops if loop.stage is Stage.INITIALIZATION]
    if settings.init is not InitName.AUTO:
        return Choice("init", settings.init, "asked for")
    if not at_start:
        return Choice("init", "one pass", "no algebraic loop at the start")
    chain = "newton, then accelerated and damped iteration, then homotopy"
    return Choice("init", chain, f"{len(at_start)} algebraic loop(s) at the start")
