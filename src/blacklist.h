/* blacklist.h: which images of a data set not to use, as Dragonfly's blacklist files say. */
#ifndef MTIP_BLACKLIST_H
#define MTIP_BLACKLIST_H

#include "core/status.h"
#include "core/types.h"

/* A text file with a line of 0 or 1 for each of n images ('#' starts a comment), 1 to leave it out:
   unwanted [n], which the caller frees.  STATUS_INPUT names the line, or both numbers if there are
   more or fewer lines than images. */
status blacklist_read(const char *path, int64_t n, uint8_t **unwanted);

#endif
