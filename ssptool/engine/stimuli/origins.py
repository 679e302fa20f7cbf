"""Where the inputs of a planned system come from, in words."""

from collections.abc import Iterator

from ssptool.engine.plan import Plan
from ssptool.engine.stimuli.stimuli import feed
from ssptool.network.signals import Signal


def input_origins(plan: Plan) -> Iterator[str]:
    """A line for each input of the system, each driven input of a component, and each event of the scenario."""
    driven = {feed(one.signal): one for one in plan.stimuli.driven}
    for slot, value in plan.constants.items():
        signal = plan.signals[slot]
        if signal in driven:
            yield f"{driven[signal].signal}: {driven[signal].origin}; {value!r} at the start"
        else:
            yield f"{signal}: {value!r} all the time, {_reason(plan, signal)}"
    for line in plan.stimuli.events:
        yield f"scenario, {line}"


def _reason(plan: Plan, signal: Signal) -> str:
    if signal in plan.network.assignments:
        return "its value in the system (explain shows the way)"
    ends = [wire.destination for wire in plan.network.wires if wire.source == signal]
    return f"the value that {ends[0]} starts from" if ends else "since nothing gives it another"
