#include "array.h"

#include <stdlib.h>

status array_grow(void **array, int64_t *capacity, int64_t n, size_t element_size)
{
    if (n < *capacity) return STATUS_OK;
    int64_t larger = *capacity ? 2 * *capacity : 16;
    void *grown = realloc(*array, (size_t)larger * element_size);
    if (!grown) FAIL(STATUS_RESOURCE, "no memory for %lld records", (long long)larger);
    *array = grown;
    *capacity = larger;
    return STATUS_OK;
}
