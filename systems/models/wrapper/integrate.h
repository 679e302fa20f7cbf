/* An explicit integrator for dx/ds = f(s, x) with error control close to rounding error. */
#ifndef INTEGRATE_H
#define INTEGRATE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes dx/ds at s [s since the start of the interval] into `slope`. */
typedef void (*RightHandSide)(void *context, double s, const double x[], double slope[]);

/* Advances x[n] from s = 0 to s = h. The estimated error of each internal step is at most 1e-13 of
 * max(|x|, nominal). The result is a function of the arguments alone: nothing is remembered between calls.
 * Returns false, with x undefined, if f is not finite or if no acceptable step size is left.
 *
 * Method: extrapolation of Gragg's smoothed midpoint rule in h^2, with as many rows as the accuracy needs
 * (Gragg 1965; Bulirsch and Stoer 1966; Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I,
 * section II.9). A small step is accepted after two or three rows, so it is cheap. */
bool integrate(size_t n, double x[], double h, const double nominal[], RightHandSide f, void *context);

#endif
