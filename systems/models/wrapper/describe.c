/* Writes modelDescription.xml for the model that it is linked with: describe 1|2|3 FILE */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instance.h"

typedef struct {
    const char *name;
    int kg, m, s, rad;
} Unit;

/* The coherent SI units that models may use. */
static const Unit units[] = {
    {"1", .kg = 0},
    {"kg", .kg = 1},
    {"m", .m = 1},
    {"s", .s = 1},
    {"rad", .rad = 1},
    {"m/s", .m = 1, .s = -1},
    {"m/s2", .m = 1, .s = -2},
    {"rad/s", .rad = 1, .s = -1},
    {"rad/s2", .rad = 1, .s = -2},
    {"1/s", .s = -1},
    {"N", .kg = 1, .m = 1, .s = -2},
    {"N/m", .kg = 1, .s = -2},
    {"N.s/m", .kg = 1, .s = -1},
    {"N.m", .kg = 1, .m = 2, .s = -2},
    {"N.m/rad", .kg = 1, .m = 2, .s = -2, .rad = -1},
    {"N.m.s/rad", .kg = 1, .m = 2, .s = -1, .rad = -1},
    {"kg.m2", .kg = 1, .m = 2},
    {"kg.m2/s", .kg = 1, .m = 2, .s = -1},
    {"J", .kg = 1, .m = 2, .s = -2},
    {"W", .kg = 1, .m = 2, .s = -3},
};

static int version;
static FILE *out;

static _Noreturn void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "describe %s: ", model.name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* What the equations make of one unknown: for each row, how it enters (or NOT_USED). */
enum { NOT_USED = -1 };
typedef struct {
    int kind[MAX_VARIABLES];
} Uses;

static bool is_state(unsigned row)
{
    for (size_t i = 0; i < model.variable_count; i++)
        if (model.variables[i].derivative_of && model.variables[i].derivative_of == row)
            return true;
    return false;
}

/* A variable that equations use but, at this stage, no equation computes. */
static bool is_known(unsigned row, bool initialization)
{
    const Variable *variable = &model.variables[row];
    if (variable->causality != OUTPUT && variable->causality != LOCAL)
        return true;
    return (is_state(row) || variable->discrete) && (!initialization || variable->initial == EXACT);
}

static void add_use(Uses *uses, unsigned known, int kind)
{
    if (uses->kind[known] < kind)
        uses->kind[known] = kind;
}

static bool has_rows(unsigned unknown, const Dependency *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].unknown == unknown)
            return true;
    return false;
}

/* Follows the equations from `unknown` down to the knowns. The kind of a path is its weakest link. */
static void follow(unsigned unknown, bool initialization, int kind, int depth, Uses *uses)
{
    const bool start = initialization && (is_state(unknown) || has_rows(unknown, model.initial_dependencies,
                                                                        model.initial_dependency_count));
    const Dependency *rows = start ? model.initial_dependencies : model.dependencies;
    const size_t count = start ? model.initial_dependency_count : model.dependency_count;
    if (depth > (int)model.variable_count)
        fail("%s depends on itself", model.variables[unknown].name);
    for (size_t i = 0; i < count; i++)
        if (rows[i].unknown == unknown) {
            const int along = (int)rows[i].kind > kind ? (int)rows[i].kind : kind;
            if (is_known(rows[i].known, initialization))
                add_use(uses, rows[i].known, along);
            else
                follow(rows[i].known, initialization, along, depth + 1, uses);
        }
}

static Uses uses_of(unsigned unknown, bool initialization)
{
    Uses uses;
    for (size_t i = 0; i < MAX_VARIABLES; i++)
        uses.kind[i] = NOT_USED;
    if (is_known(unknown, initialization) && !model.variables[unknown].discrete)
        add_use(&uses, unknown, CONSTANT); /* an output that is itself a state */
    else
        follow(unknown, initialization, CONSTANT, 0, &uses);
    return uses;
}

static void put_text(const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out);
        }
}

