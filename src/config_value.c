#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config_schema.h"
#include "text.h"

/* The words of a key, one after another: returns what follows the one written, NULL at the end. */
static const char *next_word(const char *words, char word[32])
{
    if (*words == 0) return NULL;
    const char *end = words + strcspn(words, ",");
    const char *start = end;
    while (start > words && start[-1] != '_')
        start--;
    size_t n = 0;
    for (; start < end && n < 31; start++)
        if (!isspace((unsigned char)*start)) word[n++] = (char)tolower((unsigned char)*start);
    word[n] = 0;
    return *end ? end + 1 : end;
}

static bool wrong(char message[CONFIG_VALUE_MESSAGE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool wrong(char message[CONFIG_VALUE_MESSAGE], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, CONFIG_VALUE_MESSAGE, format, arguments);
    va_end(arguments);
    return false;
}

static const char *range_text(const config_key *key, char text[128])
{
    const char *space = *key->unit ? " " : "";
    if (key->type == CONFIG_TYPE_REAL)
        snprintf(text, 128, "%g .. %g%s%s", key->min_real, key->max_real, space, key->unit);
    else if (key->max_int == INT64_MAX)
        snprintf(text, 128, ">= %" PRId64 "%s%s", key->min_int, space, key->unit);
    else
        snprintf(text, 128, "%" PRId64 " .. %" PRId64 "%s%s", key->min_int, key->max_int, space,
                 key->unit);
    return text;
}

static bool parse_int(const config_key *key, const char *text, void *value, char *message)
{
    char shown[64];
    char range[128];
    int64_t number = 0;
    text_number result = text_int64(text, &number);
    if (result == TEXT_NUMBER_NOT)
        return wrong(message, "'%s' is not an integer; write digits only, such as %" PRId64,
                     text_shown(text, shown), key->initial_int);
    if (result != TEXT_NUMBER_OK || number < key->min_int || number > key->max_int)
        return wrong(message, "%s is out of range; it must be %s", text_shown(text, shown),
                     range_text(key, range));
    memcpy(value, &number, sizeof number);
    return true;
}

static bool parse_real(const config_key *key, const char *text, void *value, char *message)
{
    char shown[64];
    char range[128];
    double number = 0;
    text_number result = text_double(text, &number);
    if (result == TEXT_NUMBER_NOT)
        return wrong(message, "'%s' is not a number; write one such as %g or 1e-6",
                     text_shown(text, shown), key->initial_real);
    if (result != TEXT_NUMBER_OK || !(number >= key->min_real && number <= key->max_real))
        return wrong(message, "%s is out of range; it must be %s", text_shown(text, shown),
                     range_text(key, range));
    memcpy(value, &number, sizeof number);
    return true;
}

static bool parse_bool(const char *text, void *value, char *message)
{
    char shown[64];
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return wrong(message, "'%s' is neither true nor false; write one of them",
                     text_shown(text, shown));
    memcpy(value, &yes, sizeof yes);
    return true;
}

static bool parse_word(const config_key *key, const char *text, void *value, char *message)
{
    char word[32];
    int index = 0;
    for (const char *p = key->words; (p = next_word(p, word)); index++) {
        if (strcmp(word, text) != 0) continue;
        memcpy(value, &index, sizeof index);
        return true;
    }
    char shown[64];
    char list[256] = "";
    size_t used = 0;
    for (const char *p = key->words; (p = next_word(p, word)) && used < sizeof list - 40;)
        used += (size_t)sprintf(list + used, "%s%s", used ? " | " : "", word);
    return wrong(message, "'%s' is not one of the words it can be; write %s",
                 text_shown(text, shown), list);
}

/* Appends to out (at *used) the value of the variable whose "${NAME}" starts at text; returns what
   follows it, or NULL with a message. */
static const char *expand_variable(const char *text, char *out, size_t *used, char *message)
{
    char name[256];
    char shown[64];
    size_t n = strcspn(text + 2, "}");
    if (text[2 + n] != '}' || n == 0 || n >= sizeof name) {
        wrong(message, "'%s' starts a variable that does not end; write ${NAME}",
              text_shown(text, shown));
        return NULL;
    }
    memcpy(name, text + 2, n);
    name[n] = 0;
    const char *value = getenv(name);
    if (!value) {
        wrong(message, "the environment variable %s is not set; set it or write the value",
              text_shown(name, shown));
        return NULL;
    }
    size_t length = strnlen(value, CONFIG_TEXT_SIZE);
    if (*used + length < CONFIG_TEXT_SIZE) memcpy(out + *used, value, length);
    *used += length;
    return text + n + 3;
}

static bool parse_text(const char *text, char *value, char *message)
{
    char out[CONFIG_TEXT_SIZE];
    size_t used = 0;
    while (text && *text && used < CONFIG_TEXT_SIZE) {
        if (strncmp(text, "${", 2) == 0) {
            text = expand_variable(text, out, &used, message);
            continue;
        }
        if (strncmp(text, "$${", 3) == 0) text++; /* a plain "${" */
        size_t n = 1 + (size_t)(text[0] == '$' && text[1] == '{');
        for (size_t i = 0; i < n && used < CONFIG_TEXT_SIZE; i++)
            out[used++] = *text++;
    }
    if (!text) return false;
    if (used >= CONFIG_TEXT_SIZE)
        return wrong(message, "the text is longer than %d bytes; shorten it", CONFIG_TEXT_SIZE - 1);
    out[used] = 0;
    if (strpbrk(out, "\n\r\t") || text_bad_character(out, used))
        return wrong(message, "the text has a control character or is not UTF-8; remove it");
    memcpy(value, out, used + 1);
    return true;
}

bool config_value_parse(const config_key *key, const char *text, bool quoted, config *c,
                        char message[CONFIG_VALUE_MESSAGE])
{
    char *value = (char *)c + key->offset;
    bool nothing = !quoted && (*text == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
    if (nothing && key->type == CONFIG_TYPE_TEXT)
        return wrong(message, "no value; write \"\" for an empty text, or remove the key");
    if (nothing) return wrong(message, "no value; write one, or remove the key for its default");
    if (quoted && (key->type == CONFIG_TYPE_INT || key->type == CONFIG_TYPE_REAL ||
                   key->type == CONFIG_TYPE_BOOL))
        return wrong(message, "a text in quotes, not a value of this type; remove the quotes");
    switch (key->type) {
    case CONFIG_TYPE_INT:
        return parse_int(key, text, value, message);
    case CONFIG_TYPE_REAL:
        return parse_real(key, text, value, message);
    case CONFIG_TYPE_BOOL:
        return parse_bool(text, value, message);
    case CONFIG_TYPE_WORD:
        return parse_word(key, text, value, message);
    case CONFIG_TYPE_TEXT:
        break;
    }
    return parse_text(text, value, message);
}

static void write_text(const char *text, FILE *file)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        if (text[0] == '$' && text[1] == '{') fputc('$', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void write_real(double number, FILE *file)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    fputs(text, file);
}

void config_value_write(const config_key *key, const config *c, FILE *file)
{
    const char *value = (const char *)c + key->offset;
    int64_t whole;
    double number;
    int index;
    char word[32] = "";
    switch (key->type) {
    case CONFIG_TYPE_INT:
        memcpy(&whole, value, sizeof whole);
        fprintf(file, "%" PRId64, whole);
        break;
    case CONFIG_TYPE_REAL:
        memcpy(&number, value, sizeof number);
        write_real(number, file);
        break;
    case CONFIG_TYPE_BOOL:
        fputs(*(const bool *)value ? "true" : "false", file);
        break;
    case CONFIG_TYPE_TEXT:
        write_text(value, file);
        break;
    case CONFIG_TYPE_WORD:
        memcpy(&index, value, sizeof index);
        for (const char *p = key->words; index >= 0 && (p = next_word(p, word)); index--)
            continue;
        fputs(word, file);
        break;
    }
}

void config_type_write(const config_key *key, FILE *file)
{
    char word[32];
    char range[128];
    switch (key->type) {
    case CONFIG_TYPE_INT:
        fprintf(file, "integer %s", range_text(key, range));
        break;
    case CONFIG_TYPE_REAL:
        fprintf(file, "real %s", range_text(key, range));
        break;
    case CONFIG_TYPE_BOOL:
        fputs("true | false", file);
        break;
    case CONFIG_TYPE_TEXT:
        fputs("text", file);
        break;
    case CONFIG_TYPE_WORD:
        for (const char *p = key->words, *bar = ""; (p = next_word(p, word)); bar = " | ")
            fprintf(file, "%s%s", bar, word);
        break;
    }
}

void config_value_default(const config_key *key, config *c)
{
    char *value = (char *)c + key->offset;
    int first = 0;
    bool yes = key->initial_int != 0;
    switch (key->type) {
    case CONFIG_TYPE_INT:
        memcpy(value, &key->initial_int, sizeof key->initial_int);
        break;
    case CONFIG_TYPE_REAL:
        memcpy(value, &key->initial_real, sizeof key->initial_real);
        break;
    case CONFIG_TYPE_BOOL:
        memcpy(value, &yes, sizeof yes);
        break;
    case CONFIG_TYPE_TEXT:
        snprintf(value, CONFIG_TEXT_SIZE, "%s", key->initial_text);
        break;
    case CONFIG_TYPE_WORD:
        memcpy(value, &first, sizeof first);
        break;
    }
}

bool config_value_equal(const config_key *key, const config *a, const config *b)
{
    static const size_t sizes[] = {[CONFIG_TYPE_INT] = sizeof(int64_t),
                                   [CONFIG_TYPE_REAL] = sizeof(double),
                                   [CONFIG_TYPE_BOOL] = sizeof(bool),
                                   [CONFIG_TYPE_TEXT] = 0,
                                   [CONFIG_TYPE_WORD] = sizeof(int)};
    const char *x = (const char *)a + key->offset;
    const char *y = (const char *)b + key->offset;
    return key->type == CONFIG_TYPE_TEXT ? strcmp(x, y) == 0 : memcmp(x, y, sizes[key->type]) == 0;
}
