"""Wait for a condition, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 300.0
"""Long enough for any machine, and never waited for where a claim holds [s]."""


def until(condition: Callable[[], T]) -> T:
    """The first value of `condition` that counts as true. Raises AssertionError if there is none."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {PATIENCE} s in vain"
        time.sleep(0.02)
    return found
