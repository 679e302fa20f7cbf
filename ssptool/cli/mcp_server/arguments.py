"""Arguments of tools: their JSON Schema from the signature of a method, and their check with a plain sentence."""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ssptool.errors import WrongUsage, similar_names

MOST_ENTRIES, LONGEST_TEXT = 1_000, 10_000
"""Entries of a list or an object in the arguments of a call; characters of a text."""


def _too_large(name: str, argument: str, size: int, most: int, what: str) -> WrongUsage:
    """An argument with more entries or characters than a call may have."""
    return WrongUsage(f"{name}: {argument} has {size} {what}, more than the limit of {most}")


def check_sizes(name: str, argument: str, value: object) -> None:
    """Reject a value with too many entries or too long strings, at any level. Raises WrongUsage."""
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise _too_large(name, argument, len(value), LONGEST_TEXT, "characters")
    if not isinstance(value, list | Mapping):
        return
    if len(value) > MOST_ENTRIES:
        raise _too_large(name, argument, len(value), MOST_ENTRIES, "entries")
    if isinstance(value, Mapping):
        for key, one in value.items():
            check_sizes(name, f"a name in {argument}", key)
            check_sizes(name, f"{argument}.{key}", one)
    else:
        for place, one in enumerate(value):
            check_sizes(name, f"{argument}[{place}]", one)


def wrong_arguments(name: str, problem: ValidationError, known: Collection[str]) -> WrongUsage:
    """Arguments of a tool or an edit that are missing, unknown, or of a wrong type; all of them are named."""
    found = (_sentence(name, error, known) for error in problem.errors())
    return WrongUsage("\n".join(found))


def _sentence(name: str, error: Mapping[str, Any], known: Collection[str]) -> str:
    argument = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        near = similar_names(argument, known)
        hint = f"did you mean {' or '.join(near)}?" if near else f"allowed are {', '.join(known)}"
        return f"{name} has no argument {argument!r}; {hint}"
    if error["type"] == "missing":
        return f"{name} needs the argument {argument!r}"
    message = str(error["msg"])
    return f"{name}: {argument}: {message[:1].lower()}{message[1:]}; found {str(error['input'])[:80]!r}"


def model_of(method: Callable[..., Any]) -> type[BaseModel]:
    """A model of the arguments of a method; others are refused."""
    hints = get_type_hints(method, include_extras=True)
    fields = {
        one.name: (hints[one.name], ... if one.default is inspect.Parameter.empty else one.default)
        for one in inspect.signature(method).parameters.values()
    }
    config = ConfigDict(extra="forbid")
    model: type[BaseModel] = create_model(method.__name__, __config__=config, **fields)  # type: ignore[call-overload]
    return model


def schema_of(model: type[BaseModel], *, limits: bool = True) -> dict[str, Any]:
    """The JSON Schema without titles, which repeat the names, and without defaults that say nothing.

    `limits`: with the sizes that `check_sizes` allows, but in alternatives, of which there may be many.
    """
    schema: dict[str, Any] = _trimmed(model.model_json_schema(), limits)
    return schema


_SIZES = {
    "array": ("maxItems", MOST_ENTRIES),
    "object": ("maxProperties", MOST_ENTRIES),
    "string": ("maxLength", LONGEST_TEXT),
}
_SAYS_NOTHING: tuple[object, ...] = ("", [], {}, False, None)


def _trimmed(schema: Any, limits: bool) -> Any:
    if isinstance(schema, list):
        return [_trimmed(one, limits) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: {name: _trimmed(one, limits) for name, one in value.items()}
        if key in ("properties", "$defs")
        else _trimmed(value, limits and key != "oneOf")
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and value in _SAYS_NOTHING)
    }
    key, most = _SIZES.get(str(found.get("type")), ("", 0))
    bounded = "properties" in found or "enum" in found or "const" in found
    return {**found, key: most} if limits and key and not bounded else found
