/* log.h: lines to stderr.  stdout is for results.

   Info and debug lines appear on rank 0 only; warnings and errors on the rank that has them, with
   "[rank N]" in front when there are several.  A second sink (the run directory's log.txt) gets
   the same lines with the time in front, and the info lines that a quiet level hides. */
#ifndef MTIP_LOG_H
#define MTIP_LOG_H

#include <stdio.h>

typedef enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG } log_level;

/* Called once by main; core knows no MPI. */
void log_setup(log_level level, int rank, int n_ranks);

/* Copies the lines to this FILE as well (NULL: none). The caller keeps and closes it. */
void log_also_to(FILE *file);

void log_write(log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* On rank 0, where stderr is a terminal and info lines appear: a bar for this part (0 to 1) of the work
   done, with a few words, which the next line or bar takes the place of; a negative part removes it. */
void log_progress(double part, const char *words);

#define log_error(...)   log_write(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_DEBUG, __VA_ARGS__)

#endif
