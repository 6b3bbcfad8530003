/* stage_merge.c: merging solves the normal equations that the direct sums define. */
#include "mtip/merge.h"
#include "mtip/pointwise.h"
#include "stage_case.h"
#include "stage_suite.h"

enum { N = 6, CUBE = N * N * N, KERNEL = 2 * N - 1, REFERENCES = 40, PIXELS = 12 };
enum { POINTS = REFERENCES * PIXELS };

static merge_options options_for(int64_t n, double radius, double lambda)
{
    return (merge_options){.precision = stage.precision,
                           .size = n,
                           .radius = radius,
                           .tolerance = stage_either(1e-6, 1e-13),
                           .lambda = lambda,
                           .iterations = 1000,
                           .residual = stage_either(1e-6, 1e-12)};
}

/* Slices with random weights and data. */
typedef struct slices {
    double *quaternions, *weights, *pixels, *data;
    double *q; /* [POINTS][3] */
    void *on_device_pixels, *on_device_data;
} slices;

static slices new_slices(uint64_t seed)
{
    slices s = {.quaternions = stage_rotations(seed, REFERENCES),
                .weights = uniform(REFERENCES, seed + 1, 0.2, 3),
                .pixels = stage_pixels(seed + 2, PIXELS, 1.1 * M_PI),
                .data = uniform(POINTS, seed + 3, 0, 9)};
    s.q = stage_rotate(REFERENCES, s.quaternions, PIXELS, s.pixels);
    s.on_device_pixels = stage_upload(s.pixels, 3 * PIXELS);
    s.on_device_data = stage_upload(s.data, POINTS);
    return s;
}

static void free_slices(slices *s)
{
    stage_free(s->on_device_pixels), stage_free(s->on_device_data);
    free(s->quaternions), free(s->weights), free(s->pixels), free(s->data), free(s->q);
}

static void add(merger *m, const slices *s, int first, int count)
{
    const int64_t skip = (int64_t)first * PIXELS * (int64_t)real_size(stage.precision);
    assert_ok(merger_add(m, count, s->quaternions + 4 * first, s->weights + first, PIXELS,
                         s->on_device_pixels, (char *)s->on_device_data + skip));
}

static double cosine(const double q[3], const int64_t x[3])
{
    return cos(q[0] * (double)x[0] + q[1] * (double)x[1] + q[2] * (double)x[2]);
}

/* Position of element i of a cube of n. */
static void position(int64_t i, int64_t n, int64_t x[3])
{
    x[0] = centred(i % n, n);
    x[1] = centred(i / n % n, n);
    x[2] = centred(i / n / n, n);
}

/* sum over points of strength[point / per] cos(q.x) on a cube of n. */
static void direct_sum(const slices *s, int64_t n, const double *strength, int per, double *sum)
{
    for (int64_t i = 0; i < n * n * n; i++) {
        int64_t x[3];
        position(i, n, x);
        sum[i] = 0;
        for (int j = 0; j < POINTS; j++)
            sum[i] += strength[j / per] * cosine(s->q + 3 * j, x);
    }
}

static void get_sums(merger *m, double *kernel, double *data)
{
    void *on_kernel, *on_data;
    int64_t n_kernel, n_data;
    merger_sums(m, &on_kernel, &n_kernel, &on_data, &n_data);
    stage_download(on_kernel, n_kernel, kernel);
    stage_download(on_data, n_data, data);
}

static void sums_are_the_direct_ones(void **state)
{
    (void)state;
    enum { K3 = KERNEL * KERNEL * KERNEL };
    double *kernel = malloc(sizeof(double[K3])), *expected = malloc(sizeof(double[K3]));
    double data[CUBE];
    slices s = new_slices(21);
    merger *m;
    const merge_options options = options_for(N, 3, 1e-3);
    assert_ok(merger_create(stage.dev, &options, &m));
    for (int pass = 0; pass < 2; pass++) { /* at once, and in three parts */
        assert_ok(merger_begin(m));
        if (pass == 0) add(m, &s, 0, REFERENCES);
        for (int i = 0; pass == 1 && i < 3; i++)
            add(m, &s, 15 * i, i < 2 ? 15 : REFERENCES - 30);
        get_sums(m, kernel, data);
        direct_sum(&s, KERNEL, s.weights, PIXELS, expected);
        assert_near(kernel, expected, K3, stage_either(1e-5, 1e-11));
        direct_sum(&s, N, s.data, 1, expected);
        assert_near(data, expected, CUBE, stage_either(1e-5, 1e-11));
    }
    merger_destroy(m);
    free_slices(&s);
    free(kernel), free(expected);
}

