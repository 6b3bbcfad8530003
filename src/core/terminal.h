/* terminal.h: how large a terminal is. */
#ifndef MTIP_TERMINAL_H
#define MTIP_TERMINAL_H

#include <sys/ioctl.h>

/* Columns and rows, 80 and 24 where it does not say. */
static inline void terminal_size(int file, int *columns, int *rows)
{
    struct winsize size = {.ws_col = 0};
    if (ioctl(file, TIOCGWINSZ, &size) != 0) size = (struct winsize){.ws_col = 0};
    *columns = size.ws_col > 0 ? size.ws_col : 80;
    *rows = size.ws_row > 0 ? size.ws_row : 24;
}

#endif
