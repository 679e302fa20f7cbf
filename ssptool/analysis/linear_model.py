"""Linear models of systems: matrices with the names, units and values of what they relate."""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from csv import writer
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ssptool.analysis.modes import Mode, modes_of
from ssptool.arguments import path as file_path
from ssptool.documents.saving import save_file
from ssptool.engine.kernel.calls import Floats
from ssptool.errors import MissingPackage, WrongValue
from ssptool.foreign_text import json_text
from ssptool.option_words import LINEAR_FILES, NUMBER_FILES
from ssptool.printed import Printed
from ssptool.public_calls import public

if TYPE_CHECKING:
    from scipy.signal import StateSpace

MATRICES = ("A", "B", "C", "D")


def checked_ending(path: Path | str, endings: Sequence[str]) -> Path:
    """Path of a file with one of these endings. Raises WrongValue."""
    path = file_path("path", path)
    if path.suffix.lower() not in endings:
        raise WrongValue(f"{path}: the ending must be one of {', '.join(endings)}; found {path.suffix or 'none'}")
    return path


def save_numbers(
    path: Path | str, content: Callable[[], Mapping[str, Any]], rows: Callable[[], Iterable[Iterable[object]]]
) -> None:
    """Write everything to a .json file, or the rows of a table to a .csv file. Raises WrongValue."""
    path = checked_ending(path, NUMBER_FILES)
    if path.suffix.lower() == ".json":
        save_file(path, json_text(content(), indent=1))
        return
    table = io.StringIO()
    writer(table, lineterminator="\n").writerows(rows())
    save_file(path, table.getvalue())


class LinearVariable(NamedTuple):
    """A state, input or output of a linear model.

    Attributes
    ----------
    name
        Full name.
    unit
        Its unit in the FMU; None if that has none.
    value
        Its value at the point of the linear model.
    component
        Full name of its component; empty for a connector of the system.
    """

    name: str
    unit: str | None
    value: float
    component: str = ""


