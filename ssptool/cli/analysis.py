"""Commands that analyze a system: linearize, modes and trim at one instant, and sensitivities over time."""

from pathlib import Path
from typing import Annotated, Any

import typer

import ssptool
from ssptool.cli.app import say
from ssptool.cli.completion import full_names
from ssptool.cli.options import (
    Accept,
    Sandbox,
    SystemPath,
    TextOrJson,
    advise_sandbox,
    bundled,
    changes_from,
    codes,
    factor,
    stimuli_from,
    time,
)
from ssptool.cli.settings_options import PLANNED, settings_options
from ssptool.cli.terminal import busy
from ssptool.option_words import LINEAR_FILES, NUMBER_FILES, STEADY_FILES

At = Annotated[
    float | None,
    typer.Option("--at", parser=time, metavar="T", help="Simulate until this time: 2s (default: the start time)."),
]


def _named_option(flag: str, metavar: str, help: str) -> Any:
    """An option whose value begins with a name of the system."""
    return typer.Option(flag, metavar=metavar, help=help, autocompletion=full_names)


InputNames = Annotated[
    list[str] | None,
    _named_option(
        "--input",
        "CONNECTOR",
        "Input of the linear model; to a connected one the input is added (default: inputs of the system, or "
        "unconnected ones of components).",
    ),
]
OutputNames = Annotated[
    list[str] | None,
    _named_option(
        "--measure",
        "CONNECTOR",
        "Output of the linear model (default: outputs of the system, or of components).",
    ),
]
OpenedNames = Annotated[
    list[str] | None,
    _named_option("--open", "CONNECTOR", "Disconnect this input, and make it an input of the linear model."),
]
FreeNames = Annotated[
    list[str] | None,
    _named_option(
        "--free",
        "NAME[=MIN:MAX]",
        "Determine this unconnected input. With bounds also for a state: u=0:1.",
    ),
]
FixedStates = Annotated[
    list[str] | None,
    typer.Option("--fix", metavar="STATE[=VALUE]", help="Keep this state at its value at the start, or at this value."),
]
Targets = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="OUTPUT=VALUE", help="The output has this value, in its unit."),
]
Slopes = Annotated[
    list[str] | None,
    typer.Option(
        "--slope", metavar="STATE=VALUE", help="The derivative of this state has this value, or any, instead of 0."
    ),
]
Sweep = Annotated[
    str | None,
    typer.Option(
        "--sweep",
        metavar="FREQUENCIES",
        help="Measure the frequency response with sines, without a linear model: low:high:count, or a list, in Hz.",
    ),
]
Amplitude = Annotated[
    float | None,
    typer.Option(
        "--amplitude", metavar="A", help="Amplitude of --sweep (default: a hundredth of the value of each input)."
    ),
]
Format = Annotated[TextOrJson, typer.Option("--format", help="Print as text or json.")]

PLOT_FILES = (".png", ".svg", ".pdf", ".html")


STEPPED = ("step_size",)
"""Settings of the runs that tell a linear model of co-simulation."""


@bundled(settings=settings_options(STEPPED), changes=changes_from, stimuli=stimuli_from)
def linearize_command(
    system: SystemPath,
    settings: dict[str, Any],
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    at: At = None,
    input: InputNames = None,
    measure: OutputNames = None,
    open: OpenedNames = None,
    sweep: Sweep = None,
    amplitude: Amplitude = None,
    accept: Accept = None,
    sandbox: Sandbox = None,
    format: Format = TextOrJson.TEXT,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write a .json, .mat, .txt or .fmu file, or draw Bode, Nyquist and step responses: .png, .svg, "
            ".pdf or .html (default: print the model). A sweep has .csv and .json files, and pictures.",
        ),
    ] = None,
) -> None:
    """Linearize a system at one instant: matrices A, B, C, D.

    All components run by model exchange, in the process of the command or in a sandbox. Derivatives go through
    algebraic loops; they are directional derivatives of the FMUs, or differences. If not all components offer model
    exchange, the model is discrete, from responses of a co-simulation to jumps of unconnected inputs. The output states
    the error and the modes. Where nothing can be linearized, `--sweep` measures the frequency response.

    Examples:
      ssptool linearize plant
      ssptool linearize plant --at 2s --input Motor.u --measure Load.w -o plant.mat
      ssptool linearize plant --sweep 0.1:10:20 -o bode.svg
    """
    files = LINEAR_FILES if sweep is None else NUMBER_FILES
    if output is not None and output.suffix.lower() not in files:
        ssptool.renderers.check_plot_name(output, (*files, *PLOT_FILES))
    advise_sandbox(system, sandbox, changes)
    known = {**changes, **stimuli, "accept": codes(accept), "sandbox": sandbox, "at": at, "settings": settings}
    known |= {"input": input or (), "measure": measure or ()}
    if sweep is not None:
        if open:
            raise typer.BadParameter("a connected input cannot be opened in the runs of --sweep", param_hint="--open")
        _swept(system, known, sweep, amplitude, format, output)
        return
    if amplitude is not None:
        raise typer.BadParameter("it is the amplitude of --sweep; add --sweep 0.1:10:20", param_hint="--amplitude")
    with busy():
        model = ssptool.linearize(system, open=open or (), **known)
    if output is None:
        say(ssptool.renderers.LINEAR_RENDERERS[format.value](model), verbatim=format is TextOrJson.JSON)
    elif output.suffix.lower() in LINEAR_FILES:
        model.save(output)
        say(f"linear model: {output}")
    else:
        model.draw_response(output)
        say(f"picture: {output}")