static void attribute(const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    put_text(value);
    fputc('"', out);
}

/* The shortest decimal number that reads back as the same double; without exponent if of common size. */
static void number(const char *name, double value)
{
    char text[32];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value && !(strchr(text, 'e') && fabs(value) > 1 && fabs(value) < 1e6))
            break;
    }
    attribute(name, text);
}

static void whole(const char *name, int value)
{
    if (value != 0)
        fprintf(out, " %s=\"%d\"", name, value);
}

static void put_interfaces_of_fmi1(void)
{
    fputs("  <Implementation>\n    <CoSimulation_StandAlone>\n      <Capabilities", out);
    attribute("canHandleVariableCommunicationStepSize", "true");
    attribute("canHandleEvents", "true");
    attribute("canInterpolateInputs", model.step ? "false" : "true");
    attribute("maxOutputDerivativeOrder", "1");
    attribute("canNotUseMemoryManagementFunctions", "true");
    fputs("/>\n    </CoSimulation_StandAlone>\n  </Implementation>\n", out);
}

static void put_interfaces(void)
{
    const char *state = version == 2 ? "canGetAndSetFMUstate" : "canGetAndSetFMUState";
    const char *serialize = version == 2 ? "canSerializeFMUstate" : "canSerializeFMUState";
    const char *derivative = version == 2 ? "providesDirectionalDerivative" : "providesDirectionalDerivatives";
    for (int co_simulation = model.step != NULL; co_simulation <= !model.events; co_simulation++) {
        fputs(co_simulation ? "  <CoSimulation" : "  <ModelExchange", out);
        attribute("modelIdentifier", model.name);
        if (version == 2)
            attribute("canNotUseMemoryManagementFunctions", "true");
        if (version == 2 && !co_simulation)
            attribute("completedIntegratorStepNotNeeded", "true");
        attribute(state, "true");
        attribute(serialize, "true");
        attribute(derivative, "true");
        if (version == 3)
            attribute("providesAdjointDerivatives", "true");
        if (co_simulation) {
            attribute("canHandleVariableCommunicationStepSize", "true");
            if (!model.step)
                attribute(version == 2 ? "canInterpolateInputs" : "providesIntermediateUpdate", "true");
            attribute("maxOutputDerivativeOrder", "1");
        }
        fputs("/>\n", out);
    }
}

static bool uses_unit(const char *unit)
{
    for (size_t i = 0; i < model.variable_count; i++)
        if (model.variables[i].unit && strcmp(model.variables[i].unit, unit) == 0)
            return true;
    return false;
}

static void put_units(void)
{
    fputs("  <UnitDefinitions>\n", out);
    for (size_t i = 0; i < ROWS(units); i++)
        if (version == 1 && uses_unit(units[i].name)) {
            fputs("    <BaseUnit", out);
            attribute("unit", units[i].name);
            fputs("/>\n", out);
        } else if (uses_unit(units[i].name)) {
            fputs("    <Unit", out);
            attribute("name", units[i].name);
            fputs("><BaseUnit", out);
            whole("kg", units[i].kg);
            whole("m", units[i].m);
            whole("s", units[i].s);
            whole("rad", units[i].rad);
            fputs("/></Unit>\n", out);
        }
    fputs("  </UnitDefinitions>\n", out);
}

static const char *causality_name(Causality causality)
{
    switch (causality) {
    case LOCAL: return "local";
    case INPUT: return "input";
    case OUTPUT: return "output";
    case FIXED_PARAMETER:
    case TUNABLE_PARAMETER: return "parameter";
    case INDEPENDENT: return "independent";
    }
    return "";
}

static const char *variability_name(const Variable *v)
{
    if (v->discrete)
        return "discrete";
    const Causality causality = v->causality;
    return causality == FIXED_PARAMETER ? "fixed" : causality == TUNABLE_PARAMETER ? "tunable" : "continuous";
}

static bool is_computed(const Variable *v)
{
    return v->causality == OUTPUT || v->causality == LOCAL;
}

