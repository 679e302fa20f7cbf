functions: dict[str, tuple[int, int, int]]
"""Name → (index, address of the stand-in, address of the one that measures)."""

record_size: int
"""Bytes that a stand-in takes for the record of an instance."""