@bundled(settings=settings_options(STEPPED), changes=changes_from, stimuli=stimuli_from)
def modes_command(
    system: SystemPath,
    settings: dict[str, Any],
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    at: At = None,
    over: Annotated[
        str | None,
        _named_option("--over", "NAME=VALUES", "Root locus over a parameter: low:high:count, or a list 1,2,5."),
    ] = None,
    accept: Accept = None,
    sandbox: Sandbox = None,
    format: Format = TextOrJson.TEXT,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Draw eigenvalues and participation, or a root locus: a .png, .svg, .pdf or .html file. Write a root "
            "locus to a .csv or .json file.",
        ),
    ] = None,
) -> None:
    """List eigenvalues of a system: frequency, damping, participation.

    The eigenvalues are those of the linear model of `linearize` at the start, or at a later time. Each mode states the
    components that take part in it. With `--over`, they are computed for each value of a parameter.

    Examples:
      ssptool modes plant
      ssptool modes plant --at 2s -o modes.svg
      ssptool modes plant --over Motor.R=0.3:0.8:20 -o locus.svg
    """
    numbers = NUMBER_FILES if over else ()
    if output is not None and output.suffix.lower() not in numbers:
        ssptool.renderers.check_plot_name(output, (*numbers, *PLOT_FILES))
    advise_sandbox(system, sandbox, changes)
    known = {**changes, **stimuli, "accept": codes(accept), "sandbox": sandbox, "at": at, "settings": settings}
    with busy():
        if over is not None:
            found = ssptool.analysis.root_locus(system, *_over(over), **known)
            text = ssptool.renderers.LOCUS_RENDERERS[format.value](found)
            draw = found.save if output is not None and output.suffix.lower() in numbers else found.draw
        else:
            model = ssptool.linearize(system, **known)
            text = ssptool.renderers.LINEAR_RENDERERS["json" if format is TextOrJson.JSON else "modes"](model)
            draw = model.draw_modes
        if output is not None:
            draw(output)
    say(text, verbatim=format is TextOrJson.JSON)
    if output is not None and format is TextOrJson.TEXT:
        say(f"{'root locus' if over else 'picture'}: {output}")


@bundled(changes=changes_from, stimuli=stimuli_from)
def trim_command(
    system: SystemPath,
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    free: FreeNames = None,
    fix: FixedStates = None,
    target: Targets = None,
    slope: Slopes = None,
    at: Annotated[
        float | None,
        typer.Option(
            "--at", parser=time, metavar="T", help="Begin where a run is at this time: 2s (default: the start time)."
        ),
    ] = None,
    accept: Accept = None,
    sandbox: Sandbox = None,
    format: Format = TextOrJson.TEXT,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write start values as a parameter set (.ssv), or everything (.json).",
        ),
    ] = None,
) -> None:
    """Find a steady state, and save it as a start of runs.

    Unknown are all states that are not fixed, and free inputs. There must be as many equations: derivatives that are 0,
    and targets of outputs. A run with `--parameters FILE.ssv` begins in the steady state.

    Examples:
      ssptool trim plant -o point.ssv
      ssptool trim plant --free Motor.u=0:24 --target Load.w=100 --slope Load.phi=any --fix Load.phi
    """
    if output is not None:
        ssptool.renderers.check_plot_name(output, STEADY_FILES)
    advise_sandbox(system, sandbox, changes)
    with busy():
        point = ssptool.trim(
            system,
            free=_bounds(free),
            fix={name: _number(value, "--fix") if value else None for name, value in _named(fix)},
            target={name: _number(value, "--target") for name, value in _named(target)},
            slope={name: None if value == "any" else _number(value, "--slope") for name, value in _named(slope)},
            at=at,
            accept=codes(accept),
            sandbox=sandbox,
            **changes,
            **stimuli,
        )
    say(ssptool.renderers.STEADY_RENDERERS[format.value](point), verbatim=format is TextOrJson.JSON)
    if not point:
        raise typer.Exit(1)
    if output is not None:
        point.save(output)
        if format is TextOrJson.TEXT:
            say(f"steady state: {output}")


