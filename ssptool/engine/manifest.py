"""What a run was: inputs, settings, choices, versions, how it went; as JSON for the file of results."""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ssptool.engine.ending import Failure
from ssptool.engine.plan import Plan

LIBRARIES = ("numpy", "scipy", "fmpy", "networkx", "lxml")


@dataclass(frozen=True, slots=True)
class Input:
    """A file that the run depends on: its name in the package, or as given; and where it is."""

    name: str
    path: Path


def manifest(
    plan: Plan, inputs: Sequence[Input], failure: Failure | None, status: str, statistics: Mapping[str, Any]
) -> str:
    """The manifest as JSON text.

    Its keys: `system`, `created`, `status`, `failure`, `columns`, `inputs` with their SHA-256, `interval`, `settings`,
    `choices`, `notes`, `statistics`, `versions`.
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
        "choices": [asdict(choice) for choice in plan.choices],
        "notes": list(plan.notes),
        "statistics": statistics,
        "versions": _versions(),
    }
    return json.dumps(facts, indent=1, ensure_ascii=False, default=str)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _versions() -> dict[str, str]:
    found = {"ssptool": _version("ssptool"), "python": platform.python_version(), "platform": platform.platform()}
    return found | {name: _version(name) for name in LIBRARIES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
