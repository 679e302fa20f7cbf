"""Questions about a system at one instant: its linear model, and its steady state."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from ssptool.analysis.linear_model import LinearModel as LinearModel
from ssptool.analysis.linear_model import LinearVariable as LinearVariable
from ssptool.analysis.linear_text import LINEAR_RENDERERS as LINEAR_RENDERERS
from ssptool.analysis.linearize import linear_model, request
from ssptool.analysis.modes import Mode as Mode
from ssptool.analysis.probing import ProbedRun, check_probed
from ssptool.api.check import shows
from ssptool.api.run import SHOWN, RunOptions, opened_plan
from ssptool.arguments import seconds, texts
from ssptool.engine.planning.plan import Plan
from ssptool.engine.settings import Settings, SettingsOptions
from ssptool.errors import WrongValue
from ssptool.public_calls import public

CONNECTOR = "the full name of a connector"


@public
@shows(SHOWN, RunOptions, SettingsOptions)
def linearize(
    system: Path | str,
    *,
    at: float | str | None = None,
    input: str | list[str] | tuple[str, ...] = (),
    measure: str | list[str] | tuple[str, ...] = (),
    open: str | list[str] | tuple[str, ...] = (),
    **options: Unpack[RunOptions],
) -> LinearModel:
    """Linearize a system at one instant: x' = A x + B u, y = C x + D u.

    All components are run by model exchange. The partial derivatives of each component are its directional derivatives
    where its FMU gives them, and differences otherwise; the connections couple them exactly, also through algebraic
    loops. The result is compared with the system itself, and states its error. The FMUs run in the process of the
    program.

    Parameters
    ----------
    system, variant, parameters, start_values, inputs, scenario, settings, ...
        As in `simulate`.
    at
        Time [s], also as a text with a unit: "2s". A run leads there (default: the start time).
    input
        Inputs of the linear model: connectors of the system or of components. To a connected input, or an output, the
        input of the model is added. Default: inputs of the system; if it has none, unconnected inputs of components.
    measure
        Outputs of the linear model (default: outputs of the system; if it has none, those of components).
    open
        Connected inputs to disconnect. They are inputs of the linear model, before those of `input`.

    Raises
    ------
    InvalidSystem
        The system has errors. No binary has been loaded.
    UnsupportedByFmu
        An FMU does not offer model exchange.
    Unsupported
        An algebraic loop has no unique solution.
    UnknownName, WrongValue
        A connector does not exist, or does not vary continuously; the time is before the start.
    RunError, FmiError
        A component fails, at this point or before.

    Examples
    --------
    >>> model = ssptool.linearize("systems/dual_mass_oscillator", open="System1.F", measure="System2.F")
    >>> model.A, model.modes[0].frequency
    """
    names = [texts(name, value, CONNECTOR) for name, value in (("input", input), ("measure", measure), ("open", open))]
    time = None if at is None else seconds("at", at)
    with _probed_run(linearize, system, options, time) as run:
        if time is not None:
            run.run_until(time)
        probe = run.probe()
        return linear_model(probe, request(probe, *names))


@contextmanager
def _probed_run(
    function: Callable[..., Any], system: Path | str, options: Mapping[str, Any], until: float | None
) -> Iterator[ProbedRun]:
    """A run by model exchange of all components, that can reach this time [s]."""
    with opened_plan(function, system, _by_exchange(options)) as opened:
        plan: Plan = opened.plan
        check_probed(plan, f"{function.__name__}")
        interval = plan.interval
        if until is not None and until < interval.start:
            raise WrongValue(f"t = {until!r} s is before the start time of {interval.start!r} s")
        if until is not None and until > interval.stop:
            plan = opened.replan(settings=replace(plan.settings, stop_time=until))
        with ProbedRun(plan, opened.archive) as run:
            yield run


def _by_exchange(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with model exchange, unless they ask for something else."""
    given = dict(options)
    keywords = {name: value for name, value in given.items() if name == "implementation"}
    if Settings.of(given.get("settings"), keywords).implementation == "auto":
        given["implementation"] = "me"
    return given
