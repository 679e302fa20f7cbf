"""The frozen plan: everything that a run registers with its kernel, as data for a system that needs no Python.

Exported FMUs contain it as resources/plan.json (see docs/formats.md). Groups, schedules, iterations and the program of
a macro step have the same numbers as in a run of the same plan.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TypeGuard

from ssptool.documents.document import garbage_collection_paused
from ssptool.engine.kernel.calls import ACCESS, Call, DrivenInput, Instruction, Op, RuleKind, SolveLoop
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.master import Coupling, CouplingMaster, Master, SteppingMaster
from ssptool.engine.masters.program import ASKED, Program, ProgrammedMaster
from ssptool.engine.masters.step_sizes import SizeControl
from ssptool.engine.planning.events import Clocked, EventMember, EventModes
from ssptool.engine.planning.plan import Plan, PlannedInstance, PlannedLoop, PlannedOde, PlannedWire
from ssptool.engine.planning.shared_events import ode_takes_samples, system_takes_samples
from ssptool.engine.planning.stimuli import column_rows, driven_inputs, slot_sources
from ssptool.engine.run.coupling import Registrations
from ssptool.engine.run.feedthrough import frozen_denials
from ssptool.engine.run.frozen_variables import (
    Json,
    conversion_facts,
    frozen_parameter_wires,
    json_value,
    start_value,
)
from ssptool.engine.run.macro_steps import MacroSteps
from ssptool.engine.stimuli.stimuli import boundaries
from ssptool.engine.trace import holds_integer
from ssptool.fmu.description import FmuClock, InterfaceType, Value, element_names
from ssptool.network.conversion import narrowing
from ssptool.network.network import Signal

VERSION = 2
"""Version of the format."""


def frozen_system(plan: Plan, driven: Sequence[DrivenInput] = ()) -> Json:
    """Content for initialization and steps. `driven` are inputs of components that inputs of an exported FMU drive.

    The stepping master must be a `ProgrammedMaster`. A solver of the kernel integrates an ODE, because CVODE is not
    available.
    """
    content = _frozen(plan, driven)
    if plan.ode is not None:
        from ssptool.engine.run.frozen_integration import exported_integration  # needed for model exchange only

        content["ode"] = _ode(plan, plan.ode) | exported_integration(plan)
    return content


def _frozen(plan: Plan, driven: Sequence[DrivenInput] = ()) -> Json:
    """Everything except the ODE."""
    roots = root_starts(plan)
    interval = plan.interval
    drives = bool(driven or plan.stimuli.sources)
    return {
        "version": VERSION,
        "name": plan.name,
        "start": interval.start,
        "stop": interval.stop,
        "step": interval.step,
        "signals": list(map(str, plan.signals)),
        "types": list(plan.types),
        "integers": list(plan.integers),
        "parts": list(_parts(plan)),
        "wires": [_wire(wire) for wire in plan.wires],
        "driven": [{"slot": one.slot, "runs": one.running.name.lower()} for one in driven],
        "tables": _tables(plan),
        "constants": [_slot_value(plan, slot, value) for slot, value in {**plan.constants, **roots}.items()],
        "guesses": [_slot_value(plan, slot, value) for slot, value in plan.guesses.items() if slot not in roots],
        "cut": sorted(plan.cut),
        "init": str(plan.init),
        "loops": [_loop(loop) for loop in plan.loops],
        "initialization": _steps(plan.initialization),
        "first_point": [_outputs(plan), *(_steps(group.schedule) for group in plan.groups)],
        **(_alone(plan, plan.ode) if plan.ode is not None and plan.ode.alone else _stepping(plan, drives)),
    }


@garbage_collection_paused()
def frozen_run(plan: Plan) -> Json:
    """Frozen plan of a run, including recording; the solver of an ODE may be CVODE."""
    content = _frozen(plan, driven_inputs(plan))
    run: Json = {"steps": plan.interval.steps, "denied": list(frozen_denials(plan))}
    if plan.by_need:
        from ssptool.engine.run.needed_substeps import frozen_trials  # rarely needed

        run["trials"] = list(frozen_trials(plan))
    if plan.ode is not None:
        from ssptool.engine.run.frozen_integration import frozen_integration, integration_of_run

        content["ode"] = _ode(plan, plan.ode, recorded=True) | frozen_integration(plan)
        run |= integration_of_run(plan)
    master = stepping_master(plan)
    if isinstance(master, SizeControl):
        from ssptool.engine.run.frozen_sizes import frozen_sizes  # needed for variable step sizes only

        run |= frozen_sizes(plan, master)
    if isinstance(plan.master, MacroSteps) and is_newton(plan.master.coupling):
        from ssptool.engine.run.interface_jacobian import frozen_interfaces  # needed for Newton's method only

        run["interfaces"] = frozen_interfaces(plan)
    for part, (one, guessed) in zip(content["parts"], plan.first_guesses(), strict=True):
        part["observed"] = _variables(one, one.observed, one.observed_slots)
        part["stated"] = _stated(plan, one, guessed)
    more = {
        "token": "",
        "interface": "cs",
        "shown_wires": [_wire(wire) for wire in plan.shown_wires],
        "recorded": list(plan.recorded),
        "variables": [],
        "parameter_wires": list(frozen_parameter_wires(plan)),
        "demands": list(_demands(plan)),
        "run": run,
    }
    return content | more | ({"open_end": True} if plan.open_end else {})


def _demands(plan: Plan) -> Iterator[Json]:
    """Ranges of narrower integer types that connections lead to, which values must fit."""
    for wire in (*plan.wires, *plan.shown_wires):
        kind = plan.types[wire.source]
        checked = narrowing(kind, plan.types[wire.destination])
        if checked is not None and holds_integer(kind):
            yield {"slot": wire.source, "nonnegative": checked.nonnegative, "digits": checked.digits}


def frozen_starts(one: PlannedInstance) -> list[Json]:
    """Start values of a part."""
    return _sets(one, one.starts)


def _variables(
    one: PlannedInstance, signals: Sequence[Signal], slots: Sequence[int], types: Sequence[str] | None = None
) -> Json:
    """Variables of a part with these slots; `types`: those of the kernel, if they are not those of the FMU."""
    variables = [one.description.variables[signal.variable] for signal in signals]
    return {
        "slots": list(slots),
        "references": [variable.reference for variable in variables],
        "types": [variable.type for variable in variables] if types is None else list(types),
        "elements": [variable.element for variable in variables],
    }


def _stated(plan: Plan, one: PlannedInstance, slots: Iterable[int]) -> list[Json]:
    """Values of these variables before their FMU can be called."""
    return [_slot_value(plan, slot, start_value(one, plan.signals[slot].variable)) for slot in slots]


def root_starts(plan: Plan) -> Mapping[int, Value]:
    """Slot → start value of each input of the system."""
    inputs = {slot for slot, signal in enumerate(plan.signals) if not signal.component}
    return {slot: value for slot, value in {**plan.constants, **plan.guesses}.items() if slot in inputs}


def stepping_master(plan: Plan) -> Master:
    """The master that does the macro steps, independent of their ends."""
    return plan.master.base if isinstance(plan.master, MacroSteps) else plan.master


def coupling_master(plan: Plan) -> CouplingMaster:
    """The master of each macro step, independent of its size."""
    assert isinstance(plan.master, MacroSteps)  # components are coupled
    return plan.master.coupling


def is_newton(master: Master) -> bool:
    """True if macro steps are iterated by Newton's method."""
    return isinstance(master, Iterated) and master.acceleration.kind is RuleKind.NEWTON


