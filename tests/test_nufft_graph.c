/* test_nufft_graph.c: calls of a NUFFT plan on a GPU captured in a CUDA graph, which then works on
   whatever stands in the same arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "nufft_case.h"

enum { N = 3000, SIDE = 20, MODES = SIDE * SIDE * SIDE, BATCH = 2 };

/* Arrays on the device, for one case in double precision. */
typedef struct arrays {
    double *x[3], *in, *modes, *out;
} arrays;

static void must(int result)
{
    assert_int_equal(result, 0);
}

static void fill(const device *dev, const nufft_case *c, uint64_t seed, const arrays *a)
{
    case_data d;
    case_data_make(c, seed, &d);
    for (int i = 0; i < 3; i++)
        must(device_from_host(dev, a->x[i], d.x[i], N * 8));
    must(device_from_host(dev, a->in, d.values, 2 * BATCH * N * 8));
    must(device_synchronize(dev));
    case_data_free(&d);
}

static void run(nufft *plan, const arrays *a)
{
    const void *const x[3] = {a->x[0], a->x[1], a->x[2]};
    must(nufft_set_points(plan, N, x));
    must(nufft_adjoint(plan, a->in, a->modes));
    must(nufft_forward(plan, a->modes, a->out));
}

static double *results(const device *dev, const arrays *a)
{
    enum { N_MODES = 2 * BATCH * MODES, N_OUT = 2 * BATCH * N };
    double *r = malloc((N_MODES + N_OUT) * sizeof *r);
    assert_non_null(r);
    must(device_to_host(dev, r, a->modes, N_MODES * 8));
    must(device_to_host(dev, r + N_MODES, a->out, N_OUT * 8));
    must(device_zero(dev, a->modes, N_MODES * 8));
    must(device_zero(dev, a->out, N_OUT * 8));
    return r;
}

static void check_graph(const device *dev, const nufft_case *c)
{
    arrays a;
    double **memory[] = {&a.x[0], &a.x[1], &a.x[2], &a.in, &a.out, &a.modes};
    const int64_t sizes[] = {N, N, N, 2 * BATCH * N, 2 * BATCH * N, 2 * BATCH * MODES};
    for (int i = 0; i < 6; i++) {
        void *made;
        must(device_alloc(dev, 8 * sizes[i], &made));
        *memory[i] = made;
    }
    cudaStream_t stream = (cudaStream_t)device_stream(dev);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    nufft *plan = case_plan(dev, c);
    fill(dev, c, 1, &a);
    run(plan, &a); /* makes the memory for N points */
    must(device_synchronize(dev));
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    run(plan, &a);
    must(cudaStreamEndCapture(stream, &graph));
    must(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    fill(dev, c, 2, &a);
    must(cudaGraphLaunch(executable, stream));
    double *replayed = results(dev, &a);
    run(plan, &a);
    double *called = results(dev, &a);
    assert_true(relative_error(replayed, called, BATCH * (MODES + N), 0) <= 1e-13);
    must(cudaGraphExecDestroy(executable));
    must(cudaGraphDestroy(graph));
    free(replayed), free(called);
    nufft_destroy(plan);
    for (int i = 0; i < 6; i++)
        device_free(dev, *memory[i]);
}

static void a_captured_plan_does_what_its_calls_do(void **state)
{
    const device *dev = *(const device *const *)*state;
    for (int k = 0; k < 5; k++) {
        nufft_case c = {3,
                        {SIDE, SIDE, SIDE},
                        N,
                        POINTS_RANDOM,
                        {.precision = PRECISION_DOUBLE,
                         .tolerance = k % 2 ? 1e-12 : 1e-6,
                         .batch = BATCH,
                         .method = k == 4 ? NUFFT_SM : NUFFT_DEFAULT,
                         .deterministic = k / 2 == 1}};
        check_graph(dev, &c);
    }
}

int main(void)
{
    device *dev;
    if (device_create_cuda(-1, &dev) != STATUS_OK) {
        const char *required = getenv("MTIP_REQUIRE_GPU");
        bool must_run = required && strcmp(required, "0") != 0 && *required;
        fprintf(stderr, "%s: %s\n", must_run ? "FAILED" : "SKIPPED", status_message());
        return must_run ? 1 : 77;
    }
    const device *behind = dev;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(a_captured_plan_does_what_its_calls_do, &behind)};
    int failed = cmocka_run_group_tests_name("nufft in a graph", tests, NULL, NULL);
    device_destroy(dev);
    return failed ? 1 : 0;
}
