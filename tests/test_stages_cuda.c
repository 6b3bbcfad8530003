/* test_stages_cuda.c: the stages of the reconstruction on a GPU.  Usage: test_stages_cuda [SUITE]...
   Without a GPU it is skipped visibly (77), which MTIP_REQUIRE_GPU=1 forbids. */
#include "stage_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 };

static const struct {
    const char *name;
    int (*run)(const device *dev, precision p);
} suites[] = {
    {"slice", slice_suite}, {"match", match_suite},     {"merge", merge_suite},
    {"phase", phase_suite}, {"average", average_suite},
};

int main(int argc, char **argv)
{
    int failed = 0;
    device *dev;
    const char *require = getenv("MTIP_REQUIRE_GPU");
    if (device_create_cuda(-1, &dev) != STATUS_OK) {
        printf("no GPU: %s\n", status_message());
        return require && strcmp(require, "1") == 0 ? 1 : SKIPPED;
    }
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        int wanted = argc < 2;
        for (int a = 1; a < argc; a++)
            wanted |= strcmp(argv[a], suites[i].name) == 0;
        if (!wanted) continue;
        printf("%s, single, then double precision\n", suites[i].name);
        failed |= suites[i].run(dev, PRECISION_SINGLE);
        failed |= suites[i].run(dev, PRECISION_DOUBLE);
    }
    device_destroy(dev);
    return failed;
}
