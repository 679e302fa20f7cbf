"""The calls of a run in order, as lines of text."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ssptool.engine.kernel.interface import Call, SolveLoop
from ssptool.engine.masters.protocols import Participants
from ssptool.engine.planning.plan import Plan, PlannedGroup
from ssptool.errors import counted
from ssptool.fmu.description import InterfaceType, Value
from ssptool.network.arrays import whole
from ssptool.network.network import Signal

_SHOWN = 9
"""So many elements of an array are shown."""

_KINDS = {InterfaceType.CO_SIMULATION: "co-simulation", InterfaceType.MODEL_EXCHANGE: "model exchange"}


def call_sequence(plan: Plan) -> Iterator[str]:
    """Phases at the left margin, actions indented."""
    yield "load and instantiate"
    for one in plan.instances:
        yield f"  {one.name}: {one.source} (FMI {one.description.fmi_version}, {_KINDS[one.interface]})"
    yield from _start_values(plan)
    yield from _initialization(plan)
    if any(one.interface is InterfaceType.MODEL_EXCHANGE for one in plan.instances):
        yield "event mode: new discrete states and evaluate, until nothing changes; continuous-time mode"
    yield f"first row, at t = {plan.interval.start:g} s"
    yield f"  get outputs of {', '.join(one.name for one in plan.instances if one.outputs)}"
    evaluation = [line for group in plan.groups for line in _sweep(plan, group.sweep)]
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
    yield from _sweep(plan, plan.initialization)
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
    last = interval.stop - (interval.start + (interval.steps - 1) * interval.step)
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


def _sweep(plan: Plan, steps: Sequence[Call | SolveLoop]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Call):
            yield f"  {_visit(plan, step)}"
            continue
        loop = plan.loops[step.loop]
        unknowns = ", ".join(map(str, dict.fromkeys(whole(signal, plan.network.arrays) for signal in loop.torn)))
        jacobian = "directional derivatives" if loop.directional else "finite differences"
        yield f"  solve the algebraic loop for {unknowns} (Jacobian: {jacobian})"
        for call in loop.calls.body:
            yield f"    {_visit(plan, call)}"


def _visit(plan: Plan, call: Call) -> str:
    one = plan.instances[call.instance]
    inputs, outputs = (", ".join(_names(plan, slots)) for slots in (call.inputs, call.outputs))
    actions = [f"set {inputs}"] * bool(inputs) + [f"get {outputs}"] * bool(outputs)
    return f"{one.name}: {', '.join(actions)}"


def _names(plan: Plan, slots: Iterable[int]) -> Iterator[str]:
    """Names of variables, one for each array."""
    signals = (whole(plan.signals[slot], plan.network.arrays) for slot in slots)
    return (signal.variable for signal in dict.fromkeys(signals))


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
        integrated=tuple(_together(plan, member) for member in group.members if _is_ode(plan, member)),
    )


def _together(plan: Plan, member: tuple[int, ...]) -> str:
    names = ", ".join(plan.instances[index].name for index in member)
    return f"the ODE of {names}" if _is_ode(plan, member) else names


def _is_ode(plan: Plan, member: tuple[int, ...]) -> bool:
    return plan.coupled_ode is not None and member == plan.coupled_ode.instances
