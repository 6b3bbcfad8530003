/* host_memory.h: how much memory this process may still take of its host. */
#ifndef HOST_MEMORY_H
#define HOST_MEMORY_H

#include <stdint.h>

/* Bytes that nobody uses, -1 if that is not known: what the kernel calls available, or less where a
   control group of this process (version 1 or 2; a batch system's job), or one above it, has a limit.
   Cached pages of files that are not in use count as unused.  `root` is "", or a directory that has its
   own proc and sys, for tests. */
int64_t host_memory_free(const char *root);

/* Bytes of address space that `ulimit -v` leaves this process, -1 without such a limit. */
int64_t host_memory_addresses(void);

/* Bytes that this process has now. */
int64_t host_memory_resident(void);

#endif
