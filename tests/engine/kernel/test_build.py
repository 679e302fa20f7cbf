"""Which kernel is under test."""

import os
from pathlib import Path

from ssptool.engine.kernel import _kernel, create
from ssptool.engine.kernel.interface import Kernel


def test_the_build_asked_for_is_the_one_under_test():
    """A run with sanitizers must not pass by testing the ordinary build."""
    asked = os.environ.get("SSPTOOL_KERNEL")
    assert _kernel.sanitized is (asked is not None)
    if asked:
        assert Path(_kernel.__file__).samefile(asked)


def test_the_kernel_offers_the_whole_protocol_and_nothing_else():
    offered = {name for name in vars(Kernel) if not name.startswith("_")}
    assert {name for name in dir(create(1)) if not name.startswith("_")} == offered


def test_kernels_of_one_process_are_independent():
    first, second = create(2), create(2)
    first.values[:] = 1.0
    assert second.values.tolist() == [0.0, 0.0]
    assert create(1).environment() != 0
