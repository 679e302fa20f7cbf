"""The recorded signals of a run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import xarray  # type: ignore[import-not-found, unused-ignore]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Column:
    """What is known of a recorded signal besides its values. `type` has FMI 3.0's spelling; `unit` None: not
    stated.
    """

    signal: str
    unit: str | None = None
    type: str = "Float64"
    description: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Signals over time.

    Attributes
    ----------
    t : (n + 1,) [s]
        Communication points; the first is the initialized state.
    y : (n + 1, p)
        Values; one column per entry of `columns`.
    """

    t: Floats
    y: Floats
    columns: tuple[Column, ...]

    @property
    def signals(self) -> tuple[str, ...]:
        """Full names, e.g. "System1.x1"."""
        return tuple(column.signal for column in self.columns)

    @property
    def units(self) -> tuple[str | None, ...]:
        return tuple(column.unit for column in self.columns)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(column.type for column in self.columns)

    @property
    def descriptions(self) -> tuple[str, ...]:
        return tuple(column.description for column in self.columns)

    def __getitem__(self, signal: str) -> Floats:
        """The values (n + 1,) of a signal.

        Raises
        ------
        KeyError
            No such signal was recorded.
        """
        try:
            return self.y[:, self.signals.index(signal)]
        except ValueError:
            recorded = ", ".join(self.signals) or "none"
            raise KeyError(f"signal {signal!r} is not recorded; recorded are: {recorded}") from None

    def _repr_html_(self) -> str:
        from ssptool.engine.result_html import trace_html  # only notebooks draw a trace at once

        return trace_html(self)

    def __len__(self) -> int:
        return len(self.t)

    # -- to other libraries ----------------------------------------------------------------------------------

    def to_numpy(self) -> dict[str, Floats]:
        """Views of the columns by signal, with the time [s] as "time"."""
        return {"time": self.t, **{signal: self.y[:, place] for place, signal in enumerate(self.signals)}}

    def to_pandas(self) -> "pandas.DataFrame":
        """A frame over the same memory: one column per signal, the time [s] as index; units in `attrs["units"]`.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas

        index = pandas.Index(self.t, name="time", copy=False)
        frame = pandas.DataFrame(self.y, index=index, columns=list(self.signals), copy=False)
        frame.attrs["units"] = dict(zip(self.signals, self.units, strict=True))
        return frame

    def to_xarray(self) -> "xarray.Dataset":
        """A dataset over the same memory: one variable per signal along `time` [s], with unit and description.

        Raises
        ------
        ImportError
            xarray is not installed.
        """
        import xarray

        time = xarray.Variable("time", self.t, {"units": "s"})
        variables = {
            column.signal: xarray.Variable("time", self.y[:, place], _attributes(column))
            for place, column in enumerate(self.columns)
        }
        return xarray.Dataset(variables, coords={"time": time})


def _attributes(column: Column) -> dict[str, str]:
    """As the CF conventions name them."""
    facts = {"units": column.unit, "long_name": column.description}
    return {name: fact for name, fact in facts.items() if fact}
