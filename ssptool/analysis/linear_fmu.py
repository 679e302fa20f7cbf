"""Linear models as FMUs (FMI 2.0): for model exchange, or of a discrete model for co-simulation with its step."""

from collections.abc import Iterable
from hashlib import sha256
from html import escape

import numpy as np

from ssptool.analysis.linear_model import LinearModel, LinearVariable
from ssptool.documents.own_fmus import packed
from ssptool.engine.kernel.calls import Floats


def linear_fmu(model: LinearModel) -> bytes:
    """The FMU of a linear model (library linear.c). Variables have its names, units and point.

    Raises
    ------
    FileNotFoundError
        The package was installed without a C compiler, so there is no library.
    """
    known, base = (*model.states, *model.inputs), [one.value for one in model.outputs]
    matrix = np.block([[model.A, model.B], [model.C, model.D]])
    numbers = [
        len(model.states),
        len(known),
        len(matrix),
        model.step,
        *model.slopes,
        *base,
        *(one.value for one in known),
    ]
    content = np.array([*numbers, *matrix.ravel()], dtype="<f8").tobytes()
    description = _description(model, matrix != 0, sha256(content).hexdigest())
    return packed("linear", description, {"linear.bin": content})


def _description(model: LinearModel, nonzero: Floats, guid: str) -> str:
    """modelDescription.xml. Value references count the known, then the derivatives or next states, then outputs."""
    states, known = len(model.states), len(model.states) + len(model.inputs)
    derivatives = () if model.step else tuple(LinearVariable(f"der({one.name})", None, 0.0) for one in model.states)
    variables = (*model.states, *model.inputs, *derivatives, *model.outputs)
    facts = [
        *(f'causality="local" initial="exact"><Real start="{one.value!r}"' for one in model.states),
        *(f'causality="input"><Real start="{one.value!r}"' for one in model.inputs),
        *(f'causality="local"><Real derivative="{place + 1}"' for place in range(len(derivatives))),
        *('causality="output"><Real' for _ in model.outputs),
    ]
    hidden = states - len(derivatives)
    lines = []
    for place, (one, name, fact) in enumerate(zip(variables, _unique(variables), facts, strict=True)):
        head = f'name="{escape(name)}" valueReference="{place + hidden * (place >= known)}"'
        unit = f' unit="{escape(one.unit)}"' if one.unit else ""
        lines.append(f"<ScalarVariable {head} {fact}{unit}/></ScalarVariable>")
    rows = [_unknown(known + 1 + row, depends) for row, depends in enumerate(nonzero[hidden:])]
    units = (f'<Unit name="{escape(unit)}"/>' for unit in dict.fromkeys(one.unit for one in variables if one.unit))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="{escape(model.system)}" guid="{guid}" generationTool="ssptool">
  <{"CoSimulation" if model.step else "ModelExchange"} {_ABLE}/>
  {_section("UnitDefinitions", units)}
  {f'<DefaultExperiment startTime="0" stepSize="{model.step!r}"/>' if model.step else ""}
  {_section("ModelVariables", lines)}
  <ModelStructure>
    {_section("Outputs", rows[len(derivatives) :])}
    {_section("Derivatives", rows[: len(derivatives)])}
    {_section("InitialUnknowns", rows)}
  </ModelStructure>
</fmiModelDescription>
"""


_ABLE = (
    'modelIdentifier="linear" canGetAndSetFMUstate="true" canSerializeFMUstate="true" '
    'providesDirectionalDerivative="true"'
)


def _unknown(index: int, depends: Floats) -> str:
    dependencies = " ".join(str(place + 1) for place in np.flatnonzero(depends))
    return f'<Unknown index="{index}" dependencies="{dependencies}"/>'


def _section(name: str, rows: Iterable[str]) -> str:
    lines = "\n    ".join(rows)
    return f"<{name}>\n    {lines}\n  </{name}>" if lines else ""


def _unique(variables: Iterable[LinearVariable]) -> list[str]:
    """Names, with a mark for those that are there twice: an output to which an input is added."""
    found: list[str] = []
    for one in variables:
        name = one.name
        while name in found:
            name = f"{name}_output"
        found.append(name)
    return found
