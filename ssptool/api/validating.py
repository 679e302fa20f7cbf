"""What is wrong with a system."""

from pathlib import Path

from ssptool.rules.renderers import RENDERERS as REPORT_RENDERERS
from ssptool.rules.report import Report
from ssptool.rules.runner import check_path

__all__ = ["REPORT_RENDERERS", "validate"]


def validate(path: Path | str, *, variant: str | None = None) -> Report:
    """Everything that is wrong with a system, with file, line, reason and fix. No FMU binary is loaded.

    Without `variant` all SSDs at the root of the package are checked. A file that cannot be opened as an archive is
    a finding as well.
    """
    return check_path(Path(path), variant)
