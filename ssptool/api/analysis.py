"""Questions about a system at one instant: its linear model, and its steady state."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf, isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np

from ssptool.analysis.coupling_error import LEAST_ERROR, WANTED, advice
from ssptool.analysis.coupling_error import AdvisedStep as AdvisedStep
from ssptool.analysis.coupling_error import CouplingAdvice as CouplingAdvice
from ssptool.analysis.coupling_stability import CouplingStability as CouplingStability
from ssptool.analysis.coupling_stability import components
from ssptool.analysis.coupling_stability import stability as stability_of
from ssptool.analysis.identification import (
    STEPS,
    check_driven,
    check_identified,
    default_inputs,
    identified,
    real_outputs,
)
from ssptool.analysis.linear_model import LinearModel as LinearModel
from ssptool.analysis.linear_model import LinearVariable as LinearVariable
from ssptool.analysis.linear_text import LINEAR_RENDERERS as LINEAR_RENDERERS
from ssptool.analysis.linearization import linear_model, request
from ssptool.analysis.locus import LOCUS_RENDERERS as LOCUS_RENDERERS
from ssptool.analysis.locus import RootLocus as RootLocus
from ssptool.analysis.modes import Mode as Mode
from ssptool.analysis.probing import Probe, ProbedRun, check_probed
from ssptool.analysis.rest import LONGEST, simulated_rest
from ssptool.analysis.sine_sweep import AMPLITUDE, INTEGRATED, MOST_STEPS, WHAT, SineSweep, check_frequencies
from ssptool.analysis.sine_sweep import RESPONSE_RENDERERS as RESPONSE_RENDERERS
from ssptool.analysis.sine_sweep import FrequencyResponse as FrequencyResponse
from ssptool.analysis.starting import Begun, start_in
from ssptool.analysis.steady_state import Conditions, steady_state, unsatisfied
from ssptool.analysis.steady_state import SteadyState as SteadyState
from ssptool.analysis.steady_text import STEADY_RENDERERS as STEADY_RENDERERS
from ssptool.api.check import SystemOptions, shows
from ssptool.api.run import BOXED, BoxedOptions, opened_plan
from ssptool.arguments import mapping, number, seconds, texts
from ssptool.engine.failure import UnsupportedByFmu
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.selection import select
from ssptool.engine.settings import Settings, SettingsOptions
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.errors import WrongValue, is_own
from ssptool.public_calls import public

NOTHING: Mapping[str, float] = MappingProxyType({})
CONNECTOR = "the full name of a connector"


@public
@shows(BOXED, BoxedOptions, SettingsOptions)
def linearize(
    system: Path | str,
    *,
    at: float | str | None = None,
    input: str | list[str] | tuple[str, ...] = (),
    measure: str | list[str] | tuple[str, ...] = (),
    open: str | list[str] | tuple[str, ...] = (),
    **options: Unpack[BoxedOptions],
) -> LinearModel:
    """Linearize a system at one instant: x' = A x + B u, y = C x + D u.

    All components are run by model exchange. The partial derivatives of each component are its directional derivatives
    where its FMU gives them, and differences otherwise; the connections couple them exactly, also through algebraic
    loops. If not all components offer it, the result is a discrete model of the macro steps of a co-simulation, from
    its responses to jumps of unconnected inputs. The result is compared with the system itself, and states its error.
    The FMUs run in the process of the program, or in a sandbox.

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
    Unsupported
        An algebraic loop has no unique solution; or a co-simulation has no unconnected input, no fixed step, or events.
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
    try:
        with probed_run(linearize, system, options, time) as run:
            probe = run.probe()
            return linear_model(probe, request(probe, *names))
    except UnsupportedByFmu:
        return _identified(system, options, time, *names)


