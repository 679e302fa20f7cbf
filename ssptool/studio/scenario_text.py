"""Edits of the text of a scenario: change, add or remove an event; all other text stays unchanged."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from ssptool.engine.stimuli.scenario import Event, Scalar
from ssptool.engine.stimuli.scenario_file import compose, scenario_from
from ssptool.engine.stimuli.time_signals import Action
from ssptool.errors import WrongUsage
from ssptool.foreign_text import strict_json
from ssptool.option_words import ActionWord

EMPTY = "events: []\n"


def with_event(text: str, event: Event) -> str:
    """Add an event, after those that are not later."""
    scenario, listed = scenario_from(text, "scenario"), _events(text)
    before = [number for number, one in enumerate(scenario.events) if one.time <= event.time]
    return listed.inserted(before[-1] + 1 if before else 0, event)


def with_changed(text: str, number: int, time: float, action: Action | ActionWord, value: Scalar | None) -> str:
    """Change time, action or value of an event; unchanged keys keep their text."""
    old, node = _event(text, number)
    new = Event(time, old.variable, action, None if action == Action.RESET else value)
    stated = {key.value: one for key, one in node.value}
    wanted: dict[str, Scalar | None] = {}
    if new.time != old.time:
        wanted["time"] = new.time
    if new.action != old.action:
        wanted["action"] = str(new.action)
    if new.action is not Action.RESET and new.value != old.value:
        wanted["value"] = new.value
    splices = [(stated[key], _scalar(one)) for key, one in wanted.items() if key in stated]
    missing = {key: _scalar(one) for key, one in wanted.items() if key not in stated}
    for place, written in sorted(splices, key=lambda one: -one[0].start_mark.index):
        text = text[: place.start_mark.index] + written + text[place.end_mark.index :]
    return _with_keys(text, number, missing) if missing else text


def without(text: str, number: int) -> str:
    """The text without an event."""
    _event(text, number)
    return _events(text).removed(number)


# -- location of events in the text ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Listed:
    """The list of events in a text."""

    text: str
    key: yaml.Node
    listed: yaml.SequenceNode
    json: bool

    @property
    def items(self) -> "list[Any]":
        return list(self.listed.value)

    def inserted(self, place: int, event: Event) -> str:
        text, written = self.text, _flow(event, quoted=self.json)
        if not self.items:
            start, end = self.key.end_mark.index, self.listed.end_mark.index
            if self.json:
                return f"{text[: self.listed.start_mark.index]}[{written}]{text[end:]}"
            return f"{text[:start]}:{_newline(text)}  - {written}{text[end:]}"
        neighbour = self.items[max(place - 1, 0)]
        if self.listed.flow_style:
            start, end = neighbour.start_mark.index, _end(neighbour)
            apart = _newline(text) + " " * neighbour.start_mark.column if self._in_lines() else " "
            if place == 0:
                return f"{text[:start]}{written},{apart}{text[start:]}"
            return f"{text[:end]},{apart}{written}{text[end:]}"
        dash = _dash(text, neighbour)
        column = dash - _line_start(text, dash)
        if not neighbour.flow_style:
            written = _block(event, _newline(text) + " " * (column + 2))
        line = f"{' ' * column}- {written}{_newline(text)}"
        if place == 0:
            at = _line_start(text, dash)
            return text[:at] + line + text[at:]
        at = _line_end(text, _end(neighbour))
        return text[:at] + ("" if text[:at].endswith("\n") else _newline(text)) + line + text[at:]

    def removed(self, number: int) -> str:
        text, items = self.text, self.items
        if len(items) == 1:
            start = self.listed.start_mark.index if self.listed.flow_style else self.key.end_mark.index
            return f"{text[:start]}{'[]' if self.listed.flow_style else ': []'}{text[_end(self.listed) :]}"
        if self.listed.flow_style:
            if number + 1 < len(items):
                return text[: items[number].start_mark.index] + text[items[number + 1].start_mark.index :]
            return text[: _end(items[number - 1])] + text[_end(items[number]) :]
        start = _line_start(text, _dash(text, items[number]))
        return text[:start] + text[_line_end(text, _end(items[number])) :]

    def _in_lines(self) -> bool:
        """True if each event has its own line."""
        return len({one.start_mark.line for one in self.items}) == len(self.items) and (
            self.items[0].start_mark.line > self.listed.start_mark.line
        )


def _events(text: str) -> _Listed:
    root: Any = compose(text, "scenario")
    key, listed = next((key, value) for key, value in root.value if key.value == "events")
    return _Listed(text, key, listed, bool(root.flow_style))


def _event(text: str, number: int) -> tuple[Event, Any]:
    events = scenario_from(text, "scenario").events
    if not 0 <= number < len(events):
        raise WrongUsage(f"the scenario has no event {number + 1}")
    return events[number], _events(text).items[number]


def _with_keys(text: str, number: int, missing: dict[str, str]) -> str:
    """Add keys to an event, in its own style."""
    node = _events(text).items[number]
    last, first = node.value[-1][1], node.value[0][0]
    if node.flow_style:
        mark = '"' if first.style == '"' else ""
        more = "".join(f", {mark}{key}{mark}: {value}" for key, value in missing.items())
    else:
        more = "".join(f"{_newline(text)}{' ' * first.start_mark.column}{key}: {one}" for key, one in missing.items())
    at = _end(last)
    return text[:at] + more + text[at:]


def _end(node: yaml.Node) -> int:
    """End of the text of a node; the text of a block extends to the next node, including comments between."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return int(node.end_mark.index)


def _dash(text: str, item: yaml.Node) -> int:
    return text.rindex("-", 0, item.start_mark.index)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    """Position after the line, including its line end."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


# -- text of an event --------------------------------------------------------------------------------------------------


def _keys(event: Event) -> Iterator[tuple[str, str]]:
    model, dot, variable = event.variable.rpartition(".")
    yield "time", _scalar(event.time)
    if dot:
        yield "model", _scalar(model)
    yield "variable", _scalar(variable)
    yield "action", _scalar(str(event.action))
    if event.value is not None:
        yield "value", _scalar(event.value)


def _flow(event: Event, *, quoted: bool) -> str:
    """Text as `{time: 2, variable: speed, …}`; in JSON all strings are in quotes."""
    if quoted:
        parts = (f'"{key}": {_quoted(written)}' for key, written in _keys(event))
    else:
        parts = (f"{key}: {written}" for key, written in _keys(event))
    return f"{{{', '.join(parts)}}}"


def _block(event: Event, newline: str) -> str:
    return newline.join(f"{key}: {written}" for key, written in _keys(event))


def _scalar(value: Scalar | None) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:.1f}"
    if isinstance(value, float) and "." not in repr(value):
        return repr(value).replace("e", ".0e", 1)  # YAML 1.1 reads 1e-3 as a string
    text = str(value)
    plain = isinstance(value, str) and _PLAIN.fullmatch(text) is not None and yaml.safe_load(text) == text
    return text if plain else strict_json(value)


def _quoted(written: str) -> str:
    """A scalar as JSON."""
    return strict_json(yaml.safe_load(written))


_PLAIN = re.compile(r"[A-Za-z_][\w.]*")
