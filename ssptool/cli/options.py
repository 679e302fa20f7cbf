"""Arguments and options that several commands share.

`bundled` passes a group of options, which is declared once, to a command as one value.
"""

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

import ssptool
from ssptool.arguments import parse_time
from ssptool.cli.app import say
from ssptool.cli.completion import assignments
from ssptool.foreign_text import reads_as_number
from ssptool.option_words import Boxing
from ssptool.sandbox import advice

PROCESS, RULES = "Process and pace", "Rules and other files"
"""Panels of the help."""

SystemPath = Annotated[
    Path,
    typer.Argument(
        metavar="SYSTEM",
        help="System: .ssp, unpacked folder, .ssd, .fmu or OspSystemStructure.xml.",
    ),
]
EditedSystem = Annotated[Path, typer.Argument(metavar="SYSTEM", help="System to edit: .ssp, unpacked folder or .ssd.")]
WHICH_VARIANT = "Use this variant of the package (default: SystemStructure.ssd)."
Variant = Annotated[str | None, typer.Option("--variant", metavar="NAME", help=WHICH_VARIANT)]
ParameterFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--parameters",
        metavar="FILE.ssv",
        help="Apply this parameter set over those of the system; the last file wins.",
    ),
]
StartValues = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "--start-values",
        metavar="NAME=VALUE",
        help="Set a parameter or start value for this call, in the unit of the variable: System1.m1=2.",
        autocompletion=assignments,
    ),
]

WHAT_IS_COMPILED = "Compile FMUs that have C or C++ sources but no library for this platform. Libraries are cached."
Accept = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        rich_help_panel=RULES,
        metavar="CODE,…",
        help="Continue despite errors of these rules. `ssptool rule CODE` shows the effect.",
    ),
]
AllowOutside = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-outside",
        rich_help_panel=RULES,
        metavar="FOLDER",
        help="Let the system read files in this folder outside of it.",
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        rich_help_panel=RULES,
        metavar="FILE",
        help="Read settings of the rules from this file (default: nearest ssptool.toml, or "
        "pyproject.toml with [tool.ssptool], in the working folder or above).",
    ),
]
NoSettings = Annotated[bool, typer.Option("--no-settings", rich_help_panel=RULES, help="Ignore settings files.")]


def judged_by(
    allow_outside: AllowOutside = None, settings_file: SettingsFile = None, no_settings: NoSettings = False
) -> dict[str, Any]:
    """Options about rules and outside files, as keyword arguments of the public API."""
    if settings_file is not None and no_settings:
        raise typer.BadParameter("--no-settings asks for the opposite", param_hint="--settings")
    return {"allow_outside": allow_outside or [], "settings_file": settings_file or not no_settings}


def time(text: str | float) -> float:
    """Seconds of what was typed: `10`, `1ms`, `2min`; a default is a number already."""
    if not isinstance(text, str):
        return text
    try:
        return parse_time(text)
    except ValueError as error:
        raise typer.BadParameter(f"must be {error}; found {text!r}") from None


Isolated = Annotated[
    bool,
    typer.Option(
        "--isolated/--in-process",
        show_default=False,
        rich_help_panel=PROCESS,
        help="Run FMUs in a child process, or in the process of the command, which a crash of an FMU "
        "then ends (default: --isolated).",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        parser=time,
        metavar="T",
        rich_help_panel=PROCESS,
        help="Stop the run after this wall time: 2min.",
    ),
]
Compile = Annotated[
    bool,
    typer.Option(
        "--compile",
        rich_help_panel=PROCESS,
        help=WHAT_IS_COMPILED,
    ),
]
StepTimeout = Annotated[
    float | None,
    typer.Option(
        "--step-timeout",
        parser=time,
        metavar="T",
        rich_help_panel=PROCESS,
        help="Stop the run if one macro step takes longer than this wall time.",
    ),
]
MemoryLimit = Annotated[
    int | None,
    typer.Option(
        "--memory-limit",
        metavar="MIB",
        min=1,
        rich_help_panel=PROCESS,
        help="Stop the run if its FMUs use more memory than this, in MiB.",
    ),
]
WHAT_A_SANDBOX_CLOSES = (
    "Deny FMUs network access, other processes, reading outside of their own files and system libraries, and writing "
    "outside of a temporary folder (Linux; --sandbox=best: as far as the system can; default: SSPTOOL_SANDBOX, "
    "then `sandbox` in ssptool.toml)."
)
Sandbox = Annotated[
    bool | None,
    typer.Option(
        "--sandbox/--no-sandbox",
        show_default=False,
        rich_help_panel=PROCESS,
        help=WHAT_A_SANDBOX_CLOSES,
    ),
]
Env = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME",
        rich_help_panel=PROCESS,
        help="Pass this environment variable to the FMUs.",
    ),
]


