"""Linear models as FMUs (FMI 2.0): for model exchange, or of a discrete model for co-simulation with its step."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import TypeAlias

import numpy as np

from ssptool.documents.own_fmus import packed
from ssptool.engine.kernel.calls import Floats

Named: TypeAlias = tuple[str, str | None, float, str]
"""Name, unit, value at the point, and component (`LinearVariable`)."""


def linear_fmu(
    system: str,
    matrix: Floats,
    slopes: Floats,
    states: Sequence[Named],
    inputs: Sequence[Named],
    outputs: Sequence[Named],
    step: float,
) -> bytes:
    """The FMU of a linear model (library linear.c), with its names, units and point.

    Parameters
    ----------
    matrix : (n + p, n + m)
        [A B; C D].
    slopes : (n,)
        Derivatives at the point.
    step
        Macro step of a discrete model [s]; 0: it is continuous.

    Raises
    ------
    FileNotFoundError
        The package was installed without a C compiler, so there is no library.
    """
    sizes = (len(states), len(states) + len(inputs), len(matrix))
    point = (value for _, _, value, _ in (*outputs, *states, *inputs))
    content = np.array([*sizes, step, *slopes, *point, *matrix.ravel()], dtype="<f8").tobytes()
    derivatives = () if step else tuple((f"der({name})", None, 0.0, "") for name, *_ in states)
    return packed(
        "linear",
        f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="{escape(system)}" guid="{sha256(content).hexdigest()}"
    generationTool="ssptool">
  <{"CoSimulation" if step else "ModelExchange"} modelIdentifier="linear" canGetAndSetFMUstate="true"
      canSerializeFMUstate="true" providesDirectionalDerivative="true"/>
  {_variables(states, inputs, derivatives, outputs, step)}
  <ModelStructure>
    {_structure(matrix != 0, len(states), len(derivatives))}
  </ModelStructure>
</fmiModelDescription>
""",
        {"linear.bin": content},
    )


def _variables(
    states: Sequence[Named],
    inputs: Sequence[Named],
    derivatives: Sequence[Named],
    outputs: Sequence[Named],
    step: float,
) -> str:
    """Units, experiment and variables. Value references count states, inputs, derivatives or next states, outputs."""
    every, known = (*states, *inputs, *derivatives, *outputs), len(states) + len(inputs)
    facts = [
        *(f'causality="local" initial="exact"><Real start="{value!r}"' for _, _, value, _ in states),
        *(f'causality="input"><Real start="{value!r}"' for _, _, value, _ in inputs),
        *(f'causality="local"><Real derivative="{place + 1}"' for place in range(len(derivatives))),
        *('causality="output"><Real' for _ in outputs),
    ]
    hidden = len(states) - len(derivatives)
    lines = []
    for place, ((_, unit, *_), name, fact) in enumerate(zip(every, _unique(every), facts, strict=True)):
        head = f'name="{escape(name)}" valueReference="{place + hidden * (place >= known)}"'
        measured = f' unit="{escape(unit)}"' if unit else ""
        lines.append(f"<ScalarVariable {head} {fact}{measured}/></ScalarVariable>")
    units = (f'<Unit name="{escape(unit)}"/>' for unit in dict.fromkeys(unit for _, unit, *_ in every if unit))
    experiment = f'<DefaultExperiment startTime="0" stepSize="{step!r}"/>\n  ' if step else ""
    return f"{_section('UnitDefinitions', units)}\n  {experiment}{_section('ModelVariables', lines)}"


def _structure(nonzero: Floats, states: int, derivatives: int) -> str:
    """Outputs, derivatives and initial unknowns, with their dependencies."""
    rows = [
        f'<Unknown index="{nonzero.shape[1] + 1 + row}" '
        f'dependencies="{" ".join(str(place + 1) for place in np.flatnonzero(depends))}"/>'
        for row, depends in enumerate(nonzero[states - derivatives :])
    ]
    parts = {"Outputs": rows[derivatives:], "Derivatives": rows[:derivatives], "InitialUnknowns": rows}
    return "\n    ".join(_section(name, lines) for name, lines in parts.items() if lines)


def _section(name: str, rows: Iterable[str]) -> str:
    lines = "\n    ".join(rows)
    return f"<{name}>\n    {lines}\n  </{name}>" if lines else ""


def _unique(variables: Iterable[Named]) -> list[str]:
    """Names, with a mark for those that are there twice: an output to which an input is added."""
    found: list[str] = []
    for name, *_ in variables:
        while name in found:
            name = f"{name}_output"
        found.append(name)
    return found