@public
@shows(BOXED, BoxedOptions, SettingsOptions)
def frequency_response(
    system: Path | str,
    frequencies: float | Sequence[float],
    *,
    at: float | str | None = None,
    input: str | list[str] | tuple[str, ...] = (),
    measure: str | list[str] | tuple[str, ...] = (),
    amplitude: float | None = None,
    **options: Unpack[BoxedOptions],
) -> FrequencyResponse:
    """Measure the frequency response of a system by a sine sweep, also where nothing can be linearized.

    Each input in turn oscillates around its value, in runs of co-simulation, until the outputs are periodic. Further
    runs with half the amplitude, and with half the macro step too, tell the error of each point. The FMUs run in the
    process of the program, or in a sandbox.

    Parameters
    ----------
    system, variant, parameters, start_values, inputs, scenario, settings, ...
        As in `simulate`.
    frequencies : (k,) [Hz]
        There must be 40 macro steps in a period.
    at
        Time [s] from which on the inputs oscillate, also as a text with a unit (default: the start time).
    input
        Unconnected inputs (default: inputs of the system; if it has none, unconnected inputs of components).
    measure
        Outputs (default: outputs of the system; if it has none, those of components).
    amplitude
        Amplitude of each input, in its unit (default: a hundredth of its value, or 0.01 if that is 0).

    Returns
    -------
    FrequencyResponse
        `found.response[:, i, j]` is output i per input j, at `found.frequencies`.

    Raises
    ------
    InvalidSystem
        The system has errors. No binary has been loaded.
    Unsupported
        There is no unconnected input, no fixed step or no half of it, or no point that can be measured.
    UnknownName, WrongValue
        A connector does not exist or is driven; a frequency is too high for the macro step.
    RunError, FmiError
        A component fails.

    Examples
    --------
    >>> found = ssptool.analysis.frequency_response("plant", [0.5, 1.0, 2.0], step_size=0.01)
    >>> abs(found.response[:, 0, 0]), found.errors[:, 0, 0]
    """
    wanted = np.sort(np.array(np.atleast_1d(frequencies), dtype=float))
    given_names, outputs = texts("input", input, CONNECTOR), texts("measure", measure, CONNECTOR)
    time = None if at is None else seconds("at", at)
    size = None if amplitude is None else number("amplitude", amplitude)
    if size is not None and not (isfinite(size) and size > 0):
        raise WrongValue(f"amplitude must be a positive number; found {size:g}")
    with opened_plan(frequency_response, system, options) as opened:
        interval = opened.plan.interval
        start, names = interval.start if time is None else time, list(given_names) or default_inputs(opened.plan)
        check_driven(opened.plan, start, names, WHAT, "disconnect one (ssptool disconnect)")
        check_frequencies(wanted, interval.step)
        given = options.get("inputs")
        driven: list[Any] = [] if given is None else [*given] if isinstance(given, list | tuple) else [given]

        @contextmanager
        def begun(step: float, drives: Mapping[str, Callable[[float], float]]) -> Iterator[ProbedRun]:
            stop = max(interval.stop, start + (MOST_STEPS + 1) * interval.step)
            settings = replace(opened.plan.settings, step_size=step, stop_time=stop)
            if opened.plan.is_one_ode:
                settings = replace(settings, tolerance=min(settings.tolerance or INTEGRATED, INTEGRATED))
            plan = opened.replan(settings=settings, inputs=[*driven, dict(drives)] if drives else given)
            plan = select(plan, list(outputs) or list(real_outputs(opened.plan)))
            with ProbedRun(plan, opened.archive, sandbox=opened.box()) as run:
                run.run_until(start)
                yield run

        with begun(interval.step, {}) as run:
            present = [run.quantity(name) for name in names]
        sizes = np.array([size or AMPLITUDE * (abs(one.value) or 1.0) for one in present])
        return SineSweep(begun, start, interval.step, present).over(wanted, sizes)


@public
@shows(BOXED, BoxedOptions, SettingsOptions)
def root_locus(
    system: Path | str,
    name: str,
    values: Sequence[float],
    *,
    at: float | str | None = None,
    **options: Unpack[BoxedOptions],
) -> RootLocus:
    """Compute the eigenvalues of a system over the values of a parameter.

    The linear model of `linearize` is computed for each value.

    Parameters
    ----------
    system, variant, parameters, start_values, settings, ...
        As in `simulate`.
    name
        Full name of a parameter or start value.
    values : (k,)
        Its values, in its unit.
    at
        Time [s], as in `linearize`.

    Raises
    ------
    WrongValue
        There are no values.

    All errors of `linearize`.

    Examples
    --------
    >>> locus = ssptool.analysis.root_locus("systems/dual_mass_oscillator", "System1.c1", np.linspace(0.1, 20, 40))
    >>> locus.crossings, locus.eigenvalues[:, 0]
    """
    given = [number("values", value) for value in values]
    if not given:
        raise WrongValue(f"{name}: there are no values")
    models = [linearize(system, at=at, **with_values(options, {name: value})) for value in given]
    return RootLocus(name, np.array(given), tuple(models))


