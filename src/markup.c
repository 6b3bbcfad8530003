#include "markup.h"

#include "text.h"

#include <string.h>

void markup_text(const char *text, FILE *file)
{
    size_t left = strlen(text);
    const char *bad = text_bad_character(text, left);
    for (const char *c = text; *c; c++, left--) {
        if (c == bad) {
            fputc('?', file);
            bad = text_bad_character(c + 1, left - 1);
        } else if (*c == '<') {
            fputs("&lt;", file);
        } else if (*c == '>') {
            fputs("&gt;", file);
        } else if (*c == '&') {
            fputs("&amp;", file);
        } else if (*c == '"') {
            fputs("&quot;", file);
        } else {
            fputc(*c, file);
        }
    }
}
