"""The flyball governor as one differential equation, written and solved apart from its FMUs; and what others found."""

from functools import lru_cache
from math import cos, hypot, pi, sin

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import OdeSolution, solve_ivp

Floats = NDArray[np.float64]

G0, L, W, A, B_ARM, H, SIDE = 9.81, 1.0, 0.01, 0.05, 0.5, 1.0, 0.1
M_ARM, M_BALL, M_SLIDER = 0.3, 5.0, 3.0
K, C, L0 = 8e5, 4e4, 0.5

ALONG, ACROSS = M_ARM * W**2 / 6, M_ARM * (L**2 + W**2) / 12
I_HINGE = ACROSS + M_ARM * L**2 / 4 + M_BALL * L**2
J_HUB = M_ARM * W**2 / 6 + M_SLIDER * SIDE**2 / 6
WEIGHT = G0 * (M_ARM * L / 2 + M_BALL * L)
"""Moments [kg.m2] of an arm without and with its ball about the hinge, and of the hub; torque of gravity [N.m]."""

PUBLISHED = (
    *(0.500000, 0.523836, 0.585079, 0.658632, 0.717713, 0.743249, 0.727631, 0.675467, 0.603181, 0.536282),
    *(0.501420, 0.513713, 0.567730, 0.640878, 0.705698, 0.740684, 0.735264, 0.691027, 0.621601, 0.550746),
    *(0.505909, 0.506231, 0.551569, 0.622584, 0.691814, 0.735602, 0.740475, 0.705002, 0.639911, 0.566833, 0.513246),
)
"""s [m] at 0, 0.1 … 3 s: the reference values of benchmark A05 of the library of multibody systems benchmarks, read off
the vector coordinates of a figure (RehabEngGroup/MBSbenchmarksInOpenSim, help/images/5MBS_PlotResults.pdf)."""

INDEPENDENT = {
    0.1: (0.523836475570, 0.496173869076, 6.103717808831),
    0.5: (0.743249424786, 0.259491381543, 5.103415421972),
    1.0: (0.501420922380, 0.521833301626, 6.271125741877),
    3.0: (0.513246078340, 0.508245526969, 6.180672706286),
    5.0: (0.535563103722, 0.482874576587, 6.022496499758),
    10.0: (0.619622917061, 0.390073701845, 5.548203622655),
}
"""t → s [m], alpha [rad], Omega [rad/s], from an independent derivation (Lagrange's equations of three-dimensional
bodies); two methods agree to 1.2e-13 m."""

LATER = {20.0: 0.742789218, 50.0: 0.591474788, 100.0: 0.724896861, 200.0: 0.57769170, 350.0: 0.73116249}
"""t → s [m] from there, certain to 1e-9 up to 100 s and to 1e-8 beyond."""

TURNED = 55.9354099091
"""phi [rad] at 10 s from there."""


def axis_moment(alpha: float) -> float:
    """Of one arm with its ball [kg.m2]."""
    middle, end = A + L / 2 * cos(alpha), A + L * cos(alpha)
    return M_ARM * middle**2 + ALONG * sin(alpha) ** 2 + ACROSS * cos(alpha) ** 2 + M_BALL * end**2


def slope_of_axis_moment(alpha: float) -> float:
    middle, end = A + L / 2 * cos(alpha), A + L * cos(alpha)
    return -2 * L * sin(alpha) * (M_ARM / 2 * middle + M_BALL * end) + 2 * sin(alpha) * cos(alpha) * (ALONG - ACROSS)


MOMENTUM = (J_HUB + 2 * axis_moment(pi / 6)) * 2 * pi
"""About the axis, of the start and ever after [kg.m2/s]."""


def derivatives(_t: float, y: Floats) -> list[float]:
    """Of alpha, alphaDot, s, sDot and Omega; here Omega is a state, which the FMUs derive from the momentum."""
    alpha, alpha_dot, s, s_dot, omega = y
    x, d = B_ARM * cos(alpha), H - s - B_ARM * sin(alpha)
    length = hypot(x, d)
    by_alpha, by_s = -x * (H - s) / length, -d / length
    force = K * (length - L0) + C * (by_alpha * alpha_dot + by_s * s_dot)
    slope = slope_of_axis_moment(alpha)
    return [
        alpha_dot,
        (slope * omega**2 / 2 + WEIGHT * cos(alpha) - force * by_alpha) / I_HINGE,
        s_dot,
        -G0 - 2 * force * by_s / M_SLIDER,
        -2 * slope * alpha_dot * omega / (J_HUB + 2 * axis_moment(alpha)),
    ]


@lru_cache
def solution() -> OdeSolution:
    """t (n,) [s] → alpha, alphaDot, s, sDot and Omega (5, n), for the first 10 s; right to 1e-10 m."""
    start = [pi / 6, 0.0, 0.5, 0.0, 2 * pi]
    found = solve_ivp(derivatives, (0.0, 10.0), start, "Radau", dense_output=True, rtol=1e-9, atol=1e-11)
    assert found.success
    return found.sol


def height(t: Floats) -> Floats:
    """s (n,) [m] at any times t (n,) [s]."""
    return np.asarray(solution()(t)[2])


def rigid_height(t: Floats) -> Floats:
    """s [m] if the couplers were rods: s = 1 − 2 b sin(alpha), one equation for alpha."""

    def swing(_t: float, y: Floats) -> list[float]:
        alpha, alpha_dot = y
        lever, omega = 2 * B_ARM * cos(alpha), MOMENTUM / (J_HUB + 2 * axis_moment(alpha))
        torque = slope_of_axis_moment(alpha) * omega**2 + 2 * WEIGHT * cos(alpha)
        torque += M_SLIDER * (G0 * lever + 2 * lever * B_ARM * sin(alpha) * alpha_dot**2)
        return [alpha_dot, torque / (2 * I_HINGE + M_SLIDER * lever**2)]

    alpha = solve_ivp(swing, (0.0, float(t[-1])), [pi / 6, 0.0], "DOP853", t, rtol=1e-10, atol=1e-12).y[0]
    return np.asarray(H - 2 * B_ARM * np.sin(alpha))