@public
@shows(BOXED, BoxedOptions, SettingsOptions)
def trim(
    system: Path | str,
    *,
    free: str | list[str] | tuple[str, ...] | Mapping[str, tuple[float, float] | None] = (),
    fix: str | list[str] | tuple[str, ...] | Mapping[str, float | None] = (),
    target: Mapping[str, float] = NOTHING,
    slope: Mapping[str, float | None] = NOTHING,
    at: float | str | None = None,
    **options: Unpack[BoxedOptions],
) -> SteadyState:
    """Find a steady state of a system: states and inputs for which all derivatives are 0, near the start.

    There must be as many unknowns (states, and free inputs) as equations (derivatives, and outputs with targets). All
    components are run by model exchange, and the FMUs run in the process of the program, or in a sandbox. If not all
    offer it, and nothing else is asked for, a co-simulation runs until all signals rest.

    Parameters
    ----------
    system, variant, parameters, start_values, settings, ...
        As in `simulate`.
    free
        Unconnected inputs to determine. A mapping states bounds, of inputs and of states: {"u": (0, 1)}.
    fix
        States that keep their value at the start, or that of a mapping.
    target
        Output → the value that it has in the steady state, in its unit.
    slope
        State → the value of its derivative, instead of 0; None: any, for example of an angle that turns.
    at
        Begin to look for it where a run is at this time [s] (default: the start time).

    Returns
    -------
    SteadyState
        False if none was found. `save("point.ssv")` writes a parameter set with which `simulate` begins there.

    Raises
    ------
    InvalidSystem
        The system has errors. No binary has been loaded.
    UnsupportedByFmu
        An FMU does not offer model exchange, and there are conditions or a time.
    UnknownName, WrongValue
        A name is unknown, or the number of equations is not that of unknowns, or the steady state is not unique.
    RunError, FmiError
        A component fails at the start.

    Examples
    --------
    >>> point = ssptool.trim("plant", free="u", target={"speed": 100.0})
    >>> point.save("point.ssv")
    """
    conditions = Conditions(
        _bounds(free),
        _values("fix", fix),
        {name: number("target", value) for name, value in mapping("target", target, "a mapping of outputs").items()},
        {name: None if value is None else number("slope", value) for name, value in slope.items()},
    )
    time = None if at is None else seconds("at", at)
    try:
        with probed_run(trim, system, options, time) as run:
            found = steady_state(run.probe(), conditions)
    except UnsupportedByFmu:
        if time is None and not any(conditions):
            return _rest(system, options)
        raise
    if not found:
        return found
    begin = _run_factory(trim, system, options, found, conditions)
    start = start_in(found.states, {one.name: one.value for one in found.inputs}, run.plan, begin)
    return replace(found, start_values=start.values, notes=(*found.notes, *start.notes))


@public
@shows(BOXED, BoxedOptions, SettingsOptions)
def stability(system: Path | str, **options: Unpack[BoxedOptions]) -> CouplingStability:
    """Compute whether macro steps of co-simulation are stable, before a run.

    The linear models of the components at the start, and the master, give the matrix of one macro step. Its spectral
    radius is the factor by which errors grow. The components are taken as exact within a step. For these models, all
    FMUs must offer model exchange too.

    Parameters
    ----------
    system, step_size, master, ...
        As in `simulate`.

    Returns
    -------
    CouplingStability
        Spectral radius at the step size, and the largest stable step, of the chosen master and of others.

    Raises
    ------
    InvalidSystem
        The system has errors. No binary has been loaded.
    UnsupportedByFmu
        An FMU does not offer model exchange.
    RunError, FmiError
        A component fails at the start.
    """
    with _planned_and_probed(stability, system, options) as (plan, probe):
        return stability_of(plan, components(probe))


@public
@shows(BOXED, BoxedOptions, SettingsOptions)
def advise(system: Path | str, *, error: float = WANTED, **options: Unpack[BoxedOptions]) -> CouplingAdvice:
    """Predict the errors of co-simulation before a run: which masters and step sizes reach an error, and which
    connections limit the step.

    The prediction is exact for linear systems whose components integrate exactly. It follows from linear models of the
    components at the start, and counts for others as long as they stay near it. Inputs of the system keep their values
    at the start. For these models, all FMUs must offer model exchange too.

    Parameters
    ----------
    system, step_size, master, ...
        As in `simulate`.
    error
        Wanted error, relative to the range of each signal.

    Returns
    -------
    CouplingAdvice

    Raises
    ------
    InvalidSystem
        The system has errors. No binary has been loaded.
    WrongValue
        The error is too small.
    UnsupportedByFmu
        An FMU does not offer model exchange.
    RunError, FmiError
        A component fails at the start.
    """
    if not (wanted := number("error", error)) >= LEAST_ERROR:
        raise WrongValue(f"error must be at least {LEAST_ERROR:g}, because of rounding; found {wanted:g}")
    with _planned_and_probed(advise, system, options) as (plan, probe):
        return advice(plan, probe, wanted)


