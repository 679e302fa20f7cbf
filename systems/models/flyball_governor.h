/* Equations that several parts of the flyball governor use: two arms with balls at their ends, hinged to a shaft, and
 * two spring-dampers from the middle of the arms to a slider. alpha [rad] is the angle of both arms below the
 * horizontal, s [m] the height of the slider. */
#ifndef FLYBALL_GOVERNOR_H
#define FLYBALL_GOVERNOR_H

#include "model.h"

/* Shaft and slider as a hub: J_hub = m_r w^2/6 + m_s B^2/6, a square bar and a cube. */
static inline Number hub_moment(Number m_r, Number w, Number m_s, Number B)
{
    return m_r * w * w / 6 + m_s * B * B / 6;
}

/* One arm: a square bar of length L, width w and mass m_r, with a point mass m_p at its end, hinged at the distance a
 * from the axis. */
typedef struct {
    Number L, w, a, m_r, m_p;
} Arm;

static inline Number along(Arm arm) /* J_x [kg.m2], of the bar about its own length */
{
    return arm.m_r * arm.w * arm.w / 6;
}

static inline Number across(Arm arm) /* J_t [kg.m2], of the bar across its length, about its centre */
{
    return arm.m_r * (arm.L * arm.L + arm.w * arm.w) / 12;
}

/* J_a(alpha) [kg.m2], of one arm about the axis. */
static inline Number axis_moment(Arm arm, Number alpha)
{
    const Number c = cos(alpha), s = sin(alpha);
    const Number middle = arm.a + arm.L / 2 * c, end = arm.a + arm.L * c;
    return arm.m_r * middle * middle + along(arm) * s * s + across(arm) * c * c + arm.m_p * end * end;
}

/* dJ_a/dalpha [kg.m2/rad]. */
static inline Number axis_moment_slope(Arm arm, Number alpha)
{
    const Number c = cos(alpha), s = sin(alpha);
    const Number middle = arm.a + arm.L / 2 * c, end = arm.a + arm.L * c;
    return -2 * arm.L * s * (arm.m_r / 2 * middle + arm.m_p * end) + 2 * s * c * (along(arm) - across(arm));
}

/* I_h alpha'' = J_a' Omega^2/2 + G cos(alpha) + tau: centrifugal and gravitational torque, and that of the coupler. */
static inline Number arm_acceleration(Arm arm, Number g, Number alpha, Number Omega, Number tau)
{
    const Number I_h = across(arm) + (arm.m_r / 4 + arm.m_p) * arm.L * arm.L; /* about the hinge */
    const Number G = g * (arm.m_r / 2 + arm.m_p) * arm.L;
    return (axis_moment_slope(arm, alpha) * Omega * Omega / 2 + G * cos(alpha) + tau) / I_h;
}

/* One spring-damper, from the distance b along the arm to the slider; the hinge is at the height H. */
typedef struct {
    Number b, H, K, C, l0;
} Strut;

/* Its length l [m] with its derivatives, and its tension F = K (l - l0) + C l' [N]. */
typedef struct {
    Number l, l_alpha, l_s, F;
} Pull;

static inline Pull pull(Strut strut, Number alpha, Number alphaDot, Number s, Number sDot)
{
    const Number x = strut.b * cos(alpha), y = strut.H - s - strut.b * sin(alpha);
    Pull coupler = {.l = sqrt(x * x + y * y)};
    coupler.l_alpha = -x * (strut.H - s) / coupler.l;
    coupler.l_s = -y / coupler.l;
    coupler.F = strut.K * (coupler.l - strut.l0) + strut.C * (coupler.l_alpha * alphaDot + coupler.l_s * sDot);
    return coupler;
}

#endif