/* FMI 1.0 has neither calculated parameters nor an independent variable; what it calls internal are locals. */
static void put_attributes_of_fmi1(unsigned row)
{
    const Variable *v = &model.variables[row];
    const bool parameter = v->causality == FIXED_PARAMETER || v->causality == TUNABLE_PARAMETER;
    char reference[16];
    snprintf(reference, sizeof reference, "%u", row);
    attribute("name", v->name);
    attribute("valueReference", reference);
    if (v->description)
        attribute("description", v->description);
    attribute("variability", parameter ? "parameter" : v->discrete ? "discrete" : "continuous");
    attribute("causality", v->causality == INPUT ? "input" : v->causality == OUTPUT ? "output" : "internal");
}

static void put_common_attributes(unsigned row)
{
    const Variable *v = &model.variables[row];
    char reference[16];
    snprintf(reference, sizeof reference, "%u", row);
    attribute("name", v->name);
    attribute("valueReference", reference);
    attribute("causality", causality_name(v->causality));
    attribute("variability", variability_name(v));
    if (v->causality == FIXED_PARAMETER || v->causality == TUNABLE_PARAMETER || (is_computed(v) && v->initial == EXACT))
        attribute("initial", "exact");
    else if (is_computed(v))
        attribute("initial", "calculated");
    if (v->description)
        attribute("description", v->description);
}

static void put_real_attributes(unsigned row)
{
    const Variable *v = &model.variables[row];
    char state[16];
    if (v->unit)
        attribute("unit", v->unit);
    if (v->nominal > 0)
        number("nominal", v->nominal);
    if (v->causality != INDEPENDENT && (!is_computed(v) || v->initial == EXACT))
        number("start", v->start);
    if (version == 1)
        return;
    if (v->derivative_of) {
        snprintf(state, sizeof state, "%u", version == 2 ? v->derivative_of + 1 : v->derivative_of);
        attribute("derivative", state);
    }
    if (v->reinit)
        attribute("reinit", "true");
}

/* The inputs that an output needs at the same instant. */
static void put_direct_dependency(unsigned row)
{
    const Uses uses = uses_of(row, false);
    fputs("      <DirectDependency>", out);
    for (unsigned known = 0; known < model.variable_count; known++)
        if (uses.kind[known] != NOT_USED && model.variables[known].causality == INPUT) {
            fputs("<Name>", out);
            put_text(model.variables[known].name);
            fputs("</Name>", out);
        }
    fputs("</DirectDependency>\n", out);
}

static void put_variables_of_fmi1(void)
{
    fputs("  <ModelVariables>\n", out);
    for (unsigned row = 1; row < model.variable_count; row++) {
        fputs("    <ScalarVariable", out);
        put_attributes_of_fmi1(row);
        fputs(">\n      <Real", out);
        put_real_attributes(row);
        fputs("/>\n", out);
        if (model.variables[row].causality == OUTPUT)
            put_direct_dependency(row);
        fputs("    </ScalarVariable>\n", out);
    }
    fputs("  </ModelVariables>\n", out);
}

static void put_variables(void)
{
    fputs("  <ModelVariables>\n", out);
    for (unsigned row = 0; row < model.variable_count; row++) {
        const Causality causality = model.variables[row].causality;
        fputs(version == 2 ? "    <ScalarVariable" : "    <Float64", out);
        put_common_attributes(row);
        if (version == 2)
            fputs(">\n      <Real", out);
        put_real_attributes(row);
        if (version == 3 && !model.events && !model.step && (causality == INPUT || causality == OUTPUT))
            attribute("intermediateUpdate", "true");
        fputs(version == 2 ? "/>\n    </ScalarVariable>\n" : "/>\n", out);
    }
    fputs("  </ModelVariables>\n", out);
}

/* FMI: parameters are knowns in initialization mode only, and the kinds that tell how a factor may change are
 * for later modes only. */
