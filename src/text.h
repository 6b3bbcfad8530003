/* text.h: what a user wrote: numbers, words nearly right, bytes that may not be text; counts for a user. */
#ifndef MTIP_TEXT_H
#define MTIP_TEXT_H

#include "core/types.h"

typedef enum text_number {
    TEXT_NUMBER_OK,
    TEXT_NUMBER_NOT,      /* text is something else, or more than a number */
    TEXT_NUMBER_TOO_LARGE /* beyond the type (or, for reals, too near to 0) */
} text_number;

/* A number, all of text or none: 12x8, 0x80, 0128, nan and inf are no numbers; integers have no
   point and no exponent. */
text_number text_int64(const char *text, int64_t *number);
text_number text_double(const char *text, double *number);

/* The word that was meant: start with what was written, offer all there are, take best, which is
   NULL if none is near enough to suggest. */
typedef struct text_nearest {
    const char *word;
    const char *best;
    int distance;
} text_nearest;

text_nearest text_nearest_start(const char *word);
void text_nearest_offer(text_nearest *search, const char *candidate);

/* The first byte of text that is not UTF-8 or not a character YAML allows, NULL if there is none. */
const char *text_bad_character(const char *text, size_t size);

/* A copy of text fit for a message: at most 40 bytes, no control characters. */
const char *text_shown(const char *text, char shown[64]);

/* The end of a word that n counts: "" for 1, else "s". */
const char *text_plural(int64_t n);

#endif
