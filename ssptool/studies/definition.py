"""A study as frozen values: what is varied and how, what is wanted of each run."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from ssptool.dataclass import dataclass
from ssptool.engine.settings import Settings
from ssptool.studies.designs.design import Design
from ssptool.studies.designs.grid import Grid
from ssptool.studies.expressions import Expression
from ssptool.studies.sources import Setting, Source


class Role(StrEnum):
    """What a factor is of the runs."""

    VARIABLE = "variable"
    FMU = "fmu"
    SETTING = "setting"
    VARIANT = "variant"
    PARAMETERS = "parameters"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Factor:
    """Something that differs between runs.

    Attributes
    ----------
    role, of
        A parameter or start value of all variables `of`; the FMU file of a component; a solver setting; the variant;
        a parameter set (.ssv) on top of all others; or nothing but a name for expressions.
    unit
        Of its values; they are converted to that of the variable.
    nominal
        Its value while another one is varied, in a one-at-a-time design; else the one that the system has.
    """

    name: str
    source: Source
    role: Role = Role.VARIABLE
    of: tuple[str, ...] = ()
    unit: str | None = None
    nominal: Setting | None = None

    @property
    def sets(self) -> tuple[str, ...]:
        """The variables that it is for."""
        return (self.of or (self.name,)) if self.role is Role.VARIABLE else ()


@dataclass(frozen=True, slots=True)
class Traces:
    """Which signals over time are kept of each run (patterns), at which distance [s]."""

    signals: tuple[str, ...] = ()
    output_step: float | None = None
    every: int = 1


@dataclass(frozen=True, slots=True)
class Effort:
    """What a run may take.

    Attributes
    ----------
    timeout : [s]
        Wall time of a run; None: from how long the pilot run took.
    retries
        How often a run is repeated whose process crashed or was stopped.
    memory : [byte]
        Resident memory of a process with FMUs; None: no limit but that of the worker.
    """

    timeout: float | None = None
    retries: int = 1
    memory: int | None = None


Units: TypeAlias = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Study:
    """Many runs of one system.

    Attributes
    ----------
    settings, parameters, start_values, inputs, scenario, variant
        As of `ssptool.simulate`, for all runs; a factor may replace a setting, the variant, or win over parameters.
    factors
        In the order of the columns of the results.
    results
        Name → expression over signals, factors and earlier results.
    units
        More units than the system defines: name → exponents, factor and offset, as in SSP.
    accept
        Codes of rules in spite of whose findings the system is run, as of `ssptool.simulate`.
    source
        The file that it was read from; empty: it was made in Python. Paths are relative to its folder.
    files
        Where files that are values of factors are, if not under their name.
    """

    system: Path
    factors: tuple[Factor, ...] = ()
    design: Design = field(default_factory=Grid)
    results: Mapping[str, Expression] = field(default_factory=dict)
    traces: Traces | None = None
    settings: Settings = field(default_factory=Settings)
    variant: str | None = None
    parameters: tuple[Path, ...] = ()
    start_values: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[Path, ...] = ()
    scenario: Path | None = None
    units: Units = field(default_factory=dict)
    effort: Effort = field(default_factory=Effort)
    accept: tuple[str, ...] = ()
    name: str = ""
    source: str = ""
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return Path(self.source).parent if self.source else Path()

    def file(self, name: str) -> Path:
        """The file that a value of a factor names."""
        return self.folder / self.files.get(name, name)

    def factor(self, name: str) -> Factor:
        return next(factor for factor in self.factors if factor.name == name)
