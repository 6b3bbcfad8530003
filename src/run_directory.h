/* run_directory.h: the directory of a run: who works in it, and how its last run ended.

     lock       while a run works here: host, process, job, start; gone afterwards
     log.txt    what was shown, with times
     DONE, STOPPED or FAILED   how the last run ended, with a sentence

   The lock is a file that the process also holds with flock, so that one process is told from a dead
   one on the same host, and on file systems that know locks on others.  Elsewhere it counts as
   forgotten when it belongs to the same batch job, or has not been touched for 5 minutes. */
#ifndef MTIP_RUN_DIRECTORY_H
#define MTIP_RUN_DIRECTORY_H

#include <stdio.h>

#include "config.h"

typedef struct run_directory run_directory;

/* Makes the directory (and those above it) if need be, checks that it can be written, locks it, opens
   log.txt for appending, and removes what runs that were killed have left half written.  fresh: an
   older run here is left as it is, its log too, until run_directory_make_room.  STATUS_OUTPUT. One
   rank. */
status run_directory_open(const config *cfg, bool fresh, run_directory **opened);
/* The new run can begin: if it is a fresh one, what an older run left is moved to DIRECTORY.1 (or .2, ..),
   and the log, another file from here on, begins with what has been said so far. STATUS_OUTPUT. */
status run_directory_make_room(run_directory *d);
FILE *run_directory_log(const run_directory *d);

/* Whether a run works in a directory now, as far as its lock tells, which is only looked at. */
bool run_directory_busy(const char *directory);

/* The sentence of DONE, "" if the last run here has not come to its end, or is to be moved away: good for size bytes.
   STATUS_CONFIG if its settings were others. */
status run_directory_done(const run_directory *d, char *sentence, size_t size);

/* Tells others that this run is alive; calls may be frequent. */
void run_directory_touch(run_directory *d);

/* A file that the user has put here to ask for something ("STOP") is there; it is removed. */
bool run_directory_asked(const run_directory *d, const char *name);

/* Writes DONE: the results are there. STATUS_OUTPUT. */
status run_directory_finish(const run_directory *d, const char *sentence);

/* Writes STOPPED or FAILED unless the run is done, closes the log and frees the lock.  STATUS_OUTPUT if
   lines of the log are lost. Accepts NULL. */
status run_directory_close(run_directory *d, status outcome, const char *sentence);

#endif
