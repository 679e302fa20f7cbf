"""Words that arguments of the Python API take, as types: a type checker finds a wrong one. Names of other programs.

The enumerations that check arguments at run time have the same words in the same order, as a test says.
"""

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final, Literal, TypeAlias

MasterWord: TypeAlias = Literal["auto", "jacobi", "gauss-seidel", "iterated"]
AccelerationWord: TypeAlias = Literal["none", "constant", "aitken", "anderson", "iqn-ils", "newton"]
ApproximationWord: TypeAlias = Literal["auto", "hold", "extrapolate", "interpolate", "mean", "mid-step"]
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


class Sharing(StrEnum):
    """Treatment of a document that is used several times, in an edit of one use."""

    REFUSE = "refuse"
    ALL = "all"
    COPY = "copy"


class Types(StrEnum):
    """Treatment by an upgrade of types with two names in SSP 2.0: Real is Float64, Integer is Int32."""

    KEEP = "keep"
    FMI3 = "fmi3"


class Highlight(StrEnum):
    """Kinds of marks in a drawing."""

    LOOPS = "loops"
    FINDINGS = "findings"


class DrawnConnections(StrEnum):
    """Connections to draw as one line: those of two components if there are many, or none."""

    BUNDLED = "bundled"
    ALL = "all"


LINEAR_FILES = (".json", ".mat", ".txt", ".fmu")
STEADY_FILES = (".ssv", ".json")
NUMBER_FILES = (".csv", ".json")
"""Endings of the files of an analysis, which its value saves and its command takes."""

OPTION_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "--stop-time": (
        "stop",
        "end",
        "end-time",
        "duration",
        "until",
        "final-time",
        "t-end",
        "tend",
        "tstop",
        "t-stop",
        "t",
    ),
    "--start-time": ("start", "begin", "begin-time", "t-start", "tstart", "t0"),
    "--step-size": (
        "step",
        "dt",
        "h",
        "step-length",
        "time-step",
        "communication-step-size",
        "intervals",
        "delta-t",
        "fixed-step",
    ),
    "--tolerance": ("relative-tolerance", "rel-tol", "rtol", "tol"),
    "--output": ("out", "output-file", "output-dir", "result-file", "results", "result", "r", "csv"),
    "--inputs": ("input-file", "in", "csv-input"),
    "--output-step": ("output-interval", "number-of-intervals", "sampling", "interval"),
    "--integrator": ("solver", "method"),
    "--master": ("algorithm", "coupling"),
    "--fmu-log-level": ("log-level", "debug-logging", "fmi-logging", "logging"),
    "--fmu-log": ("log-file", "log"),
    "--record": ("output-variables", "variables", "output-config", "outputs", "signals", "signal", "variable", "var"),
    "--set": ("start-value", "initial-value", "parameter", "param", "override", "p", "d"),
    "--plot": ("show-plot", "plot-file"),
    "--realtime": ("real-time", "rtf"),
    "--threads": ("num-procs", "parallel", "no-parallel", "jobs", "j"),
    "--statistics": ("solver-stats", "wall-time", "stats", "profile"),
    "--verbose": ("debug", "info"),
    "--quiet": ("silent", "no-progress"),
    "--compile": ("compile-platform-binary",),
    "--implementation": ("fmi-type", "mode", "interface-type"),
    "--format": ("json",),
}
"""Option → what FMPy, OMSimulator, libcosim, Ecos and other programs call it, in kebab case and without dashes."""


def kebab(name: str) -> str:
    """`stopTime`, `stop_time` and `StopTime` as `stop-time`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).replace("_", "-").lower()


def argument_meant(name: str, known: Collection[str]) -> str | None:
    """Argument in Python that another program calls `name`; None: there is none among the known ones."""
    plain = kebab(name)
    meant = (option for option, words in OPTION_SYNONYMS.items() if plain in words)
    arguments = ("start_values" if one == "--set" else one.removeprefix("--").replace("-", "_") for one in meant)
    own = plain.replace("-", "_")
    return next((one for one in (own, *arguments) if one in known), None)


BEST: Final = "best"

Boxing: TypeAlias = bool | Literal["best"]
"""Whether FMUs run in a sandbox; `best`: in as much of one as the system has."""
