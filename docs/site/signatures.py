"""Signatures of the Python reference, as `help` shows them: with the options that functions have in common.

In the source such a function has `**options`; griffe, which reads the source, would list them as required.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

import griffe

from ssptool.engine.settings import Settings, SettingsOptions, settings_by_name


class ShownSignatures(griffe.Extension):
    """Replaces the parameters of a function by those of the signature that the running program has for it."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        for thing in _things(pkg["api"]):
            called = thing.members.get("__init__") if isinstance(thing, griffe.Class) else thing
            if isinstance(called, griffe.Function):
                _show_signature(called)
                if thing.docstring is not None:
                    _state_types(thing.docstring, called.parameters)


def _show_signature(function: griffe.Function) -> None:
    """Replace its parameters by those of the signature that `help` prints, if it has one of its own."""
    module, _, names = function.path.removeprefix("ssptool.api.").partition(".")
    thing: Any = import_module(f"ssptool.api.{module}")
    for name in names.split("."):
        thing = getattr(thing, name, None)
    if "__signature__" in getattr(thing, "__dict__", ()):
        shown = [made for one in inspect.signature(thing).parameters.values() for made in _parameters(one)]
        first = list(function.parameters)[:1] if "." in names and shown[0].name != "self" else []
        function.parameters = griffe.Parameters(*first, *shown)


def _things(module: griffe.Module) -> Iterator[griffe.Class | griffe.Function]:
    for part in module.modules.values():
        yield from part.functions.values()
        yield from part.classes.values()


def _state_types(docstring: griffe.Docstring, parameters: griffe.Parameters) -> None:
    """Give each parameter of a docstring its own type and default, also where several have one description."""
    for section in docstring.parsed:
        if isinstance(section, griffe.DocstringSectionParameters):
            for one in section.value:
                if one.name in parameters:
                    known = parameters[one.name]
                    one.annotation, one.default = known.annotation, known.default
            section.value[:] = _with_settings(section.value, parameters)


def _with_settings(
    stated: list[griffe.DocstringParameter], parameters: griffe.Parameters
) -> Iterator[griffe.DocstringParameter]:
    """Parameters of a docstring; where it speaks of the fields of `Settings`, each with its own description."""
    shared = [one for one in stated if one.description.startswith("The fields of `Settings`")]
    for one in stated:
        if one not in shared:
            yield one
        elif one is shared[0]:
            for name, setting in settings_by_name(Settings).items():
                known = parameters[name]
                yield griffe.DocstringParameter(
                    name, description=setting.help, annotation=known.annotation, value=known.default
                )


def _parameters(one: inspect.Parameter) -> Iterator[griffe.Parameter]:
    if one.kind == one.VAR_KEYWORD and "SettingsOptions" in str(one.annotation):
        defaults = {each.name: getattr(Settings(), each.name) for each in fields(Settings)}
        for name, annotation in SettingsOptions.__annotations__.items():
            yield _parameter(inspect.Parameter(name, one.KEYWORD_ONLY, default=defaults[name], annotation=annotation))
        return
    yield _parameter(one)


def _parameter(one: inspect.Parameter) -> griffe.Parameter:
    default = None if one.default is one.empty else _default(one.default)
    if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
        default = "()" if one.kind == one.VAR_POSITIONAL else "{}"
    annotation = None if one.annotation is one.empty else _type(one.annotation)
    return griffe.Parameter(
        one.name, annotation=annotation, kind=griffe.ParameterKind(one.kind.description), default=default
    )


def _default(value: Any) -> str:
    if isinstance(value, Mapping) and not value:
        return "{}"
    return repr(str(value)) if isinstance(value, str) else repr(value)


def _type(annotation: Any) -> str:
    """A type as it is written: without modules, and with strokes between alternatives."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text).replace("NoneType", "None")
    text = re.sub(r"^Optional\[(.*)\]$", r"\1 | None", text)
    return re.sub(r"Union\[(.*)\]", lambda found: " | ".join(_parts(found[1])), text)


def _parts(text: str) -> list[str]:
    """Parts of a text between commas that are outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
