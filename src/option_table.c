#include "option_table.h"

#include <math.h>
#include <string.h>

#include "text.h"

/* All choices of an option, with commas. */
static void list_choices(const option *a, char all[128])
{
    all[0] = '\0';
    for (int i = 0; a->choice(i); i++) {
        size_t n = strlen(all);
        (void)snprintf(all + n, 128 - n, "%s%s", i ? ", " : "", a->choice(i));
    }
}

static status find(const option_table *t, const char *written, const option **found)
{
    const size_t length = strcspn(written, "=");
    text_nearest search = text_nearest_start(written);
    char shown[64];
    for (const option *a = t->options; a->name; a++) {
        *found = a;
        if (strlen(a->name) == length && strncmp(a->name, written, length) == 0) return STATUS_OK;
        text_nearest_offer(&search, a->name);
    }
    text_shown(written, shown);
    if (search.best)
        FAIL(STATUS_USAGE, "unknown option '%s', did you mean '%s'?", shown, search.best);
    FAIL(STATUS_USAGE, "unknown option '%s'; %s --help lists them", shown, t->command);
}

static status take_number(const option *a, const char *text, void *to)
{
    double number = 0;
    bool whole = a->kind != OPTION_REAL;
    if (text_double(text, &number) != TEXT_NUMBER_OK || number < a->min || number > a->max ||
        (whole && number != floor(number)))
        FAIL(STATUS_USAGE, "%s is '%s'; it must be %s %g .. %g", a->name, text,
             whole ? "an integer" : "a number", a->min, a->max);
    if (a->kind == OPTION_INTEGER)
        *(int *)to = (int)number;
    else if (a->kind == OPTION_COUNT)
        *(int64_t *)to = (int64_t)number;
    else
        *(double *)to = number;
    return STATUS_OK;
}

static status take_choice(const option *a, const char *text, void *to)
{
    char all[128];
    for (int i = 0; a->choice(i); i++)
        if (strcmp(text, a->choice(i)) == 0) {
            *(int *)to = i;
            return STATUS_OK;
        }
    list_choices(a, all);
    FAIL(STATUS_USAGE, "%s is '%s'; it must be one of %s", a->name, text, all);
}

/* The last number holds for the dimensions after it. */
static status take_sizes(const option *a, const char *text, int64_t sizes[3])
{
    const char *at = text;
    for (int d = 0; d < 3; d++) {
        char number[32] = "";
        size_t length = strcspn(at, ",");
        if (length < sizeof number) memcpy(number, at, length);
        bool last = at[length] == '\0';
        if (text_int64(number, &sizes[d]) != TEXT_NUMBER_OK || (double)sizes[d] < a->min ||
            (double)sizes[d] > a->max || (d == 2 && !last))
            break;
        at += length + 1;
        if (!last) continue;
        for (int e = d + 1; e < 3; e++)
            sizes[e] = sizes[d];
        return STATUS_OK;
    }
    FAIL(STATUS_USAGE, "%s is '%s'; it must be one to three sizes such as 81 or 81,82,83", a->name,
         text);
}

static status take(const option *a, const char *text, void *target)
{
    void *to = (char *)target + a->at;
    switch (a->kind) {
    case OPTION_FLAG:
        *(bool *)to = true;
        return STATUS_OK;
    case OPTION_TEXT:
        *(const char **)to = text;
        return STATUS_OK;
    case OPTION_CHOICE:
        return take_choice(a, text, to);
    case OPTION_SIZES:
        return take_sizes(a, text, to);
    default:
        return take_number(a, text, to);
    }
}

status option_table_read(const option_table *t, int n, char *const arguments[], void *target,
                         const char *last_of[])
{
    for (int i = 1; i < n; i++) {
        const option *a = NULL;
        const char *equals = strchr(arguments[i], '='), *value = equals ? equals + 1 : NULL;
        TRY(find(t, arguments[i], &a));
        if (!a->value && value) FAIL(STATUS_USAGE, "option %s takes no value", a->name);
        if (a->value && !value && i + 1 < n) value = arguments[++i];
        if (a->value && !value)
            FAIL(STATUS_USAGE, "option %s needs a value; write %s %s", a->name, a->name, a->value);
        TRY(take(a, value ? value : "", target));
        if (last_of) last_of[a->group] = a->name;
    }
    return STATUS_OK;
}

void option_table_help(const option_table *t, FILE *out)
{
    fprintf(out, "usage: %s [OPTION]...\n\n%s\noptions:\n", t->command, t->meaning);
    for (const option *a = t->options; a->name; a++) {
        char left[48], choices[128] = "";
        snprintf(left, sizeof left, "%s %s", a->name, a->value ? a->value : "");
        if (a->choice) list_choices(a, choices);
        fprintf(out, "  %-24s %s%s%s\n", left, choices, *choices ? " " : "", a->meaning);
    }
    fprintf(out, "\nexample:\n  %s\n", t->example);
}

const char *option_precision_name(int i)
{
    return i == PRECISION_SINGLE ? "single" : i == PRECISION_DOUBLE ? "double" : NULL;
}
