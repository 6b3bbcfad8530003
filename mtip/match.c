#include "mtip/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct match {
    const device *dev;
    const match_kernels *kernels;
    match_options options;
    int64_t n_rows;                                 /* images padded to whole blocks */
    int64_t n_references, n_used, max_batch, batch; /* of this generation and this batch */
    operand_rule rule;
    double total;                          /* sum of the data's mean over the pixels in use */
    void *correction, *offset, *whitening; /* device [n_pixels] */
    void *images, *scored;                 /* device [n_rows][n_pixels]; scored may be images */
    void *fluence, *coefficient;           /* device [n_rows] */
    ladder state;                          /* device */
    void *scores; /* device [n_rows][n_references] or [n_rows][max_batch] */
    int64_t scores_capacity;
    bool keep;
    void *posterior, *active; /* device [n_rows][max_batch] */
    void *bias, *scratch;
    int64_t *weights; /* device [max_batch] */
    int64_t batch_capacity, scratch_capacity;
    int64_t *batch_weights; /* host [max_batch] */
    double *mean;           /* host [n_pixels] */
    /* host [n_images] */
    int64_t *best;
    double *score, *beta, *log_z, *entropy, *expected;
};

static int64_t bytes_of(const match *m, int64_t n)
{
    return real_bytes(m->options.precision, n);
}

/* Device reals from host doubles. */
static status upload(const match *m, const double *from, int64_t n, void *to)
{
    return device_from_doubles(m->dev, m->options.precision, n, from, to);
}

static status upload_new(const match *m, const double *from, int64_t n, void **to)
{
    TRY(device_alloc(m->dev, bytes_of(m, n), to));
    return upload(m, from, n, *to);
}

/* One padded row after another, weighted and normalised for MATCH_NCC. */
static status upload_images(match *m, const float *images, const double *weight, bool normalise,
                            void **to)
{
    const int64_t n = m->options.n_pixels;
    TRY(device_alloc(m->dev, bytes_of(m, m->n_rows * n), to));
    TRY(device_zero(m->dev, *to, bytes_of(m, m->n_rows * n)));
    double *row = malloc((size_t)(n + 1) * sizeof *row);
    if (!row) FAIL(STATUS_RESOURCE, "out of host memory");
    status result = STATUS_OK;
    for (int64_t k = 0; k < m->options.n_images && result == STATUS_OK; k++) {
        double sum = 0;
        for (int64_t p = 0; p < n; p++) {
            row[p] = (double)images[k * n + p] * (weight ? weight[p] : 1);
            sum += row[p] * row[p];
        }
        double scale = normalise && sum > 0 ? 1 / sqrt(sum) : 1;
        for (int64_t p = 0; p < n; p++)
            row[p] *= scale;
        result = upload(m, row, n, (char *)*to + bytes_of(m, k * n));
    }
    free(row);
    return result;
}

static status allocate_state(match *m)
{
    const int64_t rows = m->n_rows, images = m->options.n_images;
    const int64_t bytes = rows * (int64_t)sizeof(double);
    TRY(device_alloc(m->dev, bytes, (void **)&m->state.max));
    TRY(device_alloc(m->dev, bytes, (void **)&m->state.best));
    TRY(device_alloc(m->dev, bytes * LADDER * 3, (void **)&m->state.sums));
    TRY(device_alloc(m->dev, bytes, (void **)&m->state.beta));
    TRY(device_alloc(m->dev, bytes, (void **)&m->state.log_z));
    TRY(device_alloc(m->dev, bytes_of(m, rows), &m->fluence));
    TRY(device_alloc(m->dev, bytes_of(m, rows), &m->coefficient));
    double **arrays[] = {&m->score, &m->beta, &m->log_z, &m->entropy, &m->expected};
    for (int i = 0; i < 5; i++)
        if (!(*arrays[i] = calloc((size_t)(images + MATCH_BLOCK), sizeof(double))))
            FAIL(STATUS_RESOURCE, "out of host memory for %lld images", (long long)images);
    m->best = calloc((size_t)(images + MATCH_BLOCK), sizeof *m->best);
    if (!m->best) FAIL(STATUS_RESOURCE, "out of host memory for %lld images", (long long)images);
    return STATUS_OK;
}