def sandbox_setting(system: Path, given: Mapping[str, Any]) -> Boxing | None:
    """The sandbox that the settings file states; `given` may have another settings file than the nearest."""
    from ssptool.rules.selection import caller_switches  # takes long to load

    return caller_switches(system, given.get("settings_file", True)).sandbox


def advise_sandbox(path: Path, sandbox: Boxing | None, given: Mapping[str, Any], *more: Path) -> None:
    """Print a note about a downloaded system whose FMUs are to run without a sandbox, or about gaps of the sandbox.

    `more`: other files that may have been downloaded, such as the system of a study.
    """
    if line := advice([path, *more], sandbox, sandbox_setting(path, given)):
        say(f"note: {line}", err=True)


def process_options(
    isolated: Isolated = True,
    timeout: Timeout = None,
    step_timeout: StepTimeout = None,
    memory_limit: MemoryLimit = None,
    sandbox: Sandbox = None,
    compile: Compile = False,
    env: Env = None,
) -> dict[str, Any]:
    """Options of the process of the FMUs, as keyword arguments of the public API."""
    limits = {"timeout": timeout, "step_timeout": step_timeout, "memory_limit": memory_limit}
    return {"isolated": isolated, **limits, "sandbox": sandbox, "compile": compile, "env": env or ()}


class TextOrJson(StrEnum):
    TEXT = "text"
    JSON = "json"


def parse_start_values(texts: list[str] | None, hint: str = "--set") -> dict[str, str]:
    """`["System1.m1=2"]` → `{"System1.m1": "2"}`; a text without a name or "=" is wrong usage."""
    found = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"{text!r} is not of the form NAME=VALUE", param_hint=hint)
        found[name.strip()] = value.strip()
    return found


def split_pairs(texts: list[str] | None, form: str, option: str | None = None) -> list[tuple[str, str]]:
    """`["a=b"]` → `[("a", "b")]`; `form` is the expected form, such as SOURCE=TARGET."""
    pairs = []
    for text in texts or []:
        first, equals, second = text.partition("=")
        if not equals or not first.strip():
            raise typer.BadParameter(f"{text!r} is not of the form {form}", param_hint=option)
        pairs.append((first.strip(), second.strip()))
    return pairs


def factor(text: str, hint: str = "NAME=VALUES") -> tuple[str, list[float] | list[str] | dict[str, Any]]:
    """A factor as `NAME=low:high:count`, or as a list of values."""
    name, sign, values = text.partition("=")
    try:
        if sign and ":" in values:
            low, high, count = values.split(":")
            return name, {"low": float(low), "high": float(high), "count": int(count)}
        if sign and values:
            listed = values.split(",")
            if any(".." in value for value in listed):
                raise ValueError
            return name, [float(value) for value in listed] if all(map(reads_as_number, listed)) else listed
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r}: expected NAME=low:high:count or NAME=1,2,5", param_hint=hint)


def chosen_units(unit: list[str] | None, display_units: bool) -> Any:
    """Units by patterns of signals, or "display", as arguments of the public API."""
    if unit and display_units:
        raise typer.BadParameter("--display-units chooses the units of all signals", param_hint="--unit")
    return "display" if display_units else dict(split_pairs(unit, "PATTERN=UNIT", "--unit"))


