/* checksum.h: 64 bits that tell data that have changed by accident.

   Every step is a bijection of the sum, so that a change within 8 bytes is noticed for certain. Not
   against malice. */
#ifndef MTIP_CHECKSUM_H
#define MTIP_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const uint64_t CHECKSUM_START = 0xcbf29ce484222325u;

/* The checksum of what `sum` is of and these bytes as the next piece. */
static inline uint64_t checksum_add(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    sum += bytes;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    for (; bytes > 0; bytes--, p++)
        sum = (sum ^ *p) * 0x100000001b3u;
    return sum;
}

static inline uint64_t checksum(const void *data, size_t bytes)
{
    return checksum_add(CHECKSUM_START, data, bytes);
}

#endif