/* Gauss elimination of a symmetric positive matrix; the solution replaces b. */
static void solve_dense(int n, double *a, double *b)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            const double f = a[j * n + i] / a[i * n + i];
            for (int k = i; k < n; k++)
                a[j * n + k] -= f * a[i * n + k];
            b[j] -= f * b[i];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
}

/* The minimiser from the dense normal matrix of the voxels inside the sphere. */
static void direct_solution(const slices *s, double radius, double lambda, double *volume)
{
    int64_t x[CUBE][3], at[CUBE];
    int n = 0;
    double total = 0;
    for (int64_t i = 0; i < CUBE; i++) {
        position(i, N, x[n]);
        at[n] = i;
        volume[i] = 0;
        n += (double)(x[n][0] * x[n][0] + x[n][1] * x[n][1] + x[n][2] * x[n][2]) <= radius * radius;
    }
    double *a = calloc((size_t)(n * n), sizeof *a), *b = calloc((size_t)n, sizeof *b);
    for (int j = 0; j < POINTS; j++)
        total += s->weights[j / PIXELS];
    for (int i = 0; i < n; i++) {
        a[i * n + i] = lambda * total;
        for (int j = 0; j < POINTS; j++) {
            b[i] += s->data[j] * cosine(s->q + 3 * j, x[i]);
            for (int k = 0; k < n; k++)
                a[i * n + k] +=
                    s->weights[j / PIXELS] *
                    cosine(s->q + 3 * j,
                           (int64_t[3]){x[i][0] - x[k][0], x[i][1] - x[k][1], x[i][2] - x[k][2]});
        }
    }
    solve_dense(n, a, b);
    for (int i = 0; i < n; i++)
        volume[at[i]] = b[i];
    free(a), free(b);
}

static void solve(merger *m, double *volume, merge_report *report)
{
    double zeros[CUBE] = {0};
    void *on_device = stage_upload(zeros, CUBE);
    assert_ok(merger_solve(m, on_device, report));
    stage_download(on_device, CUBE, volume);
    stage_free(on_device);
}

/* Toeplitz operator, support, weights and regularisation at once; lambda is not small, so that
   single and double precision have the same solution to 1e-4. */
static void solution_is_that_of_the_direct_normal_equations(void **state)
{
    (void)state;
    double found[CUBE], expected[CUBE];
    slices s = new_slices(31);
    merger *m;
    merge_report report;
    const merge_options options = options_for(N, 2.3, 0.01);
    assert_ok(merger_create(stage.dev, &options, &m));
    add(m, &s, 0, REFERENCES);
    solve(m, found, &report);
    assert_true(report.iterations > 3 && report.iterations < 1000);
    assert_within(0, report.residual, options.residual);
    direct_solution(&s, options.radius, options.lambda, expected);
    assert_near(found, expected, CUBE, stage_either(1e-4, 1e-9));
    merger_destroy(m);
    free_slices(&s);
}

/* A slice of weight 2 is two slices of weight 1; one without weight and data is not there. */
static void weights_count_slices(void **state)
{
    (void)state;
    double once[CUBE], twice[CUBE];
    merge_report report;
    slices s = new_slices(41);
    merger *m;
    const merge_options options = options_for(N, 2.5, 0.01);
    assert_ok(merger_create(stage.dev, &options, &m));
    for (int r = 0; r < REFERENCES; r++)
        s.weights[r] = r < 20 ? 1.5 : 0;
    for (int j = 20 * PIXELS; j < POINTS; j++)
        s.data[j] = 0;
    stage_free(s.on_device_data);
    s.on_device_data = stage_upload(s.data, POINTS);
    add(m, &s, 0, 20), add(m, &s, 0, 20);
    solve(m, twice, &report);
    for (int r = 0; r < 20; r++)
        s.weights[r] = 3;
    for (int j = 0; j < 20 * PIXELS; j++)
        s.data[j] *= 2;
    stage_free(s.on_device_data);
    s.on_device_data = stage_upload(s.data, POINTS);
    assert_ok(merger_begin(m));
    add(m, &s, 0, REFERENCES);
    solve(m, once, &report);
    assert_near(once, twice, CUBE, stage_either(1e-4, 1e-9));
    merger_destroy(m);
    free_slices(&s);
}

