"""The two kernels as functions of the number of slots."""

from ssptool.engine.kernel import create
from ssptool.engine.kernel.interface import Kernel


def make_twin(slots: int) -> Kernel:
    return create(slots, native=False)


def make_native(slots: int) -> Kernel:
    return create(slots, native=True)
