"""The families of formulas that the integrator offers."""

from enum import IntEnum


class Method(IntEnum):
    """Linear multistep formulas: Adams-Moulton for smooth problems, BDF for stiff ones. The numbers are CVODE's."""

    ADAMS = 1
    BDF = 2
