/* Drives exported FMUs by commands on its standard input, on any platform; see tests/exporting/emulation.py.

   A line is a command and its arguments, with tabs between them. Numbers go in and come out as the 16 digits of their
   bits, so that nothing is lost on the way; what is said is printed as "log". A status that is not ok is printed as
   "status". */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"
#include "fmi3Functions.h"

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <windows.h>
#else
#include <dlfcn.h>
#endif

enum { most = 64, instances = 4, states = 8, longest = 1 << 20 };

static void *library;
static int fmi;
static void *component[instances];
static int current;
static void *state[states];
static char *field[most];
static int fields;

static void fail(const char *what)
{
    printf("driver: %s\n", what);
    exit(1);
}

/* --- functions of the library
 * ----------------------------------------------------------------------------------------- */

#ifdef _WIN32
static void load(const char *path)
{
    static wchar_t wide[4096];
    if (MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, 4096) == 0)
        fail("no path");
    library = (void *)LoadLibraryW(wide);
}
static void *find(const char *name)
{
    return (void *)GetProcAddress((HMODULE)library, name);
}
static void unload(void)
{
    FreeLibrary((HMODULE)library);
}
#else
static void load(const char *path)
{
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
}
static void *find(const char *name)
{
    return dlsym(library, name);
}
static void unload(void)
{
    dlclose(library);
}
#endif

/* The function of this version of FMI, whose types begin with its name. */
static void *function(const char *name)
{
    char whole[64];
    snprintf(whole, sizeof whole, "fmi%d%s", fmi, name);
    void *found = find(whole);
    if (found == NULL)
        fail(whole);
    return found;
}

#define CALL2(name) ((fmi2##name##TYPE *)function(#name))
#define CALL3(name) ((fmi3##name##TYPE *)function(#name))

/* --- messages
 * --------------------------------------------------------------------------------------------------------- */

static void said2(fmi2ComponentEnvironment environment, fmi2String instance, fmi2Status status, fmi2String category,
                  fmi2String message, ...)
{
    (void)environment;
    /* Ours have no arguments, but doubled percent signs. */
    printf("log\t%s\t%d\t%s\t", instance, (int)status, category);
    for (const char *c = message; *c != 0; ++c) {
        putchar(*c);
        if (*c == '%' && c[1] == '%')
            ++c;
    }
    putchar('\n');
}

static void said3(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category, fmi3String message)
{
    printf("log\t%s\t%d\t%s\t%s\n", (const char *)environment, (int)status, category, message);
}

static const fmi2CallbackFunctions callbacks = {said2, calloc, free, NULL, NULL};

static void check(int status)
{
    if (status != 0)
        printf("status\t%s\t%d\n", field[0], status);
}

/* --- arguments
 * -------------------------------------------------------------------------------------------------------- */

static const char *text(int i)
{
    if (i >= fields)
        fail("an argument is missing");
    return field[i];
}

static int whole(int i)
{
    return (int)strtol(text(i), NULL, 10);
}

