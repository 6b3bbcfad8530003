#include "config_schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

enum { MAX_ERRORS = 20, MAX_FILE = 1 << 20, MAX_DEPTH = 16 };

/* All errors of a load. */
typedef struct error_list {
    char text[7680];
    size_t used;
    int n_file, n_sets;
} error_list;

typedef struct reader {
    yaml_parser_t parser;
    const char *text;
    bool ended; /* nothing more can be read */
    config *out;
    error_list *errors;
} reader;

/* The call tree:
   config_load      read_file, config_parse
   config_parse     read_yaml, read_set
     read_yaml        check_characters, read_document
       read_document    read_section
         read_section     read_entry
     next_event, skip_value, note */

static void note_text(error_list *errors, const char *where, const char *message)
{
    if (errors->n_file + errors->n_sets > MAX_ERRORS) return;
    size_t room = sizeof errors->text - errors->used;
    int n = snprintf(errors->text + errors->used, room, "%s%s: %s", errors->used ? "\n" : "", where,
                     message);
    if (n > 0) errors->used += (size_t)n < room ? (size_t)n : room - 1;
}

static void note(reader *r, yaml_mark_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void note(reader *r, yaml_mark_t at, const char *format, ...)
{
    char message[1024];
    char where[CONFIG_TEXT_SIZE + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    snprintf(where, sizeof where, "%s:%zu:%zu", r->out->path, at.line + 1, at.column + 1);
    r->errors->n_file++;
    note_text(r->errors, where, message);
}

/* False, with the error noted, when the file breaks off here. */
static bool next_event(reader *r, yaml_event_t *event)
{
    if (r->ended) return false;
    if (yaml_parser_parse(&r->parser, event)) return true;
    r->ended = true;
    yaml_mark_t at = r->parser.problem_mark;
    const char *advice = r->text[at.index] == '\t'
                             ? "a tab; indent with spaces"
                             : "mend the YAML here (key: value, two spaces in front of keys)";
    const char *problem = r->parser.problem ? r->parser.problem : "not enough memory";
    note(r, at, "%s%s%s; %s", r->parser.context ? r->parser.context : "",
         r->parser.context ? ", " : "", problem, advice);
    return false;
}

/* Passes over the value that begins with *event, and frees the event. */
static void skip_value(reader *r, yaml_event_t *event)
{
    yaml_mark_t start = event->start_mark;
    int depth = 0;
    do {
        bool opens =
            event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
        bool closes =
            event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT;
        depth += (int)opens - (int)closes;
        yaml_event_delete(event);
        if (depth > MAX_DEPTH) {
            note(r, start, "nested more than %d deep; a config has sections and keys only",
                 MAX_DEPTH);
            r->ended = true;
        }
    } while (depth > 0 && next_event(r, event));
}

/* Anchors, aliases and tags would let one place in the file change another. */
static bool is_plain(reader *r, const yaml_event_t *event)
{
    const char *what = NULL;
    if (event->type == YAML_ALIAS_EVENT) what = "alias";
    if (event->type == YAML_SCALAR_EVENT) {
        if (event->data.scalar.tag) what = "tag";
        if (event->data.scalar.anchor) what = "anchor";
    }
    if (event->type == YAML_MAPPING_START_EVENT) {
        if (event->data.mapping_start.tag) what = "tag";
        if (event->data.mapping_start.anchor) what = "anchor";
    }
    if (what)
        note(r, event->start_mark, "%s is not allowed in a config; write the value itself",
             what[0] == 't'   ? "a tag (!)"
             : what[1] == 'l' ? "an alias (*)"
                              : "an anchor (&)");
    return !what;
}

/* Copies a key's text; false, with the error noted, if it is not a simple one. */
static bool key_text(reader *r, const yaml_event_t *event, char name[64])
{
    if (!is_plain(r, event)) return false;
    if (event->type != YAML_SCALAR_EVENT) {
        note(r, event->start_mark, "a list or a mapping where a name should be; write key: value");
        return false;
    }
    config_shown((const char *)event->data.scalar.value, name);
    return true;
}

static void unknown_key(reader *r, yaml_mark_t at, const char *section, const char *name)
{
    const char *near = config_key_nearest(section, name);
    const char *other = config_section_with(name);
    if (near && !other)
        note(r, at, "unknown key '%s' in section '%s', did you mean '%s'?", name, section, near);
    else if (other)
        note(r, at, "unknown key '%s' in section '%s', did you mean '%s' in section '%s'?", name,
             section, name, other);
    else
        note(r, at, "unknown key '%s' in section '%s'; mtip --help-config lists all keys", name,
             section);
}

/* Takes one value, whose key stood at `at`; frees the event. */
static void read_entry(reader *r, const config_key *key, yaml_mark_t at, yaml_event_t *value)
{
    config_place *place = &r->out->places[key - config_keys];
    if (place->line) {
        note(r, at, "key '%s' again; it was given in line %d already, remove one", key->name,
             place->line);
    } else if (value->type != YAML_SCALAR_EVENT && value->type != YAML_ALIAS_EVENT) {
        note(r, value->start_mark, "%s.%s: a %s where one value should be; write %s: VALUE",
             key->section, key->name, value->type == YAML_SEQUENCE_START_EVENT ? "list" : "mapping",
             key->name);
    } else if (is_plain(r, value)) {
        const char *text = (const char *)value->data.scalar.value;
        bool quoted = value->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        char message[CONFIG_VALUE_MESSAGE];
        if (strlen(text) != value->data.scalar.length)
            note(r, value->start_mark, "%s.%s: a zero byte in the text; remove it", key->section,
                 key->name);
        else if (!config_value_parse(key, text, quoted, r->out, message))
            note(r, value->start_mark, "%s.%s: %s", key->section, key->name, message);
    }
    if (!place->line) *place = (config_place){(int)at.line + 1, (int)at.column + 1};
    skip_value(r, value);
}

/* The keys of a section, after its mapping start and up to its end. */
static void read_section(reader *r, const char *section)
{
    yaml_event_t event;
    yaml_event_t value;
    char name[64];
    while (next_event(r, &event)) {
        bool end = event.type == YAML_MAPPING_END_EVENT;
        bool simple = !end && key_text(r, &event, name);
        yaml_mark_t at = event.start_mark;
        skip_value(r, &event);
        if (end || !next_event(r, &value)) return;
        const config_key *key = simple ? config_key_find(section, name) : NULL;
        if (simple && !key) unknown_key(r, at, section, name);
        if (key)
            read_entry(r, key, at, &value);
        else
            skip_value(r, &value);
    }
}

static void unknown_section(reader *r, yaml_mark_t at, const char *name)
{
    const char *near = config_section_nearest(name);
    const char *with = config_section_with(name);
    if (near)
        note(r, at, "unknown section '%s', did you mean '%s'?", name, near);
    else if (with)
        note(r, at, "unknown section '%s'; it is a key of section '%s', indent it below '%s:'",
             name, with, with);
    else
        note(r, at, "unknown section '%s'; mtip --help-config lists all sections", name);
}

/* The sections, after the mapping start of the document. lines[i]: where section i began. */
static void read_sections(reader *r)
{
    int lines[64] = {0};
    yaml_event_t event;
    yaml_event_t value;
    char name[64];
    while (next_event(r, &event)) {
        bool end = event.type == YAML_MAPPING_END_EVENT;
        bool simple = !end && key_text(r, &event, name);
        yaml_mark_t at = event.start_mark;
        skip_value(r, &event);
        if (end || !next_event(r, &value)) return;
        const config_section *section = simple ? config_section_find(name) : NULL;
        int *line = section ? &lines[section - config_sections] : NULL;
        bool empty = value.type == YAML_SCALAR_EVENT && value.data.scalar.length == 0 &&
                     value.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        if (simple && !section) unknown_section(r, at, name);
        if (line && *line)
            note(r, at, "section '%s' again; it began in line %d already, join the two", name,
                 *line);
        if (line && !*line) *line = (int)at.line + 1;
        bool plain = section && is_plain(r, &value);
        if (plain && value.type == YAML_MAPPING_START_EVENT) {
            yaml_event_delete(&value);
            read_section(r, name);
            continue;
        }
        if (plain && !empty)
            note(r, value.start_mark, "section '%s' holds keys; indent key: value below it", name);
        skip_value(r, &value);
    }
}

static void read_document(reader *r)
{
    yaml_event_t event;
    if (!next_event(r, &event)) return; /* the stream's start */
    yaml_event_delete(&event);
    if (!next_event(r, &event)) return; /* the document's start, or the stream's end */
    bool empty = event.type == YAML_STREAM_END_EVENT;
    yaml_mark_t at = event.start_mark;
    yaml_event_delete(&event);
    if (!empty && !next_event(r, &event)) return;
    if (!empty) {
        at = event.start_mark;
        empty = event.type == YAML_SCALAR_EVENT && event.data.scalar.length == 0;
        if (is_plain(r, &event) && event.type == YAML_MAPPING_START_EVENT) {
            yaml_event_delete(&event);
            read_sections(r);
        } else {
            if (!empty)
                note(r, at, "no sections; begin with one such as 'grid:', its keys below it");
            skip_value(r, &event);
        }
    }
    if (empty) {
        note(r, at, "the config is empty; mtip --help-config prints one to start from");
        return;
    }
    if (!next_event(r, &event)) return; /* the document's end */
    yaml_event_delete(&event);
    if (!next_event(r, &event)) return;
    if (event.type != YAML_STREAM_END_EVENT)
        note(r, event.start_mark, "a second document (---); keep one in the file");
    yaml_event_delete(&event);
}

static void read_yaml(reader *r, size_t size)
{
    const char *bad = config_bad_character(r->text, size);
    if (bad) {
        yaml_mark_t at = {0, 0, 0};
        for (const char *p = r->text; p < bad; p++) {
            at.column = *p == '\n' ? 0 : at.column + (((unsigned char)*p & 0xC0) != 0x80);
            at.line += *p == '\n';
        }
        note(r, at, "byte 0x%02x is not text; save the file as UTF-8 without control characters",
             (unsigned char)*bad);
        return;
    }
    if (!yaml_parser_initialize(&r->parser)) {
        note(r, (yaml_mark_t){0, 0, 0}, "not enough memory to read the file");
        return;
    }
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text, size);
    read_document(r);
    yaml_parser_delete(&r->parser);
}

/* Sets number i (from 0), "section.key=value". */
static void read_set(int i, const char *set, config *out, error_list *errors)
{
    char where[128];
    char message[CONFIG_VALUE_MESSAGE];
    char section[64];
    char name[64];
    char shown[64];
    const char *equals = strchr(set, '=');
    const char *dot = strchr(set, '.');
    snprintf(where, sizeof where, "--set %s", config_shown(set, shown));
    if (!equals || !dot || dot > equals) {
        snprintf(message, sizeof message, "%s; write --set section.key=value",
                 equals ? "no section" : "no value");
    } else {
        snprintf(section, sizeof section, "%.*s", (int)(dot - set), set);
        snprintf(name, sizeof name, "%.*s", (int)(equals - dot - 1), dot + 1);
        const config_key *key = config_key_find(section, name);
        bool quoted = key && key->type == CONFIG_TYPE_TEXT; /* so that the text may be empty */
        const char *near = NULL;
        if (key) {
            out->places[key - config_keys] = (config_place){-(i + 1), 0};
            if (config_value_parse(key, equals + 1, quoted, out, message)) return;
        } else if (!config_section_find(section)) {
            near = config_section_nearest(section);
            snprintf(message, sizeof message, "unknown section '%s'", section);
        } else {
            near = config_key_nearest(section, name);
            snprintf(message, sizeof message, "unknown key '%s' in section '%s'", name, section);
        }
        size_t used = strlen(message);
        if (near)
            snprintf(message + used, sizeof message - used, ", did you mean '%s'?", near);
        else if (!key)
            snprintf(message + used, sizeof message - used, "; mtip --help-config lists all");
    }
    errors->n_sets++;
    note_text(errors, where, message);
}

status config_parse(const char *name, const char *text, size_t size, int n_sets,
                    const char *const sets[], config *out)
{
    config_default(out);
    snprintf(out->path, sizeof out->path, "%s", name ? name : "");
    error_list *errors = calloc(1, sizeof *errors);
    if (!errors) FAIL(STATUS_RESOURCE, "not enough memory to read the config");
    reader r = {.text = text, .out = out, .errors = errors};
    if (text) read_yaml(&r, size);
    for (int i = 0; i < n_sets; i++)
        read_set(i, sets[i], out, errors);
    int n = errors->n_file + errors->n_sets;
    status result = errors->n_file ? STATUS_CONFIG : n ? STATUS_USAGE : STATUS_OK;
    if (n > MAX_ERRORS)
        result = status_fail(result, __FILE__, __LINE__, "%s\n%d errors in all, %d of them shown",
                             errors->text, n, MAX_ERRORS);
    else if (n)
        result = status_fail(result, __FILE__, __LINE__, "%s", errors->text);
    free(errors);
    return result;
}

/* The whole file with a 0 after it; at most MAX_FILE bytes. */
static status read_file(const char *path, char **text, size_t *size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        FAIL(STATUS_CONFIG, "%s: cannot read the config: %s; check the path", path,
             strerror(errno));
    struct stat about;
    if (fstat(file, &about) == 0 && S_ISDIR(about.st_mode)) {
        close(file);
        FAIL(STATUS_CONFIG, "%s: a directory; give the config file in it", path);
    }
    char *buffer = malloc(MAX_FILE + 2);
    size_t used = 0;
    ssize_t got = buffer ? 1 : -1;
    while (got > 0 && used <= MAX_FILE) {
        got = read(file, buffer + used, MAX_FILE + 1 - used);
        if (got > 0) used += (size_t)got;
    }
    int error = errno;
    close(file);
    if (got < 0 || used > MAX_FILE) {
        free(buffer);
        if (got < 0) FAIL(STATUS_CONFIG, "%s: cannot read the config: %s", path, strerror(error));
        FAIL(STATUS_CONFIG, "%s: larger than %d bytes; this is not a config file", path, MAX_FILE);
    }
    buffer[used] = 0;
    *text = buffer;
    *size = used;
    return STATUS_OK;
}

status config_load(const char *path, int n_sets, const char *const sets[], config *out)
{
    char *text = NULL;
    size_t size = 0;
    config_default(out);
    if (path) TRY(read_file(path, &text, &size));
    status result = config_parse(path, text, size, n_sets, sets, out);
    free(text);
    return result;
}

void config_default(config *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < CONFIG_N_KEYS; i++)
        config_value_default(&config_keys[i], out);
}

