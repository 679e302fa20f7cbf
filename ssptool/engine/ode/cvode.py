"""CVODE of SUNDIALS, in the build that FMPy ships: addresses of its functions, for the kernel.

References
----------
Hindmarsh et al. 2005, "SUNDIALS: Suite of nonlinear and differential/algebraic equation solvers".
"""

import ctypes
from collections.abc import Mapping

from fmpy.sundials import libraries

_FUNCTIONS = {
    libraries.sundials_core: (
        "SUNContext_Create",
        "SUNContext_Free",
        "SUNContext_ClearErrHandlers",
        "SUNContext_PushErrHandler",
        "N_VGetArrayPointer",
    ),
    libraries.sundials_nvecserial: ("N_VNew_Serial", "N_VDestroy_Serial"),
    libraries.sundials_sunmatrixdense: ("SUNDenseMatrix", "SUNMatDestroy_Dense", "SUNDenseMatrix_Data"),
    libraries.sundials_sunlinsoldense: ("SUNLinSol_Dense", "SUNLinSolFree_Dense"),
    libraries.sundials_cvode: (
        "CVode",
        "CVodeCreate",
        "CVodeFree",
        "CVodeGetActualInitStep",
        "CVodeGetDky",
        "CVodeGetNumErrTestFails",
        "CVodeGetNumGEvals",
        "CVodeGetNumJacEvals",
        "CVodeGetNumNonlinSolvConvFails",
        "CVodeGetNumRhsEvals",
        "CVodeGetNumSteps",
        "CVodeGetRootInfo",
        "CVodeInit",
        "CVodeReInit",
        "CVodeRootInit",
        "CVodeSVtolerances",
        "CVodeSetInitStep",
        "CVodeSetJacFn",
        "CVodeSetLinearSolver",
        "CVodeSetMaxHnilWarns",
        "CVodeSetMaxStep",
        "CVodeSetNoInactiveRootWarn",
        "CVodeSetStopTime",
        "CVodeSetUserData",
    ),
}


def addresses() -> Mapping[str, int]:
    """Addresses of the functions by name."""
    return {
        name: ctypes.cast(library[name], ctypes.c_void_p).value or 0
        for library, names in _FUNCTIONS.items()
        for name in names
    }
