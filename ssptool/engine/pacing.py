"""Runs that keep pace with the clock."""

from time import perf_counter, sleep

CHUNK_SECONDS = 0.01
"""Of wall time between two looks at the clock, if macro steps are shorter than that."""


class Pace:
    """Lets `factor` seconds of the simulation pass in a second of wall time, never more.

    Parameters
    ----------
    factor
        1: as fast as the clock; 2: twice as fast.
    start : [s]
        Time of the simulation from which on pace is kept; begins with the first `keep`.

    Attributes
    ----------
    latest : [s]
        How far a point was behind the clock at most; 0 where the components were always fast enough.
    waited : [s]
        Wall time of waiting, all in all.
    """

    def __init__(self, factor: float, start: float) -> None:
        if not 0 < factor < float("inf"):
            raise ValueError(f"the factor of real time must be greater than 0, found {factor:g}")
        self.latest = 0.0
        self.waited = 0.0
        self._factor = factor
        self._start = start
        self._began = perf_counter()

    def chunk(self, step: float) -> int:
        """Macro steps [s] between two looks at the clock."""
        return max(1, int(CHUNK_SECONDS * self._factor / step))

    def keep(self, time: float) -> None:
        """Wait until `time` [s] may be."""
        now = perf_counter()
        ahead = self._began + (time - self._start) / self._factor - now
        if ahead > 0:
            sleep(ahead)
            self.waited += perf_counter() - now
        else:
            self.latest = max(self.latest, -ahead)