@contextmanager
def _planned_and_probed(
    call: Callable[..., object], system: Path | str, options: BoxedOptions
) -> Iterator[tuple[Plan, Probe]]:
    """The plan of a co-simulation, and the same system by model exchange at its start."""
    with opened_plan(call, system, with_implementation(options, "cs")) as opened:
        plan: Plan = opened.plan
    kept = (*SystemOptions.__annotations__, "accept", "sandbox")
    of_system = {name: value for name, value in options.items() if name in kept}
    with probed_run(call, system, {**of_system, "start_time": plan.interval.start}, None) as run:
        yield plan, run.probe()


def _identified(
    system: Path | str,
    options: Mapping[str, Any],
    until: float | None,
    inputs: Sequence[str],
    outputs: Sequence[str],
    opened_inputs: Sequence[str],
) -> LinearModel:
    """The discrete linear model of co-simulation."""
    with opened_plan(linearize, system, options) as opened:
        interval, settings = opened.plan.interval, opened.plan.settings
        time, names = interval.start if until is None else until, list(inputs) or default_inputs(opened.plan)
        check_identified(opened.plan, time, opened_inputs, names)
        stop = max(interval.stop, time + (STEPS + 1) * interval.step)
        plan = opened.replan(settings=replace(settings, step_size=interval.step, stop_time=stop))
        plan = select(plan, list(outputs) or list(real_outputs(plan)))
        with ProbedRun(plan, opened.archive, sandbox=opened.box()) as run:
            run.run_until(time)
            return identified(run, time, [run.quantity(name) for name in names])


def _rest(system: Path | str, options: Mapping[str, Any]) -> SteadyState:
    """The state in which a simulation comes to rest."""
    with opened_plan(trim, system, options) as opened:
        interval, settings = opened.plan.interval, opened.plan.settings
        span = interval.stop - interval.start
        longer = replace(settings, step_size=interval.step, stop_time=interval.start + LONGEST * span)
        with SteppedRun(opened.replan(settings=longer), opened.archive, sandbox=opened.box()) as run:
            return simulated_rest(run, span)


def _bounds(free: object) -> dict[str, tuple[float, float]]:
    """Raises WrongValue, WrongArgument."""
    if not isinstance(free, Mapping):
        return dict.fromkeys(texts("free", free, "the name of an input"), (-inf, inf))
    found = {}
    for name, given in free.items():
        low, high = (-inf, inf) if given is None else (float(given[0]), float(given[1]))
        if not low < high:
            raise WrongValue(f"free {name}: the lower bound must be less than the upper bound; found {low:g}, {high:g}")
        found[str(name)] = (low, high)
    return found


def _values(argument: str, given: object) -> dict[str, float | None]:
    if not isinstance(given, Mapping):
        return dict.fromkeys(texts(argument, given, "the name of a state"))
    return {str(name): None if value is None else number(argument, value) for name, value in given.items()}


def _run_factory(
    function: Callable[..., Any],
    system: Path | str,
    options: Mapping[str, Any],
    point: SteadyState,
    conditions: Conditions,
) -> Callable[[Mapping[str, float]], Begun | None]:
    """Begins runs with start values beside those of the options."""

    def begin(values: Mapping[str, float]) -> Begun | None:
        try:
            with probed_run(function, system, with_values(options, values), None) as run:
                probe = run.probe()
        except Exception as error:
            if not is_own(error):
                raise
            return None
        left = unsatisfied(probe, conditions)
        return Begun({one.name: one.value for one in probe.states}, left)

    return begin


@contextmanager
def probed_run(
    function: Callable[..., Any], system: Path | str, options: Mapping[str, Any], until: float | None
) -> Iterator[ProbedRun]:
    """A run by model exchange of all components, at this time [s] (None: at the start)."""
    with opened_plan(function, system, with_implementation(options, "me")) as opened:
        plan: Plan = opened.plan
        check_probed(plan, function.__name__)
        interval = plan.interval
        if until is not None and until < interval.start:
            raise WrongValue(f"t = {until!r} s is before the start time of {interval.start!r} s")
        if until is not None and until > interval.stop:
            plan = opened.replan(settings=replace(plan.settings, stop_time=until))
        with ProbedRun(plan, opened.archive, sandbox=opened.box()) as run:
            if until is not None:
                run.run_until(until)
            yield run


def with_implementation(options: Mapping[str, Any], implementation: str) -> dict[str, Any]:
    """The options with this implementation, unless they ask for something else."""
    given = dict(options)
    keywords = {name: value for name, value in given.items() if name == "implementation"}
    if Settings.of(given.get("settings"), keywords).implementation == "auto":
        given["implementation"] = implementation
    return given


def with_values(options: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, Any]:
    """The options with these start values beside those of the caller."""
    return {**options, "start_values": {**dict(options.get("start_values") or {}), **values}}
