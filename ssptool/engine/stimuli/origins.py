"""Where the inputs of a planned system come from, and what acts on which signal, in words."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ssptool.engine.kernel.interface import Running
from ssptool.engine.plan import Plan
from ssptool.engine.stimuli.course import Course, Table
from ssptool.engine.stimuli.feeds import driven_inputs, feeds_of
from ssptool.engine.stimuli.modification import Action, Modification, Modified
from ssptool.engine.stimuli.stimuli import Stimuli, feed
from ssptool.network.signals import Signal

_RUNNING = {
    Running.HELD: "held from the start of each step",
    Running.FOLLOWING: "runs with it over each step",
    Running.MIDDLE: "held at its value in the middle of each step, since the FMU follows no inputs",
}


def input_origins(plan: Plan) -> Iterator[str]:
    """A line for each input of the system, each driven input of a component, and each event of the scenario; below a
    driven input how the inputs that it leads to run over a macro step.
    """
    driven = {feed(one.signal): one for one in plan.stimuli.driven}
    ways = dict(_ways(plan))
    for slot, value in plan.constants.items():
        signal = plan.signals[slot]
        if signal in driven:
            one = driven[signal]
            yield f"{one.signal}: {one.origin}{_rows(one.course)}; {value!r} at the start"
            yield from (f"  {line}" for line in ways.get(signal, ()))
        else:
            yield f"{signal}: {value!r} all the time, {_reason(plan, signal)}"
    for line in plan.stimuli.events:
        yield f"scenario, {line}"


def acting_on(stimuli: Stimuli) -> Mapping[Signal, tuple[str, ...]]:
    """Lines on what drives and changes each signal."""
    found: dict[Signal, list[str]] = defaultdict(list)
    for driven in stimuli.driven:
        found[driven.signal].append(f"driven by {driven.origin}{_rows(driven.course)}")
        if isinstance(driven.course, Modified):
            found[driven.signal] += _changes(driven.course.modifications)
    for gate in stimuli.gates:
        if gate.source not in found:  # of several wires from it the first one tells
            found[gate.source] += (f"{line}, as its consumers see it" for line in _changes(gate.at_source))
        found[gate.destination] += (f"{line}, at {gate.source}" for line in _changes(gate.at_source))
        found[gate.destination] += _changes(gate.at_destination)
    for setting in stimuli.settings:
        found[setting.signal] += _changes(setting.modifications)
    return {signal: tuple(lines) for signal, lines in found.items() if lines}


def _ways(plan: Plan) -> Iterator[tuple[Signal, tuple[str, ...]]]:
    destinations: dict[int, list[int]] = defaultdict(list)
    for wire in plan.wires:
        destinations[wire.source].append(wire.destination)
    running = {one.slot: one.running for one in driven_inputs(plan)}
    integrated = {signal for one in plan.integrated for signal in one.inputs}
    for one in feeds_of(plan):
        slots = [slot for slot in destinations[one.slot] if slot in running]
        ends = ((plan.signals[slot], _RUNNING[running[slot]]) for slot in slots)
        alone = plan.ode is not None and plan.ode.alone
        lines = (
            f"{end}: {'has its value at every instant' if alone and end in integrated else how}" for end, how in ends
        )
        yield plan.signals[one.slot], tuple(lines)


def _rows(course: Course) -> str:
    """Of a table that has more than one row."""
    if isinstance(course, Modified):
        return _rows(course.base)
    if not isinstance(course, Table) or len(course.times) < 2:
        return ""
    jumps = len(course.jumps)
    jumping = f", {jumps} jump{'s' * (jumps > 1)}" if jumps else ""
    return f", {len(course.times)} rows from {course.first:g} s to {course.times[-1]:g} s{jumping}"


def _changes(modifications: Iterable[Modification]) -> Iterator[str]:
    for one in modifications:
        match one.action:
            case Action.OVERRIDE:
                yield f"from t = {one.time:g} s: {one.value!r}"
            case Action.BIAS:
                yield f"from t = {one.time:g} s: {one.value!r} is added"
            case Action.RESET:
                yield f"from t = {one.time:g} s: as it would be"


def _reason(plan: Plan, signal: Signal) -> str:
    if signal in plan.network.assignments:
        return "its value in the system (explain shows the way)"
    ends = [wire.destination for wire in plan.network.wires if wire.source == signal]
    return f"the value that {ends[0]} starts from" if ends else "since nothing gives it another"