static status upload_pixels(match *m, const match_pixels *pixels)
{
    const int64_t n = m->options.n_pixels;
    m->mean = malloc((size_t)(n + 1) * sizeof *m->mean);
    double *offset = malloc((size_t)(n + 1) * sizeof *offset);
    if (!m->mean || !offset) {
        free(offset);
        FAIL(STATUS_RESOURCE, "out of host memory");
    }
    for (int64_t p = 0; p < n; p++) {
        m->mean[p] = pixels->mean[p];
        offset[p] = log(fmax(pixels->mean[p], m->options.floor));
    }
    status result = upload_new(m, offset, n, &m->offset);
    free(offset);
    TRY(result);
    TRY(upload_new(m, pixels->correction, n, &m->correction));
    if (pixels->whitening) TRY(upload_new(m, pixels->whitening, n, &m->whitening));
    return STATUS_OK;
}

status match_create(const device *dev, const match_options *options, const match_pixels *pixels,
                    const float *images, match **created)
{
    status result = STATUS_OK;
    *created = NULL;
    if (options->method == MATCH_NCC && !pixels->whitening)
        FAIL(STATUS_INVALID, "the whitened correlation needs whitening weights");
    match *m = calloc(1, sizeof *m);
    if (!m) FAIL(STATUS_RESOURCE, "out of host memory");
    m->dev = dev;
    m->kernels = match_kernels_of(dev, options->precision);
    m->options = *options;
    m->n_rows = (options->n_images + MATCH_BLOCK - 1) / MATCH_BLOCK * MATCH_BLOCK;
    TRY_OR(fail, upload_pixels(m, pixels));
    TRY_OR(fail, upload_images(m, images, NULL, false, &m->images));
    m->scored = m->images;
    if (options->method == MATCH_NCC)
        TRY_OR(fail, upload_images(m, images, pixels->whitening, true, &m->scored));
    TRY_OR(fail, allocate_state(m));
    *created = m;
    return STATUS_OK;
fail:
    match_destroy(m);
    return result;
}

void match_destroy(match *m)
{
    if (!m) return;
    if (m->scored != m->images) device_free(m->dev, m->scored);
    void *on_device[] = {m->correction,  m->offset,    m->whitening,  m->images,     m->fluence,
                         m->coefficient, m->state.max, m->state.best, m->state.sums, m->state.beta,
                         m->state.log_z, m->scores,    m->posterior,  m->active,     m->bias,
                         m->scratch,     m->weights};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        device_free(m->dev, on_device[i]);
    void *on_host[] = {m->mean,  m->best,    m->score,    m->beta,
                       m->log_z, m->entropy, m->expected, m->batch_weights};
    for (size_t i = 0; i < sizeof on_host / sizeof *on_host; i++)
        free(on_host[i]);
    free(m);
}

/* Makes *memory hold n reals. */
static status reserve(match *m, void **memory, int64_t *capacity, int64_t n)
{
    if (n <= *capacity) return STATUS_OK;
    device_free(m->dev, *memory);
    *memory = NULL;
    *capacity = 0;
    TRY(device_alloc(m->dev, bytes_of(m, n), memory));
    *capacity = n;
    return STATUS_OK;
}

static status reset_ladder(match *m)
{
    double *max = malloc((size_t)(m->n_rows + 1) * sizeof *max);
    if (!max) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = 0; i < m->n_rows; i++)
        max[i] = -INFINITY;
    const int64_t bytes = m->n_rows * (int64_t)sizeof(double);
    status result = device_from_host(m->dev, m->state.max, max, bytes);
    free(max);
    TRY(result);
    TRY(device_zero(m->dev, m->state.best, bytes)); /* a row of NaN has no best */
    return device_zero(m->dev, m->state.sums, bytes * LADDER * 3);
}

