/* config_schema.h: the settings as a table, and one setting from and to text; for config*.c. */
#ifndef MTIP_CONFIG_SCHEMA_H
#define MTIP_CONFIG_SCHEMA_H

#include "config.h"

typedef enum config_type {
    CONFIG_TYPE_INT,
    CONFIG_TYPE_REAL,
    CONFIG_TYPE_BOOL,
    CONFIG_TYPE_TEXT,
    CONFIG_TYPE_WORD
} config_type;

typedef struct config_key {
    config_type type;
    const char *section, *name, *unit, *meaning;
    size_t offset; /* in struct config */
    int64_t initial_int, min_int, max_int;
    double initial_real, min_real, max_real;
    const char *initial_text; /* of a text */
    const char *words;        /* the constants of a word, "CONFIG_KEY_FIRST, CONFIG_KEY_SECOND" */
} config_key;

typedef struct config_section {
    const char *name, *meaning;
} config_section;

extern const config_key config_keys[CONFIG_N_KEYS];
extern const config_section config_sections[];
extern const int config_n_sections;

/* NULL if there is none of this name. */
const config_section *config_section_find(const char *section);
const config_key *config_key_find(const char *section, const char *name);
/* The key whose value is at this address in c. */
const config_key *config_key_of(const config *c, const void *setting);

/* The nearest name, or NULL if none is near: of a section, of a key in a section. */
const char *config_section_nearest(const char *section);
const char *config_key_nearest(const char *section, const char *name);
/* A section that has a key of exactly this name, or NULL. */
const char *config_section_with(const char *name);

enum { CONFIG_VALUE_MESSAGE = 512 };

/* Sets the value from text, `quoted` if it stood in quotes. False, with one sentence in message, if
   it is not one. */
bool config_value_parse(const config_key *key, const char *text, bool quoted, config *c,
                        char message[CONFIG_VALUE_MESSAGE]);
/* Writes the value as config_value_parse reads it; texts in double quotes. */
void config_value_write(const config_key *key, const config *c, FILE *file);
/* "integer, 8 .. 1024 voxels". */
void config_type_write(const config_key *key, FILE *file);
void config_value_default(const config_key *key, config *c);
bool config_value_equal(const config_key *key, const config *a, const config *b);

/* The first byte of text that is not UTF-8 or not a character YAML allows, NULL if there is none. */
const char *config_bad_character(const char *text, size_t size);

/* A copy of text fit for a message: at most 40 bytes, no control characters. */
const char *config_shown(const char *text, char shown[64]);

#endif