static void put_unknown(const char *element, unsigned row, bool initialization)
{
    static const char *const kinds[] = {"constant", "fixed", "tunable", "dependent"};
    const Uses uses = uses_of(row, initialization);
    const char *separator;
    fprintf(out, "    %s<%s %s=\"%u\" dependencies=\"", version == 2 ? "  " : "", element,
            version == 2 ? "index" : "valueReference", version == 2 ? row + 1 : row);
    for (int pass = 0; pass < 2; pass++) {
        separator = "";
        for (unsigned known = 0; known < model.variable_count; known++) {
            const Causality causality = model.variables[known].causality;
            const bool parameter = causality == FIXED_PARAMETER || causality == TUNABLE_PARAMETER;
            int kind = uses.kind[known];
            const bool held = parameter || model.variables[known].discrete;
            if (kind == NOT_USED || (held && !initialization))
                continue;
            if (initialization && kind != CONSTANT)
                kind = DEPENDENT;
            if (pass == 0)
                fprintf(out, "%s%u", separator, version == 2 ? known + 1 : known);
            else
                fprintf(out, "%s%s", separator, kinds[kind]);
            separator = " ";
        }
        fputs(pass == 0 ? "\" dependenciesKind=\"" : "\"/>\n", out);
    }
}

static bool is_output(unsigned row)
{
    return model.variables[row].causality == OUTPUT;
}

static bool is_derivative(unsigned row)
{
    return model.variables[row].derivative_of != 0;
}

static bool is_initial_unknown(unsigned row)
{
    const Variable *v = &model.variables[row];
    return is_computed(v) && v->initial == CALCULATED && (is_output(row) || is_derivative(row) || is_state(row));
}

static bool is_indicator(unsigned row)
{
    for (size_t i = 0; i < model.indicator_count; i++)
        if (model.indicators[i] == row)
            return true;
    return false;
}

/* One list of ModelStructure. FMI 2.0 wraps it in an element, and no list may be empty. */
static void put_unknowns(const char *list, const char *element, bool (*belongs)(unsigned), bool initialization)
{
    bool any = false;
    for (unsigned row = 0; row < model.variable_count; row++)
        if (belongs(row)) {
            if (version == 2 && !any)
                fprintf(out, "    <%s>\n", list);
            put_unknown(version == 2 ? "Unknown" : element, row, initialization);
            any = true;
        }
    if (version == 2 && any)
        fprintf(out, "    </%s>\n", list);
}

/* FMI 1.0 has the parts in another order. */
static void put_description_of_fmi1(void)
{
    size_t states = 0;
    char token[TOKEN_SIZE];
    model_token(token);
    for (size_t i = 0; i < model.variable_count; i++)
        states += model.variables[i].derivative_of != 0;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription", out);
    attribute("fmiVersion", "1.0");
    attribute("modelName", model.name);
    attribute("modelIdentifier", model.name);
    attribute("guid", token);
    attribute("description", model.description);
    attribute("generationTool", "ssptool example models");
    attribute("variableNamingConvention", "structured");
    number("numberOfContinuousStates", (double)states);
    number("numberOfEventIndicators", 0);
    fputs(">\n", out);
    put_units();
    fputs("  <DefaultExperiment startTime=\"0\"", out);
    number("stopTime", model.stop_time);
    fputs("/>\n", out);
    put_variables_of_fmi1();
    put_interfaces_of_fmi1();
    fputs("</fmiModelDescription>\n", out);
}

