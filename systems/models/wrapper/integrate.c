#include "integrate.h"

#include <math.h>

#include "model.h"

enum { MAX_ROWS = 8, MAX_ATTEMPTS = 1000000 };
static const double TOLERANCE = 1e-13; /* of an internal step, relative to max(|x|, nominal) */
static const double SMALLEST = 1e-9;   /* internal step, as a part of the whole one */

typedef struct {
    size_t n;
    const double *nominal;
    RightHandSide f;
    void *context;
    double start[MAX_STATES]; /* x and slope where the internal step starts */
    double slope[MAX_STATES];
    double column[MAX_ROWS][MAX_STATES]; /* latest row of the extrapolation table, as increments of x */
} Work;

typedef struct {
    bool accepted;
    int rows;
    double error;
} Attempt;

/* Number of substeps in each row: the even harmonic sequence. */
static int substeps(int row)
{
    return 2 * (row + 1);
}

/* Gragg's midpoint rule with smoothing over one internal step. Increments instead of x itself are carried, so
 * that rounding errors stay relative to the change of x. */
static void midpoint(const Work *w, double s, double step, int count, double increment[])
{
    double previous[MAX_STATES], current[MAX_STATES], x[MAX_STATES], slope[MAX_STATES];
    const double h = step / count;
    for (size_t i = 0; i < w->n; i++) {
        previous[i] = 0;
        current[i] = h * w->slope[i];
    }
    for (int k = 1; k <= count; k++) {
        for (size_t i = 0; i < w->n; i++)
            x[i] = w->start[i] + current[i];
        w->f(w->context, s + k * h, x, slope);
        if (k == count)
            break;
        for (size_t i = 0; i < w->n; i++) {
            const double next = previous[i] + 2 * h * slope[i];
            previous[i] = current[i];
            current[i] = next;
        }
    }
    for (size_t i = 0; i < w->n; i++)
        increment[i] = 0.5 * (current[i] + previous[i] + h * slope[i]);
}

/* Adds one row to the extrapolation table; returns the estimated relative error of its last entry. */
static double extrapolate(Work *w, int row, const double increment[])
{
    double error = 0;
    for (size_t i = 0; i < w->n; i++) {
        double value = increment[i], change = 0;
        for (int k = 0; k < row; k++) {
            const double ratio = (double)substeps(row) / substeps(row - 1 - k);
            change = (value - w->column[k][i]) / (ratio * ratio - 1);
            w->column[k][i] = value;
            value += change;
        }
        w->column[row][i] = value;
        const double scale = fmax(fmax(fabs(w->start[i]), fabs(w->start[i] + value)), w->nominal[i]);
        error = isfinite(value) ? fmax(error, fabs(change) / scale) : INFINITY;
        if (!isfinite(error))
            return INFINITY;
    }
    return error;
}

static Attempt attempt(Work *w, double s, double step)
{
    double increment[MAX_STATES];
    double error = INFINITY;
    for (int row = 0; row < MAX_ROWS; row++) {
        const double before = error;
        midpoint(w, s, step, substeps(row), increment);
        error = extrapolate(w, row, increment);
        if (row == 0 && isfinite(error))
            error = INFINITY; /* one row says nothing about its error */
        else if (error <= TOLERANCE)
            return (Attempt){true, row + 1, error};
        else if (row > 0 && !(error < 4 * before))
            return (Attempt){false, row + 1, error}; /* the step is far outside the region of convergence */
    }
    return (Attempt){false, MAX_ROWS, error};
}

/* The next internal step size, as a multiple of the one tried. */
static double factor(Attempt tried)
{
    if (tried.accepted && tried.rows < MAX_ROWS)
        return 2;
    if (!isfinite(tried.error) || tried.rows < MAX_ROWS)
        return 0.2;
    const double ideal = 0.9 * pow(TOLERANCE / fmax(tried.error, 1e-300), 1.0 / (2 * MAX_ROWS - 1));
    return tried.accepted ? fmin(ideal, 1.5) : fmax(fmin(ideal, 0.7), 0.1);
}

bool integrate(size_t n, double x[], double h, const double nominal[], RightHandSide f, void *context)
{
    Work w = {.n = n, .nominal = nominal, .f = f, .context = context};
    double s = 0, step = h;
    for (int tries = 0; tries < MAX_ATTEMPTS; tries++) {
        const bool last = s + step >= h * (1 - 1e-14);
        if (last)
            step = h - s;
        for (size_t i = 0; i < n; i++)
            w.start[i] = x[i];
        f(context, s, x, w.slope);
        const Attempt tried = attempt(&w, s, step);
        if (tried.accepted) {
            for (size_t i = 0; i < n; i++)
                x[i] += w.column[tried.rows - 1][i];
            if (last)
                return true;
            s += step;
        }
        step *= factor(tried);
        if (!(step > SMALLEST * h))
            return false;
    }
    return false;
}
