"""Linear models and modes as text and JSON."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ssptool.analysis.linear_model import MATRICES, LinearModel, LinearVariable
from ssptool.analysis.modes import Mode
from ssptool.engine.kernel.calls import Floats
from ssptool.errors import counted
from ssptool.fmu.units import with_unit
from ssptool.foreign_text import joined_lines, json_text
from ssptool.printed import prints

MOST_SHOWN = 12
"""Rows and columns up to which a text has the matrices."""


@prints(LinearModel)
def linear_text(model: LinearModel) -> str:
    """Sizes, point, modes, and the matrices where they are small."""
    sizes = [counted(len(getattr(model, f"{kind}s")), kind) for kind in ("state", "input", "output")]
    ways = sorted(set(model.ways.values()))
    kind = f"discrete linear model (macro steps of {model.step:.6g} s)" if model.step else "linear model"
    lines = [
        f"{kind} of {model.system} at t = {model.time:.12g} s: {', '.join(sizes)}",
        f"error of the matrices: about {model.error:.1g} of the largest element of a row ({', '.join(ways)})",
        *(f"note: {note}" for note in model.notes),
    ]
    slopes = model.slopes.tolist()
    lines += [f"note: {note}: see the slopes" for note in _on_slopes(model)]
    if model.states and not model.step:
        rows = [(one.name, _value(one), f"{slope:.6g}") for one, slope in zip(model.states, slopes, strict=True)]
        lines += ["", *table([("state", "value", "slope per s"), *rows])]
    for kind, signals in (("input", model.inputs), ("output", model.outputs)):
        if signals:
            lines += ["", *table([(kind, "value"), *((one.name, _value(one)) for one in signals)])]
    if model.states:
        lines += ["", *_modes(model)]
    for name in MATRICES:
        lines += _matrix(name, getattr(model, name), *_axes(model, name))
    return joined_lines(lines)


def _on_slopes(model: LinearModel) -> list[str]:
    return ["it is not a steady state"] if model.slopes.any() else []


def modes_text(model: LinearModel) -> str:
    """One line for each mode, and the stability margin."""
    kind = f"discrete modes (macro steps of {model.step:.6g} s)" if model.step else "modes"
    head = f"{kind} of {model.system} at t = {model.time:.12g} s"
    notes = [f"note: {note}" for note in (*model.notes, *_on_slopes(model))]
    return joined_lines([head, *notes, *(_modes(model) if model.states else ["the system has no states"])])


def _modes(model: LinearModel) -> list[str]:
    head = ("eigenvalue [1/s]", "frequency [Hz]", "damping", "time constant [s]", "components")
    rows = [head, *map(_mode_row, model.modes)]
    return [*table(rows), model.stability]


def _mode_row(mode: Mode) -> tuple[str, str, str, str, str]:
    value = mode.significant
    imaginary = f" ± {value.imag:.6g}i" if value.imag else ""
    shares = (f"{name or 'system'} {share:.0%}" for name, share in mode.components.items() if share >= 0.005)
    return (
        f"{value.real:.6g}{imaginary}",
        f"{mode.frequency:.6g}" if value.imag else "",
        f"{mode.damping:.4g}",
        f"{mode.time_constant:.4g}",
        ", ".join(shares),
    )


def _value(one: LinearVariable) -> str:
    return with_unit(f"{one.value:.6g}", one.unit)


def _axes(model: LinearModel, name: str) -> tuple[Sequence[LinearVariable], Sequence[LinearVariable]]:
    rows = model.states if name in "AB" else model.outputs
    return rows, model.states if name in "AC" else model.inputs


def _matrix(name: str, matrix: Floats, rows: Sequence[LinearVariable], columns: Sequence[LinearVariable]) -> list[str]:
    if not matrix.size:
        return []
    if max(matrix.shape) > MOST_SHOWN:
        return ["", f"{name}: {matrix.shape[0]} x {matrix.shape[1]} (-o FILE.json or FILE.mat has it)"]
    head = (name, *(one.name for one in columns))
    lines = (
        (one.name, *(f"{value + 0.0:.6g}" for value in row)) for one, row in zip(rows, matrix.tolist(), strict=True)
    )
    return ["", *table([head, *lines])]


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def linear_json(model: LinearModel) -> str:
    """Everything, as JSON."""
    return json_text(model.to_dict(), indent=2)


LINEAR_RENDERERS: Mapping[str, Callable[[LinearModel], str]] = MappingProxyType(
    {"text": linear_text, "modes": modes_text, "json": linear_json}
)
"""Formats of a linear model."""
