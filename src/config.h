/* config.h: the settings of a run, read from a YAML file and the command line.

   A setting is a line of config_keys.h and a field of the struct: grid.size is c->grid.size.
   Errors are written for the user, as `file:line:col: message`, all those of a file at once (20,
   then a count), each ending with what to do. */
#ifndef MTIP_CONFIG_H
#define MTIP_CONFIG_H

#include <stdio.h>

#include "core/status.h"
#include "core/types.h"

enum {
    CONFIG_TEXT_SIZE = 4096, /* bytes of a text, the closing 0 included */
    CONFIG_N_KEYS = 0
#define SECTION(name, meaning)
#define END(name)
#define INT(...)  +1
#define REAL(...) +1
#define BOOL(...) +1
#define TEXT(...) +1
#define WORD(...) +1
#include "config_keys.h"
};

/* Where a setting was given: in the file (line >= 1), by the --set number -line (line <= -1, the
   first is -1), or nowhere (0: it has its default). */
typedef struct config_place {
    int line, column;
} config_place;

typedef struct config {
#define SECTION(name, meaning) struct {
#define END(name) \
    }             \
    name;
#define INT(section, key, initial, min, max, unit, meaning)  int64_t key;
#define REAL(section, key, initial, min, max, unit, meaning) double key;
#define BOOL(section, key, initial, meaning)                 bool key;
#define TEXT(section, key, initial, meaning)                 char key[CONFIG_TEXT_SIZE];
#define WORD(section, key, meaning, ...)                     enum { __VA_ARGS__ } key;
#include "config_keys.h"
    char path[CONFIG_TEXT_SIZE]; /* of the file, "" if none */
    config_place places[CONFIG_N_KEYS];
} config;

/* Every setting at its default. */
void config_default(config *out);

/* Defaults, then the file (NULL: none), then n_sets texts "section.key=value" in order.  Text
   values may hold ${NAME}, an environment variable ("$${" stands for a plain "${").
   STATUS_CONFIG for errors in the file, STATUS_USAGE for errors in the sets only. */
status config_load(const char *path, int n_sets, const char *const sets[], config *out);

/* The same for a file that is in memory; name stands for it in messages. */
status config_parse(const char *name, const char *text, size_t size, int n_sets,
                    const char *const sets[], config *out);

typedef enum config_use { CONFIG_FOR_ANY, CONFIG_FOR_SIMULATE, CONFIG_FOR_RECONSTRUCT } config_use;

/* Settings that contradict each other, and those the use needs and that are not given; all of them
   in one STATUS_CONFIG message with the numbers computed. */
status config_check(const config *c, config_use use);

/* Fails with STATUS_CONFIG about one setting, for contradictions found later, when the data are
   known: config_fail(c, &c->grid.size, "is %lld, but ...").  The message starts with the place the
   setting was given at and its name. */
status config_fail(const config *c, const void *setting, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* All settings as a YAML file that loads to the same settings, with types, ranges, units and
   meanings as comments. */
status config_write(const config *c, FILE *file);
/* The same as a string, which the caller frees. */
status config_text(const config *c, char **text);

/* Writes the names of the settings in which the two differ, "grid.size, run.seed", to list (cut at
   `size` bytes) and returns how many there are. */
int config_differences(const config *a, const config *b, char *list, size_t size);

#endif
