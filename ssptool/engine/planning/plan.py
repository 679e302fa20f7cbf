"""Plan of a run: instances, wires, groups, loops and ODE by index, and its sequence of calls."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from ssptool.documents.diagnostics import Diagnostic
from ssptool.engine.kernel.calls import FLOAT, HELD, Call, LoopCalls, SolveLoop, Substeps
from ssptool.engine.masters.master import Master
from ssptool.engine.masters.protocols import Participants
from ssptool.engine.masters.registry import Capabilities
from ssptool.engine.method_names import InitName
from ssptool.engine.planning.events import NO_EVENT_MODES, EventModes
from ssptool.engine.planning.interval import Interval
from ssptool.engine.settings import Choice, Settings
from ssptool.engine.stimuli.stimuli import NO_STIMULI, Stimuli
from ssptool.engine.trace import NUMBERED, Column, holds_integer
from ssptool.errors import counted
from ssptool.fmu.description import FmuDescription, Interface, InterfaceType, Value
from ssptool.network.arrays import whole
from ssptool.network.network import Conversion, Network, Signal, Wire
from ssptool.network.signal_graph import Stage
from ssptool.printed import Printed
from ssptool.public_calls import public


class Feedthrough(NamedTuple):
    """Direct feedthrough of a component: names of the output and of the input in its FMU."""

    component: str
    input: str
    output: str


class FoundAtStart(NamedTuple):
    """Facts found in initialization. The system must be planned again with them, and initialized again.

    Attributes
    ----------
    undeclared
        Direct feedthrough that no schedule contains.
    substeps
        Name and number of substeps, of components that get as many as they need.
    """

    undeclared: tuple[Feedthrough, ...] = ()
    substeps: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedInstance:
    """An FMU to instantiate. Slots are those of `Plan.signals`; references the FMU's, in the same order.

    `wired` are the inputs with a wire that can vary over a step. `starts` are the values to set before initialization:
    parameters and start values, by variable; `structure` those of structural parameters, which are set first. An array
    has a slot for each of its elements, in consecutive order. `observed` are variables that are got only for the rows
    of the trace. For a component in event mode, inputs that are set only at events and outputs that belong to clocks
    are in `Plan.event_modes` instead; for model exchange they are in `PlannedOde.events`, or also in
    `Plan.event_modes`. `process` is the number of the process that it runs in; 0: the process that steps all
    components.
    """

    name: str
    source: str
    description: FmuDescription
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    input_slots: tuple[int, ...]
    output_slots: tuple[int, ...]
    starts: Mapping[str, Value]
    wired: tuple[str, ...]
    capabilities: Capabilities
    interface: InterfaceType = InterfaceType.CO_SIMULATION
    structure: Mapping[str, Value] = field(default_factory=dict)
    process: int = 0
    observed: tuple[Signal, ...] = ()
    observed_slots: tuple[int, ...] = ()

    @property
    def used_interface(self) -> Interface:
        """Interface of the FMU that is instantiated, with its capability flags."""
        found = self.description.interface(self.interface)
        assert found is not None  # it was chosen from the interfaces of the FMU
        return found

    @property
    def input_types(self) -> tuple[str, ...]:
        """Types of the inputs; `HELD` for an input of co-simulation that is not continuous."""
        variables = [self.description.variables[signal.variable] for signal in self.inputs]
        simulated = self.interface is InterfaceType.CO_SIMULATION
        return tuple(HELD if simulated and one.is_held else one.type for one in variables)

    @property
    def moving(self) -> tuple[tuple[str, int], ...]:
        """Inputs that can vary over a step, with their slots."""
        inputs = zip(self.inputs, self.input_types, self.input_slots, strict=True)
        return tuple((signal.variable, slot) for signal, kind, slot in inputs if kind == FLOAT)


class PlannedWire(NamedTuple):
    """A wire between slots. `discrete`: its source changes only at events. `minimum` and `maximum` of its destination
    limit extrapolated values.
    """

    source: int
    destination: int
    conversion: Conversion
    discrete: bool = False
    minimum: float = -math.inf
    maximum: float = math.inf


class PlannedGroup(NamedTuple):
    """Mutually coupled instances, or a single one; `schedule` evaluates it at a communication point.

    `members` step one after the other: single instances, by index, or all components of one ODE. `unknowns` are the
    input slots that are fed from inside the group, from one member to another. `interpolates`, for each member: true if
    all its wired inputs come from members that are stepped before it. `passes_on`, likewise: true if an output depends
    directly on a wired input.
    """

    members: tuple[tuple[int, ...], ...]
    schedule: tuple[Call | SolveLoop, ...]
    unknowns: tuple[int, ...]
    interpolates: tuple[bool, ...]
    passes_on: tuple[bool, ...]

    @property
    def instances(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(self.members))


class PlannedOde(NamedTuple):
    """The components of model exchange, which are integrated together.

    Attributes
    ----------
    instances
        By index.
    schedule
        Computes their wired inputs and all outputs from given states.
    slopes
        The part of `schedule` that state derivatives and event indicators need.
    inputs
        Slots of their continuous inputs that other sources feed.
    alone
        True if the system has no co-simulation components; `schedule` is then also used at communication points.
    events
        Signals that are exchanged at events only.
    ends_steps
        True if macro steps of the other components end at its time events.
    """

    instances: tuple[int, ...]
    schedule: tuple[Call | SolveLoop, ...]
    slopes: tuple[Call | SolveLoop, ...]
    inputs: tuple[int, ...]
    alone: bool
    events: EventModes = NO_EVENT_MODES
    ends_steps: bool = False


def rounding(single: bool) -> float:
    """Relative rounding error of single or double precision."""
    return 2.0**-23 if single else 2.0**-52


@dataclass(frozen=True, slots=True)
class PlannedLoop:
    """An algebraic loop to solve.

    `torn` are the unknowns; `frozen` are discrete signals at which the loop is cut as well. `single`: some of its
    signals are of type Float32.
    """

    stage: Stage
    calls: LoopCalls
    signals: tuple[Signal, ...]
    torn: tuple[Signal, ...]
    frozen: tuple[Signal, ...]
    single: bool = False


@dataclass(frozen=True, slots=True)
class Plan(Printed):
    """All decisions about a run, made before it starts.

    Attributes
    ----------
    signals, types
        Slot → signal, and its type.
    columns
        Recorded signals, in the order of `recorded` (slots).
    groups
        Groups of components, ordered so that signals flow from each group to later ones only.
    ode
        The components of model exchange; None if there are none.
    initialization
        The schedule of initialization mode.
    loops
        Loops of both stages, by the index in `SolveLoop` of a schedule.
    guesses
        Start values of connected inputs, used as guesses for their source slots.
    choices
        Choices with reasons.
    notes
        Notes for the user, for example on ports that are not exchanged.
    substep_counts
        Component → steps per macro step, if there are several.
    by_need
        Components whose number of substeps is found at the start of the run; until then, it is the smallest one.
    stimuli
        Input sources and scenario.
    parameter_wires
        Wires from calculated parameters and constants of FMUs to parameters and inputs of others, passed on in
        initialization mode.
        shown, shown_wires
            The last slots, for the trace only: observed variables, and connectors of nested systems; and the wires to
            these.
        event_modes
            Components of co-simulation whose events are handled in event mode, and their clocks; also components of
            model exchange, if the events of their ODE are those of the whole system.
        accepted
            Accepted findings of the rules.
        variant, default
            The SSD of the requested variant, and of the default variant; "" if it is the default.
        undeclared
            Feedthrough found in FMUs that do not declare it; the schedules include it.
        open_end
            True if FMUs are not told the stop time, because another run may continue from there.
        instead
            Function from a reason to the plan of the same run by co-simulation, if nobody requested model exchange and
            it does not start; None if there is no fallback.
    """

    network: Network
    settings: Settings
    interval: Interval
    master: Master
    init: InitName
    signals: tuple[Signal, ...]
    types: tuple[str, ...]
    nominal: tuple[float, ...]
    columns: Sequence[Column]
    recorded: tuple[int, ...]
    instances: tuple[PlannedInstance, ...]
    wires: tuple[PlannedWire, ...]
    groups: tuple[PlannedGroup, ...]
    ode: PlannedOde | None
    initialization: tuple[Call | SolveLoop, ...]
    loops: tuple[PlannedLoop, ...]
    constants: Mapping[int, Value]
    guesses: Mapping[int, Value]
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]
    substep_counts: Mapping[str, int] = field(default_factory=dict)
    by_need: tuple[str, ...] = ()
    stimuli: Stimuli = NO_STIMULI
    parameter_wires: tuple[Wire, ...] = ()
    event_modes: EventModes = NO_EVENT_MODES
    accepted: tuple[Diagnostic, ...] = ()
    shown: tuple[int, ...] = ()
    shown_wires: tuple[PlannedWire, ...] = ()
    variant: str = ""
    default: str = ""
    undeclared: tuple[Feedthrough, ...] = ()
    open_end: bool = False
    instead: "Callable[[str], Plan] | None" = field(default=None, compare=False)

    @property
    def name(self) -> str:
        return self.network.name

    def __repr__(self) -> str:
        start, step, steps, _ = self.interval
        components = counted(len(self.instances), "component")
        return (
            f"<Plan of {self.name}: {start:g} … {self.interval.stop:g} s, {counted(steps, 'step')} of {step:g} s, "
            f"master {self.master.name}, {components}, {counted(len(self.wires), 'wire')}>"
        )

    @property
    def integrated(self) -> tuple[PlannedInstance, ...]:
        """The components of model exchange."""
        return () if self.ode is None else tuple(self.instances[index] for index in self.ode.instances)

    @property
    def is_one_ode(self) -> bool:
        """True if all components are integrated as one ODE. Macro steps then are only a grid for results."""
        return self.ode is not None and self.ode.alone

    @property
    def coupled_ode(self) -> PlannedOde | None:
        """The ODE, if it is stepped together with components of co-simulation."""
        return None if self.ode is None or self.ode.alone else self.ode

    @property
    def ode_event_slots(self) -> tuple[int, ...]:
        """Slots of signals that the ODE exchanges only at its own events."""
        signals = frozenset() if self.ode is None else self.ode.events.signals
        return tuple(slot for slot, signal in enumerate(self.signals) if signal in signals)

    @property
    def slots_of_ode(self) -> frozenset[int]:
        """Slots of signals whose values at its events are known to an ODE in a mixed system."""
        own = ((*one.input_slots, *one.output_slots, *one.observed_slots) for one in self.integrated)
        return self._with_fed(chain.from_iterable(own)) | frozenset(self.ode_event_slots)

    @property
    def slots_of_points(self) -> frozenset[int]:
        """Slots of signals with values only at communication points: outputs of co-simulation in a mixed system, and
        signals that they feed outside of the ODE.
        """
        if self.coupled_ode is None:
            return frozenset()
        stepped = (one for one in self.instances if one.interface is InterfaceType.CO_SIMULATION)
        outputs = chain.from_iterable((*one.output_slots, *one.observed_slots) for one in stepped)
        return self._with_fed(outputs) - self.slots_of_ode

    def _with_fed(self, slots: Iterable[int]) -> frozenset[int]:
        found = frozenset(slots)
        return found | {wire.destination for wire in (*self.wires, *self.shown_wires) if wire.source in found}

    @property
    def ode_event_sources(self) -> tuple[int, ...]:
        """Slots of signals of other components that the ODE reads only at its own events."""
        wires = () if self.ode is None else self.ode.events.wires
        names = {one.name for one in self.integrated}
        sources = {wire.source for wire in wires if wire.source.component not in names}
        slots = {signal: slot for slot, signal in enumerate(self.signals)}
        return tuple(sorted(slots[signal] for signal in sources))

    @property
    def numbered(self) -> tuple[int, ...]:
        """Slots of strings and bytes, whose cells contain the number of the content."""
        return tuple(slot for slot, kind in enumerate(self.types) if kind in NUMBERED)

    @property
    def integers(self) -> tuple[int, ...]:
        """Slots of signals that are not real numbers."""
        return tuple(slot for slot, kind in enumerate(self.types) if holds_integer(kind))

    @property
    def cut(self) -> frozenset[int]:
        """Slots at which loops are cut, and whose first guess only their components can provide."""
        cut = (slot for loop in self.loops for slot in (*loop.calls.torn, *loop.calls.frozen))
        return frozenset(cut) - set(self.guesses)

    def with_choice(self, choice: Choice) -> "Plan":
        """The plan with this choice instead of the one of the same setting."""
        return replace(self, choices=tuple(choice if one.setting == choice.setting else one for one in self.choices))

    def substeps(self, one: PlannedInstance) -> Substeps:
        """Steps of a component in each macro step."""
        moving = tuple(slot for _, slot in one.moving)
        return Substeps(self.substep_counts.get(one.name, 1), one.capabilities.follows, moving)

    def first_guesses(self) -> Iterator[tuple[PlannedInstance, tuple[int, ...]]]:
        """Component → slots whose first guesses it provides: inputs, and outputs in `cut`."""
        cut = self.cut
        for one in self.instances:
            yield one, (*one.input_slots, *(slot for slot in one.output_slots if slot in cut))


_SHOWN = 9
"""Number of elements of an array that are shown."""


@public
def call_sequence(plan: Plan) -> Iterator[str]:
    """Text of all calls of a run: phases at the left margin, actions indented."""
    yield "load and instantiate"
    for one in plan.instances:
        yield f"  {one.name}: {one.source} (FMI {one.description.fmi_version}, {one.interface.words})"
    yield from _start_values(plan)
    yield from _initialization(plan)
    if any(one.interface is InterfaceType.MODEL_EXCHANGE for one in plan.instances):
        yield "event mode: new discrete states and evaluate, until nothing changes; continuous-time mode"
    yield f"first row, at t = {plan.interval.start:g} s"
    yield f"  get outputs of {', '.join(one.name for one in plan.instances if one.outputs)}"
    evaluation = [line for group in plan.groups for line in _schedule(plan, group.schedule)]
    yield from evaluation
    yield f"{_steps(plan)}, master {plan.master.name}"
    for line in plan.master.outline([_participants(plan, group) for group in plan.groups]):
        yield f"  {line}"
    yield f"  exchange; record {counted(len(plan.recorded), 'signal')}"
    yield from _stepping(plan)
    if evaluation:
        yield "evaluate: make outputs consistent at a communication point"
        yield from evaluation
    yield "terminate and free"


def _initialization(plan: Plan) -> Iterator[str]:
    without = [one.name for one in plan.instances if one.description.fmi_major == 1]
    start = f"at t = {plan.interval.start:g} s"
    mode = len(without) < len(plan.instances)
    yield f"enter initialization mode {start}" if mode else f"initialize {start}"
    if without:
        yield f"  {', '.join(without)}: initialize (FMI 1.0) at the first visit, with the inputs known by then"
    if plan.parameter_wires:
        passed = ", ".join(f"{wire.source} → {wire.destination}" for wire in plan.parameter_wires)
        yield f"  until they no longer change, propagate {passed}"
    yield from _first_guesses(plan)
    yield from _schedule(plan, plan.initialization)
    if without:
        yield "  reset, initialize and evaluate again while FMUs of FMI 1.0 get other inputs than those"
    if mode:
        yield "exit initialization mode"


def _first_guesses(plan: Plan) -> Iterator[str]:
    """First guesses that components give for inputs, and for outputs at which loops are cut."""
    for one, slots in plan.first_guesses():
        asked = ", ".join(_names(plan, slots))
        if asked and one.description.fmi_major > 1:
            yield f"  {one.name}: get {asked}, as first guesses"


def _stepping(plan: Plan) -> Iterator[str]:
    """Calls of a step of each component; `evaluate` and `exchange` are between components."""
    stepped = [one for one in plan.instances if one.interface is InterfaceType.CO_SIMULATION]
    if stepped:
        yield "step: set inputs as they run over the step, do the step, get outputs"
    for one in stepped:
        inputs, outputs = (", ".join(_names(plan, slots)) for slots in (one.input_slots, one.output_slots))
        actions = [f"set {inputs}"] * bool(inputs) + ["step"] + [f"get {outputs}"] * bool(outputs)
        yield f"  {one.name}: {', '.join(actions)}"


def _steps(plan: Plan) -> str:
    if plan.settings.adaptive is not None:
        return f"macro steps of varying size, at first {plan.interval.step:g} s"
    cut = ", cut where inputs jump" if plan.stimuli.jumps else ""
    interval = plan.interval
    if interval.end is None:
        return f"{interval.steps} macro steps of {interval.step:g} s{cut}"
    last = interval.stop - interval.time(interval.steps - 1)
    return f"{interval.steps - 1} macro steps of {interval.step:g} s{cut}, and one of {last:.6g} s"


def _start_values(plan: Plan) -> Iterator[str]:
    sized = [one for one in plan.instances if one.structure]
    if sized:
        yield "set structural parameters in configuration mode"
    for one in sized:
        yield f"  {one.name}: " + ", ".join(f"{name} = {value!r}" for name, value in one.structure.items())
    given = [one for one in plan.instances if one.starts]
    if given:
        yield "set parameters and start values"
    for one in given:
        yield f"  {one.name}: " + ", ".join(_values(plan, one.name, one.starts))


def _values(plan: Plan, component: str, starts: Mapping[str, Value]) -> Iterator[str]:
    """Values of a component's start values; the number of elements for a large array."""
    arrays: dict[str, list[Value]] = defaultdict(list)
    for name, value in starts.items():
        arrays[whole(Signal(component, name), plan.network.arrays).variable].append(value)
    for name, values in arrays.items():
        if name in starts:
            yield f"{name} = {values[0]!r}"
        elif len(values) > _SHOWN:
            yield f"{name}: {len(values)} elements"
        else:
            yield f"{name} = [{', '.join(map(repr, values))}]"


