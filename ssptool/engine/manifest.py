"""What a run was: inputs, settings, choices, versions, how it went; as JSON for the file of results."""

import hashlib
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ssptool.dataclass import dataclass
from ssptool.engine.ending import Failure
from ssptool.engine.fmu_log import LoggedProblems
from ssptool.engine.loop_report import LoopReport
from ssptool.engine.plan import Plan

LIBRARIES = ("ssptool", "numpy", "scipy", "fmpy", "lxml", "pyarrow")


@dataclass(frozen=True, slots=True)
class Input:
    """A file that the run depends on: its name in the package, or as given; and where it is."""

    name: str
    path: Path


def manifest(
    plan: Plan,
    inputs: Sequence[Input],
    failure: Failure | None,
    status: str,
    statistics: Mapping[str, Any],
    loops: Sequence[LoopReport] = (),
    notes: Sequence[str] = (),
    problems: Sequence[LoggedProblems] = (),
) -> str:
    """The manifest as JSON text.

    Its keys: `system`, `created`, `status`, `failure`, `columns`, `inputs` with their SHA-256, `interval`, `settings`,
    `accepted` (findings in spite of which it was run), `stimuli` (what acted on the system), `choices`, `notes` (of
    planning, of the initialization and of the file), `problems` (warnings and errors that FMUs logged: how many, and
    the first of each kind), `loops` (how each was solved), `statistics`, `versions`.
    """
    interval = plan.interval
    facts = {
        "system": plan.name,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": status,
        "failure": None if failure is None else asdict(failure),
        "columns": [asdict(column) for column in plan.columns],
        "inputs": [{"name": one.name, "sha256": _sha256(one.path)} for one in inputs],
        "interval": {"start": interval.start, "stop": interval.stop, "step": interval.step},
        "settings": asdict(plan.settings),
        "accepted": [{"code": one.code, "place": str(one.position), "message": one.message} for one in plan.accepted],
        "stimuli": {
            "inputs": {str(driven.signal): driven.origin for driven in plan.stimuli.driven},
            "scenario": list(plan.stimuli.events),
        },
        "choices": [asdict(choice) for choice in plan.choices],
        "notes": list(notes),
        "problems": [asdict(one) for one in problems],
        "loops": [loop.facts() for loop in loops],
        "statistics": statistics,
        "versions": _versions(),
    }
    return json.dumps(facts, indent=1, ensure_ascii=False, default=str)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _versions() -> dict[str, str]:
    """Of what takes part; asked of the modules themselves, because package metadata take long to find."""
    loaded = {name: getattr(sys.modules[name], "__version__", "") for name in LIBRARIES if name in sys.modules}
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        **loaded,
    }
