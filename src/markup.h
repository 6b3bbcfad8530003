/* markup.h: any text within SVG and HTML. */
#ifndef MTIP_MARKUP_H
#define MTIP_MARKUP_H

#include <stdio.h>

/* Prints text with what has a meaning in XML escaped; bytes that are not UTF-8 or no characters of
   XML become '?'. */
void markup_text(const char *text, FILE *file);

#endif