@public
@dataclass(frozen=True)
class LinearModel(Printed):
    """The linear model of a system near one point: x' = f + A (x - x0) + B (u - u0), y = y0 + C (x - x0) + D (u - u0).
    If not all components run by model exchange, it is a discrete model of the deviation from a run without changes:
    x(t + h) = A x(t) + B u(t), y(t) = C x(t) + D u(t).

    Attributes
    ----------
    system
        Name of the system.
    time
        Time of the point [s].
    A : (n, n)
    B : (n, m)
    C : (p, n)
    D : (p, m)
        The matrices. Their rows and columns have the order of `states`, `inputs` and `outputs`, and their units.
    slopes : (n,)
        The derivatives f of the states at the point; 0 in a steady state.
    states, inputs, outputs
        Names, units, and values x0, u0 and y0 at the point.
    error
        Estimated error of the matrices: that of an element, relative to the largest element of its row in [A B] or
        [C D].
    ways
        Component → "directional derivatives", "differences" or "responses to jumps".
    notes
        Remarks, for example on derivatives that are not unique at this point.
    step
        Macro step h of a discrete model [s]; 0 for a continuous one.
    """

    system: str
    time: float
    A: Floats
    B: Floats
    C: Floats
    D: Floats
    slopes: Floats
    states: tuple[LinearVariable, ...]
    inputs: tuple[LinearVariable, ...]
    outputs: tuple[LinearVariable, ...]
    error: float
    ways: Mapping[str, str]
    notes: tuple[str, ...] = ()
    step: float = 0.0

    def __post_init__(self) -> None:
        for matrix in (self.A, self.B, self.C, self.D, self.slopes):
            matrix.flags.writeable = False

    def __repr__(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"<LinearModel of {self.system} at t = {self.time:g} s: {sizes}>"

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """Eigenvalues of A with frequency, damping and participation: one for a pair of complex ones. The slowest to
        decay comes first. Eigenvalues z of a discrete model are shown as log(z) / h, without those that are 0 within
        their error.
        """
        errors = self.error * np.abs(np.hstack([self.A, self.B])).max(axis=1, initial=0.0)
        return modes_of(self.A, errors, [(one.name, one.component) for one in self.states], self.step)

    @property
    def stable(self) -> bool | None:
        """True if the eigenvalues of all modes have negative real parts, False if one has a positive real part. None if
        the largest real part is 0 within its error: small deviations neither decay nor grow, or nonlinear terms decide.
        """
        return None if abs(self.margin) <= self.margin_error else self.margin > 0

    @property
    def margin(self) -> float:
        """Stability margin [1/s]: the rate at which the slowest mode decays; negative if one grows."""
        return 0.0 - max((mode.eigenvalue.real for mode in self.modes), default=-np.inf)

    @property
    def margin_error(self) -> float:
        """Estimated error of the stability margin [1/s]: any mode may be the slowest within its own error."""
        parts = [(mode.eigenvalue.real, mode.error) for mode in self.modes] or [(0.0, 0.0)]
        largest = max(real for real, _ in parts)
        high, low = (max(real + sign * error for real, error in parts) for sign in (1, -1))
        return max(high - largest, largest - low)

    @property
    def stability(self) -> str:
        """The stability in words, with the margin."""
        if self.stable is None:
            return f"at the limit of stability: stability margin 0 1/s (error: {self.margin_error:.1g} 1/s)"
        return f"{'stable' if self.stable else 'not stable'}: stability margin {self.margin:.6g} 1/s"

    def response(self, frequencies: Any) -> Any:
        """Frequency response C (s - A)⁻¹ B + D, with s = i 2πf, or exp(i 2πf h) for a discrete model.

        Parameters
        ----------
        frequencies : (k,) [Hz]

        Returns
        -------
        (k, p, m) complex
        """
        found = np.atleast_1d(np.asarray(frequencies, dtype=float))
        unit, s = np.eye(len(self.states)), 2j * np.pi * found
        s = np.exp(s * self.step) if self.step else s
        return np.array([self.C @ np.linalg.solve(one * unit - self.A, self.B) + self.D for one in s])

    def step_response(self, times: Any) -> Floats:
        """Change of the outputs after a unit step of each input at 0 s, exact except for rounding.

        Parameters
        ----------
        times : (k,) [s]
            Equidistant, from 0 s on. Values of a discrete model are those of the macro step before.

        Returns
        -------
        (k, p, m)
        """
        from ssptool.analysis.pictures import step_responses  # loads scipy

        return step_responses(self.A, self.B, self.C, self.D, np.asarray(times, dtype=float), self.step)

    def save(self, path: Path | str) -> None:
        """Write a .json, .mat, .txt or .fmu file. A .mat file has `A`, `B`, `C`, `D`, the point (`x0`, `u0`, `y0`,
        `f`), and the names and units of `states`, `inputs` and `outputs`. An FMU (FMI 2.0) is for model exchange, or if
        the model is discrete, for co-simulation with its step.

        Raises
        ------
        WrongValue
            The file has another ending.
        """
        path = checked_ending(path, LINEAR_FILES)
        ending = path.suffix.lower()
        if ending == ".mat":
            save_file(path, _mat(self))
        elif ending == ".fmu":
            from ssptool.analysis.linear_fmu import linear_fmu  # few calls write one

            matrix = np.block([[self.A, self.B], [self.C, self.D]])
            signals = self.states, self.inputs, self.outputs
            save_file(path, linear_fmu(self.system, matrix, self.slopes, *signals, self.step))
        else:
            save_file(path, f"{json_text(self.to_dict(), indent=2) if ending == '.json' else self}\n")

    def draw_modes(self, path: Path | str) -> None:
        """Draw the eigenvalues in the complex plane and the participation of components: a .png, .svg, .pdf or .html
        file.

        Raises
        ------
        MissingPackage
            matplotlib is not installed.
        WrongValue
            The file has another ending, or the model has no states.
        """
        from ssptool.analysis.pictures import draw_modes  # few calls draw

        draw_modes(self.modes, self._title, file_path("path", path))

    def draw_response(self, path: Path | str) -> None:
        """Draw magnitude and phase over the frequency (Bode), the locus (Nyquist), and the step response, of each
        output to each input: a .png, .svg, .pdf or .html file.

        Raises
        ------
        MissingPackage
            matplotlib is not installed.
        WrongValue
            The file has another ending, or the model has no input or no output.
        """
        from ssptool.analysis import pictures  # few calls draw

        frequencies, times = pictures.usual_frequencies(self.modes), pictures.usual_times(self.modes)
        over_frequency, over_time = self.response(frequencies), self.step_response(times)
        pairs = [(i, j) for j in range(len(self.inputs)) for i in range(len(self.outputs))]
        curves = tuple(
            (f"{self.outputs[i].name} / {self.inputs[j].name}", over_frequency[:, i, j], over_time[:, i, j])
            for i, j in pairs
        )
        pictures.draw_response(pictures.Response(curves, frequencies, times), self._title, file_path("path", path))

    @property
    def _title(self) -> str:
        return f"{self.system}, linear at t = {self.time:g} s"

    def to_dict(self) -> dict[str, Any]:
        """Everything as lists, numbers and texts, as in a .json file."""
        return {
            "system": self.system,
            "time": self.time,
            "step": self.step,
            "error": self.error,
            "ways": dict(self.ways),
            "notes": list(self.notes),
            **{kind: [one._asdict() for one in getattr(self, kind)] for kind in ("states", "inputs", "outputs")},
            "slopes": self.slopes.tolist(),
            **{name: getattr(self, name).tolist() for name in MATRICES},
            "stable": self.stable,
            "margin": self.margin,
            "margin_error": self.margin_error,
            "modes": [mode.to_dict() for mode in self.modes],
        }

    def to_scipy(self) -> "StateSpace":
        """The matrices as a `scipy.signal.StateSpace`, discrete for a discrete model."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D, **({"dt": self.step} if self.step else {}))

    def to_control(self) -> Any:
        """The matrices as a `control.StateSpace` of python-control, with names: `Motor/w` for `Motor.w`, as it takes no
        dots.

        Raises
        ------
        MissingPackage
            The package `control` is not installed.
        """
        try:
            import control  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise MissingPackage("this needs python-control: pip install control", "control") from None
        kinds = ("states", "inputs", "outputs")
        names = {kind: [one.name.replace(".", "/") for one in getattr(self, kind)] for kind in kinds}
        return control.StateSpace(self.A, self.B, self.C, self.D, self.step, **names)


def _mat(model: LinearModel) -> bytes:
    from scipy.io import savemat  # only this file needs it

    content: dict[str, Any] = {name: getattr(model, name) for name in MATRICES}
    content |= {"f": model.slopes[:, None], "time": model.time, "step": model.step, "error": model.error}
    for kind, point in (("states", "x0"), ("inputs", "u0"), ("outputs", "y0")):
        signals: Sequence[LinearVariable] = getattr(model, kind)
        content[kind] = np.array([one.name for one in signals], dtype=object).reshape(-1, 1)
        content[f"{kind[:-1]}_units"] = np.array([one.unit or "" for one in signals], dtype=object).reshape(-1, 1)
        content[point] = np.array([one.value for one in signals]).reshape(-1, 1)
    written = io.BytesIO()
    savemat(written, content, do_compression=True)  # type: ignore[arg-type, unused-ignore]
    return written.getvalue()
