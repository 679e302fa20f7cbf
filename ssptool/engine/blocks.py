"""How many rows are handled together."""

BLOCK_BYTES = 1 << 20
"""Of rows that come at once, at most: they should still be in the caches when somebody copies or writes them."""


WAITING_ROWS, LEAST_WAITING, MOST_WAITING = 4096, 8, 64
"""Of such blocks, those that may wait for whoever writes them: as many as have so many rows together, within limits. So
the system goes on while a group of rows is encoded for a file.
"""


def rows_at_once(count: int, width: int) -> int:
    """How many rows of `width` numbers are a block, where `count` are asked for."""
    return max(1, min(count, BLOCK_BYTES // (8 * width)))


def blocks_at_once(width: int) -> int:
    """How many blocks of such rows may wait."""
    return min(max(8 * width * WAITING_ROWS // BLOCK_BYTES, LEAST_WAITING), MOST_WAITING)
