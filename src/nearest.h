/* nearest.h: the word that was meant. */
#ifndef MTIP_NEAREST_H
#define MTIP_NEAREST_H

/* Edit distance (insert, delete, replace, swap of neighbours), of the first 64 bytes. */
int nearest_distance(const char *a, const char *b);

/* Whether a word this far away is worth suggesting for one as long as `word`. */
int nearest_limit(const char *word);

#endif
