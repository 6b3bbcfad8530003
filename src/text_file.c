#include "text_file.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { FIRST_SIZE = 64 << 10 };
static const size_t max_size = (size_t)64 << 30;

/* What is read decides the memory, not what the file claims of its size. */
static status read_all(gzFile file, const char *path, char **text, size_t *size)
{
    size_t capacity = FIRST_SIZE;
    int n = 1;
    *size = 0;
    *text = malloc(capacity + 1);
    while (*text && n > 0 && *size < max_size) {
        n = gzread(file, *text + *size,
                   (unsigned)(capacity - *size < 1 << 30 ? capacity - *size : 1 << 30));
        if (n > 0) *size += (size_t)n;
        if (*size < capacity) continue;
        capacity *= 2;
        char *grown = realloc(*text, capacity + 1);
        if (!grown) free(*text);
        *text = grown;
    }
    if (!*text) FAIL(STATUS_RESOURCE, "%s: no memory for more than %zu bytes", path, *size);
    if (*size >= max_size) FAIL(STATUS_INPUT, "%s: more than 64 GB", path);
    int code;
    const char *why = gzerror(file, &code);
    if (n < 0)
        FAIL(STATUS_INPUT, "%s: cannot read: %s", path, code == Z_ERRNO ? strerror(errno) : why);
    (*text)[*size] = 0;
    return STATUS_OK;
}

status text_load(const char *path, char **text, size_t *size)
{
    *text = NULL;
    gzFile file = gzopen(path, "rb");
    if (!file) FAIL(STATUS_INPUT, "%s: cannot open: %s", path, strerror(errno));
    status result = read_all(file, path, text, size);
    if (gzclose(file) == Z_BUF_ERROR && result == STATUS_OK)
        result = FAILED(STATUS_INPUT, "%s: is cut short in the middle of compressed data", path);
    if (result == STATUS_OK) return STATUS_OK;
    free(*text);
    *text = NULL;
    return result;
}

size_t text_begin(const char *path, char *text, size_t size)
{
    memset(text, 0, size);
    gzFile file = gzopen(path, "rb");
    if (!file) return 0;
    int n = gzread(file, text, (unsigned)size);
    gzclose(file);
    return n > 0 ? (size_t)n : 0;
}

char *text_trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    text[n] = 0;
    return text;
}

char *text_next_line(text_lines *lines, const char *comment)
{
    char *line = lines->at;
    if (!*line) return NULL;
    lines->number++;
    size_t n = strcspn(line, "\n");
    lines->at = line + n + (line[n] == '\n');
    line[n] = 0;
    line[strcspn(line, comment)] = 0;
    return text_trim(line);
}

int text_numbers(const char *line, int n, double *numbers)
{
    for (int i = 0;; i++) {
        line += strspn(line, " \t\r");
        if (!*line) return i;
        char *end;
        if (i == n || strspn(line, "+-.0123456789") == 0) return -1;
        numbers[i] = strtod(line, &end);
        if (end == line || !isfinite(numbers[i]) || (*end && !isspace((unsigned char)*end)))
            return -1;
        line = end;
    }
}
