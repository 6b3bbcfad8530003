/* array.h: arrays that grow. */
#ifndef MTIP_ARRAY_H
#define MTIP_ARRAY_H

#include "core/status.h"
#include "core/types.h"

/* Makes room for one more element of an array of n that doubles. */
status array_grow(void **array, int64_t *capacity, int64_t n, size_t element_size);

#endif
