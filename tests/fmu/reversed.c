/* Arrays of three elements of every type of FMI 3.0: y[i] = u[4 - i]. References are 10 · type and 10 · type + 1. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, ERROR = 3, SIZE = 3, TYPES = 12 };

typedef struct {
    union {
        uint64_t number;
        float single;
        double real;
        char text[64];
    } u[TYPES][SIZE];
} Model;

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *path, bool visible, bool logging,
                                  bool events, bool early, const unsigned *required, size_t count, void *environment,
                                  void *log, void *update)
{
    return calloc(1, sizeof(Model));
}

void fmi3FreeInstance(Model *model)
{
    free(model);
}

int fmi3DoStep(Model *model, double t, double h, bool no_way_back, bool *event, bool *terminate, bool *early,
               double *reached)
{
    *event = *terminate = *early = false;
    *reached = t + h;
    return OK;
}

#define ACCESS(NAME, TYPE, NUMBER)                                                                  \
    int fmi3Set##NAME(Model *model, const unsigned *vr, size_t count, const TYPE *values, size_t n) \
    {                                                                                               \
        if (count != 1 || n != SIZE || vr[0] != 10 * NUMBER)                                        \
            return ERROR;                                                                           \
        for (int i = 0; i < SIZE; ++i)                                                              \
            memcpy(&model->u[NUMBER][i], &values[i], sizeof values[i]);                             \
        return OK;                                                                                  \
    }                                                                                               \
    int fmi3Get##NAME(Model *model, const unsigned *vr, size_t count, TYPE *values, size_t n)       \
    {                                                                                               \
        if (n != SIZE * count)                                                                      \
            return ERROR;                                                                           \
        for (size_t k = 0; k < count; ++k)                                                          \
            for (int i = 0; i < SIZE; ++i)                                                          \
                memcpy(values++, &model->u[NUMBER][vr[k] % 10 ? SIZE - 1 - i : i], sizeof(TYPE));   \
        return OK;                                                                                  \
    }

ACCESS(Float64, double, 0)
ACCESS(Float32, float, 1)
ACCESS(Int8, int8_t, 2)
ACCESS(UInt8, uint8_t, 3)
ACCESS(Int16, int16_t, 4)
ACCESS(UInt16, uint16_t, 5)
ACCESS(Int32, int32_t, 6)
ACCESS(UInt32, uint32_t, 7)
ACCESS(Int64, int64_t, 8)
ACCESS(UInt64, uint64_t, 9)
ACCESS(Boolean, bool, 10)

int fmi3SetString(Model *model, const unsigned *vr, size_t count, const char *const *values, size_t n)
{
    if (count != 1 || n != SIZE || vr[0] != 110)
        return ERROR;
    for (int i = 0; i < SIZE; ++i)
        strncpy(model->u[11][i].text, values[i], 63);
    return OK;
}

int fmi3GetString(Model *model, const unsigned *vr, size_t count, const char **values, size_t n)
{
    if (n != SIZE * count)
        return ERROR;
    for (size_t k = 0; k < count; ++k)
        for (int i = 0; i < SIZE; ++i)
            *values++ = model->u[11][vr[k] % 10 ? SIZE - 1 - i : i].text;
    return OK;
}