def asks_python(master: Master) -> TypeGuard[SteppingMaster]:
    """True if a master of another package does the macro steps in Python."""
    return isinstance(master, SteppingMaster) and not isinstance(master, ProgrammedMaster)


def part_folder(number: int) -> str:
    """Folder of a part below resources/. Components with the same FMU share the folder of the first one."""
    return f"parts/{number}"


def firsts_of_sources(plan: Plan) -> tuple[int, ...]:
    """Number of the first part with the same FMU, for each part."""
    firsts: dict[str, int] = {}
    return tuple(firsts.setdefault(one.source, number) for number, one in enumerate(plan.instances))


def program_of(plan: Plan, coupling: Coupling) -> Program:
    """The program of a macro step."""
    master = coupling_master(plan)
    return master.program(coupling) if isinstance(master, ProgrammedMaster) else ASKED


def _stepping(plan: Plan, drives: bool) -> Json:
    """Registrations of the couplings, and the program of a macro step. With `drives`, inputs are driven at its
    start.
    """
    registrations = Registrations(plan)
    coupling = registrations.coupling()
    program = program_of(plan, coupling)
    drive = (Instruction(Op.DRIVE),) if drives else ()
    back = goes_back(plan)
    save = (Instruction(Op.SAVE, coupling.everything.group),) if back and plan.event_modes else ()
    stepping = {
        "groups": list(map(list, registrations.groups)),
        "schedules": list(map(_steps, registrations.schedules)),
        "iterations": list(program.iterations),
        "everyone": coupling.everything.group,
        "everything": coupling.everything.schedule,
        "program": [
            [int(one.op), one.argument, one.order]
            for one in (*drive, *save, *program.instructions(coupling.everything))
        ],
    }
    if not plan.event_modes:
        return {"stepping": stepping}
    together = program is not ASKED and (program.interruptible or back)
    # After an early end of the leader's step it stays there; the others have not started the step.
    apart = coupling_master(plan).independent_steps or coupling.leader is not None
    steps = {"together": together, "independent_steps": apart, "rolls_back": back}
    if plan.event_modes.with_ode:
        steps["with_ode"] = True
    return {
        "stepping": stepping,
        "at_events": _at_events(plan, plan.event_modes, samples=system_takes_samples(plan)) | steps,
    }


