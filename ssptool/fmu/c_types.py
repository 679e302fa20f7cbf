"""Types and functions of FMI in C, of FMPy.

FMPy prints a line to the standard output, where results may go, if it has no library for messages of FMUs on this
platform. So nobody else imports these modules first.
"""

import contextlib
import io

with contextlib.redirect_stdout(io.StringIO()):
    from fmpy import calloc, fmi1, fmi2, fmi3, free, freeLibrary

__all__ = ["calloc", "fmi1", "fmi2", "fmi3", "free", "freeLibrary"]
