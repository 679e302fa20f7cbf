"""The couplings that the systems are compared with, as settings."""

HELD = {"master": "jacobi", "input": "hold"}
LATE = HELD | {"exchange": "late"}
EXTRAPOLATED = {"master": "jacobi", "input": "extrapolate", "input_order": 1}
GAUSS_SEIDEL = {"master": "gauss-seidel", "input": "hold"}
END_VALUE = {"master": "iterated", "input": "hold"}
INTERPOLATED = {"master": "iterated", "input": "interpolate", "input_order": 1}
NAMES = {
    "held": HELD,
    "held, one step late": LATE,
    "extrapolated": EXTRAPOLATED,
    "Gauss–Seidel": GAUSS_SEIDEL,
    "iterated, end value": END_VALUE,
    "iterated, interpolated": INTERPOLATED,
}
