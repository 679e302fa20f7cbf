"""The two kernels as functions of the number of slots."""

from ssptool.engine.kernel import create
from ssptool.engine.kernel.interface import Kernel, Slots


def make_twin(slots: int, integers: Slots = ()) -> Kernel:
    return create(slots, integers=integers, native=False)


def make_native(slots: int, integers: Slots = ()) -> Kernel:
    return create(slots, integers=integers, native=True)
