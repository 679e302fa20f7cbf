"""FMUs that add signals, for functions of other formats without a counterpart in SSP.

All of them use one library (sum.c, built with the package). Value references assign inputs to outputs.
"""

from dataclasses import dataclass
from functools import cached_property

from ssptool.documents.own_fmus import packed

MOST = 0xFFFF
"""Largest number of terms, and of elements."""


@dataclass(frozen=True)
class Sum:
    """A sum of `terms` signals; with a `dimension`, of vectors with that number of elements."""

    terms: int
    dimension: int | None = None

    @property
    def name(self) -> str:
        """Name of the model, the same for equal sums."""
        return f"Sum{self.terms}" if self.dimension is None else f"VectorSum{self.terms}x{self.dimension}"

    @cached_property
    def signals(self) -> dict[str, tuple[str, ...]]:
        """The variables of `out` and of each term (`in[0]`, …): one for each element."""
        elements = [""] if self.dimension is None else [f"[{number}]" for number in range(self.dimension)]
        names = ("out", *(f"in[{term}]" for term in range(self.terms)))
        return {name: tuple(f"{name}{element}" for element in elements) for name in names}

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.signals["out"]

    def fmu(self) -> bytes:
        """The FMU (FMI 2.0), for the platform of this installation.

        Raises
        ------
        FileNotFoundError
            The package was installed without a C compiler, so there is no library.
        """
        return packed("sum", self._description())

    def _description(self) -> str:
        width = len(self.outputs)
        variables = [
            _variable(name, term * (MOST + 1) + number)
            for term, names in enumerate(self.signals.values())
            for number, name in enumerate(names)
        ]
        unknowns = []
        for number in range(1, width + 1):
            terms = " ".join(str(term * width + number) for term in range(1, self.terms + 1))
            unknowns.append(f'<Unknown index="{number}" dependencies="{terms}"/>')
        able = 'modelIdentifier="sum" canGetAndSetFMUstate="true" providesDirectionalDerivative="true"'
        listed, named = ("\n    ".join(lines) for lines in (unknowns, variables))
        return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="{self.name}" guid="{self.name}" generationTool="ssptool">
  <ModelExchange {able}/>
  <CoSimulation {able} canHandleVariableCommunicationStepSize="true"/>
  <ModelVariables>
    {named}
  </ModelVariables>
  <ModelStructure>
    <Outputs>
    {listed}
    </Outputs>
    <InitialUnknowns>
    {listed}
    </InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""


def _variable(name: str, reference: int) -> str:
    causality, typed = ("output", "<Real/>") if reference <= MOST else ("input", '<Real start="0"/>')
    stated = f'name="{name}" valueReference="{reference}" causality="{causality}"'
    return f"<ScalarVariable {stated}>{typed}</ScalarVariable>"
