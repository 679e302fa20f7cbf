"""Manifest of a run: its inputs, overridden values, choices and results.

`differences` compares several runs by their manifests.
"""

import hashlib
import json
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from ssptool.documents.foreign_files import open_bytes
from ssptool.documents.unchanged import FileMark
from ssptool.documents.vocabulary import rounded_text
from ssptool.engine.assembly.fmu_log import LoggedProblems
from ssptool.engine.failure import Failure
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.accuracy import UNCHECKED, Accuracy
from ssptool.engine.run.indicators import RunWarning
from ssptool.engine.run.loops import LoopReport
from ssptool.engine.settings import Settings
from ssptool.engine.stimuli.inputs import Inputs
from ssptool.engine.stimuli.stimuli import InputSource
from ssptool.engine.stimuli.time_signals import Action, Constant, Overridden, SignalOverride
from ssptool.engine.trace import Column
from ssptool.fmu.description import Value
from ssptool.fmu.model_description_xml import RecentValues
from ssptool.fmu.units import with_unit
from ssptool.foreign_text import json_text, strict_json
from ssptool.network.network import Assignment, Network, Signal, StepKind
from ssptool.working_directory import absolute

LIBRARIES = ("ssptool", "numpy", "scipy", "fmpy", "lxml", "pyarrow")


@dataclass(frozen=True, slots=True)
class Input:
    """A file that the run depends on: its name in the package or as given, and its path."""

    name: str
    path: Path


class OverrideKind(StrEnum):
    """Argument or option by which a caller replaced a value of the documents."""

    VARIANT = "variant"
    PARAMETER_SET = "parameter set"
    START_VALUE = "start value"
    INPUT = "input"
    SCENARIO = "scenario"
    SET = "set during the run"
    ACCEPTED = "accepted finding"


@dataclass(frozen=True, slots=True)
class Override:
    """A value of a caller that replaces the value in the documents.

    Attributes
    ----------
    name
        Full name of the variable; the code of an accepted finding; "variant" for a variant.
    before
        Value in the documents (default: start value of the FMU); None if there is none.
    after
        New value; a text for an input or a scenario.
    unit
        Unit of both values; "" if there is none.
    by
        Origin: an option, or file and line.
    place
        File and line of `before`; "" if it is not stated.
    time : [s]
        Start of the override; None: start of the run.
    """

    kind: OverrideKind
    name: str
    before: Value | None
    after: Value
    unit: str = ""
    by: str = ""
    place: str = ""
    time: float | None = None

    def __str__(self) -> str:
        since = "" if self.time is None else f" from t = {self.time:.12g} s"
        by = f" ({self.by})" if self.by else ""
        if self.kind is OverrideKind.ACCEPTED:
            return f"{self.name} accepted at {self.place}: {self.after!s}"
        becomes = "follows" if self.kind is OverrideKind.INPUT else "="
        return f"{self.name} {becomes} {value_text(self.after, self.unit)}{since}{by}{self._instead()}"

    def _instead(self) -> str:
        if self.before is None:
            return ""
        return f", instead of {value_text(self.before, self.unit)}{f' at {self.place}' if self.place else ''}"


def value_text(value: Value, unit: str = "") -> str:
    """Text of a value in summaries, reports and legends."""
    number = rounded_text(value, 12) if isinstance(value, float) else str(value)
    return with_unit(number, unit)


def overrides(plan: Plan) -> tuple[Override, ...]:
    """Overrides by the caller of a run: variant, parameter sets, start values, inputs, scenario, accepted findings."""
    variant = () if not plan.variant else (Override(OverrideKind.VARIANT, "variant", plan.default, plan.variant),)
    return (
        *variant,
        *_overridden_values(plan.network),
        *_inputs(plan),
        *_scenario(plan),
        *(
            Override(OverrideKind.ACCEPTED, one.code, None, one.message, by="--accept", place=str(one.position))
            for one in plan.accepted
        ),
    )


