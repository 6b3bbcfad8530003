/* io_seal.h: files that begin with a block of text and a checksum of every byte.

   The block says what the file is (`head FILE` shows it), and the checksum is looked at before a
   library sees the rest.  HDF5 knows such a block as a "user block" and leaves it alone. */
#ifndef MTIP_IO_SEAL_H
#define MTIP_IO_SEAL_H

#include "core/status.h"
#include "core/types.h"

enum { SEAL_SIZE = 1024 };

/* Fills the first SEAL_SIZE bytes of a file that is otherwise complete and closed: `about`, lines of
   at most 900 bytes in all, and a line with the checksum. STATUS_OUTPUT. */
status seal_write(const char *path, const char *about);

/* Reads the whole file; about gets the lines. STATUS_INPUT for a byte that is not as it was. */
status seal_check(const char *path, char about[SEAL_SIZE]);

#endif
