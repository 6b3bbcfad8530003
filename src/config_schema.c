#include "config_schema.h"

#include <string.h>

#include "nearest.h"

const config_section config_sections[] = {
#define SECTION(name, meaning) {#name, meaning},
#define END(name)
#define INT(...)
#define REAL(...)
#define BOOL(...)
#define TEXT(...)
#define WORD(...)
#include "config_keys.h"
};
const int config_n_sections = (int)(sizeof config_sections / sizeof config_sections[0]);

#define COMMON(section_, key_, unit_, meaning_)                                  \
    .section = #section_, .name = #key_, .unit = (unit_), .meaning = (meaning_), \
    .offset = offsetof(config, section_.key_)

const config_key config_keys[CONFIG_N_KEYS] = {
#define SECTION(name, meaning)
#define END(name)
#define INT(section, key, initial, min, max, unit, meaning)                                  \
    {COMMON(section, key, unit, meaning), .type = CONFIG_TYPE_INT, .initial_int = (initial), \
     .min_int = (min), .max_int = (max)},
#define REAL(section, key, initial, min, max, unit, meaning)                                   \
    {COMMON(section, key, unit, meaning), .type = CONFIG_TYPE_REAL, .initial_real = (initial), \
     .min_real = (min), .max_real = (max)},
#define BOOL(section, key, initial, meaning) \
    {COMMON(section, key, "", meaning), .type = CONFIG_TYPE_BOOL, .initial_int = (initial)},
#define TEXT(section, key, initial, meaning) \
    {COMMON(section, key, "", meaning), .type = CONFIG_TYPE_TEXT, .initial_text = (initial)},
#define WORD(section, key, meaning, ...) \
    {COMMON(section, key, "", meaning), .type = CONFIG_TYPE_WORD, .words = #__VA_ARGS__},
#include "config_keys.h"
};

const config_section *config_section_find(const char *section)
{
    for (int i = 0; i < config_n_sections; i++)
        if (strcmp(config_sections[i].name, section) == 0) return &config_sections[i];
    return NULL;
}

const config_key *config_key_find(const char *section, const char *name)
{
    for (int i = 0; i < CONFIG_N_KEYS; i++)
        if (strcmp(config_keys[i].section, section) == 0 && strcmp(config_keys[i].name, name) == 0)
            return &config_keys[i];
    return NULL;
}

const config_key *config_key_of(const config *c, const void *setting)
{
    size_t offset = (size_t)((const char *)setting - (const char *)c);
    for (int i = 0; i < CONFIG_N_KEYS; i++)
        if (config_keys[i].offset == offset) return &config_keys[i];
    return NULL;
}

/* Keeps the candidate if it is nearer to word than what was there before. */
static void keep_nearer(const char *word, const char *candidate, const char **best, int *distance)
{
    int d = nearest_distance(word, candidate);
    if (d >= *distance) return;
    *distance = d;
    *best = candidate;
}

const char *config_section_nearest(const char *section)
{
    const char *best = NULL;
    int distance = nearest_limit(section) + 1;
    for (int i = 0; i < config_n_sections; i++)
        keep_nearer(section, config_sections[i].name, &best, &distance);
    return best;
}

const char *config_key_nearest(const char *section, const char *name)
{
    const char *best = NULL;
    int distance = nearest_limit(name) + 1;
    for (int i = 0; i < CONFIG_N_KEYS; i++)
        if (strcmp(config_keys[i].section, section) == 0)
            keep_nearer(name, config_keys[i].name, &best, &distance);
    return best;
}

const char *config_section_with(const char *name)
{
    for (int i = 0; i < CONFIG_N_KEYS; i++)
        if (strcmp(config_keys[i].name, name) == 0) return config_keys[i].section;
    return NULL;
}