def _schedule(plan: Plan, steps: Sequence[Call | SolveLoop]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Call):
            yield f"  {_visit(plan, step)}"
            continue
        loop = plan.loops[step.loop]
        unknowns = ", ".join(map(str, dict.fromkeys(whole(signal, plan.network.arrays) for signal in loop.torn)))
        jacobian = "directional derivatives" if loop.calls.directional else "finite differences"
        yield f"  solve the algebraic loop for {unknowns} (Jacobian: {jacobian})"
        for call in loop.calls.body:
            yield f"    {_visit(plan, call)}"


def _visit(plan: Plan, call: Call) -> str:
    one = plan.instances[call.instance]
    inputs, outputs = (", ".join(_names(plan, slots)) for slots in (call.inputs, call.outputs))
    actions = [f"set {inputs}"] * bool(inputs) + [f"get {outputs}"] * bool(outputs)
    return f"{one.name}: {', '.join(actions)}"


def _names(plan: Plan, slots: Iterable[int]) -> list[str]:
    """Names of variables, one for each array."""
    signals: Iterable[Signal] = map(plan.signals.__getitem__, slots)
    if arrays := plan.network.arrays:
        signals = dict.fromkeys(whole(one, arrays) for one in signals)
    return [signal.variable for signal in signals]


def _participants(plan: Plan, group: PlannedGroup) -> Participants:
    members = {_together(plan, member): [plan.instances[index] for index in member] for member in group.members}
    fed = {name: [one for one in member if one.wired] for name, member in members.items()}
    follows = {name: all(one.capabilities.follows for one in member) for name, member in fed.items() if member}
    return Participants(
        names=tuple(members),
        following=tuple(name for name, able in follows.items() if able),
        held=tuple(name for name, able in follows.items() if not able),
        iterated=bool(group.unknowns),
        interpolates=group.interpolates,
        passes_on=group.passes_on,
        integrated=tuple(_together(plan, member) for member in group.members if _is_ode(plan, member)),
    )


def _together(plan: Plan, member: tuple[int, ...]) -> str:
    names = ", ".join(plan.instances[index].name for index in member)
    return f"the ODE of {names}" if _is_ode(plan, member) else names


def _is_ode(plan: Plan, member: tuple[int, ...]) -> bool:
    return plan.coupled_ode is not None and member == plan.coupled_ode.instances
