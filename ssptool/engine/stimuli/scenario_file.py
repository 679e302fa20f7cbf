"""Scenario files in libcosim's layout, YAML or JSON."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from ssptool.arguments import TIME_UNITS, parse_time
from ssptool.documents.diagnostics import BadData, DataFinding
from ssptool.documents.foreign_files import read_text
from ssptool.engine.stimuli.json_nodes import compose_json, looks_like_json
from ssptool.engine.stimuli.scenario import Event, Scalar, Scenario
from ssptool.engine.stimuli.time_signals import Action
from ssptool.foreign_text import MOST_LEVELS, TOO_DEEP
from ssptool.working_directory import absolute

SCENARIO_KEYS = ("description", "defaults", "events", "end")
DEFAULTS_KEYS = ("model", "variable", "action")
EVENT_KEYS = ("time", "model", "variable", "action", "value")


def read_scenario(path: Path) -> Scenario:
    """A scenario from a file.

    Raises
    ------
    BadData
        The file is wrong; the error lists all findings.
    OSError
        The file cannot be read.
    """
    try:
        text = read_text(absolute(path))
    except UnicodeDecodeError as error:
        raise BadData("the scenario", [DataFinding(str(path), 1, "", f"it is not UTF-8: {error}")]) from None
    return scenario_from(text, str(path))


def scenario_from(text: str, source: str) -> Scenario:
    """Scenario from the text of a file. Raises BadData."""
    return _Reading(source).scenario(compose(text, source))


def compose(text: str, source: str) -> yaml.Node | None:
    """Root node of a JSON or YAML text; None if it is empty. Raises BadData."""
    wrong: Exception | None = None
    if looks_like_json(text):
        try:
            return compose_json(text)
        except json.JSONDecodeError as error:
            wrong = error  # with comments it may still be YAML
    try:
        root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise BadData("the scenario", [_fault(source, wrong or error)]) from None
    if _too_deep(root):
        raise BadData("the scenario", [DataFinding(source, 1, "", TOO_DEEP)])
    return root


def _fault(source: str, error: Exception) -> DataFinding:
    """Finding for a text that cannot be read, with its line."""
    match error:
        case json.JSONDecodeError():
            return DataFinding(source, error.lineno, "", f"it is not valid JSON: column {error.colno}: {error.msg}")
        case yaml.MarkedYAMLError(problem_mark=yaml.Mark(line=line)):
            return DataFinding(source, line + 1, "", f"it is not YAML: {error.problem}")
        case RecursionError():
            return DataFinding(source, 1, "", TOO_DEEP)
    return DataFinding(source, 1, "", f"it is not YAML: {error}")


def _too_deep(root: yaml.Node | None) -> bool:
    """True if lists and mappings are nested deeper than `MOST_LEVELS`; an alias is followed once."""
    seen: set[int] = set()
    nodes: list[Any] = [root]
    for _ in range(MOST_LEVELS + 1):
        level = [one for one in nodes if isinstance(one, yaml.CollectionNode) and id(one) not in seen]
        seen |= set(map(id, level))
        nodes = [
            value for one in level for value in (chain(*one.value) if isinstance(one, yaml.MappingNode) else one.value)
        ]
    return bool(level)


class _Reading:
    """Reader of the nodes of one file, which have line numbers; collects findings."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.findings: list[DataFinding] = []

    def scenario(self, root: yaml.Node | None) -> Scenario:
        if root is None:
            raise BadData("the scenario", [DataFinding(self.source, 1, "", "it is empty")])
        entries = self._entries(root, "a scenario", SCENARIO_KEYS)
        defaults = self._entries(entries["defaults"], "defaults", DEFAULTS_KEYS) if "defaults" in entries else {}
        listed = entries.get("events")
        if listed is None:
            self._find(root, "events", "there are none")
        elif not isinstance(listed, yaml.SequenceNode):
            self._find(listed, "events", "a list is expected")
        nodes = listed.value if isinstance(listed, yaml.SequenceNode) else []
        events = [event for node in nodes if (event := self._event(node, defaults)) is not None]
        end = self._number(entries["end"], "end") if "end" in entries else None
        if end is not None and events and "end" in entries and end < max(event.time for event in events):
            self._find(entries["end"], "end", f"it is at {end:g} s, before the last event")
        if self.findings:
            raise BadData("the scenario", self.findings)
        return Scenario(tuple(events), end, self.source)

    def _event(self, node: yaml.Node, defaults: Mapping[str, yaml.Node]) -> Event | None:
        before = len(self.findings)
        stated = self._entries(node, "an event", EVENT_KEYS)
        entries = {**defaults, **stated}
        for key in ("time", "variable", "action"):
            if key not in entries:
                where = "the event nor in defaults" if key in DEFAULTS_KEYS else "the event"
                self._find(node, key, f"it is missing: {'neither in ' if key in DEFAULTS_KEYS else 'not in '}{where}")
        if len(self.findings) > before:
            return None
        action = self._action(entries["action"])
        time = self._number(entries["time"], "time")
        value = self._scalar(entries["value"], "value") if "value" in entries else None
        model = self._scalar(entries["model"], "model") if "model" in entries else ""
        variable = self._scalar(entries["variable"], "variable")
        if action is not None and action is not Action.RESET and value is None:
            self._find(node, "value", f"it is missing; {action} needs one")
        if len(self.findings) > before or action is None or time is None:
            return None
        name = f"{model}.{variable}" if model else str(variable)
        return Event(time, name, action, None if action is Action.RESET else value, node.start_mark.line + 1)

    def _action(self, node: yaml.Node) -> Action | None:
        text = self._scalar(node, "action")
        if text in list(Action):
            return Action(str(text))
        self._find(node, "action", f"found {text!r}, expected one of {', '.join(Action)}")
        return None

    def _number(self, node: yaml.Node, key: str) -> float | None:
        value = self._scalar(node, key)
        if isinstance(value, str):
            with suppress(ValueError):  # for example 500ms
                value = parse_time(value)
        good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
        if not good or not isinstance(value, int | float) or value < 0:
            self._find(
                node,
                key,
                f"found {value!r}, expected a time that is not negative, in seconds or with a unit ({TIME_UNITS})",
            )
            return None
        return float(value)

    def _scalar(self, node: yaml.Node, key: str) -> Scalar | None:
        value = None
        if isinstance(node, yaml.ScalarNode):
            value = _construct(node)
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            self._find(node, key, "the number is too large for every type")
            return None
        if not isinstance(value, bool | int | float | str):
            self._find(node, key, "a number, true, false or a text is expected")
            return None
        return value

    def _entries(self, node: yaml.Node, what: str, known: Sequence[str]) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            self._find(node, "", f"{what} must be a mapping with the keys {', '.join(known)}")
            return {}
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(getattr(key, "value", ""))
            if name not in known:
                self._find(key, name, f"{what} has no such key; not supported. It may have {', '.join(known)}")
            elif name in found:
                self._find(key, name, "it is there twice")
            else:
                found[name] = value
        return found

    def _find(self, node: yaml.Node, key: str, message: str) -> None:
        self.findings.append(DataFinding(self.source, node.start_mark.line + 1, key, message))


def _construct(node: yaml.ScalarNode) -> object:
    loader = yaml.SafeLoader("")
    try:
        value = loader.construct_object(node)
    except (ValueError, yaml.YAMLError):
        return None
    finally:
        loader.dispose()
    # YAML 1.1 reads `1e-3`, without a dot, as a string.
    if isinstance(value, str) and node.style is None:
        try:
            return float(value)
        except ValueError:
            return value
    return value
