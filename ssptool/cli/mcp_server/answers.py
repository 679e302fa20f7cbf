"""Structured answers of tools, as models from which their JSON Schemas are made."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Number = float | Literal["INF", "-INF", "NaN"]
Value = float | bool | str | None
"""A number, a Boolean, or a text, such as an item of an enumeration; null: there is none."""


class _Page(BaseModel):
    """Part of an answer. `more` is there if it has further pages."""

    model_config = ConfigDict(extra="forbid")

    more: str = Field(default="", description="Which items these are, and the call that reads on.")


class SignalStatistics(BaseModel):
    """A signal over the whole run."""

    model_config = ConfigDict(extra="forbid")

    signal: str
    unit: str | None
    type: str = Field(default="Float64", description="Missing: Float64.")
    first: Value = None
    final: Value = None
    min: Value = None
    min_at: Number = Field(default=0.0, description="Time of the minimum [s].")
    max: Value = None
    max_at: Number = Field(default=0.0, description="Time of the maximum [s].")
    mean: Number = Field(default=0.0, description="Mean over time.")


class LoopAnswer(BaseModel):
    """An algebraic loop at the start."""

    model_config = ConfigDict(extra="allow")

    values: dict[str, Value]
    residual_norms: list[Number]
    loop_gain: Number = 0.0


class ResultsAnswer(_Page):
    """Statistics (`signals`), values at times (`values`), runs of a study (`values`), or loops (`loops`)."""

    run: str
    rows: int = 0
    start: Number = Field(default=0.0, description="First time [s].")
    end: Number = Field(default=0.0, description="Last time [s].")
    columns: list[str] = Field(default=[], description="Names of the columns of `values`.")
    units: list[str | None] = []
    signals: list[SignalStatistics] = []
    values: list[list[Value]] = []
    loops: list[LoopAnswer] = []


class DeviationAnswer(BaseModel):
    """A signal, compared with its reference."""

    model_config = ConfigDict(extra="allow")

    signal: str
    unit: str | None
    verdict: str
    deviation: Number | None = Field(description="Largest deviation, in the unit of the signal.")
    half_width: Number | None = Field(description="Allowed deviation, in the unit of the signal.")
    at: Number | None = Field(description="Time of the largest deviation [s].")
    first_outside: Number | None = Field(description="First time outside of the tolerance [s]; null: none.")


class ComparisonAnswer(_Page):
    """A comparison of two runs."""

    agrees: bool = Field(description="True if each signal stays within its tolerance.")
    remarks: list[str]
    assumptions: list[str]
    extra: list[str] = Field(description="Signals that the reference does not have.")
    errors: dict[str, Number | None] = Field(description="Stated errors, relative to the range of each signal.")
    runs: list[dict[str, Any]] = Field(description="Differences between the runs: settings, start values, files.")
    signals: list[DeviationAnswer]


ANSWERS: dict[str, type[BaseModel]] = {"results": ResultsAnswer, "compare": ComparisonAnswer}
"""Tool → model of its answer."""
