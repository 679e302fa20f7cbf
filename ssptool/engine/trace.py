"""The recorded signals of a run."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

    def __len__(self) -> int:
        return len(self.t)
