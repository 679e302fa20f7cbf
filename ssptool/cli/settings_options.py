"""Options of a run and of a plan, made from the fields of `Settings`."""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer

from ssptool.arguments import WrongArgument, one_of
from ssptool.cli.options import time
from ssptool.engine.method_names import AccelerationName
from ssptool.engine.settings import (
    BY_NEED,
    EARLIER_NAMES,
    EVERY_COMPONENT,
    INSIGHT,
    Kind,
    Setting,
    Settings,
    present_names,
    settings_by_name,
)

Number = TypeVar("Number", int, float)

LOGS = tuple(name for name, setting in settings_by_name(Settings).items() if setting.group == INSIGHT)
"""Files that a run writes, and what goes into them."""

PLANNED = tuple(name for name in settings_by_name(Settings) if name not in LOGS)
"""Names of the settings that a plan depends on."""

EXPORTED = tuple(
    name for name in PLANNED if name not in ("adaptive", "max_step_size", "power_bonds", "threads", "processes")
)
"""Settings that an exported FMU takes: its macro steps are fixed, and all parts are in one process of the importer."""

EXPORTED_WORDS = {"acceleration": tuple(name for name in AccelerationName if name is not AccelerationName.NEWTON)}
"""Words of such a setting where an exported FMU has some of them only."""


def _counts(texts: list[str], option: str) -> dict[str, int | str]:
    """`["System2=10", "System3=auto"]` → `{"System2": 10, "System3": "auto"}`."""
    pairs = _pairs(texts, option)
    return {name: value if value == BY_NEED else _number(int, value, option) for name, value in pairs}


def _numbers(texts: list[str], option: str) -> dict[str, float]:
    """`["absolute=1e-6"]` → `{"absolute": 1e-6}`."""
    return {name: _number(float, value, option) for name, value in _pairs(texts, option)}


def _times(texts: list[str], option: str) -> dict[str, str]:
    """`["System1.v1=10ms"]` → `{"System1.v1": "10ms"}`."""
    return dict(_pairs(texts, option, "TIME"))


def _bonds(texts: list[str], option: str) -> tuple[tuple[str, str], ...]:
    """`["System1.v1,System2.F"]` → `(("System1.v1", "System2.F"),)`."""
    found = []
    for text in texts:
        first, comma, second = (part.strip() for part in text.partition(","))
        if not (comma and first and second) or "," in second:
            raise typer.BadParameter(f"{text!r} is not of the form A.v,B.F", param_hint=option)
        found.append((first, second))
    return tuple(found)


def _levels(texts: list[str], _option: str) -> dict[str, str]:
    """`["warning", "System1=ok"]` → `{"*": "warning", "System1": "ok"}`."""
    return dict(map(_by_component, texts))


def _categories(texts: list[str], _option: str) -> dict[str, tuple[str, ...]]:
    """`["logEvents,logStatusError", "System1=logEvents"]` → names by component, `*` being all that are not named."""
    found: dict[str, tuple[str, ...]] = {}
    for component, names in map(_by_component, texts):
        found[component] = (*found.get(component, ()), *(name.strip() for name in names.split(",") if name.strip()))
    return found


def _by_component(text: str) -> tuple[str, str]:
    component, equals, value = (part.strip() for part in text.rpartition("="))
    return (component, value) if equals else (EVERY_COMPONENT, value)


def _pairs(texts: list[str], option: str, value_of: str = "NUMBER") -> Iterator[tuple[str, str]]:
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise typer.BadParameter(f"{text!r} is not of the form NAME={value_of}", param_hint=option)
        yield name, value


def _number(kind: type[Number], text: str, option: str) -> Number:
    try:
        return kind(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number of type {kind.__name__}", param_hint=option) from None


SEVERAL: Mapping[Kind, Callable[[list[str], str], Any]] = {
    Kind.COUNTS: _counts,
    Kind.NUMBERS: _numbers,
    Kind.TIMES: _times,
    Kind.PAIRS: _bonds,
    Kind.LEVELS: _levels,
    Kind.CATEGORIES: _categories,
}
"""Readers of the texts of an option that may be repeated."""
TYPES: Mapping[Kind, type] = {
    Kind.TIME: float,
    Kind.NUMBER: float,
    Kind.COUNT: int,
    Kind.FILE: Path,
    Kind.PROCESSES: str,
}
"""Types that typer makes of the text of an option; a word is one of its enumeration."""


def settings_options(
    names: Collection[str], of: type[Settings] = Settings, *, words: Mapping[str, Sequence[StrEnum]] | None = None
) -> Callable[..., dict[str, Any]]:
    """A bundle of the options of these fields of settings (see `bundled`), which makes keywords of them.

    Parameters
    ----------
    words
        Allowed words of a field that has some of its words only.
    """
    chosen = {name: setting for name, setting in settings_by_name(of).items() if name in names}
    for name, allowed in (words or {}).items():
        kept = cast("Any", StrEnum)("Words", {word.name: word.value for word in allowed})
        chosen[name] = replace(chosen[name], words=kept)
    earlier = {name: present for name, present in EARLIER_NAMES.items() if present in chosen}

    def given(**typed: Any) -> dict[str, Any]:
        for name in earlier:
            if (value := typed.pop(name, None)) is not None:
                typed[EARLIER_NAMES[name]] = present_names({name: value}, _option)[EARLIER_NAMES[name]]
        return {name: _value(name, chosen[name], value) for name, value in typed.items()}

    defaults = of()
    parameters = [_parameter(name, setting, getattr(defaults, name)) for name, setting in chosen.items()]
    parameters += [_parameter(name, chosen[present], None, hidden=True) for name, present in earlier.items()]
    given.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return given


def _value(name: str, setting: Setting, typed: Any) -> Any:
    if setting.kind in SEVERAL:
        return SEVERAL[setting.kind](typed or [], _option(name))
    return typed


def _parameter(name: str, setting: Setting, default: Any, *, hidden: bool = False) -> inspect.Parameter:
    """An option as typer reads it from the signature of a command."""
    counted = setting.kind is Kind.COUNT
    option = typer.Option(
        _option(name),
        metavar=setting.metavar,
        rich_help_panel=setting.group or None,
        help=setting.help,
        hidden=hidden,
        parser=_parser(setting),
        autocompletion=None if isinstance(setting.words, type) else setting.words,
        min=setting.least if counted else None,
        max=setting.most if counted else None,
    )
    if setting.kind in SEVERAL:
        return _keyword(name, None, list[str] | None, option)
    kind = setting.words if isinstance(setting.words, type) else TYPES.get(setting.kind, str)
    return _keyword(name, default, kind if default is not None else kind | None, option)


def _keyword(name: str, default: Any, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _parser(setting: Setting) -> Callable[[str], Any] | None:
    """Parser of a setting whose type typer does not know."""
    words = setting.words
    if setting.kind is Kind.TIME:
        return time
    if words is None or isinstance(words, type):
        return None

    def word(text: str) -> str:
        try:
            return one_of("", text, words())
        except WrongArgument as error:
            raise typer.BadParameter(f"must be {error.expected}; found {text!r}") from None

    return word


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
