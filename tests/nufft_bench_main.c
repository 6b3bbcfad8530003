/* nufft_bench_main.c: the NUFFT's benchmark as a program of its own. */
#include <stdio.h>

#include "bench_nufft.h"

int main(int argc, char **argv)
{
    status result = bench_nufft(argc, argv, stdout);
    if (result != STATUS_OK) fprintf(stderr, "%s\n", status_message());
    return status_exit_code(result);
}