static status reserve_batch(match *m, int64_t max_batch)
{
    if (max_batch <= m->batch_capacity) return STATUS_OK;
    const int64_t before = m->batch_capacity,
                  weight_bytes = max_batch * (int64_t)sizeof *m->weights;
    int64_t capacity = before;
    TRY(reserve(m, &m->bias, &capacity, max_batch));
    capacity = before * m->n_rows;
    TRY(reserve(m, &m->posterior, &capacity, max_batch * m->n_rows));
    capacity = before * m->n_rows;
    TRY(reserve(m, &m->active, &capacity, max_batch * m->n_rows));
    device_free(m->dev, m->weights);
    free(m->batch_weights);
    m->weights = NULL;
    m->batch_weights = malloc((size_t)weight_bytes);
    if (!m->batch_weights) FAIL(STATUS_RESOURCE, "out of host memory");
    TRY(device_alloc(m->dev, weight_bytes, (void **)&m->weights));
    m->batch_capacity = max_batch;
    return STATUS_OK;
}

status match_begin(match *m, int64_t n_references, int64_t max_batch, int64_t n_pixels_used)
{
    if (n_references < 1 || max_batch < 1)
        FAIL(STATUS_INVALID, "%lld references in batches of %lld", (long long)n_references,
             (long long)max_batch);
    if (n_pixels_used < 1 || n_pixels_used > m->options.n_pixels)
        FAIL(STATUS_INVALID, "%lld of %lld pixels", (long long)n_pixels_used,
             (long long)m->options.n_pixels);
    m->n_references = n_references;
    m->n_used = n_pixels_used;
    m->max_batch = max_batch;
    m->keep = bytes_of(m, m->n_rows * n_references) <= m->options.memory;
    TRY(reserve(m, &m->scores, &m->scores_capacity,
                m->n_rows * (m->keep ? n_references : max_batch)));
    TRY(reserve_batch(m, max_batch));
    m->total = 0;
    for (int64_t p = 0; p < n_pixels_used; p++)
        m->total += m->mean[p];
    if (m->options.method != MATCH_EMC) m->total = 0;
    m->rule = (operand_rule){m->options.method, m->options.floor, m->correction,
                             m->offset,         m->whitening,     m->total};
    return reset_ladder(m);
}

status match_set_fluence(match *m, const double *fluence)
{
    double *rows = calloc((size_t)(m->n_rows + 1), sizeof *rows);
    if (!rows) FAIL(STATUS_RESOURCE, "out of host memory");
    if (m->options.n_images > 0) memcpy(rows, fluence, (size_t)m->options.n_images * sizeof *rows);
    status result = upload(m, rows, m->n_rows, m->fluence);
    if (m->options.method != MATCH_EMC)
        for (int64_t i = 0; i < m->options.n_images; i++)
            rows[i] = m->options.method == MATCH_L2;
    if (result == STATUS_OK) result = upload(m, rows, m->n_rows, m->coefficient);
    free(rows);
    return result;
}

/* Where the scores of the batch that starts at `first` stand, and their row stride. */
static void *batch_scores(const match *m, int64_t first, int64_t *ld)
{
    *ld = m->keep ? m->n_references : m->max_batch;
    return m->keep ? (char *)m->scores + bytes_of(m, first) : m->scores;
}

static status score_batch(match *m, int64_t first, int64_t count, void *slices)
{
    const match_kernels *k = m->kernels;
    int64_t ld;
    void *scores = batch_scores(m, first, &ld);
    TRY(k->operand(m->dev, &m->rule, count, m->n_used, slices, slices, m->bias));
    TRY(k->multiply_transposed(m->dev, m->n_rows, count, m->n_used, m->scored, m->options.n_pixels,
                               slices, m->n_used, scores, ld));
    return k->subtract_bias(m->dev, m->n_rows, count, scores, ld, m->coefficient, m->bias);
}

status match_add(match *m, int64_t first, int64_t count, void *slices)
{
    int64_t ld;
    void *scores = batch_scores(m, first, &ld);
    TRY(score_batch(m, first, count, slices));
    return m->kernels->ladder_add(m->dev, m->n_rows, count, scores, ld, first, m->bias, &m->state);
}

/* Between two rungs log Z is taken as the polynomial in t = log beta that has its values and slopes,
   d log Z / dt = beta u / z, at both and at their neighbours: the perplexity comes out within 5 % (a
   cubic through two rungs leaves 20 % where few references compete), Z within 1 %, mostly 1e-4. */
enum { NODES = 4, TERMS = 2 * NODES };

typedef struct curve {
    int n; /* rungs in use */
    double t[NODES], e[NODES];
    double newton[TERMS]; /* divided differences over every t taken twice */
} curve;