def _others(found: Sequence[Override], stronger: Sequence[Override]) -> Iterator[Override]:
    names = {one.name for one in stronger}
    return (one for one in found if one.name not in names)


def replaced_value(network: Network, signal: Signal, value: Value, by: str) -> Override:
    """Override of the start value of an FMU by a source other than the network, in the unit of the variable."""
    before, place = _documented(network, signal, network.assignments.get(signal))
    unit = network.variable(signal).unit or ""
    return Override(OverrideKind.START_VALUE, str(signal), before, value, unit, by, place)


def _overridden_values(network: Network) -> Iterator[Override]:
    """Values of parameter sets outside of the package and of single start values, if no later source overrides them."""
    for signal, assignment in (*network.boundary_assignments.items(), *network.assignments.items()):
        if kind := _kind(assignment):
            before, place = _documented(network, signal, assignment)
            first = assignment.chain[0]
            by = f"{first.position}"
            yield Override(kind, str(signal), before, assignment.value, assignment.unit or "", by, place)


def _kind(assignment: Assignment) -> OverrideKind | None:
    """Kind of override of an assignment; None if it comes from the documents, or only passes on the value of a
    connector.
    """
    first = assignment.chain[0] if assignment.chain else None
    if first is None or first.kind not in (StepKind.OVERRIDE, StepKind.GIVEN):
        return None
    if any(step.kind is StepKind.CONNECTION for step in assignment.chain):
        return None
    return OverrideKind.START_VALUE if first.kind is StepKind.OVERRIDE else OverrideKind.PARAMETER_SET


def _documented(network: Network, signal: Signal, assignment: Assignment | None) -> tuple[Value | None, str]:
    """Value of a variable in the documents (default: start value of its FMU), with file and line."""
    candidates = () if assignment is None else (assignment, *(one.assignment for one in assignment.overridden))
    for one in candidates:
        if _kind(one) is None and one.chain:
            return one.value, str(one.chain[0].position)
    component = network.components.get(signal.component)
    variable = None if component is None else component.description.variables.get(signal.variable)
    if component is None or variable is None or variable.start is None:
        return None, ""
    return variable.start, f"{component.model_description}:{variable.line}"


def _inputs(plan: Plan) -> Iterator[Override]:
    for source in plan.stimuli.sources:
        if _is_given(source):
            before, place = _documented(plan.network, source.signal, plan.network.assignments.get(source.signal))
            yield Override(OverrideKind.INPUT, str(source.signal), before, source.origin, by="--inputs", place=place)


def _is_given(source: InputSource) -> bool:
    """True if a caller gave the source; False for a scenario alone, and for a table in the system."""
    only_scenario = isinstance(source.time_signal, Overridden) and isinstance(source.time_signal.base, Constant)
    return source.table is None and (source.file is not None or not only_scenario)


def _scenario(plan: Plan) -> Iterator[Override]:
    for signal, before, changes in _modified(plan):
        place = ""
        if before is None:
            before, place = _documented(plan.network, signal, plan.network.assignments.get(signal))
        for change in changes:
            after: Value = change.value if change.action is Action.OVERRIDE else str(change.action)
            if change.action is Action.BIAS:
                after = f"biased by {value_text(change.value)}"
            yield Override(OverrideKind.SCENARIO, str(signal), before, after, "", "--scenario", place, change.time)


def _modified(plan: Plan) -> Iterator[tuple[Signal, Value | None, tuple[SignalOverride, ...]]]:
    """Signals that a scenario overrides, each with its previous value if that is constant over the run, and the
    actions.
    """
    stimuli = plan.stimuli
    for source in stimuli.sources:
        if isinstance(source.time_signal, Overridden):
            yield source.signal, None, source.time_signal.overrides
    for signal, changes in {
        **{connection.source: connection.at_source for connection in stimuli.connections},
        **{connection.destination: connection.at_destination for connection in stimuli.connections},
    }.items():
        yield signal, None, changes
    for setting in stimuli.parameter_changes:
        yield setting.signal, setting.base, setting.overrides


