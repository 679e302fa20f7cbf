"""CVODE of SUNDIALS, in the build that FMPy ships: addresses of its functions, for the kernel.

References
----------
Hindmarsh et al. 2005, "SUNDIALS: Suite of nonlinear and differential/algebraic equation solvers".
"""

import ctypes
from contextlib import suppress

from fmpy.sundials import libraries

_LIBRARIES = (
    libraries.sundials_core,
    libraries.sundials_nvecserial,
    libraries.sundials_sunmatrixdense,
    libraries.sundials_sunlinsoldense,
    libraries.sundials_cvode,
)


def address(function: str) -> int:
    """Address of a function.

    Raises
    ------
    OSError
        No library has it.
    """
    for library in _LIBRARIES:
        with suppress(AttributeError):
            return ctypes.cast(library[function], ctypes.c_void_p).value or 0
    raise OSError(f"there is no {function} in the libraries of SUNDIALS")
