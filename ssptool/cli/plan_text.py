"""A plan in words, down to the calls of a macro step."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssptool.engine.kernel.interface import Call, SolveLoop
    from ssptool.engine.plan import Plan, PlannedInstance


def plan_text(plan: "Plan") -> str:
    """Choices with their reasons, instances, initialization, one macro step."""
    sections = [
        [f"Plan of {plan.name}"],
        ["Choices", *_choices(plan)],
        ["Instances", *(line for one in plan.instances for line in _instance(one))],
        ["Initialization", *_initialization(plan)],
        [f"Each of {plan.interval.steps} macro steps", *_macro_step(plan)],
    ]
    if plan.notes:
        sections.append(["Notes", *(f"  {note}" for note in plan.notes)])
    return "\n\n".join("\n".join(section) for section in sections)


def _choices(plan: "Plan") -> Iterator[str]:
    for choice in plan.choices:
        yield f"  {choice.setting.replace('_', ' '):<15} {choice.value}  ({choice.reason})"


def _instance(one: "PlannedInstance") -> Iterator[str]:
    inputs = ", ".join(signal.variable for signal in one.inputs) or "no inputs"
    outputs = ", ".join(signal.variable for signal in one.outputs) or "no outputs"
    yield f"  {one.name}  {one.source} (FMI {one.description.fmi_version}): {inputs} → {outputs}"


def _initialization(plan: "Plan") -> Iterator[str]:
    for one in plan.instances:
        starts = ", ".join(f"{name} = {value}" for name, value in one.starts.items())
        yield f"  {one.name}: " + (f"set {starts}; " if starts else "") + "enter initialization mode"
    yield from (f"  {line}" for line in _sweep(plan, plan.initialization))
    yield "  exit initialization mode"


def _macro_step(plan: "Plan") -> Iterator[str]:
    yield f"  master {plan.master.name}"
    for number, group in enumerate(plan.groups, start=1):
        names = ", ".join(plan.instances[index].name for index in group.instances)
        yield f"  group {number}: step {names}" + (" (feed each other)" if group.unknowns else "")
        yield from (f"    {line}" for line in _sweep(plan, group.sweep))


def _sweep(plan: "Plan", steps: "Sequence[Call | SolveLoop]") -> Iterator[str]:
    # `SolveLoop` is told by its field, because the engine is not imported here.
    for step in steps:
        if hasattr(step, "loop"):
            loop = plan.loops[step.loop]
            yield f"solve the algebraic loop for {', '.join(map(str, loop.torn))}, by repeating"
            yield from (f"  {_call(plan, call)}" for call in loop.calls.body)
        else:
            yield _call(plan, step)


def _call(plan: "Plan", call: "Call") -> str:
    inputs = ", ".join(plan.signals[slot].variable for slot in call.inputs)
    outputs = ", ".join(plan.signals[slot].variable for slot in call.outputs)
    actions = [f"set {inputs}"] * bool(inputs) + [f"get {outputs}"] * bool(outputs)
    return f"{plan.instances[call.instance].name}: {', '.join(actions)}"
