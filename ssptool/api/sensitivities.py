"""Sensitivities of a system along a trajectory."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from ssptool.analysis.identification import real_outputs
from ssptool.analysis.linear_model import LinearVariable
from ssptool.analysis.probing import Probe, ProbedRun
from ssptool.analysis.sensitivity import (
    DIFFERENCES,
    SAME,
    STEP,
    VARIATIONAL,
    DerivedOutputs,
    Neighbours,
    by_differences,
    by_variation,
    size,
)
from ssptool.analysis.sensitivity import Sensitivities as Sensitivities
from ssptool.analysis.sensitivity_text import SENSITIVITY_RENDERERS as SENSITIVITY_RENDERERS
from ssptool.api.analysis import CONNECTOR, probed_run, with_implementation, with_values
from ssptool.api.check import shows
from ssptool.api.run import BOXED, BoxedOptions, opened_plan, simulate
from ssptool.arguments import texts
from ssptool.engine.failure import RunError, Unsupported
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.result import Result
from ssptool.engine.settings import SettingsOptions
from ssptool.engine.trace import REAL_TYPES
from ssptool.errors import ContradictingSettings, UnknownName, WrongValue
from ssptool.fmu.instance import FmiError
from ssptool.public_calls import public

NOT_ALL = "not all components run by model exchange"


@public
@shows(BOXED, BoxedOptions, SettingsOptions)
def sensitivities(
    system: Path | str,
    to: str | list[str] | tuple[str, ...],
    measure: str | list[str] | tuple[str, ...] = (),
    **options: Unpack[BoxedOptions],
) -> Sensitivities:
    """Compute derivatives of outputs over time with respect to parameters and start values.

    If all components offer model exchange, no event occurs, and inputs do not jump, the variational equations are
    integrated together with the system. Otherwise, four runs for each parameter are compared. The result states which,
    and its error. The FMUs run in the process of the program, or in a sandbox.

    Parameters
    ----------
    system, variant, start_values, inputs, settings, stop_time, ...
        As in `simulate`.
    to
        Full names of parameters and start values that are real numbers.
    measure
        Outputs to derive (default: outputs of the system; if it has none, those of components).

    Returns
    -------
    Sensitivities
        `found["Load.w", "Motor.R"]` is ∂(Load.w)/∂(Motor.R) at the times `found.t`.

    Raises
    ------
    InvalidSystem
        The system has errors. No binary has been loaded.
    UnknownName
        A parameter or output does not exist.
    WrongValue
        A parameter or output is not a real number, or a parameter takes no value.
    RunError, FmiError
        A component fails.

    Examples
    --------
    >>> found = ssptool.analysis.sensitivities("systems/dual_mass_oscillator", "System1.c1", "System1.x1", stop_time=5)
    >>> found["System1.x1", "System1.c1"]
    """
    names = tuple(dict.fromkeys(texts("to", to, "the full name of a parameter")))
    outputs = texts("measure", measure, CONNECTOR)
    if not names:
        raise WrongValue("to must name at least one parameter or start value")
    exchanged = with_implementation(options, "me")
    reason = _why_not(system, exchanged)
    if not reason:
        runs = _Runs(system, exchanged, outputs)
        found = _varied(runs, names)
        if isinstance(found, Sensitivities):
            return found
        reason = found
    runs = _Runs(system, options, outputs)
    stated = runs.parameters(names)
    derived = by_differences(runs.y, stated, runs)
    return runs.told(stated, derived, DIFFERENCES, 1 + 4 * len(names), f"the runs are compared, because {reason}")


def _why_not(system: Path | str, options: Mapping[str, Any]) -> str:
    """Reason why there are no variational equations; empty if there are."""
    try:
        with opened_plan(sensitivities, system, options) as opened:
            plan: Plan = opened.plan
    except ContradictingSettings:
        return "the settings are those of co-simulation"
    except Unsupported:
        return NOT_ALL
    if not plan.is_one_ode:
        return NOT_ALL
    return "inputs jump" if plan.stimuli.jumps or plan.stimuli.actions else ""


class _Runs:
    """Runs of a system with other values of parameters.

    Attributes
    ----------
    first
        The run with the values of the system.
    plan
    y : (k, p)
        Its outputs.
    """

    def __init__(self, system: Path | str, options: Mapping[str, Any], outputs: Sequence[str]) -> None:
        self.system, self.options = system, options
        with opened_plan(sensitivities, system, options) as opened:
            self.plan: Plan = opened.plan
        self._names = list(outputs) or list(real_outputs(self.plan))
        self.first = self._run({})
        for column in self.first.columns:
            if column.type not in REAL_TYPES:
                raise WrongValue(f"{column.signal} has no derivative: it is not a real number")
        self.y = self.first.trace.y.copy()

    def _run(self, values: Mapping[str, float]) -> Result:
        options = with_values(self.options, values)
        result = simulate(self.system, record=self._names, accuracy="off", **options)
        if result.failure is not None:
            raise RunError(result.failure)
        return result

    def __call__(self, values: Mapping[str, float]) -> Floats:
        """(k, p) Outputs of a run with these values, at the times of the first."""
        result = self._run(values)
        if np.array_equal(result.t, self.first.t):
            return result.trace.y.copy()
        return np.column_stack([np.interp(self.first.t, result.t, column) for column in result.trace.y.T])

    def parameters(self, names: Sequence[str]) -> tuple[LinearVariable, ...]:
        """Values and units of parameters at the start."""
        with (
            opened_plan(sensitivities, self.system, self.options) as opened,
            ProbedRun(opened.plan, opened.archive, sandbox=opened.box()) as run,
        ):
            return tuple(run.quantity(name) for name in names)

    def told(
        self, parameters: tuple[LinearVariable, ...], found: DerivedOutputs, way: str, runs: int, *notes: str
    ) -> Sensitivities:
        """The result."""
        outputs = (
            LinearVariable(column.signal, column.unit, float(value))
            for column, value in zip(self.first.columns, found.y[-1], strict=True)
        )
        return Sensitivities(
            self.plan.name, self.first.t.copy(), parameters, tuple(outputs), *found, way=way, runs=runs, notes=notes
        )


def _varied(runs: _Runs, names: Sequence[str]) -> Sensitivities | str:
    """Sensitivities by variational equations, or the reason why there are none."""
    first, plan = runs.first, runs.plan
    if first.statistics.events:
        return "events occur"
    if first.last_time < plan.interval.stop:
        return "a component ends the run"
    with ExitStack() as stack:

        def begun(values: Mapping[str, float]) -> tuple[ProbedRun, Probe]:
            options = with_values(runs.options, values)
            run = stack.enter_context(probed_run(sensitivities, runs.system, options, None))
            return run, run.probe()

        run, probe = begun({})
        stated = tuple(run.quantity(name) for name in names)
        try:
            slots = list(probe.slots([column.signal for column in first.columns], "output"))
        except (UnknownName, WrongValue):
            return "an output is inside of an FMU"
        neighbours = []
        for times in (1, 2):
            for one in stated:
                step = times * STEP * size(one.value)
                sides = (begun({one.name: one.value + sign * step})[1] for sign in (1, -1))
                neighbours.append(Neighbours(size(one.value), step, step, *sides))
        longest = plan.interval.step if plan.stimuli.sources else inf
        try:
            found = by_variation(probe, neighbours, first.t, slots, longest)
        except (RunError, FmiError) as error:
            return f"the system cannot be evaluated next to its trajectory: {error}"
    ranges = np.maximum(np.ptp(runs.y, axis=0), 1e-12 + 1e-6 * np.abs(runs.y).max(axis=0))
    if not (np.isfinite(found.derivatives).all() and np.all(np.abs(found.y - runs.y) <= SAME * ranges)):
        return "the integration of the variational equations departs from the run"
    return runs.told(stated, found, VARIATIONAL, 2)
