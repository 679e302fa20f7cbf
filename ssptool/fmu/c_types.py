"""C types and functions of FMI, from FMPy.

Without a library for messages of FMUs on this platform, FMPy prints a line to standard output, where results may go.
Therefore these modules must be imported here first.
"""

import contextlib
import io

with contextlib.redirect_stdout(io.StringIO()):
    from fmpy import calloc, fmi1, fmi2, fmi3, free, freeLibrary

__all__ = ["calloc", "fmi1", "fmi2", "fmi3", "free", "freeLibrary"]
