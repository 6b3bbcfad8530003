/* test_stages.c: the stages of the reconstruction on the CPU. Usage: test_stages [SUITE]... */
#include "stage_suite.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(const device *dev, precision p);
} suites[] = {
    {"slice", slice_suite}, {"match", match_suite},     {"merge", merge_suite},
    {"phase", phase_suite}, {"average", average_suite},
};

static int run_suite(size_t i)
{
    device *dev;
    if (device_create_cpu(2, &dev) != STATUS_OK) return 1;
    printf("%s, single precision\n", suites[i].name);
    int failed = suites[i].run(dev, PRECISION_SINGLE);
    printf("%s, double precision\n", suites[i].name);
    failed |= suites[i].run(dev, PRECISION_DOUBLE);
    device_destroy(dev);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        int wanted = argc < 2;
        for (int a = 1; a < argc; a++)
            wanted |= strcmp(argv[a], suites[i].name) == 0;
        if (wanted) failed |= run_suite(i);
    }
    return failed;
}
