/* Saved and serialized FMU states. A serialized state can be read by another process on a machine of the same kind. */
#include <stdlib.h>
#include <string.h>

#include "instance.h"

typedef struct {
    char token[TOKEN_SIZE + 1]; /* the model that it belongs to */
    Interface interface;
    State state;
} Saved;

Outcome instance_save(Instance *instance, void **saved)
{
    if (!saved)
        return refuse(instance, "the place for the state is a null pointer");
    const Outcome outcome = instance_require(instance, ~(unsigned)INTERMEDIATE_UPDATE);
    if (outcome != DONE)
        return outcome;
    if (!*saved) {
        Saved *fresh = calloc(1, sizeof *fresh);
        if (!fresh)
            return refuse(instance, "out of memory");
        model_token(fresh->token);
        fresh->interface = instance->interface;
        *saved = fresh;
    }
    memcpy(&((Saved *)*saved)->state, &instance->now, sizeof(State));
    return DONE;
}

Outcome instance_restore(Instance *instance, const void *saved)
{
    const Saved *state = saved;
    if (!state)
        return refuse(instance, "the state is a null pointer");
    const Outcome outcome = instance_require(instance, ~(unsigned)INTERMEDIATE_UPDATE);
    if (outcome != DONE)
        return outcome;
    if (state->interface != instance->interface)
        return refuse(instance, "the state was saved by an instance of the other interface type");
    memcpy(&instance->now, &state->state, sizeof(State));
    return DONE;
}

void instance_free_saved(void **saved)
{
    if (saved) {
        free(*saved);
        *saved = NULL;
    }
}

size_t instance_serialized_size(void)
{
    return sizeof(Saved);
}

Outcome instance_serialize(Instance *instance, const void *saved, char bytes[], size_t size)
{
    if (!saved || !bytes)
        return refuse(instance, "the state or the place for its bytes is a null pointer");
    if (size < sizeof(Saved))
        return refuse(instance, "%zu bytes are not enough; the state needs %zu", size, sizeof(Saved));
    memcpy(bytes, saved, sizeof(Saved));
    return DONE;
}

static bool plausible(const State *state)
{
    return state->mode >= INSTANTIATED && state->mode <= TERMINATED && !(state->mode & (state->mode - 1)) &&
           state->mode != INTERMEDIATE_UPDATE;
}

Outcome instance_deserialize(Instance *instance, const char bytes[], size_t size, void **saved)
{
    char token[TOKEN_SIZE];
    Saved *copy = malloc(sizeof *copy);
    if (!bytes || !saved || !copy) {
        free(copy);
        return refuse(instance, copy ? "the bytes or the place for the state are a null pointer" : "out of memory");
    }
    model_token(token);
    if (size == sizeof *copy)
        memcpy(copy, bytes, sizeof *copy);
    if (size != sizeof *copy || memcmp(copy->token, token, sizeof token) != 0 || !plausible(&copy->state)) {
        free(copy);
        return refuse(instance, "these %zu bytes are not a state of %s %s", size, model.name, token);
    }
    instance_free_saved(saved);
    *saved = copy;
    return DONE;
}