def as_json(value: object) -> Any:
    """A value as it is read back from the JSON of a manifest."""
    return json.loads(strict_json(value, default=_content))


def _content(value: object) -> Any:
    """Fields of a value that JSON cannot represent; if it has none, its text."""
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    return str(value)


_DEFAULTS: Mapping[str, Any] = as_json(Settings())

INSIGHT = frozenset({"log_loops", "log_coupling", "fmu_log", "fmu_log_level", "fmu_log_categories"})
"""Settings that do not affect results."""


ACCEPTED = "accepted findings"
"""Difference between runs: codes of errors that were accepted."""


def differences(manifests: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Differences between runs: for each manifest the overrides and settings that differ between the runs.

    A run without an override of another run has the value that the other one replaced.
    """
    known = all("overrides" in one for one in manifests)  # earlier versions did not write them
    every = [_facts(one if known else {**one, "overrides": ()}) for one in manifests]
    replaced = {ACCEPTED: "none"}
    for one in manifests:
        for override in one.get("overrides", ()):
            if override["before"] is not None and override["time"] is None:
                replaced.setdefault(override["name"], value_text(override["before"], override["unit"]))
    names = dict.fromkeys(name for facts in every for name in facts)
    told = [{name: facts.get(name, replaced.get(name, UNSTATED)) for name in names} for facts in every]
    differing = [name for name in names if len({facts[name] for facts in told}) > 1]
    return [{name: facts[name] for name in differing} for facts in told]


def _facts(facts: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    accepted = {one["name"]: "" for one in facts.get("overrides", ()) if one.get("kind") == OverrideKind.ACCEPTED}
    for one in facts.get("overrides", ()):
        if one["name"] in accepted:
            continue
        since = "" if one["time"] is None else f" from {one['time']:.12g} s"
        found.setdefault(one["name"], []).append(value_text(one["after"], one["unit"]) + since)
    told = {name: ", ".join(values) for name, values in found.items()}
    settings = {
        name.replace("_", " "): value_text(value)
        for name, value in facts.get("settings", {}).items()
        if name not in INSIGHT and value != _DEFAULTS.get(name)
    }
    return {**told, **settings, **({ACCEPTED: ", ".join(sorted(accepted))} if accepted else {})}


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a run other than its settings, as strings, numbers and lists, so that JSON can represent them.

    Attributes
    ----------
    values
        Values by name; paths are absolute.
    unstated
        Names of arguments that a file cannot represent, such as a function that drives an input.
    """

    values: Mapping[str, Any]
    unstated: tuple[str, ...] = ()

    def beside(self, **more: Any) -> "Arguments":
        """These arguments, extended by `more`."""
        return Arguments({**self.values, **more}, self.unstated)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Arguments":
        """Arguments of the caller."""
        values, unstated = {}, []
        for name, value in given.items():
            try:
                values[name] = _stated(value)
            except TypeError:
                unstated.append(name)
        return cls(values, tuple(unstated))


def _stated(value: Any) -> Any:
    """Raises
    ------
    TypeError
        A file cannot represent it.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Path():
            return str(absolute(value))
        case Inputs(source, interpolation, columns):
            interpolations = {name: str(how) for name, how in columns.items()}
            return {"source": _stated_source(source), "interpolation": str(interpolation), "columns": interpolations}
        case Mapping():
            return {str(name): _stated(one) for name, one in value.items()}
        case list() | tuple():
            return [_stated(one) for one in value]
    raise TypeError


def _stated_source(source: Any) -> Any:
    """Strings are paths."""
    if isinstance(source, list | tuple):
        return [_stated_source(one) for one in source]
    return _stated(Path(source) if isinstance(source, str) else source)


UNSTATED = "default"
"""Text for a setting that a run leaves at its default."""


def made(plan: Plan) -> Mapping[str, Any]:
    """The part of a manifest that `differences` reads, before the run."""
    return dict(as_json({"overrides": overrides(plan), "settings": plan.settings}))


SHOWN = 3
"""Number of differences in the name of a run."""


def labels(names: Sequence[str], manifests: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of runs, each with its differences to the others."""
    shown = map(_shortened, differences(manifests))
    return [f"{name}: {facts}" if facts else name for name, facts in zip(names, shown, strict=True)]


def _shortened(facts: Mapping[str, str]) -> str:
    stated = [f"{name} = {value}" for name, value in facts.items() if value != UNSTATED]
    return ", ".join([*stated[:SHOWN], *(["…"] if len(stated) > SHOWN else [])])


@dataclass(frozen=True, slots=True)
class Provenance:
    """Files that a run depends on, and the arguments with which its caller made the plan."""

    inputs: Sequence[Input] = ()
    arguments: Arguments = Arguments({})

    @property
    def system(self) -> str | None:
        """Path of the system; None: not known."""
        return self.arguments.values.get("system")


UNKNOWN = Provenance()


def manifest(
    plan: Plan,
    failure: Failure | None,
    status: str,
    statistics: object,
    loops: Sequence[LoopReport] = (),
    notes: Sequence[str] = (),
    problems: Sequence[LoggedProblems] = (),
    *,
    provenance: Provenance = UNKNOWN,
    factors: Sequence[Override] = (),
    accuracy: Accuracy = UNCHECKED,
    warnings: Sequence[RunWarning] = (),
    columns: Sequence[Column] | None = None,
    indent: int | None = 1,
) -> str:
    """The manifest as JSON text, in one line without `indent`.

    Its keys: `accuracy` (estimated error, and its origin), `arguments` (of the call; `unstated` lists the names of
    those that a file cannot represent), `system`, `created`, `status`, `failure` (with the `iteration` that did not
    converge), `columns`, `inputs` with their SHA-256, `interval`, `settings`, `overrides` (values that replace those of
    the documents, with the previous value and its location), `accepted` (findings that the caller accepted), `stimuli`
    (inputs and scenario), `choices`, `notes` (of planning, of the initialization and of the file), `problems` (warnings
    and errors that FMUs logged: their number, and the first of each kind), `loops` (solution of each loop),
    `statistics`, `versions`, `warnings` (signs of incorrect results).
    """
    interval = plan.interval
    facts = {
        "system": plan.name,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": status,
        "failure": failure,
        "columns": list(plan.columns if columns is None else columns),
        "inputs": [{"name": one.name, "sha256": _sha256(one.path)} for one in provenance.inputs],
        "interval": {"start": interval.start, "stop": interval.stop, "step": interval.step},
        "arguments": provenance.arguments.values,
        "unstated": provenance.arguments.unstated,
        "settings": plan.settings,
        "overrides": (*factors, *_others(overrides(plan), factors)),
        "accepted": [{"code": one.code, "place": str(one.position), "message": one.message} for one in plan.accepted],
        "stimuli": {
            "inputs": {str(source.signal): source.origin for source in plan.stimuli.sources},
            "scenario": list(plan.stimuli.events),
        },
        "choices": plan.choices,
        "notes": list(notes),
        "problems": problems,
        "loops": [loop.facts() for loop in loops],
        "statistics": statistics,
        "accuracy": accuracy,
        "warnings": warnings,
        "versions": versions(),
    }
    return json_text(facts, indent=indent, default=_content)


def _sha256(path: Path) -> str:
    mark = FileMark.told(path.stat())
    found = None if mark.is_young else _recent_digests.get((path, mark))
    if found is None:
        with open_bytes(path) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        _recent_digests.put((path, mark), found, len(found))
    return found


_recent_digests: RecentValues[str] = RecentValues()


def versions() -> dict[str, str]:
    """Versions of the packages involved, read from the modules themselves because package metadata are slow."""
    loaded = {name: getattr(sys.modules[name], "__version__", "") for name in LIBRARIES if name in sys.modules}
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        **loaded,
    }
