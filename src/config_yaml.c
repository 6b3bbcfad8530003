/* The YAML reader: sections, keys and values out of libyaml's events, an error for all else.

   config_read_yaml    read_document
     read_document       read_sections
       read_sections       read_section
         read_section        read_entry      (next_event, skip_value and note serve all of them) */
#include <stdarg.h>
#include <string.h>
#include <yaml.h>

#include "config_schema.h"
#include "text.h"

enum { MAX_DEPTH = 16 };

typedef struct reader {
    yaml_parser_t parser;
    const char *text;
    bool ended; /* nothing more can be read */
    config *out;
    config_errors *errors;
} reader;

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
    config_errors_add(r->errors, where, message);
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
    text_shown((const char *)event->data.scalar.value, name);
    return true;
}

static void note_unknown(reader *r, yaml_mark_t at, const char *section, const char *name)
{
    char message[CONFIG_VALUE_MESSAGE];
    config_unknown(section, name, message);
    note(r, at, "%s", message);
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
        if (simple && !key) note_unknown(r, at, section, name);
        if (key)
            read_entry(r, key, at, &value);
        else
            skip_value(r, &value);
    }
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
        if (simple && !section) note_unknown(r, at, name, NULL);
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

/* False, with the error noted, if the file is not text. */
static bool check_characters(reader *r, size_t size)
{
    const char *bad = text_bad_character(r->text, size);
    if (!bad) return true;
    yaml_mark_t at = {0, 0, 0};
    for (const char *p = r->text; p < bad; p++) {
        at.column = *p == '\n' ? 0 : at.column + (((unsigned char)*p & 0xC0) != 0x80);
        at.line += *p == '\n';
    }
    note(r, at, "byte 0x%02x is not text; save the file as UTF-8 without control characters",
         (unsigned char)*bad);
    return false;
}

void config_read_yaml(const char *text, size_t size, config *out, config_errors *errors)
{
    reader r = {.text = text, .out = out, .errors = errors};
    if (!check_characters(&r, size)) return;
    if (!yaml_parser_initialize(&r.parser)) {
        note(&r, (yaml_mark_t){0, 0, 0}, "not enough memory to read the file");
        return;
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    read_document(&r);
    yaml_parser_delete(&r.parser);
}
