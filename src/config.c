#include "config_schema.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 20 };

void config_errors_add(config_errors *errors, const char *where, const char *message)
{
    if (errors->n_file + errors->n_sets > CONFIG_MAX_ERRORS) return;
    size_t room = sizeof errors->text - errors->used;
    int n = snprintf(errors->text + errors->used, room, "%s%s: %s", errors->used ? "\n" : "", where,
                     message);
    if (n > 0) errors->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* Sets number i (from 0), "section.key=value". False with a message. */
static bool read_set(int i, const char *set, config *out, char message[CONFIG_VALUE_MESSAGE])
{
    char section[64];
    char name[64];
    const char *equals = strchr(set, '=');
    const char *dot = strchr(set, '.');
    if (!equals || !dot || dot > equals) {
        snprintf(message, CONFIG_VALUE_MESSAGE, "no %s; write --set section.key=value",
                 equals ? "section" : "value");
        return false;
    }
    snprintf(section, sizeof section, "%.*s", (int)(dot - set), set);
    snprintf(name, sizeof name, "%.*s", (int)(equals - dot - 1), dot + 1);
    const config_key *key = config_key_find(section, name);
    if (!key) {
        config_unknown(section, name, message);
        return false;
    }
    out->places[key - config_keys] = (config_place){-(i + 1), 0};
    bool quoted = key->type == CONFIG_TYPE_TEXT; /* so that the text may be empty */
    return config_value_parse(key, equals + 1, quoted, out, message);
}

static void read_sets(int n, const char *const sets[], config *out, config_errors *errors)
{
    char where[128];
    char message[CONFIG_VALUE_MESSAGE];
    char shown[64];
    for (int i = 0; i < n; i++) {
        if (read_set(i, sets[i], out, message)) continue;
        errors->n_sets++;
        snprintf(where, sizeof where, "--set %s", text_shown(sets[i], shown));
        config_errors_add(errors, where, message);
    }
}

status config_parse(const char *name, const char *text, size_t size, int n_sets,
                    const char *const sets[], config *out)
{
    config_default(out);
    snprintf(out->path, sizeof out->path, "%s", name ? name : "");
    config_errors *errors = calloc(1, sizeof *errors);
    if (!errors) FAIL(STATUS_RESOURCE, "not enough memory to read the config");
    if (text) config_read_yaml(text, size, out, errors);
    read_sets(n_sets, sets, out, errors);
    int n = errors->n_file + errors->n_sets;
    status result = errors->n_file ? STATUS_CONFIG : n ? STATUS_USAGE : STATUS_OK;
    if (n > CONFIG_MAX_ERRORS)
        result = status_fail(result, __FILE__, __LINE__, "%s\n%d errors in all, %d of them shown",
                             errors->text, n, CONFIG_MAX_ERRORS);
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
