"""What the energy residuals of steps are about."""

from ssptool.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Bond:
    """A power bond by its slots: two outputs, and the inputs that they lead to at the other side.

    The input of the first is `first_scale` times the output of the second, and the other way round; factors turn
    products of output and input into watts, of the same sign at both sides.
    """

    name: str
    first: int
    second: int
    into_first: int
    into_second: int
    first_factor: float
    second_factor: float
    first_scale: float
    second_scale: float
    nominal: float
