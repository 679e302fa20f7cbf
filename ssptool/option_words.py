"""Words that arguments of the Python API take, as types: a type checker finds a wrong one.

The enumerations that check arguments at run time have the same words in the same order, as a test says.
"""

from typing import Literal, TypeAlias

MasterWord: TypeAlias = Literal["auto", "jacobi", "gauss-seidel", "iterated"]
AccelerationWord: TypeAlias = Literal["none", "constant", "aitken", "anderson", "iqn-ils", "newton"]
ApproximationWord: TypeAlias = Literal["auto", "hold", "extrapolate", "interpolate", "mean"]
InitWord: TypeAlias = Literal["auto", "newton", "aitken", "anderson", "fixed-point", "homotopy"]
ExchangeWord: TypeAlias = Literal["consistent", "late"]
ImplementationWord: TypeAlias = Literal["auto", "me", "cs"]
IntegratorWord: TypeAlias = Literal["bdf", "adams", "dormand-prince", "rosenbrock"]
WarningsWord: TypeAlias = Literal["on", "off"]
FmuLogWord: TypeAlias = Literal["ok", "warning", "discard", "error", "fatal"]
ProcessesWord: TypeAlias = Literal["each"]
InterpolationWord: TypeAlias = Literal["hold", "linear"]
ActionWord: TypeAlias = Literal["override", "bias", "reset"]
AccuracyWord: TypeAlias = Literal["off", "auto", "check"]
HighlightWord: TypeAlias = Literal["loops", "findings"]
ConnectionsWord: TypeAlias = Literal["bundled", "all"]
SharedWord: TypeAlias = Literal["refuse", "all", "copy"]
SspWord: TypeAlias = Literal["1.0", "2.0"]
TypesWord: TypeAlias = Literal["keep", "fmi3"]
InterfaceWord: TypeAlias = Literal["cs", "me", "both"]
StudyWord: TypeAlias = Literal["grid", "lhs", "sobol", "morris", "saltelli", "optimize", "calibrate"]
ChartWord: TypeAlias = Literal[
    "scatter", "tornado", "envelope", "sensitivity", "parallel", "surface", "front", "convergence", "fit"
]
