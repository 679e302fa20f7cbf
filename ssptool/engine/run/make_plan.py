"""The plan of a run, made from an open system or a flat network, settings and stimuli."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ssptool.documents.archive import Archive
from ssptool.documents.document import Document, garbage_collection_paused
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.engine.assembly.applied_stimuli import check_settings
from ssptool.engine.assembly.fmu_log import check_fmu_log
from ssptool.engine.assembly.instances import distribute
from ssptool.engine.failure import Unsupported, UnsupportedByFmu
from ssptool.engine.masters.master import CLOSE, CouplingMaster, Master
from ssptool.engine.masters.power_bonds import NO_UNITS, PowerBond, Units, bonds_of, bonds_of_terminals, declared_bonds
from ssptool.engine.masters.registry import VARIES_STEP, Capabilities, Situation
from ssptool.engine.masters.step_sizes import SizeControl
from ssptool.engine.method_names import ImplementationName, InitName
from ssptool.engine.planning.checks import refuse, refuse_unchecked, settle_parameters, with_connected_locals
from ssptool.engine.planning.events import NO_EVENT_MODES, EventModes, plan_event_modes, plan_ode_events, with_leader
from ssptool.engine.planning.interval import Interval, choose_interval
from ssptool.engine.planning.plan import Feedthrough, FoundAtStart, Plan, PlannedLoop, PlannedOde
from ssptool.engine.planning.rows_inside import notes_on_rows
from ssptool.engine.planning.schedule import Schedules
from ssptool.engine.planning.shared_events import shared_with_ode
from ssptool.engine.planning.slots import LaterColumns, SlotTable
from ssptool.engine.planning.stimuli import resolve
from ssptool.engine.run.macro_steps import MacroSteps
from ssptool.engine.run.methods import (
    Implementations,
    choose_implementations,
    choose_integrator,
    choose_master,
    exchange_is_default,
    integrator_of,
    refuse_integrator,
    refuse_substeps,
    unfollowed,
)
from ssptool.engine.settings import Choice, Settings
from ssptool.engine.stimuli.stimuli import NO_STIMULI, Stimuli, boundaries, extended, notes_on_sources
from ssptool.errors import ContradictingSettings, UnusableFile, WrongValue, counted
from ssptool.fmu.description import InterfaceType
from ssptool.fmu.messages import check_log_name
from ssptool.fmu.terminals import Terminal, read_terminals
from ssptool.network.conversion import document_units, notes_on_units
from ssptool.network.explanation import notes_on_inputs
from ssptool.network.flatten import build_network
from ssptool.network.network import Network, Wire
from ssptool.network.signal_graph import Stage, needs
from ssptool.rules.selection import NOTHING_ACCEPTED, Acceptance
from ssptool.work_in_progress import tell

if TYPE_CHECKING:
    from ssptool.engine.stimuli.inputs import InputData
    from ssptool.engine.stimuli.scenario import Scenario


def _refuse_jumps_inside(stimuli: Stimuli, everyone: Mapping[str, Capabilities], interval: Interval) -> None:
    """Raise UnsupportedByFmu if an FMU accepts only one step size, and a jump lies inside of a step."""
    rigid = [name for name, can in everyone.items() if not can.varies_step]
    between = _between(stimuli, interval) if stimuli and rigid else None
    if between is not None:
        raise UnsupportedByFmu(
            rigid[0],
            VARIES_STEP,
            f"a jump of an input at t = {between!r} s, which is inside a macro step of {interval.step:g} s,",
            "a step size that divides the times of all jumps",
        )


def _between(stimuli: Stimuli, interval: Interval) -> float | None:
    """The first jump that is not at the end of a macro step [s]."""
    for time, _ in boundaries(stimuli.jumps, interval.start, interval.stop):
        steps = (time - interval.start) / interval.step
        if abs(steps - round(steps)) > CLOSE:
            return time
    return None


@garbage_collection_paused()
def make_plan(
    network: Network,
    settings: Settings,
    stimuli: Stimuli = NO_STIMULI,
    bonds: tuple[PowerBond, ...] = (),
    units: Units = NO_UNITS,
) -> Plan:
    """Resolve names to slots, dependencies to schedules, and settings without a value to choices with reasons.

    `bonds` are the power bonds to use if the settings declare none; `units` are those that the system defines. If model
    exchange is the default but cannot run the system, the plan uses co-simulation.

    Raises
    ------
    Unsupported, UnsupportedByFmu, ContradictingSettings
        The system or the settings need an unsupported feature.
    WrongValue
        A time or a number does not fit.
    BadData
        A driven input has no value at the start time.
    """
    settings = settings.with_components(network.components)
    if not exchange_is_default(network, settings, stimuli):
        return _made(network, settings, stimuli, bonds, units)
    by_steps = replace(settings, implementation=ImplementationName.CS)
    instead = partial(_made, network, by_steps, stimuli, bonds, units)
    try:
        return replace(_made(network, settings, stimuli, bonds, units), instead=instead)
    except (Unsupported, WrongValue) as error:
        return instead(f"not possible as model exchange: {error}")


def _made(
    network: Network,
    settings: Settings,
    stimuli: Stimuli,
    bonds: tuple[PowerBond, ...],
    units: Units,
    instead: str = "",
) -> Plan:
    """The plan; `instead` is the reason for co-simulation if model exchange is the default."""
    prepared = _prepare(network, settings, stimuli, instead)
    network, implementations = prepared.network, prepared.implementations
    table = SlotTable(network, implementations.of, prepared.stimuli, prepared.events.beside(prepared.of_ode))
    instances = tuple(table.instance(name) for name in network.components)
    check_fmu_log(settings, instances)
    distribution = distribute(instances, settings)
    numbered = zip(instances, distribution.processes, strict=True)
    instances = tuple(replace(one, process=number) if number else one for one, number in numbered)
    choices, notes = (*prepared.choices, *distribution.choices), (*prepared.notes, *distribution.notes)
    prepared = prepared._replace(choices=choices, notes=notes)
    plan = _planned(prepared, settings, Schedules(table, instances, implementations.exchange), bonds, units)
    return replace(plan, notes=(*plan.notes, *notes_on_rows(plan))) if stimuli.sources else plan


def completed(plan: Plan, found: FoundAtStart) -> Plan:
    """The plan with the facts that were found at the start of its run."""
    if found.undeclared:
        plan = with_feedthrough(plan, found.undeclared)
    if found.substeps:
        from ssptool.engine.run.needed_substeps import with_substeps  # rarely needed

        plan = with_substeps(plan, dict(found.substeps))
    return plan


def with_feedthrough(plan: Plan, found: Sequence[Feedthrough]) -> Plan:
    """The plan with this direct feedthrough in its evaluation order and loops."""
    components = dict(plan.network.components)
    for name, pairs in groupby(sorted(found), key=attrgetter("component")):
        description = components[name].description
        outputs, at_start = dict(description.outputs), dict(description.initial_unknowns)
        for _, variable, output in pairs:
            known = needs(components[name], output, Stage.COMMUNICATION) or frozenset()
            outputs[output] = (outputs.get(output) or known) | {variable}
            if (before := at_start.get(output)) is not None:
                at_start[output] = before | {variable}
        corrected = replace(description, outputs=outputs, initial_unknowns=at_start)
        components[name] = replace(components[name], description=corrected)
    network = replace(plan.network, components=components)
    of_ode = NO_EVENT_MODES if plan.ode is None else plan.ode.events
    interfaces = {one.name: one.interface for one in plan.instances}
    table = SlotTable(network, interfaces, plan.stimuli, plan.event_modes.beside(of_ode))
    schedules = Schedules(table, plan.instances, tuple(one.name for one in plan.integrated))
    initialization, ode = schedules.initialization(), schedules.ode(of_ode)
    init = _init_choice(plan.settings, schedules.loops)
    return replace(
        plan,
        network=network,
        initialization=initialization,
        ode=ode,
        groups=schedules.stepped(ode),
        loops=tuple(schedules.loops),
        choices=tuple(init if one.setting == init.setting else one for one in plan.choices),
        undeclared=(*plan.undeclared, *found),
    )


class _Prepared(NamedTuple):
    """A network prepared for planning: with driven inputs as inputs of the system, and with the properties of each
    component.
    """

    network: Network
    interval: Interval
    substeps: Mapping[str, int]
    stimuli: Stimuli
    parameter_wires: tuple[Wire, ...]
    implementations: Implementations
    events: EventModes
    of_ode: EventModes
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]


def _prepare(network: Network, settings: Settings, stimuli: Stimuli, instead: str) -> _Prepared:
    network = with_connected_locals(network)
    refuse(network)
    for log in (settings.log_loops, settings.log_coupling):
        if log is not None:
            check_log_name(log)
    implementations = choose_implementations(network, settings, stimuli, instead)
    interval, substeps, choices, guesses = choose_interval(network, settings, implementations.of)
    if settings.delay:
        from ssptool.engine.planning.delays import delayed  # rarely needed
        from ssptool.engine.run.adaptive_steps import largest_step

        longest = interval.step if settings.adaptive is None else largest_step(settings, interval)[0]
        network, choice = delayed(network, settings, longest)
        simulated = dict.fromkeys(network.components.keys() - implementations.of.keys(), InterfaceType.CO_SIMULATION)
        implementations = implementations._replace(of={**implementations.of, **simulated}, notes=())
        choices = (*choices, choice)
    stimuli.check_start(interval.start)
    network, parameter_wires, notes = settle_parameters(network)
    notes = (*guesses, *notes, *notes_on_sources(stimuli, interval.start, interval.stop))
    notes = (*notes, *notes_on_inputs(network, {one.signal for one in stimuli.sources}))
    notes = (*notes, *notes_on_units(network.assumed_units))
    network = extended(network, stimuli, interval.start)
    check_settings(network, parameter_wires, (one.signal for one in stimuli.parameter_changes))
    events = plan_event_modes(network, implementations.of)
    of_ode = plan_ode_events(network, implementations.of)
    if 0 < len(implementations.exchange) < len(network.components):
        events, of_ode = shared_with_ode(network, implementations.of, events, of_ode)
    refuse_unchecked(network, {*events.members, *implementations.exchange})
    choices = (*choices, implementations.choice)
    notes = (*notes, *([f"run as co-simulation: {instead}"] if instead else []))
    notes = (*notes, *unfollowed(network, settings, interval.step, implementations.exchange))
    return _Prepared(
        network, interval, substeps, stimuli, parameter_wires, implementations, events, of_ode, choices, notes
    )


def _planned(
    prepared: _Prepared, settings: Settings, schedules: Schedules, bonds: tuple[PowerBond, ...], units: Units
) -> Plan:
    network, table, events = prepared.network, schedules.table, prepared.events
    initialization = schedules.initialization()
    ode = schedules.ode(prepared.of_ode)
    groups = schedules.stepped(ode)
    divided = replace(settings, substeps=prepared.substeps)
    power = bonds_of(network, divided, bonds, schedules.exchange, units)
    master, choices = _choose_master(schedules, divided, ode, events, prepared.interval, power)
    needed = _by_need(settings, schedules, events)
    if isinstance(master, MacroSteps):
        events = with_leader(events, network, prepared.implementations.of, follows=master.follows_a_leader)
        master = replace(master, goes_back=events.rolls_back, leader=events.leader)
    return Plan(
        network=network,
        settings=settings,
        interval=prepared.interval,
        substep_counts=MappingProxyType(dict(prepared.substeps)),
        by_need=needed,
        master=master,
        init=settings.init,
        signals=table.signals,
        nominal=table.nominal,
        types=table.types,
        columns=LaterColumns(table),
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
            _init_choice(settings, schedules.loops),
        ),
        notes=(*prepared.notes, *table.notes(), *prepared.implementations.notes, *events.notes),
        stimuli=prepared.stimuli,
        event_modes=events,
        parameter_wires=prepared.parameter_wires,
    )


def _by_need(settings: Settings, schedules: Schedules, events: EventModes) -> tuple[str, ...]:
    """Components that get as many substeps as they need."""
    if settings.stated_substeps == settings.substeps:
        return ()
    from ssptool.engine.run.needed_substeps import by_need  # rarely needed

    return by_need(settings, {one.name: one.capabilities for one in schedules.instances}, events.members)


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
        master, choices = choose_integrator(exchange, settings, schedules.table.network)
        alone = "components of model exchange are integrated as one ODE"
        return master, (*choices, *([Choice("threads", "1", alone)] if settings.threads > 1 else []))
    fed = {
        one.name: one.capabilities for one in schedules.instances if one.name in exchange or schedules.table.feeds(one)
    }
    successors = frozenset(wire.destination.component for wire in schedules.table.flow.wires if wire.source.component)
    cycles = schedules.cycles()
    single = any("Float32" in one.input_types for one in schedules.instances if any(one.name in c for c in cycles))
    situation = Situation(fed, cycles, everyone, bonds, successors, single)
    chosen, choices = choose_master(situation, settings, interval)
    threads = tuple(_threads(settings, chosen.base if isinstance(chosen, SizeControl) else chosen, ode))
    _refuse_jumps_inside(schedules.table.stimuli, everyone, interval)
    steps = MacroSteps(chosen, bool(schedules.table.stimuli), bool(events), events.with_ode)
    if ode is None:
        refuse_integrator(settings)
        return steps, (*choices, *threads)
    refuse_substeps(exchange, settings)
    integrator, more = integrator_of(exchange, settings, schedules.table.network)
    return replace(steps, integrator=integrator, timed=ode.ends_steps), (*choices, *more, *threads)


def _threads(settings: Settings, master: CouplingMaster, ode: PlannedOde | None) -> Iterator[Choice]:
    """Choice of the number of threads, if the settings ask for several."""
    if settings.threads == 1:
        return
    if not master.side_by_side:
        reason = f"{master.name} steps one component after the other; master jacobi steps them side by side"
        yield Choice("threads", "1", reason)
    elif ode is not None:
        reason = "one thread integrates the components of model exchange, the others step those of co-simulation"
        yield Choice("threads", str(settings.threads), reason)


def _init_choice(settings: Settings, loops: Sequence[PlannedLoop]) -> Choice:
    at_start = [loop for loop in loops if loop.stage is Stage.INITIALIZATION]
    if settings.init is not InitName.AUTO:
        return Choice("init", settings.init, "asked for")
    if not at_start:
        return Choice("init", "one pass", "no algebraic loop at the start")
    chain = "newton, then accelerated and damped iteration, then homotopy"
    return Choice("init", chain, f"{counted(len(at_start), 'algebraic loop')} at the start")


def planned(
    archive: Archive,
    structure: Document,
    *,
    parameters: Sequence[Path],
    start_values: Mapping[str, str],
    settings: Settings | None,
    inputs: "InputData | None",
    interpolation: str | Mapping[str, str] | None = None,
    scenario: "Scenario | Path | str | None",
    accepted: Acceptance = NOTHING_ACCEPTED,
) -> Plan:
    """The plan for a structure of an archive, in spite of accepted findings."""
    settings = settings or Settings()
    network = build_network(archive, structure, start_values=start_values, parameter_files=parameters)
    accepted_notes = tuple(accepted.notes(network.unsupported))
    network = network.accepting(accepted.codes)
    tell("planning")
    units = document_units(structure.root_as(SystemStructureDescription))
    stimuli = resolve(network, settings, inputs, interpolation, scenario, units)
    bonds = _bonds(archive, network, units) if settings.adaptive is not None and not settings.power_bonds else ()
    default, variant = ("", "") if structure.name == archive.default else (archive.default, structure.name)

    def of_document(plan: Plan) -> Plan:
        notes = (*accepted_notes, *plan.notes)
        return replace(plan, accepted=accepted.findings, notes=notes, variant=variant, default=default)

    plan = of_document(make_plan(network, settings, stimuli, bonds, units))
    instead = plan.instead
    return plan if instead is None else replace(plan, instead=lambda reason: of_document(instead(reason)))


def _bonds(archive: Archive, network: Network, units: Units) -> tuple[PowerBond, ...]:
    """Power bonds from annotations and terminals; unreadable ones are skipped."""
    stated: list[PowerBond] = []
    for pair in network.annotated.power_bonds:
        with contextlib.suppress(ContradictingSettings):
            stated.extend(declared_bonds(network, [pair], units))
    if stated:
        return tuple(stated)
    terminals: dict[str, Mapping[str, Terminal]] = {}
    for name, component in network.components.items():
        with contextlib.suppress(UnusableFile):
            terminals[name] = read_terminals(archive.local_path(component.source))
    return bonds_of_terminals(network, terminals, units)
