"""What is wrong with a system."""

from collections.abc import Sequence
from pathlib import Path

from ssptool.rules.renderers import PLAIN_RENDERERS as PLAIN_REPORT_RENDERERS
from ssptool.rules.renderers import RENDERERS as REPORT_RENDERERS
from ssptool.rules.renderers import summary as report_summary
from ssptool.rules.report import Report
from ssptool.rules.runner import check_path
from ssptool.rules.settings import InvalidSettings, find_settings
from ssptool.rules.switches import Choice, Switches, UnknownRule, UnknownTool

__all__ = [
    "PLAIN_REPORT_RENDERERS",
    "REPORT_RENDERERS",
    "InvalidSettings",
    "Report",
    "UnknownRule",
    "UnknownTool",
    "report_summary",
    "validate",
]


def validate(
    path: Path | str,
    *,
    variant: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    strict: bool | None = None,
    tools: Sequence[str] = (),
) -> Report:
    """Everything that is wrong with a system, with file, line, reason and fix. No FMU binary is loaded.

    Without `variant` all SSDs at the root of the package are checked. A file that cannot be opened as an archive is
    a finding as well. What the three switches leave open the nearest `ssptool.toml`, or `[tool.ssptool]` in
    `pyproject.toml`, from the system's folder upwards says.

    Parameters
    ----------
    select, ignore
        Codes of rules, or beginnings of them: only those, all but those. The longer of two that match wins. Findings
        of rules that rest on the words of the standard are not dropped, but `withheld` in the report.
    strict
        Raise warnings to errors.
    tools
        Other tools that are to take the system: omsimulator, fmpy, libcosim, ecos. What they are known not to take is
        a finding as well (docs/interoperability.md).

    Raises
    ------
    UnknownRule, UnknownTool
        No rule has such a code, or the limits of such a tool are not known.
    InvalidSettings
        The settings file has an unknown key or a wrong value.
    """
    own = Choice(tuple(select), tuple(ignore), strict, tuple(tools))
    return check_path(Path(path), variant, switches=Switches((own, find_settings(Path(path)))))