def goes_back(plan: Plan) -> bool:
    """True if macro steps are undone after an early return of a component, or tried. A single component need not wait
    for others, so its steps are only undone with step doubling.
    """
    tried = isinstance(plan.master, MacroSteps) and plan.master.tries_steps
    return tried or (plan.event_modes.rolls_back and len(plan.instances) > 1)


def _at_events(plan: Plan, modes: EventModes, *, samples: bool) -> Json:
    """Members of event mode, their clocks, and the signals that are exchanged only at events."""
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    numbers = {one.name: number for number, one in enumerate(plan.instances)}
    members = _in_order(plan, modes)
    places = clock_places(plan, modes)
    wires = (PlannedWire(slots[wire.source], slots[wire.destination], wire.conversion) for wire in modes.wires)
    return {
        "samples": samples,
        "single": any(loop.single for loop in plan.loops),
        "nominal": list(plan.nominal),
        "inputs": [slot for one in plan.instances for slot in one.input_slots],
        "starts": [
            start for member in members for start in _starts(plan, slots, plan.instances[numbers[member.name]], member)
        ],
        "members": [_member(plan, slots, numbers[member.name], member) for member in members],
        "wires": [_wire(wire) for wire in wires],
        "clock_wires": [
            [places[source], places[destination]]
            for source, found in modes.clock_wires.items()
            for destination in found
            if source in places and destination in places
        ],
    }


def _in_order(plan: Plan, modes: EventModes) -> list[EventMember]:
    """Members in the order of the parts."""
    return [modes.members[one.name] for one in plan.instances if one.name in modes.members]


def clock_places(plan: Plan, modes: EventModes) -> dict[Signal, list[int]]:
    """Clock → index of its member, and its own index among the clocks of the member."""
    return {
        Signal(member.name, clock.name): [number, place]
        for number, member in enumerate(_in_order(plan, modes))
        for place, clock in enumerate(member.clocks)
    }


def _starts(plan: Plan, slots: Mapping[Signal, int], one: PlannedInstance, member: EventMember) -> Iterator[Json]:
    for exchanged in (*member.inputs, *member.outputs):
        yield _slot_value(plan, slots[exchanged.signal], start_value(one, exchanged.signal.variable))


def _member(plan: Plan, slots: Mapping[Signal, int], number: int, member: EventMember) -> Json:
    places = {clock.name: place for place, clock in enumerate(member.clocks)}
    clocks = [_clock(clock, slots.get(Signal(member.name, clock.name))) for clock in member.clocks]
    exchanged = (
        _exchanged(plan, slots, plan.instances[number], variables, places)
        for variables in (member.inputs, member.outputs)
    )
    return {
        "part": number,
        **dict(zip(("inputs", "outputs"), exchanged, strict=True)),
        "clocks": clocks,
        "timed": len(member.timed),
        "triggered": len(member.triggered),
    }


def _exchanged(
    plan: Plan, slots: Mapping[Signal, int], one: PlannedInstance, found: Sequence[Clocked], places: Mapping[str, int]
) -> Json:
    signals = [exchanged.signal for exchanged in found]
    own = [slots[signal] for signal in signals]
    return _variables(one, signals, own, [plan.types[slot] for slot in own]) | {
        "clocks": [[places[name] for name in exchanged.clocks if name in places] for exchanged in found]
    }


def _clock(clock: FmuClock, slot: int | None) -> Json:
    found: Json = {"name": clock.name, "reference": clock.reference, "variability": str(clock.variability)}
    found |= clock_times(clock.interval, clock.shift) | {f"tells_{what}": True for what in clock.told}
    if clock.supports_fraction:
        found["fraction"] = True
    return found if slot is None else found | {"slot": slot}


