"""A plan in words: what was chosen and why, where inputs come from, then the calls."""

from typing import TYPE_CHECKING

import ssptool

if TYPE_CHECKING:
    from ssptool.engine.plan import Plan


def plan_text(plan: "Plan") -> str:
    """Choices with their reasons, where inputs come from, and the sequence of calls."""
    reasons = [f"{choice.reason}, {choice.place}" if choice.place else choice.reason for choice in plan.choices]
    choices = (
        f"  {choice.setting.replace('_', ' '):<15} {choice.value}  ({reason})"
        for choice, reason in zip(plan.choices, reasons, strict=True)
    )
    calls = (f"  {line}" for line in ssptool.call_sequence(plan))
    inputs = [f"  {line}" for line in ssptool.input_origins(plan)]
    notes = (f"  note: {note}" for note in plan.notes)
    return "\n".join(
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
