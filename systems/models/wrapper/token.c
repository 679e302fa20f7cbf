#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "instance.h"

/* FNV-1a (Fowler, Noll and Vo), with two offsets for 128 bits. */
typedef struct {
    uint64_t half[2];
} Hash;

static void add_bytes(Hash *hash, const void *data, size_t size)
{
    const unsigned char *byte = data;
    for (int h = 0; h < 2; h++)
        for (size_t i = 0; i < size; i++)
            hash->half[h] = (hash->half[h] ^ byte[i]) * 0x100000001b3u;
}

static void add_text(Hash *hash, const char *text)
{
    if (text)
        add_bytes(hash, text, strlen(text));
    add_bytes(hash, "", 1); /* the final zero keeps neighbours apart */
}

static void add_dependencies(Hash *hash, const Dependency *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t row[3] = {rows[i].unknown, rows[i].known, rows[i].kind};
        add_bytes(hash, row, sizeof row);
    }
}

void model_token(char token[TOKEN_SIZE])
{
    Hash hash = {{0xcbf29ce484222325u, 0x6c62272e07bb0142u}};
    add_text(&hash, model.name);
    for (size_t i = 0; i < model.variable_count; i++) {
        const Variable *v = &model.variables[i];
        const uint32_t facts[5] = {v->causality, v->initial, v->derivative_of, v->discrete, v->reinit};
        const double numbers[2] = {v->start, v->nominal};
        add_text(&hash, v->name);
        add_text(&hash, v->unit);
        add_bytes(&hash, facts, sizeof facts);
        add_bytes(&hash, numbers, sizeof numbers);
    }
    add_dependencies(&hash, model.dependencies, model.dependency_count);
    add_dependencies(&hash, model.initial_dependencies, model.initial_dependency_count);
    for (size_t i = 0; i < model.indicator_count; i++)
        add_bytes(&hash, &model.indicators[i], sizeof model.indicators[i]);
    const uint64_t a = hash.half[0], b = hash.half[1];
    snprintf(token, TOKEN_SIZE, "{%08x-%04x-%04x-%04x-%04x%08x}", (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xffff),
             (unsigned)(a & 0xffff), (unsigned)(b >> 48), (unsigned)(b >> 32 & 0xffff), (unsigned)(b & 0xffffffffu));
}