def clock_times(interval: Fraction | None, shift: Fraction | None) -> Json:
    """Interval and shift of a clock [s], if stated."""
    times = {"interval": interval, "shift": shift}
    return {what: [time.numerator, time.denominator] for what, time in times.items() if time is not None}


def _alone(plan: Plan, ode: PlannedOde) -> Json:
    """A system that consists of one ODE."""
    schedules = [_steps(ode.schedule)]
    stepping = {"groups": [list(ode.instances)], "schedules": schedules, "everyone": 0, "everything": 0}
    return {"stepping": stepping, "at_events": _at_events(plan, ode.events, samples=ode_takes_samples(plan))}


def _ode(plan: Plan, ode: PlannedOde, *, recorded: bool = False) -> Json:
    """The components of model exchange, and the signals that they exchange with others; if `recorded`, including
    signals that are only recorded.
    """
    return {
        "parts": list(ode.instances),
        "alone": ode.alone,
        "whole": _steps(ode.schedule),
        "slopes": _steps(ode.slopes),
        "inputs": [] if ode.alone else list(ode.inputs),
        **({} if ode.alone else _beside(plan, ode, recorded)),
    }


def _beside(plan: Plan, ode: PlannedOde, recorded: bool) -> Json:
    """Exchange between an ODE and co-simulation components: by wires from its components, and at its own events."""
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    held = {slots[signal] for signal in ode.events.outputs}
    outputs = held.union(*(plan.instances[index].output_slots for index in ode.instances))
    shown = plan.shown_wires if recorded else ()
    if recorded:
        outputs = outputs.union(*(plan.instances[index].observed_slots for index in ode.instances))
    return {
        "wires": [_wire(wire) for wire in (*plan.wires, *shown) if wire.source in outputs],
        "events": _at_events(plan, ode.events, samples=ode_takes_samples(plan)),
        "event_signals": list(plan.ode_event_slots),
        "event_sources": list(plan.ode_event_sources),
        **({"ends_steps": True} if ode.ends_steps else {}),
    }


def _slot_value(plan: Plan, slot: int, value: Value) -> Json:
    return {"slot": slot, "value": json_value(value, plan.types[slot])}


def _tables(plan: Plan) -> Json:
    """Tables over time that drive inputs; columns with the same times share an axis."""
    axes: dict[tuple[float, ...], int] = {}
    columns = [
        {
            "slot": one.slot,
            "axis": axes.setdefault(rows.times, len(axes)),
            "values": list(rows.values),
            "linear": rows.linear,
        }
        for one in slot_sources(plan)
        for rows in [column_rows(one.time_signal, plan.interval.start)]
    ]
    jumps = boundaries(plan.stimuli.jumps, -math.inf, math.inf)
    return {"axes": list(map(list, axes)), "columns": columns, "jumps": [[one.first, one.last] for one in jumps]}


def _parts(plan: Plan) -> Iterator[Json]:
    for first, (one, guessed) in zip(firsts_of_sources(plan), plan.first_guesses(), strict=True):
        yield _part(plan, one, guessed, part_folder(first))


def _part(plan: Plan, one: PlannedInstance, guessed: Sequence[int], folder: str) -> Json:
    """A part. Its FMU is in this `folder`, and provides first guesses of the slots `guessed`."""
    asks = one.description.fmi_major == 3 and bool(one.wired) and one.capabilities.follows
    variables = one.description.variables
    has_mode = one.description.fmi_major > 1
    substeps = plan.substeps(one)
    return {
        "name": one.name,
        "folder": folder,
        "identifier": one.used_interface.model_identifier,
        "token": one.description.token,
        "fmi": one.description.fmi_major,
        "inputs": _variables(one, one.inputs, one.input_slots, one.input_types),
        "outputs": _variables(one, one.outputs, one.output_slots),
        **({"structure": _sets(one, one.structure)} if one.structure else {}),
        "starts": _sets(one, one.starts),
        "guesses": _asked(plan, one, guessed) if has_mode else [],
        "moving": [variables[name].reference for name, _ in one.moving] if asks else [],
        **_event_mode(plan, one),
        **({"substeps": asdict(substeps)} if substeps.count > 1 else {}),
        **({} if has_mode else {"beginning": _beginning(plan, one, guessed)}),
        **(_exchange(one) if one.interface is InterfaceType.MODEL_EXCHANGE else {}),
    }