status config_write(const config *c, FILE *file)
{
    const char *section = "";
    for (int i = 0; i < CONFIG_N_KEYS; i++) {
        const config_key *key = &config_keys[i];
        if (strcmp(section, key->section) != 0) {
            section = key->section;
            fprintf(file, "%s# %s\n%s:\n", i ? "\n" : "", config_section_find(section)->meaning,
                    section);
        }
        fprintf(file, "  # %s (", key->meaning);
        config_type_write(key, file);
        fprintf(file, ")\n  %s: ", key->name);
        config_value_write(key, c, file);
        fputc('\n', file);
    }
    if (ferror(file)) FAIL(STATUS_OUTPUT, "cannot write the settings: %s", strerror(errno));
    return STATUS_OK;
}

status config_text(const config *c, char **text)
{
    size_t size = 0;
    *text = NULL;
    FILE *file = open_memstream(text, &size);
    if (!file) FAIL(STATUS_RESOURCE, "not enough memory for the text of the settings");
    status result = config_write(c, file);
    if (fclose(file) != 0 && result == STATUS_OK)
        result = status_fail(STATUS_RESOURCE, __FILE__, __LINE__,
                             "not enough memory for the text of the settings");
    if (result != STATUS_OK) {
        free(*text);
        *text = NULL;
    }
    return result;
}

int config_differences(const config *a, const config *b, char *list, size_t size)
{
    int n = 0;
    size_t used = 0;
    if (size) list[0] = 0;
    for (int i = 0; i < CONFIG_N_KEYS; i++) {
        if (config_value_equal(&config_keys[i], a, b)) continue;
        if (used < size)
            used += (size_t)snprintf(list + used, size - used, "%s%s.%s", n ? ", " : "",
                                     config_keys[i].section, config_keys[i].name);
        n++;
    }
    return n;
}