/* Newton's polynomial at t, and its derivative. */
static double curve_value(const curve *c, double t, double *slope)
{
    double value = 0;
    *slope = 0;
    for (int i = 2 * c->n - 1; i >= 0; i--) {
        *slope = *slope * (t - c->t[i / 2]) + value;
        value = value * (t - c->t[i / 2]) + c->newton[i];
    }
    return value;
}

/* Lagrange's polynomial through the means e at t. */
static double curve_expected(const curve *c, double t)
{
    double sum = 0;
    for (int i = 0; i < c->n; i++) {
        double term = c->e[i];
        for (int j = 0; j < c->n; j++)
            if (j != i) term *= (t - c->t[j]) / (c->t[i] - c->t[j]);
        sum += term;
    }
    return sum;
}

/* The curve for t between rungs b and b - 1. sums: rungs of beta = 1, 1/2, .. */
static void curve_make(double (*sums)[3], int b, curve *c)
{
    double slope[NODES];
    const int first = b > 2 ? b - 2 : 0, last = b + 1 < LADDER ? b + 1 : LADDER - 1;
    c->n = last - first + 1;
    for (int i = 0; i < c->n; i++) {
        const double *sum = sums[first + i];
        c->t[i] = -(first + i) * M_LN2;
        c->e[i] = sum[2] / sum[0];
        c->newton[2 * i] = c->newton[2 * i + 1] = log(sum[0]);
        slope[i] = ldexp(sum[1], -(first + i)) / sum[0];
    }
    for (int order = 1; order < 2 * c->n; order++)
        for (int i = 2 * c->n - 1; i >= order; i--) {
            const double step = c->t[i / 2] - c->t[(i - order) / 2];
            c->newton[i] = step != 0 ? (c->newton[i] - c->newton[i - 1]) / step : slope[i / 2];
        }
}

/* The beta at which the entropy, log Z - d log Z / dt, meets the target, and what goes with it; 1
   where the posterior is softer than that as it is. */
static double choose_beta(double (*sums)[3], double target, double *log_z, double *entropy,
                          double *expected)
{
    int b = 0;
    for (; b < LADDER; b++) {
        *log_z = log(sums[b][0]);
        *entropy = *log_z - ldexp(sums[b][1], -b) / sums[b][0];
        *expected = sums[b][2] / sums[b][0];
        if (*entropy >= target) break;
    }
    if (b == 0) return 1;
    if (b == LADDER) return ldexp(1, 1 - LADDER); /* as soft as it can be made */
    curve c;
    curve_make(sums, b, &c);
    double low = -b * M_LN2, high = (1 - b) * M_LN2, slope; /* the entropy falls with t */
    for (int i = 0; i < 40; i++) {
        const double t = (low + high) / 2, value = curve_value(&c, t, &slope);
        if (value - slope >= target)
            low = t;
        else
            high = t;
    }
    *log_z = curve_value(&c, low, &slope);
    *entropy = *log_z - slope;
    *expected = curve_expected(&c, low);
    return exp(low);
}

/* Rows that only fill up the last block are assigned to no reference, whose scores nobody reads. */
static status publish_choice(match *m)
{
    const int64_t bytes = m->n_rows * (int64_t)sizeof(double);
    for (int64_t i = m->options.n_images; i < m->n_rows; i++) {
        m->best[i] = -1;
        m->beta[i] = -1;
        m->log_z[i] = 0;
    }
    TRY(device_from_host(m->dev, m->state.beta, m->beta, bytes));
    TRY(device_from_host(m->dev, m->state.log_z, m->log_z, bytes));
    return device_from_host(m->dev, m->state.best, m->best, bytes);
}

