/* The YAML reader: sections, keys and values out of libyaml's events, an error for all else.

   config_read_yaml    read_document
     read_document       read_root
       read_root           read_sections
         read_sections       next_entry, read_section_value
           read_section_value  read_section
             read_section        next_entry, read_entry  */
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

static const char *mark_text(const unsigned char *anchor, const unsigned char *tag)
{
    if (anchor) return "an anchor (&)";
    return tag ? "a tag (!)" : NULL;
}

/* Anchors, aliases and tags would let one place in the file change another. */
static bool is_plain(reader *r, const yaml_event_t *event)
{
    const char *mark = NULL;
    if (event->type == YAML_ALIAS_EVENT)
        mark = "an alias (*)";
    else if (event->type == YAML_SCALAR_EVENT)
        mark = mark_text(event->data.scalar.anchor, event->data.scalar.tag);
    else if (event->type == YAML_MAPPING_START_EVENT)
        mark = mark_text(event->data.mapping_start.anchor, event->data.mapping_start.tag);
    if (mark)
        note(r, event->start_mark, "%s is not allowed in a config; write the value itself", mark);
    return !mark;
}

/* Copies a key's text; false, with the error noted, if it is not a simple one. */
static bool key_text(reader *r, const yaml_event_t *event, char name[64])
{
    if (!is_plain(r, event)) return false;
    if (event->type != YAML_SCALAR_EVENT) {
        note(r, event->start_mark, "a list or a mapping where a name should be; write key: value");
        return false;
    }
    if (event->data.scalar.length == 0) {
        note(r, event->start_mark, "a name is missing; write key: value");
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

/* The next key of a mapping and the event its value begins with, which the caller frees; false at
   the end of the mapping or of the file.  name is "" for a key that is no name, an error noted. */
static bool next_entry(reader *r, char name[64], yaml_mark_t *at, yaml_event_t *value)
{
    yaml_event_t event;
    if (!next_event(r, &event)) return false;
    bool end = event.type == YAML_MAPPING_END_EVENT;
    *at = event.start_mark;
    if (end || !key_text(r, &event, name)) name[0] = 0;
    skip_value(r, &event);
    return !end && next_event(r, value);
}

/* The keys of a section, after its mapping start and up to its end. */
static void read_section(reader *r, const char *section)
{
    yaml_event_t value;
    yaml_mark_t at;
    char name[64];
    while (next_entry(r, name, &at, &value)) {
        const config_key *key = config_key_find(section, name);
        if (!key && *name) note_unknown(r, at, section, name);
        if (key)
            read_entry(r, key, at, &value);
        else
            skip_value(r, &value);
    }
}

/* Takes one section, whose name stood at `at`, and which was in `line` already if that is not 0;
   frees the event. */
static void read_section_value(reader *r, const char *name, yaml_mark_t at, int line,
                               yaml_event_t *value)
{
    bool plain = is_plain(r, value);
    bool empty = value->type == YAML_SCALAR_EVENT && value->data.scalar.length == 0 &&
                 value->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (line)
        note(r, at, "section '%s' again; it began in line %d already, join the two", name, line);
    if (plain && value->type == YAML_MAPPING_START_EVENT) {
        yaml_event_delete(value);
        read_section(r, name);
        return;
    }
    if (plain && !empty)
        note(r, value->start_mark, "section '%s' holds keys; indent key: value below it", name);
    skip_value(r, value);
}

/* The sections, after the mapping start of the document. */
static void read_sections(reader *r)
{
    int lines[CONFIG_N_SECTIONS] = {0}; /* where each section began */
    yaml_event_t value;
    yaml_mark_t at;
    char name[64];
    while (next_entry(r, name, &at, &value)) {
        const config_section *section = config_section_find(name);
        if (!section && *name) note_unknown(r, at, name, NULL);
        if (section) {
            int *line = &lines[section - config_sections];
            read_section_value(r, name, at, *line, &value);
            if (!*line) *line = (int)at.line + 1;
        } else {
            skip_value(r, &value);
        }
    }
}

/* Reads and frees an event; YAML_NO_EVENT when the file breaks off. */
static yaml_event_type_t pass_event(reader *r, yaml_mark_t *at)
{
    yaml_event_t event;
    if (!next_event(r, &event)) return YAML_NO_EVENT;
    yaml_event_type_t type = event.type;
    *at = event.start_mark;
    yaml_event_delete(&event);
    return type;
}

static void note_empty(reader *r, yaml_mark_t at)
{
    note(r, at, "the config is empty; mtip --help-config prints one to start from");
}

/* What the document holds: the mapping of the sections. */
static void read_root(reader *r)
{
    yaml_event_t root;
    if (!next_event(r, &root)) return;
    bool plain = is_plain(r, &root);
    if (plain && root.type == YAML_MAPPING_START_EVENT) {
        yaml_event_delete(&root);
        read_sections(r);
        return;
    }
    if (root.type == YAML_SCALAR_EVENT && root.data.scalar.length == 0)
        note_empty(r, root.start_mark);
    else if (plain)
        note(r, root.start_mark, "no sections; begin with one such as 'grid:', its keys below it");
    skip_value(r, &root);
}

static void read_document(reader *r)
{
    yaml_mark_t at = {0, 0, 0};
    if (pass_event(r, &at) == YAML_NO_EVENT) return; /* the stream's start */
    yaml_event_type_t type = pass_event(r, &at);
    if (type == YAML_STREAM_END_EVENT) note_empty(r, at);
    if (type != YAML_DOCUMENT_START_EVENT) return;
    read_root(r);
    if (pass_event(r, &at) == YAML_NO_EVENT) return; /* the document's end */
    if (pass_event(r, &at) == YAML_DOCUMENT_START_EVENT)
        note(r, at, "a second document (---); keep one in the file");
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