def _beginning(plan: Plan, one: PlannedInstance, guessed: Iterable[int]) -> Json:
    """Data for the start of a part without initialization mode."""
    signals = plan.signals
    return {
        "inputs": _asked(plan, one, one.input_slots),
        "nominal": [one.description.variables[signals[slot].variable].nominal for slot in one.input_slots],
        "stated": _stated(plan, one, guessed),
    }


def _exchange(one: PlannedInstance) -> Json:
    """Data for model exchange of a part: sizes of its vectors, and references for directional derivatives."""
    slopes, variables = one.description.state_derivatives, one.description.variables
    states = [variables[slope.derivative_of or ""] for slope in slopes]
    return {
        "exchange": {
            "states": len(slopes),
            "indicators": one.description.event_indicators,
            "reports_steps": one.used_interface.needs_completed_step,
            "saves_state": one.used_interface.saves_state,
            "derivatives": [slope.reference for slope in slopes if slope.element == 0],
            "known_states": [state.reference for state in states if state.element == 0],
        }
    }


def _event_mode(plan: Plan, one: PlannedInstance) -> Json:
    member = plan.event_modes.members.get(one.name)
    if member is None or one.interface is InterfaceType.MODEL_EXCHANGE:
        return {}
    return {"event_mode": True, "returns_early": member.returns_early}


def _sets(one: PlannedInstance, values: Mapping[str, Value]) -> list[Json]:
    """Values to set, by type, in the order of the plan; arrays are set as a whole."""
    found: dict[str, Json] = defaultdict(lambda: {"references": [], "values": []})
    for name in _with_all_elements(one, values):
        variable = one.description.variables[name]
        chosen = found[ACCESS[one.description.fmi_major][variable.type]]
        if variable.element == 0:
            chosen["references"].append(variable.reference)
        value = values.get(name)
        chosen["values"].append(json_value(start_value(one, name) if value is None else value, variable.type))
    return [{"type": suffix, **rest} for suffix, rest in found.items()]


def _with_all_elements(one: PlannedInstance, names: Iterable[str]) -> Iterator[str]:
    """These variables, and all other elements of their arrays."""
    arrays = one.description.arrays
    stated = (one.description.variables[name].array or name for name in names)
    for name in dict.fromkeys(stated):
        yield from element_names(name, arrays.get(name, ()))


def _asked(plan: Plan, one: PlannedInstance, slots: Iterable[int]) -> list[Json]:
    """Variables that provide first guesses, by type."""
    found: dict[str, Json] = defaultdict(lambda: {"references": [], "slots": []})
    for slot in slots:
        variable = one.description.variables[plan.signals[slot].variable]
        chosen = found[ACCESS[one.description.fmi_major][variable.type]]
        chosen["slots"].append(slot)
        if variable.element == 0:
            chosen["references"].append(variable.reference)
    return [{"type": suffix, **rest} for suffix, rest in found.items()]


def _wire(wire: PlannedWire) -> Json:
    stated = {"discrete": True} if wire.discrete else {}
    ends = {"minimum": wire.minimum, "maximum": wire.maximum}
    limits = {name: limit for name, limit in ends.items() if math.isfinite(limit)}
    return {"from": wire.source, "to": wire.destination, **conversion_facts(wire.conversion), **stated, **limits}


def _loop(loop: PlannedLoop) -> Json:
    calls = loop.calls
    return {
        "names": list(map(str, loop.torn)),
        "torn": list(calls.torn),
        "frozen": list(calls.frozen),
        "body": _steps(calls.body),
        "nominal": list(calls.nominal),
        "rtol": calls.rtol,
        "atol": calls.atol,
        "max_iterations": calls.max_iterations,
        "minimum": list(calls.minimum),
        "maximum": list(calls.maximum),
        "pattern": sorted(calls.pattern) if calls.pattern is not None else _full(len(calls.torn)),
        "directional": calls.directional,
        "rounding": calls.rounding,
    }


def _full(size: int) -> list[tuple[int, int]]:
    return [(row, column) for row in range(size) for column in range(size)]


def _steps(steps: Iterable[Call | SolveLoop]) -> list[Json]:
    return [
        {"loop": step.loop}
        if isinstance(step, SolveLoop)
        else {"part": step.instance, "set": list(step.inputs), "get": list(step.outputs)}
        for step in steps
    ]


def _outputs(plan: Plan) -> list[Json]:
    """Calls that get all outputs."""
    return _steps(Call(number, (), one.output_slots) for number, one in enumerate(plan.instances) if one.output_slots)
