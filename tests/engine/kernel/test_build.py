"""Which kernel is under test."""

import os
from pathlib import Path

import pytest

from ssptool.engine.kernel import _kernel, _methods
from tests.engine.kernel.methods import Kernel, create


@pytest.mark.parametrize("module", [_kernel, _methods])
def test_the_build_asked_for_is_the_one_under_test(module):
    """A run with sanitizers must not pass by testing the ordinary build."""
    asked = os.environ.get("SSPTOOL_KERNEL")
    assert module.sanitized is (asked is not None)
    if asked:
        assert Path(module.__file__).parent.samefile(asked)


def public(*classes):
    return {name for one in classes for name in vars(one) if not name.startswith("_")}


def test_tests_reach_what_they_state_and_nothing_else():
    assert public(_methods.NativeKernel) == public(_kernel.NativeKernel, Kernel)


def test_kernels_of_one_process_are_independent():
    first, second = create(2), create(2)
    first.values[:] = 1.0
    assert second.values.tolist() == [0.0, 0.0]
    assert create(1).environment() != 0
