/* config_same.h: whether settings may go on with what others began. */
#ifndef MTIP_CONFIG_SAME_H
#define MTIP_CONFIG_SAME_H

#include "config.h"

/* STATUS_CONFIG if settings differ that change results; the message names them, and `what` they belong
   to.  How the work is spread, where results lie, and what only mtip simulate uses may differ; and
   where the data lie, if it is known to be the same data. */
status config_same(const config *before, const config *now, bool same_data, const char *what);

/* A checksum of the settings that may not differ. STATUS_RESOURCE. */
status config_checksum(const config *c, uint64_t *sum);

#endif