/* Random, even, zero outside the sphere. */
static double *even_volume(int64_t n, double radius)
{
    double *v = uniform(n * n * n, 51, -1, 1);
    for (int64_t i = 0; i < n * n * n; i++) {
        int64_t x[3];
        position(i, n, x);
        const int64_t j = ((n / 2 - x[2]) * n + n / 2 - x[1]) * n + n / 2 - x[0];
        const double r2 = (double)(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
        if (r2 > radius * radius)
            v[i] = 0;
        else
            v[j] = v[i];
    }
    return v;
}

static void recovers_an_autocorrelation_from_its_slices(void **state)
{
    (void)state;
    enum { SIZE = 9, VOXELS = SIZE * SIZE * SIZE, SLICES = 150, ROW = 20 };
    const double radius = 3.2;
    double *volume = even_volume(SIZE, radius), *found = malloc(sizeof(double[VOXELS]));
    double *quaternions = stage_rotations(52, SLICES), *weights = uniform(SLICES, 53, 0.5, 2);
    double *pixels = stage_pixels(54, ROW, 1.3 * M_PI);
    double *q = stage_rotate(SLICES, quaternions, ROW, pixels);
    double *data = malloc(sizeof(double[SLICES * ROW]));
    for (int j = 0; j < SLICES * ROW; j++)
        data[j] = weights[j / ROW] * stage_intensity(SIZE, volume, q + 3 * j);
    merger *m;
    merge_report report;
    merge_options options = options_for(SIZE, radius, stage_either(1e-7, 1e-12));
    options.residual = stage_either(1e-6, 1e-11);
    assert_ok(merger_create(stage.dev, &options, &m));
    void *on_pixels = stage_upload(pixels, 3 * ROW), *on_data = stage_upload(data, SLICES * ROW);
    void *result = stage_new(VOXELS);
    assert_ok(device_zero(stage.dev, result, VOXELS * (int64_t)real_size(stage.precision)));
    assert_ok(merger_add(m, SLICES, quaternions, weights, ROW, on_pixels, on_data));
    assert_ok(merger_solve(m, result, &report));
    stage_download(result, VOXELS, found);
    assert_near(found, volume, VOXELS, stage_either(1e-3, 1e-8));
    stage_free(on_pixels), stage_free(on_data), stage_free(result);
    merger_destroy(m);
    free(volume), free(found), free(quaternions), free(weights), free(pixels), free(q), free(data);
}

static void no_data_are_an_error(void **state)
{
    (void)state;
    merger *m;
    merge_report report;
    double zeros[CUBE] = {0};
    const merge_options options = options_for(N, 2.5, 0.01);
    assert_ok(merger_create(stage.dev, &options, &m));
    void *volume = stage_upload(zeros, CUBE);
    assert_int_equal(merger_solve(m, volume, &report), STATUS_NUMERIC);
    assert_non_null(strstr(status_message(), "there are no data"));
    stage_free(volume);
    merger_destroy(m);
    merger_destroy(NULL);
}

static int group(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_the_direct_ones),
        cmocka_unit_test(solution_is_that_of_the_direct_normal_equations),
        cmocka_unit_test(weights_count_slices),
        cmocka_unit_test(recovers_an_autocorrelation_from_its_slices),
        cmocka_unit_test(no_data_are_an_error),
    };
    return cmocka_run_group_tests_name("merging", tests, NULL, NULL);
}

int merge_suite(const device *dev, precision p)
{
    return stage_run(dev, p, group);
}
