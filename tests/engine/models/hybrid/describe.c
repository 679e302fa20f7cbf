/* Writes the modelDescription.xml of a model: describe 2|3 FILE. */
#include <stdio.h>

#include "hybrid.h"

static FILE *out;
static int version;

static const char *const types[] = {"Float64", "Float32",     "Int8",   "UInt8",  "Int16",
                                    "UInt16",  "Int32",       "UInt32", "Int64",  "UInt64",
                                    "Boolean", "Enumeration", "String", "Binary", "Clock"};
static const char *const old_types[] = {
    [REAL] = "Real", [INT32] = "Integer", [BOOLEAN] = "Boolean", [ENUMERATION] = "Enumeration", [STRING] = "String"};
static const char *const causalities[] = {"local", "parameter", "input", "output"};

static unsigned number_of(unsigned row)
{
    unsigned number = 0;
    for (unsigned i = 0; i <= row; i++)
        number += has_version(&model_rows[i], version);
    return version == 2 ? number : row;
}

static bool is_real(const Row *row)
{
    return row->type == REAL || row->type == FLOAT32;
}

static const char *variability(const Row *row)
{
    if (row->causality == PARAMETER)
        return "fixed";
    return is_real(row) && !row->discrete ? "continuous" : "discrete";
}

static bool given(const Row *row)
{
    return row->causality == PARAMETER || row->causality == INPUT || row->state;
}

static void put_start(const Row *row)
{
    if (!given(row) || row->type == CLOCK || row->type == BINARY)
        return;
    if (row->type == STRING && version == 3)
        return;
    if (row->type == STRING)
        fputs(" start=\"\"", out);
    else if (row->type == BOOLEAN)
        fprintf(out, " start=\"%s\"", row->start != 0 ? "true" : "false");
    else
        fprintf(out, " start=\"%.17g\"", row->start);
}

static void put_type(const Row *row)
{
    if (row->derivative_of)
        fprintf(out, " derivative=\"%u\"", number_of(row->derivative_of));
    if (row->state)
        fputs(" reinit=\"true\"", out);
    if (row->type == ENUMERATION)
        fputs(" declaredType=\"Mode\"", out);
    put_start(row);
}

static void put_row(unsigned i)
{
    const Row *row = &model_rows[i];
    const char *initial = given(row) && row->causality != INPUT ? " initial=\"exact\"" : "";
    const char *element = version == 2 ? "ScalarVariable" : types[row->type];
    fprintf(out, "    <%s name=\"%s\" valueReference=\"%u\" causality=\"%s\"", element, row->name, i,
            i == 0 ? "independent" : causalities[row->causality]);
    if (row->type == CLOCK) {
        const char *kind = row->causality == INPUT && row->interval > 0 ? "constant" : "triggered";
        fprintf(out, " intervalVariability=\"%s\"", kind);
        if (row->causality == INPUT && row->interval > 0)
            fprintf(out, " intervalDecimal=\"%.17g\"", row->interval);
        fputs("/>\n", out);
        return;
    }
    fprintf(out, " variability=\"%s\"%s", i == 0 ? "continuous" : variability(row), i == 0 ? "" : initial);
    if (row->clock)
        fprintf(out, " clocks=\"%u\"", row->clock);
    if (version == 2)
        fprintf(out, "><%s", old_types[row->type]);
    put_type(row);
    if (version == 3 && row->type == STRING && given(row))
        fputs("><Start value=\"\"/></String>\n", out);
    else if (version == 3 && row->type == BINARY && given(row))
        fputs("><Start value=\"\"/></Binary>\n", out);
    else
        fputs(version == 2 ? "/></ScalarVariable>\n" : "/>\n", out);
}

static void put_unknown(const char *element, unsigned i)
{
    const Row *row = &model_rows[i];
    fprintf(out, "    <%s %s=\"%u\"", version == 2 ? "Unknown" : element, version == 2 ? "index" : "valueReference",
            number_of(i));
    if (!row->derivative_of && row->needs)
        fprintf(out, " dependencies=\"%u\"", number_of(row->needs));
    else if (!row->derivative_of)
        fputs(" dependencies=\"\"", out);
    fputs("/>\n", out);
}

static void put_list(const char *list, const char *element, bool derivatives, bool initial)
{
    bool any = false;
    for (unsigned i = 1; i < model_row_count; i++) {
        const Row *row = &model_rows[i];
        const bool belongs = derivatives ? row->derivative_of : row->causality == OUTPUT && !(initial && row->state);
        if (!belongs || !has_version(row, version))
            continue;
        if (version == 2 && !any)
            fprintf(out, "   <%s>\n", list);
        put_unknown(element, i);
        any = true;
    }
    if (version == 2 && any)
        fprintf(out, "   </%s>\n", list);
}

int main(int argc, char *argv[])
{
    if (argc != 3)
        return 2;
    version = argv[1][0] - '0';
    out = fopen(argv[2], "w");
    if (!out)
        return 1;
    const char *state = version == 2 ? "canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\""
                                     : "canGetAndSetFMUState=\"true\" canSerializeFMUState=\"true\"";
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription fmiVersion=\"%d.0\" modelName=\"%s\" "
            "%s=\"%s\"",
            version, model_name, version == 2 ? "guid" : "instantiationToken", model_name);
    if (version == 2)
        fprintf(out, " numberOfEventIndicators=\"%zu\"", model_indicator_count);
    fprintf(out, ">\n  <ModelExchange modelIdentifier=\"%s\" %s%s/>\n", model_name, state,
            version == 2 ? " completedIntegratorStepNotNeeded=\"true\"" : "");
    fprintf(out, "  <CoSimulation modelIdentifier=\"%s\" %s canHandleVariableCommunicationStepSize=\"true\"%s/>\n",
            model_name, state, version == 3 && model_event_mode ? " hasEventMode=\"true\"" : "");
    if (version == 2)
        fputs("  <TypeDefinitions><SimpleType name=\"Mode\"><Enumeration><Item name=\"rest\" value=\"1\"/>"
              "<Item name=\"work\" value=\"2\"/></Enumeration></SimpleType></TypeDefinitions>\n",
              out);
    else
        fputs("  <TypeDefinitions><EnumerationType name=\"Mode\"><Item name=\"rest\" value=\"1\"/>"
              "<Item name=\"work\" value=\"2\"/></EnumerationType></TypeDefinitions>\n",
              out);
    fputs("  <ModelVariables>\n", out);
    for (unsigned i = 0; i < model_row_count; i++)
        if (has_version(&model_rows[i], version))
            put_row(i);
    fputs("  </ModelVariables>\n  <ModelStructure>\n", out);
    put_list("Outputs", "Output", false, false);
    put_list("Derivatives", "ContinuousStateDerivative", true, false);
    put_list("InitialUnknowns", "InitialUnknown", false, true);
    if (version == 3)
        for (size_t i = 0; i < model_indicator_count; i++)
            fprintf(out, "    <EventIndicator valueReference=\"%zu\"/>\n", model_row_count - model_indicator_count + i);
    fputs("  </ModelStructure>\n</fmiModelDescription>\n", out);
    return fclose(out) != 0;
}
