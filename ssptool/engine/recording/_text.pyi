from ssptool.engine.trace import Floats

def csv(rows: Floats, kinds: bytes, texts: list[bytes]) -> bytes:
    """Lines of comma-separated values; `rows` are contiguous cells.

    `kinds` has a letter for each column: `f` double, `i` signed and `u` unsigned integer, `t` number of a text, which
    is written as it is in `texts`.
    """
