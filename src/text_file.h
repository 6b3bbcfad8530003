/* text_file.h: a file in memory, whole, unpacked if it is gzipped; and the lines of a text. */
#ifndef MTIP_TEXT_FILE_H
#define MTIP_TEXT_FILE_H

#include "core/status.h"
#include "core/types.h"

/* The bytes of a file and a 0 after them; the caller frees *text.  STATUS_INPUT for what cannot be
   read, and for more than 64 GB. */
status text_load(const char *path, char **text, size_t *size);

/* The first bytes of a file, unpacked, and zeros after them; returns how many were read. */
size_t text_begin(const char *path, char *text, size_t size);

/* Lines of a text, cut out in place one after another: what precedes one of the characters in
   `comment`, without blanks around it.  Starts with {text}; next gives NULL at the end. */
typedef struct text_lines {
    char *at;
    int64_t number; /* of the last line given, from 1 */
} text_lines;
char *text_next_line(text_lines *lines, const char *comment);

/* The finite numbers that a line holds and nothing else: how many there are, at most n, and -1 for
   anything else. */
int text_numbers(const char *line, int n, double *numbers);

/* Without blanks at either end, cut in place. */
char *text_trim(char *text);

#endif
