"""What is wrong with data that a user gives for a run: all of it at once."""

from collections.abc import Sequence

from ssptool.documents.diagnostics import DataFinding
from ssptool.engine.ending import Ending, Failure

SHOWN = 50
"""Findings that a message lists before it counts the others."""


class BadData(ValueError):
    """Inputs or a scenario that cannot be used."""

    def __init__(self, what: str, findings: Sequence[DataFinding]) -> None:
        shown = [str(finding) for finding in findings[:SHOWN]]
        if len(findings) > SHOWN:
            shown.append(f"and {len(findings) - SHOWN} more")
        super().__init__(f"{what} cannot be used\n" + "\n".join(f"  {line}" for line in shown))
        self.findings = tuple(findings)


class BadInputs(BadData):
    """Courses of inputs that cannot be used."""

    def __init__(self, findings: Sequence[DataFinding]) -> None:
        super().__init__("the inputs", findings)

    def failure(self, time: float) -> Failure:
        """Where this comes up during a run, at a time [s]."""
        what = "; ".join(f"input {finding.column}: {finding.message}" for finding in self.findings)
        return Failure(Ending.INPUTS, what, "see the function that drives the input", time)


class BadScenario(BadData):
    """A scenario that cannot be used."""

    def __init__(self, findings: Sequence[DataFinding]) -> None:
        super().__init__("the scenario", findings)
