/* sim_case.h: what the tests of the simulator and its files share. */
#ifndef MTIP_SIM_CASE_H
#define MTIP_SIM_CASE_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include "assert_ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtip/simulate.h"

/* Fails on NaN too. */
#define assert_close(a, b, tolerance)                                                         \
    do {                                                                                      \
        double close_a = (a), close_b = (b), close_by = (tolerance);                          \
        if (!(close_a - close_b <= close_by && close_b - close_a <= close_by)) {              \
            print_error("%s is %.17g, %s is %.17g: apart by more than %g\n", #a, close_a, #b, \
                        close_b, close_by);                                                   \
            fail();                                                                           \
        }                                                                                     \
    } while (0)

/* The call fails with this code and a message that holds these words. */
#define assert_fails(call, code, words)                                       \
    do {                                                                      \
        status fails_status = (call);                                         \
        assert_int_equal(fails_status, code);                                 \
        if (!strstr(status_message(), words)) {                               \
            print_error("'%s' does not say '%s'\n", status_message(), words); \
            fail();                                                           \
        }                                                                     \
    } while (0)

static int case_n_skipped;

/* Skips the running test, visibly. */
static inline void case_skip(const char *why)
{
    print_message("skipped: %s\n", why);
    case_n_skipped++;
    skip();
}

/* What main returns: 1 if a test failed, 77 if all were skipped, else 0. */
static inline int case_result(int n_failed, size_t n_tests)
{
    return n_failed ? 1 : case_n_skipped == (int)n_tests ? 77 : 0;
}

#define case_run(tests) \
    case_result(cmocka_run_group_tests(tests, NULL, case_clean), sizeof(tests) / sizeof *(tests))

/* A file of the repository's tests/data, or of the shared test data (MTIP_SHARED_DATA, else
   ../shared/data beside the source tree); the latter skips the test when it is not there. */
static inline const char *case_data(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/data/%s", SOURCE_DIR, name);
    return path;
}

static inline const char *case_shared(const char *name)
{
    static char path[4096];
    const char *root = getenv("MTIP_SHARED_DATA");
    snprintf(path, sizeof path, "%s%s/%s", root ? root : SOURCE_DIR, root ? "" : "/../shared/data",
             name);
    FILE *file = fopen(path, "r");
    if (!file)
        case_skip("no shared test data (set MTIP_SHARED_DATA)");
    else
        fclose(file);
    return path;
}

/* A path in this test's scratch folder, made on first use; good for the next 15 calls. */
static inline const char *case_scratch(const char *name)
{
    enum { SLOTS = 16, SIZE = 160 };
    static char folder[64], paths[SLOTS][SIZE];
    static int next;
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/mtip_test_XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    char *path = paths[next++ % SLOTS];
    snprintf(path, SIZE, "%s/%s", folder, name);
    return path;
}

/* Removes the scratch folder and what lies in it; a cmocka group teardown. */
static inline int case_clean(void **state)
{
    (void)state;
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", case_scratch(""));
    return system(command) != 0;
}

#endif
