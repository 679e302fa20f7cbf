/* A decay whose derivative has noise, as that of a table of measured values or of an inner iteration:
 *
 *     x' = -x + a n(t, x),    -1 <= n <= 1
 */
#include <stdint.h>
#include <string.h>

#include "model.h"

enum { TIME, x, der_x, a, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [x] = {"x", OUTPUT, EXACT, .unit = "1", .start = 1},
    [der_x] = {"der(x)", LOCAL, .derivative_of = x, .unit = "1/s"},
    [a] = {"a", TUNABLE_PARAMETER, .unit = "1/s", .start = 5e-3, .description = "size of the noise"},
};

static const Dependency dependencies[] = {{der_x, x, DEPENDENT}, {der_x, a, DEPENDENT}};

/* The same number for the same bits of time and state. */
static double noise(double time, double state)
{
    uint64_t bits[2];
    memcpy(bits, (double[]){time, state}, sizeof bits);
    uint64_t mixed = bits[0] * 0x9E3779B97F4A7C15u ^ bits[1] * 0xD1B54A32D192ED03u;
    mixed ^= mixed >> 31;
    mixed *= 0x94D049BB133111EBu;
    mixed ^= mixed >> 29;
    return (double)(mixed >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[der_x] = -v[x] + v[a] * noise(creal(v[TIME]), creal(v[x]));
}

MODEL = {
    .name = "Noisy",
    .description = "A decay with noise",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
