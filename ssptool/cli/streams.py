"""Where the process reads and writes text, if whoever started it closed some of it or has another alphabet."""

import os
import sys
from pathlib import Path


def open_streams() -> None:
    """See to it that all three standard streams can be used.

    Of those that were closed, nothing is read and nothing is seen. Their descriptors are taken, so that no file of ours
    gets one of them: what an FMU prints would be in that file. A character that a stream cannot write is escaped.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest that is free
    nowhere = Path(os.devnull)
    sys.stdin = sys.stdin or nowhere.open(encoding="utf-8")
    sys.stdout = sys.stdout or nowhere.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or nowhere.open("w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