@bundled(settings=settings_options(PLANNED), changes=changes_from, stimuli=stimuli_from)
def sensitivities_command(
    system: SystemPath,
    to: Annotated[
        list[str],
        typer.Argument(metavar="PARAMETER...", help="Parameters and start values.", autocompletion=full_names),
    ],
    settings: dict[str, Any],
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    measure: Annotated[
        list[str] | None,
        _named_option("--measure", "CONNECTOR", "Output to derive (default: outputs of the system, or of components)."),
    ] = None,
    accept: Accept = None,
    sandbox: Sandbox = None,
    format: Format = TextOrJson.TEXT,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write derivatives over time (.csv), or everything (.json)."
        ),
    ] = None,
) -> None:
    """Derive outputs over time with respect to parameters.

    If all components offer model exchange, and nothing jumps, the variational equations are integrated. Otherwise, four
    runs for each parameter are compared. The FMUs run in the process of the command or in a sandbox. The output states
    the method and the error.

    Examples:
      ssptool sensitivities plant Motor.R Load.J --measure Load.w --stop-time 5 -o sensitivities.csv
    """
    if output is not None:
        ssptool.renderers.check_plot_name(output, NUMBER_FILES)
    advise_sandbox(system, sandbox, changes)
    with busy():
        found = ssptool.analysis.sensitivities(
            system, to, measure or (), settings=settings, accept=codes(accept), sandbox=sandbox, **changes, **stimuli
        )
    say(ssptool.renderers.SENSITIVITY_RENDERERS[format.value](found), verbatim=format is TextOrJson.JSON)
    if output is not None:
        found.save(output)
        if format is TextOrJson.TEXT:
            say(f"sensitivities: {output}")


def _swept(
    system: Path,
    known: dict[str, Any],
    sweep: str,
    amplitude: float | None,
    format: TextOrJson,
    output: Path | None,
) -> None:
    """Print, write or draw a frequency response by sine sweep."""
    with busy():
        found = ssptool.analysis.frequency_response(system, _frequencies(sweep), amplitude=amplitude, **known)
        if output is not None:
            (found.save if output.suffix.lower() in NUMBER_FILES else found.draw)(output)
    say(ssptool.renderers.RESPONSE_RENDERERS[format.value](found), verbatim=format is TextOrJson.JSON)
    if output is not None and format is TextOrJson.TEXT:
        say(f"frequency response: {output}")


def _frequencies(text: str) -> list[float]:
    """The frequencies of a sweep [Hz]: a range has equal factors between them."""
    import numpy as np  # only sweeps need it

    _, values = factor(f"frequencies={text}", "--sweep")
    if not isinstance(values, dict):
        return [_number(str(value), "--sweep") for value in values]
    low, high, count = values["low"], values["high"], values["count"]
    if not (0 < low <= high and count > 0):
        raise typer.BadParameter(f"{text!r}: the frequencies must be positive and ascending", param_hint="--sweep")
    return [float(one) for one in np.geomspace(low, high, count)]


def _over(text: str) -> tuple[str, list[float]]:
    """The parameter of a root locus, and its values."""
    import numpy as np  # only root loci need it

    name, values = factor(text, "--over")
    if isinstance(values, dict):
        return name, np.linspace(values["low"], values["high"], values["count"]).tolist()
    return name, [_number(str(value), "--over") for value in values]


def _named(texts: list[str] | None) -> list[tuple[str, str]]:
    """`["a=1", "b"]` → `[("a", "1"), ("b", "")]`"""
    parts = (text.partition("=") for text in texts or [])
    return [(name.strip(), value.strip()) for name, _, value in parts]


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number", param_hint=option) from None


def _bounds(texts: list[str] | None) -> dict[str, tuple[float, float] | None]:
    """`["u=0:1", "w"]` → `{"u": (0.0, 1.0), "w": None}`"""
    found: dict[str, tuple[float, float] | None] = {}
    for name, value in _named(texts):
        low, _, high = value.partition(":")
        found[name] = (_number(low, "--free"), _number(high, "--free")) if value else None
    return found
