"""Errors in a command line, as sentences: the place, what is wrong, and the option or command that may be meant."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ssptool.cli.command_words import OPTIONS_MEANT
from ssptool.engine.settings import Settings
from ssptool.errors import abbreviated
from ssptool.option_words import OPTION_SYNONYMS, argument_meant, kebab

MOST = 3
"""Options that a message proposes."""


def usage_message(error: Any) -> str:
    """A usage error of typer as a sentence, and the command that prints the help; empty if that was printed."""
    context = error.ctx
    if not str(error.message) and getattr(error, "param", None) is None:
        return ""
    return f"{_sentence(error, context)}\n`{' '.join(['ssptool', *_path(context), '--help'])}` prints the usage"


def _path(context: Any) -> list[str]:
    """Names of the command and of those around it, without the program."""
    parent = getattr(context, "parent", None)
    return [] if parent is None else [*_path(parent), context.info_name]


def _sentence(error: Any, context: Any) -> str:
    if (name := getattr(error, "option_name", None)) is not None:
        return _about_option(name, context) if hasattr(error, "possibilities") else _without_value(name, context)
    if (parameter := getattr(error, "param", None)) is not None and not str(error.message or ""):
        kind = "argument" if getattr(parameter, "param_type_name", "") == "argument" else "option"
        return f"the {kind} {_name(parameter)} is missing"
    hint = getattr(error, "param_hint", None) or (None if parameter is None else _name(parameter))
    message = str(error.message).rstrip(".")
    message = _COMMAND.sub(_about_command, _CAPITAL.sub(lambda letter: letter[0].lower(), message))
    if extra := _EXTRA.fullmatch(message):
        message = f"unexpected argument: {extra[1]}{_advice_on_argument(extra[1], context)}"
    for words, better in _TYPES.items():
        message = message.replace(words, better)
    if not hint:
        return message
    names = (hint if isinstance(hint, str) else " / ".join(hint)).replace("'", "")
    return f"{names}: {message}{_BESIDE.get(names, '')}"


_BESIDE = {"--input": "; files of inputs are given with --inputs"}
"""Option → a similar one that may be meant."""


_CAPITAL = re.compile(r"^[A-Z](?=[a-z]* )")
"""First letter of a sentence, which is not that of a name such as `Motor.w`."""

_EXTRA = re.compile(r"got unexpected extra arguments?(?:\(s\))? \((.*)\)", re.S)
_INSTEAD = {
    "connect": "; two elements are connected at a time",
    "study calibrate": "; `ssptool study new SYSTEM --data FILE` writes a study with the measurement FILE",
    "run": "; `--record NAME` records signals, `--set NAME=VALUE` sets values",
}
"""Command → advice on an argument that it does not take."""


def _advice_on_argument(word: str, context: Any) -> str:
    """Advice on an argument that a command does not take: an option without its dashes, or a picture, which an option
    writes.
    """
    name, equals, value = word.partition("=")
    if equals and (meant := options_meant(name, _options(context))):
        return f"; did you mean {meant[0]} {value}?"
    if Path(word).suffix.lower() in (".svg", ".png", ".html", ".pdf"):
        return f"; `--output {word}` writes the file"
    return _INSTEAD.get(_command(context), "")


_TYPES = {
    "whole number range": "whole number",
    "a valid int": "a whole number",
    "a valid float": "a number",
    "a valid integer": "a whole number",
}
_COMMAND = re.compile(r"no such command '([^']*)'(?:\. Did you mean '([^']*)'.*)?")


def _about_command(found: re.Match[str]) -> str:
    return f"there is no command {found[1]}" + (f"; did you mean {found[2]}?" if found[2] else "")


def _about_option(name: str, context: Any) -> str:
    if (written := _written_in_a_sweep(name, context)) is not None:
        return f"there is no option {name}; {written}"
    if meant := OPTIONS_MEANT.get(_command(context), {}).get(kebab(name.lstrip("-"))):
        return f"there is no option {name}; " + (f"did you mean {meant}?" if meant[0] in "-`" else meant)
    options = list(_options(context))
    if _command(context) and not options_meant(name, options) and (others := _commands_with(name, context)):
        return f"{_command(context)} has no option {name}; an option of this name belongs to {abbreviated(others)}"
    near = nearest_options(name, options)
    if not near and hasattr(getattr(context, "command", None), "commands"):
        return f"there is no option {name} before a command; options of a command follow its name"
    return f"there is no option {name}" + (f"; did you mean {' or '.join(near)}?" if near else "")


def _without_value(name: str, context: Any) -> str:
    every = () if context is None else context.command.get_params(context)
    metavars = [one.metavar for one in every if name in one.opts and one.metavar]
    return f"the option {name} needs a value" + (f": {name} {metavars[0]}" if metavars else "")


def _command(context: Any) -> str:
    return " ".join(_path(context))


def _written_in_a_sweep(name: str, context: Any) -> str | None:
    """Form that an option of `run` has in a sweep, whose arguments are values and settings."""
    plain = kebab(name.lstrip("-"))
    if _command(context) != "sweep":
        return None
    if f"--{plain}" == "--set" or plain in OPTION_SYNONYMS["--set"]:
        return "values are arguments: Motor.k=0.6 sets a value in all runs"
    setting = argument_meant(plain, {one.name for one in fields(Settings)} - {"stop_time"})
    return None if setting is None else f"settings are arguments: {setting}=VALUE"


def _commands_with(name: str, context: Any) -> list[str]:
    """Other commands that have an option of this name."""
    root = None if context is None else context.find_root().command
    commands = getattr(root, "commands", {})
    return [one for one in commands if any(name in parameter.opts for parameter in commands[one].params)]


def _name(parameter: Any) -> str:
    if getattr(parameter, "param_type_name", "") == "argument":
        return str(parameter.metavar or parameter.name.upper())
    return str(max(parameter.opts, key=len))


def _options(context: Any) -> Iterator[str]:
    for parameter in () if context is None else context.command.get_params(context):
        if not getattr(parameter, "hidden", False):
            yield from (name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("--"))


def nearest_options(name: str, known: Iterable[str]) -> Sequence[str]:
    """Options that may be meant by an unknown one, the best first: the same words, a synonym, similar ones."""
    options = list(dict.fromkeys(known))
    plain = kebab(name.lstrip("-"))
    if found := options_meant(name, options):
        return found[:1]
    begun = [option for option in options if len(plain) > 1 and option[2:].startswith(plain)]
    similar = get_close_matches(plain, [option[2:] for option in options], MOST)
    return tuple(dict.fromkeys((*begun, *(f"--{one}" for one in similar))))[:MOST]


def options_meant(name: str, known: Iterable[str]) -> Sequence[str]:
    """Options with the same words, or of which an unknown one is a synonym."""
    plain, options = kebab(name.lstrip("-")), list(known)
    same = (option for option in options if option[2:] == plain)
    chosen = {*OPTION_SYNONYMS["--record"], "record"}  # of results, where an option of this meaning has another name
    known_as = {**OPTION_SYNONYMS, "--signals": chosen, "--diff": ("dry-run", "preview", "n")}
    return [*same, *(option for option in options if plain in known_as.get(option, ()))]