static double number(int i)
{
    const uint64_t bits = strtoull(text(i), NULL, 16);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void print_number(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    printf("\t%016llx", (unsigned long long)bits);
}

/* --- commands
 * --------------------------------------------------------------------------------------------------------- */

/* instantiate INSTANCE NAME TOKEN RESOURCES LOGGING EVENTS */
static void instantiate(void)
{
    static char names[instances][64];
    current = whole(1);
    snprintf(names[current], sizeof names[current], "%s", text(2));
    const bool logging = whole(5) != 0, events = whole(6) != 0;
    component[current] =
        fmi == 2
            ? CALL2(Instantiate)(names[current], fmi2CoSimulation, text(3), text(4), &callbacks, fmi2False, logging)
            : CALL3(InstantiateCoSimulation)(names[current], text(3), text(4), false, logging, events, events, NULL, 0,
                                             names[current], said3, NULL);
    printf("instance\t%d\t%s\n", current, component[current] == NULL ? "null" : "made");
}

/* initialize START */
static void initialize(void)
{
    void *const c = component[current];
    if (fmi == 2) {
        check(CALL2(SetupExperiment)(c, fmi2False, 0.0, number(1), fmi2False, 0.0));
        check(CALL2(EnterInitializationMode)(c));
    } else {
        check(CALL3(EnterInitializationMode)(c, false, 0.0, number(1), false, 0.0));
    }
}

/* set REFERENCE VALUE */
static void set(void)
{
    const unsigned reference = (unsigned)whole(1);
    const double value = number(2);
    check(fmi == 2 ? (int)CALL2(SetReal)(component[current], &reference, 1, &value)
                   : (int)CALL3(SetFloat64)(component[current], &reference, 1, &value, 1));
}

/* get REFERENCE... */
static void get(void)
{
    unsigned references[most];
    double values[most];
    const size_t count = (size_t)(fields - 1);
    for (int i = 1; i < fields; ++i)
        references[i - 1] = (unsigned)whole(i);
    check(fmi == 2 ? (int)CALL2(GetReal)(component[current], references, count, values)
                   : (int)CALL3(GetFloat64)(component[current], references, count, values, count));
    printf("get");
    for (size_t i = 0; i < count; ++i)
        print_number(values[i]);
    putchar('\n');
}

/* step TIME SIZE */
static void step(void)
{
    bool event, end, early;
    double last;
    check(fmi == 2 ? (int)CALL2(DoStep)(component[current], number(1), number(2), fmi2False)
                   : (int)CALL3(DoStep)(component[current], number(1), number(2), false, &event, &end, &early, &last));
}

/* settle: the event iterations of FMI 3.0, and out of event mode */
static void settle(void)
{
    void *const c = component[current];
    bool again = true, end, nominals, states, defined = false;
    double next = 0.0;
    while (again)
        check(CALL3(UpdateDiscreteStates)(c, &again, &end, &nominals, &states, &defined, &next));
    check(CALL3(EnterStepMode)(c));
    printf("settled");
    if (defined)
        print_number(next);
    putchar('\n');
}

/* advance BEGIN END: through the events between, each of which is handled at its time */
static void advance(void)
{
    void *const c = component[current];
    double t = number(1);
    const double last = number(2);
    bool early = true; /* not when the end is reached, but for rounding */
    while (early && t < last) {
        bool event, end;
        check(CALL3(DoStep)(c, t, last - t, true, &event, &end, &early, &t));
        printf("reached");
        print_number(t);
        putchar('\n');
        if (event) {
            check(CALL3(EnterEventMode)(c));
            settle();
        }
    }
}

/* derivative UNKNOWN KNOWN SEED */
static void derivative(void)
{
    const unsigned unknown = (unsigned)whole(1), known = (unsigned)whole(2);
    const double seed = number(3);
    double found = 0.0;
    check(fmi == 2
              ? (int)CALL2(GetDirectionalDerivative)(component[current], &unknown, 1, &known, 1, &seed, &found)
              : (int)CALL3(GetDirectionalDerivative)(component[current], &unknown, 1, &known, 1, &seed, 1, &found, 1));
    printf("derivative");
    print_number(found);
    putchar('\n');
}

/* save STATE, restore STATE, forget STATE */
static void save(void)
{
    check(fmi == 2 ? (int)CALL2(GetFMUstate)(component[current], &state[whole(1)])
                   : (int)CALL3(GetFMUState)(component[current], &state[whole(1)]));
}
static void restore(void)
{
    check(fmi == 2 ? (int)CALL2(SetFMUstate)(component[current], state[whole(1)])
                   : (int)CALL3(SetFMUState)(component[current], state[whole(1)]));
}
static void forget(void)
{
    check(fmi == 2 ? (int)CALL2(FreeFMUstate)(component[current], &state[whole(1)])
                   : (int)CALL3(FreeFMUState)(component[current], &state[whole(1)]));
}

/* pack STATE: its bytes as digits */
static void pack(void)
{
    void *const c = component[current];
    void *const from = state[whole(1)];
    size_t size = 0;
    check(fmi == 2 ? (int)CALL2(SerializedFMUstateSize)(c, from, &size)
                   : (int)CALL3(SerializedFMUStateSize)(c, from, &size));
    unsigned char *const bytes = malloc(size + 1);
    if (bytes == NULL)
        fail("no memory");
    check(fmi == 2 ? (int)CALL2(SerializeFMUstate)(c, from, (char *)bytes, size)
                   : (int)CALL3(SerializeFMUState)(c, from, bytes, size));
    printf("pack\t");
    for (size_t i = 0; i < size; ++i)
        printf("%02x", bytes[i]);
    putchar('\n');
    free(bytes);
}

/* unpack STATE BYTES */
static void unpack(void)
{
    void *const c = component[current];
    void **const to = &state[whole(1)];
    const size_t size = strlen(text(2)) / 2;
    unsigned char *const bytes = malloc(size + 1);
    if (bytes == NULL)
        fail("no memory");
    for (size_t i = 0; i < size; ++i) {
        const char digits[3] = {text(2)[2 * i], text(2)[2 * i + 1], 0};
        bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    check(fmi == 2 ? (int)CALL2(DeSerializeFMUstate)(c, (const char *)bytes, size, to)
                   : (int)CALL3(DeserializeFMUState)(c, bytes, size, to));
    free(bytes);
}

static void plain(const char *name)
{
    check(fmi == 2 ? (int)((fmi2ResetTYPE *)function(name))(component[current])
                   : (int)((fmi3ResetTYPE *)function(name))(component[current]));
}

static void release(void)
{
    if (fmi == 2)
        CALL2(FreeInstance)(component[current]);
    else
        CALL3(FreeInstance)(component[current]);
    component[current] = NULL;
}

static void obey(void)
{
    const char *const command = text(0);
#define IS(word) (strcmp(command, word) == 0)
    if (IS("load")) { /* load FMI PATH */
        fmi = whole(1);
        load(text(2));
        if (library == NULL)
            fail("the library cannot be loaded");
        printf("version\t%s\n", fmi == 2 ? CALL2(GetVersion)() : CALL3(GetVersion)());
    } else if (IS("use")) {
        current = whole(1);
    } else if (IS("instantiate")) {
        instantiate();
    } else if (IS("initialize")) {
        initialize();
    } else if (IS("initialized")) {
        plain("ExitInitializationMode");
    } else if (IS("set")) {
        set();
    } else if (IS("get")) {
        get();
    } else if (IS("step")) {
        step();
    } else if (IS("settle")) {
        settle();
    } else if (IS("advance")) {
        advance();
    } else if (IS("derivative")) {
        derivative();
    } else if (IS("save")) {
        save();
    } else if (IS("restore")) {
        restore();
    } else if (IS("forget")) {
        forget();
    } else if (IS("pack")) {
        pack();
    } else if (IS("unpack")) {
        unpack();
    } else if (IS("reset")) {
        plain("Reset");
    } else if (IS("terminate")) {
        plain("Terminate");
    } else if (IS("release")) {
        release();
    } else if (IS("unload")) {
        unload();
    } else {
        fail("an unknown command");
    }
}

int main(void)
{
    static char line[longest];
#ifdef _WIN32
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        fields = 0;
        for (char *c = line; fields < most;) {
            field[fields++] = c;
            c = strchr(c, '\t');
            if (c == NULL)
                break;
            *c++ = 0;
        }
        obey();
        fflush(stdout);
    }
    return 0;
}
