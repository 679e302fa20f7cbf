functions: dict[str, tuple[int, int, int]]
"""Name → (index, address of the stand-in, address of the one that measures)."""
