"""What is wrong with a system."""

from collections.abc import Sequence
from pathlib import Path

from ssptool.arguments import flag, paths, text, texts
from ssptool.arguments import path as checked_path
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
    system: Path | str,
    *,
    variant: str | None = None,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    strict: bool | None = None,
    tools: str | Sequence[str] = (),
    allow_outside: Path | str | Sequence[Path | str] = (),
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
    allow_outside
        Folders in which an .ssp may read files around it, which its documents name with `../`. Around a folder or an
        .ssd every file can be read.

    Raises
    ------
    UnknownRule, UnknownTool
        No rule has such a code, or the limits of such a tool are not known.
    InvalidSettings
        The settings file has an unknown key or a wrong value.
    """
    place = checked_path("system", system)
    if variant is not None:
        text("variant", variant)
    stated = find_settings(place)
    outside = (*paths("allow_outside", allow_outside), *stated.allow_outside)
    switches = Switches((choice(select, ignore, strict, tools), stated))
    return check_path(place, variant, switches=switches, outside=outside)


def choice(select: object, ignore: object, strict: object, tools: object) -> Choice:
    """The rules that a caller switches on and off, and the tools whose limits are findings."""
    codes = "a code of a rule, such as 'FMU-102',"
    return Choice(
        texts("select", select, codes),
        texts("ignore", ignore, codes),
        None if strict is None else flag("strict", strict),
        texts("tools", tools, "the name of a tool, such as 'fmpy',"),
    )
