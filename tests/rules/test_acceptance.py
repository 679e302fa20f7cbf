"""A system with nothing but errors that can be accepted is planned, or refused by name."""

from collections.abc import Callable
from pathlib import Path

import pytest

import ssptool
from ssptool.engine.failure import Unsupported
from ssptool.rules.selection import RULES

HERE = Path(__file__).parent
ANY = ssptool.Settings(stop_time=1.0)
REFUSED = (
    *("no components", "without an implementation", "not followed", "model exchange of FMI 1.0"),
    *("cannot become values of type", "the connector is an input, but the FMU calculates"),
)
"""Most of these documents are about something else than what can be run."""
CASES = [
    case for case in sorted(HERE.glob("*-*/fail-*")) if case.parent.name in RULES and RULES[case.parent.name].accepted
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_accepted_findings_do_not_stop_a_plan(case: Path, package: Callable[[Path], Path]):
    folder = package(case)
    errors = {one.code for one in ssptool.validate(folder).errors}
    if not all(code in RULES and RULES[code].accepted for code in errors):
        with pytest.raises(ssptool.exceptions.InvalidSystem):  # by its other errors
            ssptool.plan(folder, accept=[case.parent.name], settings=ANY)
        return
    try:
        plan = ssptool.plan(folder, accept=sorted({*errors, case.parent.name}), settings=ANY)
    except Unsupported as problem:
        assert any(reason in str(problem) for reason in REFUSED)
    else:
        assert any(f"accepted {case.parent.name}" in note for note in plan.notes)