status match_decide(match *m, double perplexity)
{
    const int64_t n = m->options.n_images, bytes = n * (int64_t)sizeof(double);
    double(*sums)[LADDER][3] = malloc((size_t)(n + 1) * sizeof *sums);
    if (!sums) FAIL(STATUS_RESOURCE, "out of host memory");
    status result = device_to_host(m->dev, sums, m->state.sums, n * (int64_t)sizeof *sums);
    if (result == STATUS_OK) result = device_to_host(m->dev, m->best, m->state.best, bytes);
    if (result == STATUS_OK) result = device_to_host(m->dev, m->score, m->state.max, bytes);
    const bool soft = m->options.method == MATCH_EMC && perplexity > 1;
    for (int64_t i = 0; i < n && result == STATUS_OK; i++) {
        m->beta[i] = choose_beta(sums[i], soft ? log(perplexity) : -1, &m->log_z[i], &m->entropy[i],
                                 &m->expected[i]);
        m->expected[i] += m->total;
        if (!soft) m->beta[i] = -1;
        if (!soft) m->entropy[i] = 0;
    }
    free(sums);
    TRY(result);
    return publish_choice(m);
}

status match_assign(match *m, const int64_t *best)
{
    for (int64_t i = 0; i < m->options.n_images; i++) {
        if (best[i] < 0 || best[i] >= m->n_references)
            FAIL(STATUS_INVALID, "image %lld is assigned to reference %lld of %lld", (long long)i,
                 (long long)best[i], (long long)m->n_references);
        m->best[i] = best[i];
        m->beta[i] = -1;
        m->score[i] = m->entropy[i] = m->log_z[i] = 0;
        m->expected[i] = m->total;
    }
    m->keep = true; /* there are no scores to compute again */
    return publish_choice(m);
}

void match_get_images(const match *m, match_images *images)
{
    *images = (match_images){m->best, m->score, m->beta, m->entropy, m->expected};
}

bool match_keeps_scores(const match *m)
{
    return m->keep;
}

status match_weights(match *m, int64_t first, int64_t count, void *slices, int64_t *weights)
{
    int64_t ld;
    if (!m->keep) TRY(score_batch(m, first, count, slices));
    const void *scores = batch_scores(m, first, &ld);
    m->batch = count;
    TRY(m->kernels->posterior(m->dev, m->n_rows, count, scores, ld, first, &m->state, m->posterior,
                              m->max_batch));
    /* padding rows have fluence 0 and images of zeros: whatever their posterior, they add nothing */
    const int64_t bytes = count * (int64_t)sizeof *weights;
    TRY(device_zero(m->dev, m->weights, bytes));
    TRY(m->kernels->add_weights(m->dev, m->n_rows, count, m->posterior, m->max_batch, m->fluence,
                                m->weights));
    TRY(device_to_host(m->dev, m->batch_weights, m->weights, bytes));
    for (int64_t r = 0; r < count; r++)
        weights[r] += m->batch_weights[r];
    return STATUS_OK;
}

status match_tomograms(match *m, int64_t n_active, const int64_t *columns, void *tomograms)
{
    const int64_t n_pixels = m->options.n_pixels;
    TRY(m->kernels->take_columns(m->dev, m->n_rows, n_active, columns, m->posterior, m->max_batch,
                                 m->active, m->max_batch));
    TRY(device_zero(m->dev, tomograms, bytes_of(m, n_active * m->n_used)));
    if (m->n_rows == 0) return STATUS_OK;
    return m->kernels->accumulate_product(m->dev, n_active, m->n_used, m->n_rows, m->active,
                                          m->max_batch, m->images, n_pixels, tomograms, m->n_used);
}

status match_tomograms_fixed(match *m, int64_t n_active, const int64_t *columns, double scale,
                             int64_t *sums)
{
    const int64_t n_pixels = m->options.n_pixels;
    TRY(reserve(m, &m->scratch, &m->scratch_capacity, m->max_batch * m->n_used));
    TRY(m->kernels->take_columns(m->dev, m->n_rows, n_active, columns, m->posterior, m->max_batch,
                                 m->active, m->max_batch));
    for (int64_t row = 0; row < m->n_rows; row += MATCH_BLOCK) {
        TRY(device_zero(m->dev, m->scratch, bytes_of(m, n_active * m->n_used)));
        TRY(m->kernels->accumulate_product(
            m->dev, n_active, m->n_used, MATCH_BLOCK,
            (char *)m->active + bytes_of(m, row * m->max_batch), m->max_batch,
            (char *)m->images + bytes_of(m, row * n_pixels), n_pixels, m->scratch, m->n_used));
        TRY(m->kernels->add_fixed(m->dev, n_active * m->n_used, m->scratch, scale, sums));
    }
    return STATUS_OK;
}