static void put_description(void)
{
    char token[TOKEN_SIZE];
    model_token(token);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription", out);
    attribute("fmiVersion", version == 2 ? "2.0" : "3.0");
    attribute("modelName", model.name);
    attribute(version == 2 ? "guid" : "instantiationToken", token);
    attribute("description", model.description);
    attribute("generationTool", "ssptool example models");
    attribute("variableNamingConvention", "structured");
    if (version == 2)
        number("numberOfEventIndicators", (double)model.indicator_count);
    fputs(">\n", out);
    put_interfaces();
    put_units();
    fputs("  <LogCategories>\n    <Category name=\"logStatusError\"/>\n    <Category name=\"logStatusDiscard\"/>\n"
          "  </LogCategories>\n  <DefaultExperiment startTime=\"0\"",
          out);
    number("stopTime", model.stop_time);
    number("stepSize", model.step_size);
    fputs("/>\n", out);
    put_variables();
    fputs("  <ModelStructure>\n", out);
    put_unknowns("Outputs", "Output", is_output, false);
    put_unknowns("Derivatives", "ContinuousStateDerivative", is_derivative, false);
    put_unknowns("InitialUnknowns", "InitialUnknown", is_initial_unknown, true);
    if (version == 3)
        put_unknowns("", "EventIndicator", is_indicator, false);
    fputs("  </ModelStructure>\n</fmiModelDescription>\n", out);
}

static void check_unit(const Variable *v)
{
    for (size_t i = 0; i < ROWS(units); i++)
        if (v->unit && strcmp(v->unit, units[i].name) == 0)
            return;
    fail("%s has the unit %s; add it to the table of describe.c", v->name, v->unit ? v->unit : "(none)");
}

static void check_rows(const Dependency *rows, size_t count, bool initialization)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].unknown >= model.variable_count || rows[i].known >= model.variable_count)
            fail("dependency %zu names a row that does not exist", i);
        if (is_known(rows[i].unknown, initialization) && !model.variables[rows[i].unknown].discrete)
            fail("dependency %zu is about %s, which this equation does not compute", i,
                 model.variables[rows[i].unknown].name);
    }
}

/* Mistakes in the tables of a model stop its build. */
static void check_model(void)
{
    size_t states = 0;
    if (model.events && model.step)
        fail("it has events and a step of its own; no interface would be left");
    if (model.variable_count > MAX_VARIABLES)
        fail("%zu variables are more than MAX_VARIABLES = %d", model.variable_count, MAX_VARIABLES);
    if (model.variables[0].causality != INDEPENDENT)
        fail("row 0 is not TIME_VARIABLE");
    for (size_t i = 0; i < model.variable_count; i++) {
        const Variable *v = &model.variables[i];
        if (!v->name)
            fail("row %zu has no name", i);
        check_unit(v);
        if (v->derivative_of >= model.variable_count)
            fail("%s is the derivative of a row that does not exist", v->name);
        if (v->initial == EXACT && !is_state((unsigned)i) && !v->discrete)
            fail("%s is EXACT but neither a state nor discrete", v->name);
        if (v->discrete && (v->initial != EXACT || !is_computed(v) || is_state((unsigned)i)))
            fail("%s is discrete, so it must be EXACT, an output or local, and no state", v->name);
        if (v->reinit && !is_state((unsigned)i))
            fail("%s is reinit but not a state", v->name);
        states += v->derivative_of != 0;
    }
    if (states > MAX_STATES)
        fail("%zu states are more than MAX_STATES = %d", states, MAX_STATES);
    for (size_t i = 0; i < model.indicator_count; i++)
        if (model.indicators[i] >= model.variable_count || is_known(model.indicators[i], false))
            fail("event indicator %zu is not a row that EQUATIONS compute", i);
    check_rows(model.dependencies, model.dependency_count, false);
    check_rows(model.initial_dependencies, model.initial_dependency_count, true);
}

int main(int argc, char *argv[])
{
    if (argc != 3 || strlen(argv[1]) != 1 || !strchr("123", *argv[1])) {
        fprintf(stderr, "usage: describe 1|2|3 FILE\n");
        return 2;
    }
    version = argv[1][0] - '0';
    check_model();
    if (version == 1 && model.events)
        fail("it has events; the FMI 1.0 wrapper makes co-simulation only");
    out = fopen(argv[2], "w");
    if (!out)
        fail("cannot write %s", argv[2]);
    if (version == 1)
        put_description_of_fmi1();
    else
        put_description();
    if (fclose(out) != 0)
        fail("cannot write %s", argv[2]);
    return 0;
}
