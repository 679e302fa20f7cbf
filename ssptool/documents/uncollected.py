"""Making many values at once without the garbage collector looking through them again and again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MUCH = 100_000
"""Values, after which to look through them takes noticeable time."""


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection meanwhile: it takes a fifth of the time of a large network, and finds nothing.

    If it is much, what was made counts as old afterwards, lest the next collection begins with all of it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_count()[0] > MUCH and gc.get_freeze_count() == 0:  # nobody else has put anything aside
                gc.freeze()
                gc.unfreeze()
            gc.enable()
