"""Plans as text."""

from ssptool.engine.planning.plan import Plan, call_sequence
from ssptool.engine.planning.stimuli import input_origins
from ssptool.foreign_text import joined_lines
from ssptool.printed import prints


@prints(Plan)
def plan_text(plan: Plan) -> str:
    """Text of a plan: choices with their reasons, origins of inputs, and the sequence of calls."""
    reasons = [f"{choice.reason}, {choice.place}" if choice.place else choice.reason for choice in plan.choices]
    choices = (
        f"  {choice.setting.replace('_', ' '):<15} {choice.value}  ({reason})"
        for choice, reason in zip(plan.choices, reasons, strict=True)
    )
    calls = (f"  {line}" for line in call_sequence(plan))
    inputs = [f"  {line}" for line in input_origins(plan)]
    notes = (f"  note: {note}" for note in plan.notes)
    return joined_lines(
        [
            f"Plan of {plan.name}",
            "",
            "Choices",
            *choices,
            *(["", "Inputs", *inputs] if inputs else []),
            "",
            "Calls",
            *calls,
            *notes,
        ]
    )
