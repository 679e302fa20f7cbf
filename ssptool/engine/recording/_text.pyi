from ssptool.engine.trace import Floats

def csv(rows: Floats, width: int) -> bytes:
    """Lines of comma-separated numbers, as `repr` writes them; `rows` is contiguous."""
