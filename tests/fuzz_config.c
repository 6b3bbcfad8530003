/* Whatever the bytes are, a config either fails with a message or loads, and what loads writes a
   text that loads to the same settings. */
#include <stdlib.h>
#include <string.h>

#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static config first, second;
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    /* The first line, if short, is a --set as well. */
    char set[256] = "";
    size_t line = strcspn(text, "\n");
    if (line < sizeof set) memcpy(set, text, line);
    set[line < sizeof set ? line : 0] = 0;
    const char *const sets[] = {set};
    status result = config_parse("fuzz", text, size, strchr(set, '=') ? 1 : 0, sets, &first);
    free(text);
    if (result != STATUS_OK) {
        if (!*status_message()) abort();
        return 0;
    }
    if (config_check(&first, CONFIG_FOR_RECONSTRUCT) != STATUS_OK && !*status_message()) abort();
    char *echo = NULL;
    if (config_text(&first, &echo) != STATUS_OK) abort();
    if (config_parse("echo", echo, strlen(echo), 0, NULL, &second) != STATUS_OK) abort();
    char list[64];
    if (config_differences(&first, &second, list, sizeof list) != 0) abort();
    free(echo);
    return 0;
}
