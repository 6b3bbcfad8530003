#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_digits(const char *p)
{
    while (isdigit((unsigned char)*p))
        p++;
    return p;
}

/* Passes over [+-]? (0 | [1-9][0-9]*)?, the digits counted; NULL at a leading zero. */
static const char *skip_integer(const char *text, ptrdiff_t *n_digits)
{
    const char *digits = text + (*text == '+' || *text == '-');
    const char *end = skip_digits(digits);
    *n_digits = end - digits;
    return *n_digits > 1 && *digits == '0' ? NULL : end;
}

/* Nothing but digits may stand there, so that 12x8, 128.5, 0x80 and 0128 are no integers ... */
static bool is_integer(const char *text)
{
    ptrdiff_t n_digits = 0;
    const char *end = skip_integer(text, &n_digits);
    return end && *end == 0 && n_digits > 0;
}

/* ... and nan, inf and 0x1p3 no reals: digits (. digits)? ([eE] [+-]? digits)?. */
static bool is_real(const char *text)
{
    ptrdiff_t n_digits = 0;
    const char *p = skip_integer(text, &n_digits);
    if (!p) return false;
    if (*p == '.') {
        const char *fraction = p + 1;
        p = skip_digits(fraction);
        n_digits += p - fraction;
    }
    if (n_digits == 0) return false;
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '+' || p[1] == '-');
        if (!isdigit((unsigned char)*p)) return false;
        p = skip_digits(p);
    }
    return *p == 0;
}

text_number text_int64(const char *text, int64_t *number)
{
    if (!is_integer(text)) return TEXT_NUMBER_NOT;
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE) return TEXT_NUMBER_TOO_LARGE;
    *number = value;
    return TEXT_NUMBER_OK;
}

text_number text_double(const char *text, double *number)
{
    if (!is_real(text)) return TEXT_NUMBER_NOT;
    errno = 0;
    double value = strtod(text, NULL);
    if (errno == ERANGE) return TEXT_NUMBER_TOO_LARGE;
    *number = value;
    return TEXT_NUMBER_OK;
}

enum { LONGEST = 64 };

static int min3(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits from a to b, of their first LONGEST bytes. Optimal string alignment distance: Levenshtein's, with a swap as one edit. */
static int distance(const char *a, const char *b)
{
    int rows[3][LONGEST + 1];
    int *before = rows[0];
    int *last = rows[1];
    int *now = rows[2];
    int na = (int)strnlen(a, LONGEST);
    int nb = (int)strnlen(b, LONGEST);
    for (int j = 0; j <= nb; j++)
        last[j] = j;
    for (int i = 1; i <= na; i++) {
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            now[j] = min3(now[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = min3(now[j], before[j - 2] + 1, now[j]);
        }
        int *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[nb];
}

text_nearest text_nearest_start(const char *word)
{
    int furthest = 2 + (int)strnlen(word, LONGEST) / 4;
    return (text_nearest){word, NULL, furthest};
}

void text_nearest_offer(text_nearest *search, const char *candidate)
{
    int d = distance(search->word, candidate);
    if (d >= search->distance) return;
    search->distance = d;
    search->best = candidate;
}

/* Length of the UTF-8 sequence that starts with this byte, 0 if none does. */
static int sequence_length(unsigned char first)
{
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first < 0xE0) return 2;
    if (first >= 0xE0 && first < 0xF0) return 3;
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

/* YAML 1.1, section 5.1; and nothing that UTF-8 could write shorter. */
static bool is_printable(uint32_t code, int length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[length]) return false;
    if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
    if (code < 0xA0) return code < 0x7F || code == 0x85;
    return code < 0xD800 || (code >= 0xE000 && code < 0xFFFE) ||
           (code >= 0x10000 && code < 0x110000);
}

const char *text_bad_character(const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        int length = sequence_length((unsigned char)text[i]);
        if (length == 0 || size - i < (size_t)length) return text + i;
        uint32_t code = (unsigned char)text[i] & (length == 1 ? 0x7FU : 0xFFU >> (length + 1));
        for (int k = 1; k < length; k++) {
            unsigned char byte = (unsigned char)text[i + (size_t)k];
            if ((byte & 0xC0) != 0x80) return text + i;
            code = code << 6 | (byte & 0x3FU);
        }
        if (!is_printable(code, length)) return text + i;
        i += (size_t)length;
    }
    return NULL;
}

const char *text_shown(const char *text, char shown[64])
{
    size_t n = strnlen(text, 41);
    bool cut = n > 40;
    if (cut) n = 40;
    while (cut && n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--; /* not in the middle of a UTF-8 character */
    memcpy(shown, text, n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) shown[i] = '?';
    memcpy(shown + n, "...", 4);
    if (!cut) shown[n] = 0;
    return shown;
}

const char *text_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}
