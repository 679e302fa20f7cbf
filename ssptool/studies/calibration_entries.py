"""What a study file says of its calibration."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssptool.dataclass import dataclass
from ssptool.studies.definition import Study
from ssptool.studies.entries import Entries
from ssptool.studies.findings import Findings
from ssptool.studies.study_file import read_toml

_KEYS = ("data", "targets", "minimize", "scales")


@dataclass(frozen=True, slots=True)
class Calibration:
    """A measured trace, or targets, or a result to be minimized."""

    data: Path | None
    targets: dict[str, float] | None
    minimize: str | None
    scales: dict[str, float]


def read_calibration(given: Study | Mapping[str, Any] | Path | str, study: Study) -> Calibration:
    """Raises BadStudy."""
    content: Any = {}
    if isinstance(given, Mapping):
        content = given
    elif not isinstance(given, Study):
        content = read_toml(Path(given))[0]
    findings = Findings(study.source, study.lines)
    if "calibration" not in content:
        findings.add(("calibration",), "it is missing: give data (a file), targets, or minimize (a result)")
        findings.check()
    entries = Entries(content["calibration"], ("calibration",), findings)
    data, minimize = entries.text("data"), entries.text("minimize")
    found = Calibration(
        None if data is None else study.folder / data,
        _numbers(entries.table("targets")) if "targets" in entries else None,
        minimize,
        _numbers(entries.table("scales")),
    )
    entries.rest("key of a calibration", _KEYS)
    if sum(key in entries for key in ("data", "targets", "minimize")) != 1:
        entries.find("", "give one of data, targets and minimize")
    if found.data is not None and not found.data.is_file():
        entries.find("data", f"{found.data} does not exist")
    findings.check()
    return found


def _numbers(entries: Entries) -> dict[str, float]:
    found = {name: entries.number(name) for name in entries.names()}
    return {name: value for name, value in found.items() if value is not None}
