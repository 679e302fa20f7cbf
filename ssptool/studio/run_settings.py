"""Settings of runs, as a page offers and states them."""

from collections.abc import Mapping
from enum import EnumType
from typing import Any

from ssptool.arguments import WrongArgument
from ssptool.engine.settings import INSIGHT, Kind, Settings, settings_by_name
from ssptool.network.network import Network

_OF_ONE_VALUE = (Kind.TIME, Kind.NUMBER, Kind.COUNT, Kind.WORD, Kind.PROCESSES)
_BY_NAME = (Kind.COUNTS, Kind.NUMBERS, Kind.TIMES, Kind.PAIRS)
"""Kinds of settings that have a value for each of some names."""
_MEASURES = ("absolute", "relative", "residual-relative")


def settings_content() -> list[dict[str, Any]]:
    """The settings that a page offers, by the groups of the help; `pair` are the words for a name and its value."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, one in settings_by_name(Settings).items():
        if one.kind in (*_OF_ONE_VALUE, *_BY_NAME) and one.group != INSIGHT:
            words = one.words
            allowed: tuple[str, ...] = () if words is None else tuple(words) if isinstance(words, EnumType) else words()
            pair = one.metavar.replace("=", ",").split(",") if one.kind in _BY_NAME else []
            entry = {"name": name, "title": name.replace("_", " "), "help": one.help, "pair": pair}
            found.setdefault(one.group or "Usual", []).append({**entry, "words": list(map(str, allowed))})
    return [{"group": group, "settings": settings} for group, settings in found.items()]


def names_for(setting: str, network: Network | None) -> list[str]:
    """The names for which a setting can have values in a system."""
    kind = settings_by_name(Settings)[setting].kind
    if kind is Kind.NUMBERS:
        return [*_MEASURES]
    if network is None:
        return []
    if kind is Kind.COUNTS:
        return [*network.components]
    return list(dict.fromkeys(str(end) for wire in network.wires for end in (wire.source, wire.destination)))


def settings_of(given: Mapping[str, Any]) -> Settings:
    """Settings of a run from those of a page, whose values may be texts. Raises WrongArgument."""
    known = settings_by_name(Settings)
    stated = {name: value for name, value in given.items() if value not in ("", None)}
    read = {name: _value_of(name, known[name].kind, value) for name, value in stated.items() if name in known}
    return Settings.of(None, {**stated, **read})


def _value_of(name: str, kind: Kind, value: Any) -> Any:
    """A value with the numbers that are typed in it; other values stay. Raises WrongArgument."""
    if isinstance(value, Mapping):
        if kind is Kind.PAIRS:
            return tuple(value.items())
        of_each = {Kind.COUNTS: Kind.COUNT, Kind.NUMBERS: Kind.NUMBER}.get(kind, kind)
        return {key: _number_of(f"{name}[{key!r}]", of_each, each) for key, each in value.items() if each != ""}
    return _number_of(name, kind, value)


def _number_of(name: str, kind: Kind, value: Any) -> Any:
    if not isinstance(value, str) or kind not in (Kind.COUNT, Kind.NUMBER) or value == "auto":
        return value
    try:
        return int(value) if kind is Kind.COUNT else float(value)
    except ValueError:
        raise WrongArgument(name, value, "a whole number" if kind is Kind.COUNT else "a number") from None


def setting_text(value: Any) -> str:
    """The value of a setting of a page in a few words."""
    return " ".join(f"{name} {each}" for name, each in value.items()) if isinstance(value, Mapping) else str(value)
