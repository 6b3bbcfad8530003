/* check_file.h: what a file holds, for mtip check.

   Files are data sets of any format, detectors, structures and maps, told apart by their contents.
   The reading is done in a child process: a damaged file that makes a library crash is STATUS_INPUT
   like any other. */
#ifndef MTIP_CHECK_FILE_H
#define MTIP_CHECK_FILE_H

#include "config.h"

/* Whether the file is of one of these kinds; else it may be a config. */
bool check_file_is(const char *path);

/* Reads all of c->data.file and prints what is in it; settings on data, geometry and molecule
   apply. */
status check_file(const config *c);

/* The same of a data set for mtip reconstruct with these settings, which are checked against it
   (inputs.h) before anything is printed. */
status check_run(const config *c);

#endif
