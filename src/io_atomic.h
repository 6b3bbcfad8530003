/* io_atomic.h: files that appear under their name only when they are whole.

   A file is written as NAME.tmp.PID beside its final place; commit makes it durable (fsync), gives
   it its name (rename) and makes that durable (fsync of the directory).  Whatever fails before,
   an older file of that name stays as it was.  Every failure is STATUS_OUTPUT and names the path
   and the system's reason. */
#ifndef MTIP_IO_ATOMIC_H
#define MTIP_IO_ATOMIC_H

#include <stdio.h>

#include "core/status.h"
#include "core/types.h"

typedef struct atomic_file atomic_file;

/* Checks that path can be written (its directory exists; it is free or an ordinary file, no
   directory and no device, which root would otherwise replace) and chooses the temporary name; a
   leftover of that name is removed.  A symbolic link is followed: the file it points to is
   replaced.  "-" is refused: whoever can write to standard output does so without this. */
status atomic_begin(const char *path, atomic_file **begun);

/* The final name, as given, and the temporary one, to be created by the caller. */
const char *atomic_path(const atomic_file *file);
const char *atomic_temporary(const atomic_file *file);

/* fsync, rename, fsync of the directory. Frees the object in any case; on failure the temporary
   file is removed. */
status atomic_commit(atomic_file *file);

/* Gives a file that is durable another name, and makes that durable. */
status atomic_rename(const char *from, const char *to);

/* Removes the temporary file and frees the object. Accepts NULL. */
void atomic_abandon(atomic_file *file);

/* Removes the temporary files of all that is begun (8 at most are known); for handlers of signals. */
void atomic_remove_unfinished(void);

/* The same for a stream: begin, print to atomic_stream (errors need no check: commit looks for
   them), commit or abandon. */
status atomic_begin_stream(const char *path, atomic_file **begun);
FILE *atomic_stream(atomic_file *file);

#endif
