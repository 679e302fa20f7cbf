"""FMUs that delay a signal, for delayed connections of a run. They are not part of any document."""

from functools import cache
from pathlib import Path, PurePosixPath

from ssptool.documents.own_fmus import packed
from ssptool.documents.vocabulary import OWN_HELD_DELAY
from ssptool.tempfiles import TemporaryFolder

OUTPUT, INPUT, DELAY, HELD = "y", "u", "delay", "held"
"""Variables of a delay: output, input, delay [s], and whether the input is held between its points."""


@cache
def delay_file(name: str) -> Path:
    """The FMU of a delay, by its name in place of an entry; it exists until the process ends.

    Raises
    ------
    FileNotFoundError
        The package was installed without a C compiler, so there is no library.
    """
    path = Path(_folder().name) / PurePosixPath(name).name
    path.write_bytes(packed("delay", _description(held=name == OWN_HELD_DELAY)))
    return path


@cache
def _folder() -> TemporaryFolder:
    return TemporaryFolder()


def _description(*, held: bool) -> str:
    """Model description. The output depends on the input only during initialization: before the start, both are
    equal.
    """
    changes = "discrete" if held else "continuous"
    variables = (
        (OUTPUT, "output", changes, "<Real/>"),
        (INPUT, "input", changes, '<Real start="0"/>'),
        (DELAY, "parameter", "fixed", '<Real start="0"/>'),
        (HELD, "parameter", "fixed", '<Real start="0"/>'),
    )
    stated = 'name="{}" valueReference="{}" causality="{}" variability="{}"'
    lines = [
        f"<ScalarVariable {stated.format(name, number, kind, variability)}>{typed}</ScalarVariable>"
        for number, (name, kind, variability, typed) in enumerate(variables)
    ]
    listed = "\n    ".join(lines)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="delay" guid="delay" generationTool="ssptool">
  <CoSimulation modelIdentifier="delay" canHandleVariableCommunicationStepSize="true" canInterpolateInputs="true"
    canGetAndSetFMUstate="true" canSerializeFMUstate="true" providesDirectionalDerivative="true"/>
  <ModelVariables>
    {listed}
  </ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="1" dependencies=""/></Outputs>
    <InitialUnknowns><Unknown index="1" dependencies="2"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""
