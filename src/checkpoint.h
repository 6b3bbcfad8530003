/* checkpoint.h: the progress of a reconstruction as a file that is whole or not there.

     checkpoint.h5            the newest
     checkpoint_previous.h5   the one before, for the day the newest cannot be read
     checkpoint_damaged.h5    one that could not be read

   A checkpoint begins with a text (`head -n 8 checkpoint.h5`) and a checksum of all its bytes
   (io_seal.h); the rest is HDF5 1.10 with checksums of its own.  It is written beside its place, read
   back and compared, made durable, and only then takes the name.  It knows the settings and the
   data it belongs to, and nothing of ranks, threads or devices. */
#ifndef MTIP_CHECKPOINT_H
#define MTIP_CHECKPOINT_H

#include "reconstruct.h"

/* Writes the progress of `made`, all of whose runs' values this rank has; data: the catalogue's
   checksum.  STATUS_OUTPUT, and the checkpoints before are as they were.  One rank. */
status checkpoint_write(const config *cfg, uint64_t data, const reconstruction *made);

/* Reads the newest checkpoint that is good into `made`, which has made no progress yet; *found false
   if there is none at all.  STATUS_CONFIG for one of other settings, other data or a newer version,
   STATUS_OUTPUT if none is good.  One rank. */
status checkpoint_read(const config *cfg, uint64_t data, reconstruction *made, bool *found);

/* The newest that is good, for onlookers: whatever its settings, and nothing is renamed.  The caller
   destroys *made, NULL if there is none at all. STATUS_INPUT if none is good, STATUS_CONFIG for those
   of another version. */
status checkpoint_look(const char *directory, reconstruction **made);

/* Removes them: the results are there. One rank. */
void checkpoint_remove(const config *cfg);

/* Whether there is one, good or bad. */
bool checkpoint_exists(const char *directory);

#endif
