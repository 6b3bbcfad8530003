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

enum {
    CONFIG_N_SECTIONS = 0
#define SECTION(...) +1
#define END(...)
#define INT(...)
#define REAL(...)
#define BOOL(...)
#define TEXT(...)
#define WORD(...)
#include "config_keys.h"
};

extern const config_key config_keys[CONFIG_N_KEYS];
extern const config_section config_sections[CONFIG_N_SECTIONS];

/* NULL if there is none of this name. */
const config_section *config_section_find(const char *section);
const config_key *config_key_find(const char *section, const char *name);
/* The key whose value is at this address in c. */
const config_key *config_key_of(const config *c, const void *setting);

enum { CONFIG_VALUE_MESSAGE = 512 };

/* What to say about a name that is not known: the nearest one, or where it belongs.  name NULL: the
   section is not known. */
void config_unknown(const char *section, const char *name, char message[CONFIG_VALUE_MESSAGE]);

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

/* All errors of a load, as text. */
enum { CONFIG_MAX_ERRORS = 20 };
typedef struct config_errors {
    char text[7680];
    size_t used;
    int n_file, n_sets; /* also those beyond the ones in text */
} config_errors;

/* Adds "where: message", unless there are enough. */
void config_errors_add(config_errors *errors, const char *where, const char *message);

/* Reads a file of `size` bytes, with a 0 after them, into *out, which holds its path and the
   defaults. */
void config_read_yaml(const char *text, size_t size, config *out, config_errors *errors);

#endif
