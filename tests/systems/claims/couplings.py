"""The couplings that the systems are compared with, as settings."""

HELD = {"master": "jacobi", "approximation": "hold"}
LATE = HELD | {"exchange": "late"}
EXTRAPOLATED = {"master": "jacobi", "approximation": "extrapolate", "input_order": 1}
GAUSS_SEIDEL = {"master": "gauss-seidel", "approximation": "hold"}
END_VALUE = {"master": "iterated", "approximation": "hold"}
INTERPOLATED = {"master": "iterated", "approximation": "interpolate", "input_order": 1}
NAMES = {
    "held": HELD,
    "held, one step late": LATE,
    "extrapolated": EXTRAPOLATED,
    "Gauss–Seidel": GAUSS_SEIDEL,
    "iterated, end value": END_VALUE,
    "iterated, interpolated": INTERPOLATED,
}
