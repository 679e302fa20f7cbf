from ssptool.engine.trace import Floats

def csv(rows: Floats, kinds: bytes, texts: list[bytes], digits: list[bytes]) -> bytes:
    """Lines of comma-separated values; `rows` are contiguous cells.

    `kinds` has a letter for each column: `f` double, `i` signed and `u` unsigned integer, `t` and `b` number of
    a text or of bytes, which are written as they are in `texts` and `digits`.
    """