def codes(texts: list[str] | None) -> list[str]:
    """`["URI,PKG-016", "VER"]` → `["URI", "PKG-016", "VER"]`."""
    return [code.strip() for text in texts or [] for code in text.split(",") if code.strip()]


def changes_from(
    start_values: StartValues = None,
    parameters: ParameterFiles = None,
    variant: Variant = None,
    allow_outside: AllowOutside = None,
    settings_file: SettingsFile = None,
    no_settings: NoSettings = False,
) -> dict[str, Any]:
    """Options that select and change the system, as keyword arguments of the public API."""
    return {
        "variant": variant,
        "parameters": parameters or [],
        "start_values": parse_start_values(start_values),
        **judged_by(allow_outside, settings_file, no_settings),
    }


INPUTS = "Inputs and scenario"
"""Panel of the help."""

InputFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--inputs",
        metavar="FILE",
        help="Drive unconnected inputs from this .csv, .xlsx, .parquet, .mat, .h5 or .mf4 file: column time, then full "
        "names of inputs, with an optional unit: Vehicle.speed [km/h].",
    ),
]
Interpolations = Annotated[
    list[str] | None,
    typer.Option(
        "--interpolation",
        metavar="[NAME=]HOW",
        rich_help_panel=INPUTS,
        help="Interpolate between rows of --inputs: linear or hold, for all columns or for one "
        "(default: linear for real numbers, hold for other types).",
    ),
]
ScenarioFile = Annotated[
    Path | None,
    typer.Option(
        "--scenario",
        metavar="FILE",
        rich_help_panel=INPUTS,
        help="Override, bias or reset variables at given times. YAML or JSON, as in libcosim.",
    ),
]

HOW = ("hold", "linear")


def stimuli_from(
    inputs: InputFiles = None, interpolation: Interpolations = None, scenario: ScenarioFile = None
) -> dict[str, Any]:
    """Inputs and scenario, as keyword arguments of the public API."""
    if not inputs and interpolation:
        raise typer.BadParameter("there are no --inputs to interpolate", param_hint="--interpolation")
    whole, columns = _interpolations(interpolation or [])
    return {"inputs": ssptool.types.Inputs(tuple(inputs), whole, columns) if inputs else None, "scenario": scenario}


def _interpolations(texts: list[str]) -> tuple[Any, dict[str, Any]]:
    """`["hold", "speed=linear"]` → `("hold", {"speed": "linear"})`."""
    whole, columns = "linear", {}
    for text in texts:
        name, equals, how = (part.strip() for part in text.rpartition("="))
        if how not in HOW:
            raise typer.BadParameter(f"{how!r} is none of {', '.join(HOW)}", param_hint="--interpolation")
        if equals:
            columns[name] = how
        else:
            whole = how
    return whole, columns


def bundled(**bundles: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator for commands with bundles of options.

    `@bundled(settings=settings_from)` above `def command(settings: Settings)` replaces the parameter `settings` by
    options for the parameters of `settings_from`, and calls the command with the value that this function returns.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        options = {name: inspect.signature(make).parameters for name, make in bundles.items()}

        @wraps(command)
        def call(**values: Any) -> None:
            for name, make in bundles.items():
                values[name] = make(**{option: values.pop(option) for option in options[name]})
            command(**values)

        parameters = [
            option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in own.parameters.values()
            for option in (options[parameter.name].values() if parameter.name in options else [parameter])
        ]
        # What typer reads to find the options and their types.
        call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return decorate


def fmi_version(text: str) -> int:
    """2 or 3, for texts such as 3 and 3.0 alike."""
    if (number := str(text).partition(".")[0]) not in ("2", "3"):
        raise typer.BadParameter(f"{text!r} is not a version of FMI to export for; choose 2 or 3")
    return int(number)
