#include "blacklist.h"

#include <stdlib.h>
#include <string.h>

#include "text_file.h"

static status parse(const char *path, char *text, int64_t n, uint8_t *unwanted)
{
    text_lines lines = {0};
    lines.at = text;
    int64_t count = 0;
    for (const char *line; (line = text_next_line(&lines, "#"));) {
        if (!*line) continue;
        if (strcmp(line, "0") != 0 && strcmp(line, "1") != 0)
            FAIL(STATUS_INPUT, "%s:%lld: '%.20s'; expected 0 or 1", path, (long long)lines.number,
                 line);
        if (count < n) unwanted[count] = *line == '1';
        count++;
    }
    if (count != n)
        FAIL(STATUS_INPUT, "%s: %lld lines of 0 or 1, but the data set holds %lld images", path,
             (long long)count, (long long)n);
    return STATUS_OK;
}

status blacklist_read(const char *path, int64_t n, uint8_t **unwanted)
{
    char *text = NULL;
    size_t size;
    *unwanted = NULL;
    TRY(text_load(path, &text, &size));
    uint8_t *read = malloc((size_t)n + 1);
    status result =
        read ? parse(path, text, n, read)
             : FAILED(STATUS_RESOURCE, "%s: no memory for %lld images", path, (long long)n);
    free(text);
    if (result == STATUS_OK)
        *unwanted = read;
    else
        free(read);
    return result;
}
