/* test_host_memory.c: what control groups and `ulimit -v` leave; trees of files stand for the kernel's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "core/host_memory.h"

static char root[64];

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/host_memory.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

static void put(const char *directory, const char *name, const char *text)
{
    char command[512];
    snprintf(command, sizeof command, "mkdir -p '%s/%s' && printf '%s' >'%s/%s/%s'", root,
             directory, text, root, directory, name);
    assert_int_equal(system(command), 0);
}

static void knows_nothing_where_nothing_is(void **state)
{
    (void)state;
    assert_int_equal(host_memory_free(root), -1);
}

static void takes_what_the_kernel_calls_available(void **state)
{
    (void)state;
    put("proc", "meminfo", "MemTotal: 2000 kB\nMemAvailable:    1000 kB\n");
    assert_int_equal(host_memory_free(root), 1000 * 1024);
    put("proc/self", "cgroup", "0::/\n");
    assert_int_equal(host_memory_free(root), 1000 * 1024);
}

static void version_2_counts_every_group_above(void **state)
{
    (void)state;
    put("proc", "meminfo", "MemAvailable: 1000 kB\n");
    put("proc/self", "cgroup", "0::/slurm/job_1/step_0\n");
    put("sys/fs/cgroup/slurm/job_1/step_0", "memory.max", "max\n");
    put("sys/fs/cgroup/slurm/job_1/step_0", "memory.current", "300000\n");
    assert_int_equal(host_memory_free(root), 1000 * 1024);
    put("sys/fs/cgroup/slurm/job_1", "memory.max", "500000\n");
    put("sys/fs/cgroup/slurm/job_1", "memory.current", "400000\n");
    assert_int_equal(host_memory_free(root), 100000);
    put("sys/fs/cgroup/slurm/job_1", "memory.stat", "anon 7\ninactive_file 150000\n");
    assert_int_equal(host_memory_free(root), 250000);
    put("sys/fs/cgroup", "memory.max", "450000\n"); /* the root of a container */
    put("sys/fs/cgroup", "memory.current", "460000\n");
    assert_int_equal(host_memory_free(root), 0);
}

static void version_1_counts_the_groups_of_memory(void **state)
{
    (void)state;
    put("proc", "meminfo", "MemAvailable: 1000 kB\n");
    put("proc/self", "cgroup", "5:cpu,cpuacct:/a\n4:hugetlb,memory:/uid_0/job_1\n0::/\n");
    put("sys/fs/cgroup/memory/a", "memory.limit_in_bytes", "1\n");
    put("sys/fs/cgroup/memory/a", "memory.usage_in_bytes", "1\n");
    put("sys/fs/cgroup/memory", "memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory", "memory.usage_in_bytes", "300000\n");
    assert_int_equal(host_memory_free(root), 1000 * 1024);
    put("sys/fs/cgroup/memory/uid_0/job_1", "memory.limit_in_bytes", "200000\n");
    put("sys/fs/cgroup/memory/uid_0/job_1", "memory.usage_in_bytes", "150000\n");
    put("sys/fs/cgroup/memory/uid_0/job_1", "memory.stat",
        "inactive_file 9\ntotal_inactive_file 10\n");
    assert_int_equal(host_memory_free(root), 50010);
}

/* A limit that no process meets: a sanitizer maps thousands of GiB. */
static void a_limit_on_addresses_is_noticed(void **state)
{
    (void)state;
    const int64_t all = (int64_t)1 << 47, slack = 1 << 24;
    struct rlimit old, low;
    long long mapped_kib = -1;
    char line[256];
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    if (old.rlim_cur == RLIM_INFINITY) assert_int_equal(host_memory_addresses(), -1);
    low = (struct rlimit){(rlim_t)all, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
    const int64_t left = host_memory_addresses();
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (mapped_kib < 0 && fgets(line, sizeof line, file))
        (void)sscanf(line, "VmSize: %lld", &mapped_kib);
    (void)fclose(file);
    assert_true(mapped_kib > 0);
    assert_true(llabs(all - mapped_kib * 1024 - left) < slack);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_root, remove_root)
    const struct CMUnitTest tests[] = {
        TEST(knows_nothing_where_nothing_is),
        TEST(takes_what_the_kernel_calls_available),
        TEST(version_2_counts_every_group_above),
        TEST(version_1_counts_the_groups_of_memory),
        cmocka_unit_test(a_limit_on_addresses_is_noticed),
    };
#undef TEST
    return cmocka_run_group_tests_name("host_memory", tests, NULL, NULL) ? 1 : 0;
}
