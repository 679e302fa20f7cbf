"""Frequency responses by sine sweep: of any system that runs, without states, derivatives or saved states.

Each input in turn gets a sine around its value, until the outputs are periodic; the deviation from a run without it has
a Fourier coefficient at this frequency. The error of a point follows from a run with half the amplitude, from one with
half the macro step as well, and from what is left of the transient.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.analysis.linear_model import LinearVariable, save_numbers
from ssptool.analysis.linear_text import table
from ssptool.arguments import path as file_path
from ssptool.engine.failure import RunError, Unsupported
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.engine.trace import REAL_TYPES
from ssptool.errors import WrongValue, counted
from ssptool.fmu.units import with_unit
from ssptool.foreign_text import joined_lines, json_text
from ssptool.printed import Printed, prints
from ssptool.public_calls import public

PER_PERIOD = 40
"""Macro steps in a period, at least: an input that is held has an error of 0.2 % then, a quarter with half steps."""

MOST_PERIODS = 10
"""Periods in a window, at most, so that a whole number of steps has almost the wanted frequency."""

AMPLITUDE = 1e-2
"""Amplitude of the sine, relative to the value of the input, or to 1 if that is 0."""

SETTLED = 1e-3
"""Rest of the transient, relative to the response, below which it counts as settled."""

FEWEST_WINDOWS = 4

MOST_WINDOWS, MOST_STEPS = 512, 200_000
"""Length of a run, at most."""

WORST = 0.1
"""Largest relative error of a point that is returned."""

WHAT = "a frequency response"

INTEGRATED = 1e-8
"""Tolerance of model exchange, at most: its error does not fall with the macro step."""

NOTHING = 1e-7
"""Response relative to the size of the output below which it counts as none."""

Complex = NDArray[np.complex128]
Drive = Callable[[float], float]
Driven = Callable[[float, Mapping[str, Drive]], AbstractContextManager[SteppedRun]]
"""Function: macro step [s] and inputs over time → a run, at the time of the point, that records the outputs."""


@public
@dataclass(frozen=True)
class FrequencyResponse(Printed):
    """The frequency response of a system near one point, from a sine sweep.

    Attributes
    ----------
    system
    time : [s]
        Time from which on the inputs oscillate.
    step : [s]
        Macro step h of the runs; a further run has h / 2.
    frequencies : (k,) [Hz]
        Nearest to those that were asked for, with whole periods in a number of macro steps.
    inputs, outputs
        Names, units and values at the point. The inputs oscillate around these values.
    amplitudes : (m,)
        Amplitudes of the inputs, in their units. Half of it is used too.
    response : (k, p, m) complex
        Outputs per input; nan where it cannot be measured (see `notes`).
    errors : (k, p, m)
        Estimated errors of `response`.
    distortions : (k, p, m)
        Amplitude of all harmonics relative to that of the response: 0 for a linear system.
    settled : (k, m) [s]
        Duration of the run after which the outputs are periodic.
    notes
    """

    system: str
    time: float
    step: float
    frequencies: Floats
    inputs: tuple[LinearVariable, ...]
    outputs: tuple[LinearVariable, ...]
    amplitudes: Floats
    response: Complex
    errors: Floats
    distortions: Floats
    settled: Floats
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        sizes = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs, {len(self.frequencies)} frequencies"
        return f"<FrequencyResponse of {self.system} at t = {self.time:g} s: {sizes}>"

    def to_dict(self) -> dict[str, Any]:
        """Everything as lists, numbers and texts, as in a .json file; None for nan."""
        arrays = {"real": self.response.real, "imaginary": self.response.imag}
        names = ("frequencies", "amplitudes", "errors", "distortions", "settled")
        return {
            "system": self.system,
            "time": self.time,
            "step": self.step,
            "notes": list(self.notes),
            **{kind: [one._asdict() for one in getattr(self, kind)] for kind in ("inputs", "outputs")},
            **{name: _without_nan(one) for name, one in (*arrays.items(), *((n, getattr(self, n)) for n in names))},
        }

    def save(self, path: Path | str) -> None:
        """Write everything to a .json file, or magnitudes, phases and errors over the frequency to a .csv file.

        Raises
        ------
        WrongValue
            The file has another ending.
        """
        save_numbers(path, self.to_dict, self._rows)

    def draw(self, path: Path | str) -> None:
        """Draw magnitude and phase over the frequency (Bode), and the locus (Nyquist): a .png, .svg, .pdf or .html
        file.

        Raises
        ------
        MissingPackage
            matplotlib is not installed.
        WrongValue
            The file has another ending, or no output depends on an input.
        """
        from ssptool.analysis import pictures  # few calls draw

        curves = tuple((name, self.response[:, i, j], np.empty(0)) for name, i, j in self._pairs())
        title = f"{self.system}, sine sweep at t = {self.time:g} s"
        pictures.draw_response(pictures.Response(curves, self.frequencies, np.empty(0)), title, file_path("path", path))

    def _pairs(self) -> Iterator[tuple[str, int, int]]:
        for j, given in enumerate(self.inputs):
            for i, output in enumerate(self.outputs):
                yield f"{output.name} / {given.name}", i, j

    def _rows(self) -> Iterator[list[str]]:
        pairs = list(self._pairs())
        heads = ("magnitude of {}", "phase of {} [deg]", "error of {}")
        yield ["frequency [Hz]", *(head.format(name) for name, _, _ in pairs for head in heads)]
        for place, frequency in enumerate(self.frequencies.tolist()):
            cells = [frequency]
            for _, i, j in pairs:
                found = self.response[place, i, j]
                cells += [abs(found), np.degrees(np.angle(found)), self.errors[place, i, j]]
            yield ["" if np.isnan(cell) else repr(float(cell)) for cell in cells]


def _without_nan(numbers: Floats) -> Any:
    found = numbers.astype(object)
    found[np.isnan(numbers)] = None
    return found.tolist()


class SineSweep:
    """Sine sweep of a system, over runs that `driven` begins.

    Parameters
    ----------
    time, step : [s]
    inputs
        Names, and the values around which they oscillate.
    """

    def __init__(self, driven: Driven, time: float, step: float, inputs: Sequence[LinearVariable]) -> None:
        self._driven, self._time, self._step, self._inputs = driven, time, step, tuple(inputs)

    def over(self, frequencies: Floats, amplitudes: Floats) -> FrequencyResponse:
        """The frequency response at these frequencies (k,) [Hz], with amplitudes (m,).

        Raises
        ------
        RunError, FmiError
            A component fails.
        Unsupported
            A run with half the step is not possible, or no point can be measured.
        """
        windows = [_window(each, self._step) for each in frequencies.tolist()]
        with ExitStack() as stack:
            usual = {h: _Outputs(stack.enter_context(self._driven(h, {})), self._time, h) for h in self._steps()}
            first = usual[self._step]
            points = [
                [
                    self._point(window, one, amplitude, usual)
                    for one, amplitude in zip(self._inputs, amplitudes, strict=True)
                ]
                for window in windows
            ]
            plan, outputs = first.run.plan, first.variables()
        notes = [
            f"{output.name} / {given.name} at {window.frequency:.6g} Hz: {point.reasons[i]}"
            for window, row in zip(windows, points, strict=True)
            for given, point in zip(self._inputs, row, strict=True)
            for i, output in enumerate(outputs)
            if i in point.reasons
        ]

        def stacked(name: str) -> Any:
            return np.array([[getattr(point, name) for point in row] for row in points])

        response = np.swapaxes(stacked("found"), 1, 2)
        if np.isnan(response).all():
            raise Unsupported(WHAT, f"no point can be measured; {notes[0]}", _ADVICE)
        return FrequencyResponse(
            system=plan.name,
            time=self._time,
            step=self._step,
            frequencies=np.array([one.frequency for one in windows]),
            inputs=self._inputs,
            outputs=outputs,
            amplitudes=np.array(amplitudes, dtype=float),
            response=response,
            errors=np.swapaxes(stacked("errors"), 1, 2),
            distortions=np.swapaxes(stacked("distortions"), 1, 2),
            settled=stacked("settled"),
            notes=tuple(notes),
        )

    def _steps(self) -> tuple[float, float]:
        return self._step, self._step / 2

    def _point(
        self, window: "_Window", given: LinearVariable, amplitude: float, usual: Mapping[float, "_Outputs"]
    ) -> "_Point":
        """One input at one frequency."""
        settling = self._settling(window, given, amplitude, usual[self._step])
        count, whole = settling.windows, settling.coefficients / (-1j * amplitude)
        others = []
        for h, finer in ((self._step, 1), (self._step / 2, 2)):
            steps = count * window.steps * finer
            with self._halved(h), self._begun(h, given, amplitude / 2, window) as run:
                moved = _Outputs(run, self._time, h).after(steps) - usual[h].after(steps)
            others.append(_last(moved, window.steps * finer, window.periods)[0] / (-0.5j * amplitude))
        half, found = others
        # Twice, as the error of the step may fall more slowly than it.
        errors = 2 * (np.abs(whole - half) + np.abs(half - found) + settling.left / amplitude)
        size = usual[self._step].size(window.steps)
        none = np.abs(found) * amplitude <= NOTHING * size
        reasons = {}
        for i in np.flatnonzero(~none):
            if not settling.done[i]:
                reasons[int(i)] = f"not periodic after {settling.duration:.6g} s"
            elif not errors[i] <= WORST * np.abs(found[i]):
                reasons[int(i)] = f"an error of {errors[i] / np.abs(found[i]):.1g} of the value"
        refused = list(reasons)
        found[refused] = complex(np.nan, np.nan)
        errors[refused] = np.nan
        distortions = np.where(none, 0.0, settling.harmonics / np.maximum(np.abs(settling.coefficients), _TINY))
        found[np.abs(found) == 0] = 0.0  # without a sign, which would be a phase
        return _Point(found, errors, distortions, settling.duration, reasons)

    @contextmanager
    def _halved(self, h: float) -> Iterator[None]:
        """Context of runs with this step [s]; all with the whole step were possible."""
        try:
            yield
        except RunError as error:
            if h == self._step:
                raise
            reason = f"the error of its points follows from half the step, which is not possible ({error})"
            raise Unsupported(WHAT, reason, f"use twice the step (--step-size {2 * self._step:g})") from None

    def _begun(
        self, h: float, given: LinearVariable, amplitude: float, window: "_Window"
    ) -> AbstractContextManager[SteppedRun]:
        start, turn, value = self._time, 2 * np.pi * window.frequency, given.value

        def drive(t: float) -> float:
            return float(value + (amplitude * np.sin(turn * (t - start)) if t > start else 0.0))

        return self._driven(h, {given.name: drive})

    def _settling(self, window: "_Window", given: LinearVariable, amplitude: float, usual: "_Outputs") -> "_Settling":
        """The response after as many windows as it takes to become periodic."""
        most = max(FEWEST_WINDOWS, min(MOST_WINDOWS, MOST_STEPS // window.steps))
        with self._begun(self._step, given, amplitude, window) as run:
            moving, count = _Outputs(run, self._time, self._step), FEWEST_WINDOWS
            while True:
                moved = moving.after(count * window.steps) - usual.after(count * window.steps)
                coefficients, harmonics = _last(moved, window.steps, window.periods)
                left = _left(moved, window.steps)
                done = left <= np.maximum(SETTLED * np.abs(coefficients), NOTHING * usual.size(window.steps))
                if done.all() or 2 * count > most:
                    duration = count * window.steps * self._step
                    return _Settling(coefficients, harmonics, left, done, count, duration)
                count *= 2


class _Window(NamedTuple):
    """A number of macro steps that lasts whole periods, and their frequency [Hz]."""

    steps: int
    periods: int
    frequency: float


class _Settling(NamedTuple):
    """A response (p,) after a number of windows: coefficients, amplitudes of harmonics, what is left of the transient,
    whether that is little; and the duration [s].
    """

    coefficients: Complex
    harmonics: Floats
    left: Floats
    done: NDArray[np.bool_]
    windows: int
    duration: float


class _Point(NamedTuple):
    """The response (p,) to one input at one frequency; `reasons` of outputs without one."""

    found: Complex
    errors: Floats
    distortions: Floats
    settled: float
    reasons: Mapping[int, str]


_TINY = np.finfo(float).tiny

_ADVICE = "use another amplitude (--amplitude), smaller steps (--step-size), or other frequencies"


def check_frequencies(frequencies: Floats, step: float) -> None:
    """Check that there are enough macro steps in a period. Raises WrongValue."""
    if not len(frequencies):
        raise WrongValue("there are no frequencies")
    most, largest = 1 / (PER_PERIOD * step), float(frequencies.max())
    if not (np.isfinite(frequencies) & (frequencies > 0)).all():
        raise WrongValue(f"frequencies must be positive numbers; found {frequencies.tolist()}")
    if largest > most * (1 + 1e-9):
        raise WrongValue(
            f"a frequency of {largest:g} Hz needs macro steps of at most {1 / (PER_PERIOD * largest):g} s "
            f"(--step-size); steps of {step:g} s reach {most:g} Hz"
        )
    if (least := float(frequencies.min())) < FEWEST_WINDOWS / (MOST_STEPS * step):
        raise WrongValue(f"a frequency of {least:g} Hz needs larger macro steps than {step:g} s (--step-size)")


def _window(frequency: float, step: float) -> _Window:
    """The shortest window with this frequency, except for 1e-3."""
    found = []
    for periods in range(1, MOST_PERIODS + 1):
        steps = max(round(periods / (frequency * step)), PER_PERIOD * periods)
        found.append(_Window(steps, periods, periods / (steps * step)))
        if abs(found[-1].frequency / frequency - 1) < 1e-3:
            return found[-1]
    return min(found, key=lambda one: abs(one.frequency - frequency))


class _Outputs:
    """Outputs of a run at macro steps from a time [s] on."""

    def __init__(self, run: SteppedRun, time: float, step: float) -> None:
        self.run, self._time, self._step = run, time, step
        self._columns = [place for place, one in enumerate(run.plan.columns) if one.type in REAL_TYPES]

    def after(self, steps: int) -> Floats:
        """(steps + 1, p) Outputs until so many steps later. Raises RunError."""
        end = self._time + steps * self._step
        if end > self.run.time:
            self.run.run_until(end)
        trace, t = self.run.trace, self._time + self._step * np.arange(steps + 1)
        return np.column_stack([np.interp(t, trace.t, column) for column in trace.cells[:, self._columns].T])

    def size(self, steps: int) -> Floats:
        """(p,) Largest magnitude within so many steps."""
        return np.asarray(np.abs(self.after(steps)).max(axis=0))

    def variables(self) -> tuple[LinearVariable, ...]:
        """The outputs, with their values at the time of the point."""
        shown = [self.run.plan.columns[place] for place in self._columns]
        values = self.after(0)[0].tolist()
        return tuple(LinearVariable(one.signal, one.unit, value) for one, value in zip(shown, values, strict=True))


def _last(moved: Floats, steps: int, periods: int) -> tuple[Complex, Floats]:
    """Fourier coefficients (p,) of the last window, without a drift, and the amplitudes of all harmonics."""
    each = moved[:-1].reshape(-1, steps, moved.shape[1])
    drift = each[-1].mean(axis=0) - each[-2].mean(axis=0)
    spectrum = np.fft.rfft(each[-1] - drift * (np.arange(steps) / steps)[:, None], axis=0) * 2 / steps
    with np.errstate(over="ignore"):  # of outputs that grow without bounds
        harmonics = np.sqrt((np.abs(spectrum[2 * periods :: periods]) ** 2).sum(axis=0))
    return spectrum[periods], harmonics


def _left(moved: Floats, steps: int) -> Floats:
    """(p,) What is left of the transient in the last window.

    The change from one window to the next, beyond the drift from that before, decays by a factor r that the changes in
    the middle and at the end tell, and all later changes together are 1 / (1 − r) times the last one. Of a transient
    that has decayed by less than the factor e, and of noise, it is taken as the number of windows times the change.
    """
    each = moved[:-1].reshape(-1, steps, moved.shape[1])
    changes = np.diff(each, axis=0)
    sizes = np.abs(changes[1:] - changes[:-1].mean(axis=1, keepdims=True)).max(axis=1)
    count = len(each)
    middle, last = sizes[count // 2 - 2], sizes[-1]
    rate = np.minimum(last / np.maximum(middle, _TINY), 1.0) ** (1 / (count // 2 - 1))
    return np.asarray(last / np.maximum(1 - rate, 1 / count))


# --- text ------------------------------------------------------------------------------------------------------------


@prints(FrequencyResponse)
def response_text(found: FrequencyResponse) -> str:
    """One line for each pair and frequency, with its error; before it the amplitudes and offsets."""
    lines = [
        f"frequency response of {found.system} from t = {found.time:.12g} s on, by sine sweep (macro steps of "
        f"{found.step:.6g} s): {counted(len(found.frequencies), 'frequency', 'frequencies')}"
    ]
    for one, amplitude in zip(found.inputs, found.amplitudes.tolist(), strict=True):
        sizes = [with_unit(f"{each:.6g}", one.unit) for each in (one.value, amplitude, amplitude / 2)]
        lines.append("{}: {} ± {}, and ± {}".format(one.name, *sizes))
    lines += [f"note: {note}" for note in found.notes]
    rows = [("output / input", "frequency [Hz]", "magnitude", "phase [deg]", "error", "harmonics", "settled [s]")]
    for name, i, j in found._pairs():
        for place, frequency in enumerate(found.frequencies.tolist()):
            value, error = found.response[place, i, j], found.errors[place, i, j]
            if np.isnan(value):
                continue
            relative = f"{error / abs(value):.1g}" if abs(value) > error else f"{error:.1g} of 0"
            rows.append(
                (
                    name,
                    f"{frequency:.6g}",
                    f"{abs(value):.6g}",
                    f"{np.degrees(np.angle(value)):.5g}",
                    relative,
                    f"{found.distortions[place, i, j]:.1g}",
                    f"{found.settled[place, j]:.4g}",
                )
            )
    return joined_lines([*lines, "", *table(rows)])


RESPONSE_RENDERERS: Mapping[str, Callable[[FrequencyResponse], str]] = MappingProxyType(
    {"text": response_text, "json": lambda found: json_text(found.to_dict(), indent=2)}
)
"""Formats of a frequency response."""
