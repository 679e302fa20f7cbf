/* FMI 3.0's functions to save and restore an FMU, whose state is all in the struct `State now` of its instance. To be
 * included where State and SELF, which makes `self` of an fmi3Instance, are defined.
 */
#ifndef STATES3_H
#define STATES3_H

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    SELF;
    if (!*state)
        *state = malloc(sizeof self->now);
    memcpy(*state, &self->now, sizeof self->now);
    return fmi3OK;
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state)
{
    SELF;
    memcpy(&self->now, state, sizeof self->now);
    return fmi3OK;
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    (void)instance;
    free(*state);
    *state = NULL;
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, size_t *size)
{
    (void)instance, (void)state;
    *size = sizeof(State);
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    (void)instance;
    memcpy(bytes, state, size);
    return fmi3OK;
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    (void)instance;
    *state = malloc(sizeof(State));
    memcpy(*state, bytes, size);
    return fmi3OK;
}

#endif
