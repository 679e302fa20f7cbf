"""Errors in a command line, as sentences: the place, what is wrong, and the option or command that may be meant."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

OPTION_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "--stop-time": ("stop", "end", "end-time", "duration", "until", "final-time", "t-end"),
    "--start-time": ("start", "begin", "begin-time", "t-start"),
    "--step-size": ("step", "dt", "h", "step-length", "time-step", "communication-step-size", "intervals"),
    "--tolerance": ("relative-tolerance", "rel-tol", "rtol", "tol"),
    "--output": ("out", "output-file", "output-dir", "result-file", "results", "result"),
    "--inputs": ("input-file", "in", "csv-input"),
    "--output-step": ("output-interval", "sampling", "interval"),
    "--integrator": ("solver", "method"),
    "--master": ("algorithm", "coupling"),
    "--fmu-log-level": ("log-level", "debug-logging", "fmi-logging", "logging"),
    "--fmu-log": ("log-file", "log"),
    "--record": ("output-variables", "variables", "output-config", "signals"),
    "--set": ("start-value", "initial-value", "parameter", "param", "override"),
    "--plot": ("show-plot", "plot-file"),
    "--realtime": ("real-time", "rtf"),
    "--threads": ("num-procs", "parallel", "no-parallel", "jobs"),
    "--quiet": ("silent", "no-progress"),
    "--compile": ("compile-platform-binary",),
    "--implementation": ("fmi-type", "mode", "interface-type"),
    "--format": ("json",),
}
"""Option → what FMPy, OMSimulator, libcosim, Ecos and other programs call it, in kebab case and without dashes."""

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
        return _about_option(name, context) if hasattr(error, "possibilities") else f"the option {name} needs a value"
    if (parameter := getattr(error, "param", None)) is not None and not str(error.message or ""):
        kind = "argument" if getattr(parameter, "param_type_name", "") == "argument" else "option"
        return f"the {kind} {_name(parameter)} is missing"
    hint = getattr(error, "param_hint", None) or (None if parameter is None else _name(parameter))
    message = str(error.message).rstrip(".")
    message = _COMMAND.sub(_about_command, message[:1].lower() + message[1:])
    for words, better in _TYPES.items():
        message = message.replace(words, better)
    if not hint:
        return message
    names = (hint if isinstance(hint, str) else " / ".join(hint)).replace("'", "")
    return f"{names}: {message}{_BESIDE.get(names, '')}"


_BESIDE = {"--input": "; files of inputs are given with --inputs"}
"""Option → a similar one that may be meant."""


_TYPES = {"a valid int": "a whole number", "a valid float": "a number", "a valid integer": "a whole number"}
_COMMAND = re.compile(r"no such command '([^']*)'(?:\. Did you mean '([^']*)'.*)?")


def _about_command(found: re.Match[str]) -> str:
    return f"there is no command {found[1]}" + (f"; did you mean {found[2]}?" if found[2] else "")


def _about_option(name: str, context: Any) -> str:
    near = nearest_options(name, _options(context))
    if not near and hasattr(getattr(context, "command", None), "commands"):
        return f"there is no option {name} before a command; options of a command follow its name"
    return f"there is no option {name}" + (f"; did you mean {' or '.join(near)}?" if near else "")


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
    found = [option for option in options if option[2:] == plain]
    found += [option for option in options if plain in OPTION_SYNONYMS.get(option, ())]
    if found:
        return found[:1]
    begun = [option for option in options if len(plain) > 1 and option[2:].startswith(plain)]
    similar = get_close_matches(f"--{plain}", options, MOST)
    return tuple(dict.fromkeys((*begun, *similar)))[:MOST]


def kebab(name: str) -> str:
    """`stopTime`, `stop_time` and `StopTime` as `stop-time`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).replace("_", "-").lower()
