#include "config_schema.h"

#include <string.h>

#include "text.h"

const config_section config_sections[CONFIG_N_SECTIONS] = {
#define SECTION(name, meaning) {#name, meaning},
#define END(name)
#define INT(...)
#define REAL(...)
#define BOOL(...)
#define TEXT(...)
#define WORD(...)
#include "config_keys.h"
};

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
    for (int i = 0; i < CONFIG_N_SECTIONS; i++)
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

static void unknown_section(const char *name, char message[CONFIG_VALUE_MESSAGE])
{
    text_nearest search = text_nearest_start(name);
    const char *with = NULL; /* a section that has a key of this name */
    for (int i = 0; i < CONFIG_N_SECTIONS; i++)
        text_nearest_offer(&search, config_sections[i].name);
    for (int i = 0; i < CONFIG_N_KEYS && !with; i++)
        if (strcmp(config_keys[i].name, name) == 0) with = config_keys[i].section;
    int used = snprintf(message, CONFIG_VALUE_MESSAGE, "unknown section '%s'", name);
    size_t room = CONFIG_VALUE_MESSAGE - (size_t)used;
    if (search.best)
        snprintf(message + used, room, ", did you mean '%s'?", search.best);
    else if (with)
        snprintf(message + used, room, "; it is a key of '%s', indent it below '%s:'", with, with);
    else
        snprintf(message + used, room, "; mtip --help-config lists all");
}

void config_unknown(const char *section, const char *name, char message[CONFIG_VALUE_MESSAGE])
{
    if (!name || !config_section_find(section)) {
        unknown_section(section, message);
        return;
    }
    text_nearest search = text_nearest_start(name);
    const char *with = NULL;
    for (int i = 0; i < CONFIG_N_KEYS; i++) {
        const config_key *key = &config_keys[i];
        if (strcmp(key->section, section) == 0) text_nearest_offer(&search, key->name);
        if (strcmp(key->name, name) == 0 && !with) with = key->section;
    }
    int used =
        snprintf(message, CONFIG_VALUE_MESSAGE, "unknown key '%s' in section '%s'", name, section);
    size_t room = CONFIG_VALUE_MESSAGE - (size_t)used;
    if (with)
        snprintf(message + used, room, ", did you mean the one in section '%s'?", with);
    else if (search.best)
        snprintf(message + used, room, ", did you mean '%s'?", search.best);
    else
        snprintf(message + used, room, "; mtip --help-config lists all");
}
