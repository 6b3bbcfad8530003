#include "mtip/match.h"

#include "mtip/match_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/integer.h"

struct match {
    const device *dev;
    const match_kernels *kernels;
    const image_kernels *products;
    match_options options;
    int64_t n_rows;                                 /* images padded to whole blocks */
    int64_t n_references, n_used, max_batch, batch; /* of this generation and this batch */
    operand_rule rule;
    double total;                          /* sum of the data's mean over the pixels in use */
    void *correction, *offset, *whitening; /* device [n_pixels] */
    image_rows images, scored;             /* scored may be images */
    void *fluence, *coefficient;           /* device [n_rows] */
    double *counts;                        /* device [n_rows] */
    ladder state;                          /* device */
    void *scores; /* device [n_rows][stride]: of all references if keep, else of a batch */
    int64_t stride;
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
    double *score, *beta, *entropy, *expected;
};

/* Numbers from row to row of arrays of n columns: whole sectors of memory. */
static int64_t row_stride(int64_t n)
{
    return (n + 31) / 32 * 32;
}

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

static row_format choose_format(const match *m, const match_source *counts)
{
    double photons = 0;
    if (m->options.method != MATCH_EMC) return ROWS_REAL;
    for (int64_t p = 0; p < m->options.n_pixels; p++)
        photons += m->mean[p];
    if (!counts->rows && photons < m->products->lists * (double)m->options.n_pixels)
        return ROWS_LISTS;
    const bool halves = m->options.halves && m->products->halves &&
                        match_rows_fit_halves(m->dev, &m->options, counts);
    return halves ? ROWS_HALF : ROWS_REAL;
}

/* The images as counts for the tomograms, and as what the scores are made of. */
static status keep_images(match *m, const match_source *counts)
{
    TRY(match_rows_create(m->dev, &m->options, counts, choose_format(m, counts), m->n_rows, NULL,
                          &m->images));
    m->scored = m->images;
    if (m->options.method != MATCH_NCC) return STATUS_OK;
    return match_rows_create(m->dev, &m->options, counts, ROWS_REAL, m->n_rows, m->whitening,
                             &m->scored);
}

static bool keeps(const match_options *options, int64_t n_rows, int64_t n_references)
{
    return real_bytes(options->precision, n_rows * row_stride(n_references)) <= options->memory;
}

static int64_t padded_rows(int64_t n_images)
{
    return (n_images + MATCH_BLOCK - 1) / MATCH_BLOCK * MATCH_BLOCK;
}

/* Of the images in the format that choose_format gives them. */
static int64_t forecast_rows(device_kind kind, const match_options *o, const photon_means *lists,
                             bool halves)
{
    const precision p = o->precision;
    const int64_t rows = padded_rows(o->n_images), all = rows * o->n_pixels;
    if (o->method == MATCH_NCC) return real_bytes(p, 2 * all);
    if (halves) return 2 * all;
    if (kind != DEVICE_CPU || o->method != MATCH_EMC || !(lists->pixels > 0) ||
        lists->photons >= CPU_LISTS_PHOTONS * (double)o->n_pixels)
        return real_bytes(p, all);
    const int64_t entries = (int64_t)(lists->pixels * (double)o->n_images);
    return rows * (int64_t)sizeof(int64_t) +
           entries * ((int64_t)sizeof(int32_t) + real_bytes(p, 1));
}

void match_forecast(device_kind kind, const match_options *options, const photon_means *lists,
                    int64_t n_references, int64_t max_batch, match_memory *memory)
{
    const precision p = options->precision;
    const int64_t rows = padded_rows(options->n_images), batch = row_stride(max_batch);
    const bool halves = kind == DEVICE_CUDA && p == PRECISION_SINGLE && options->halves &&
                        options->method == MATCH_EMC;
    const int64_t columns = keeps(options, rows, n_references) ? row_stride(n_references) : batch;
    memory->images = forecast_rows(kind, options, lists, halves) +
                     rows * (int64_t)sizeof(double) * (3 * LADDER + 8);
    memory->scores = real_bytes(p, rows * columns);
    memory->batches = real_bytes(p, 2 * rows * batch);
    if (halves) memory->batches += 4 * batch * (options->n_pixels + smaller(rows, 1 << 12));
}

static status allocate_state(match *m)
{
    const int64_t rows = m->n_rows, images = m->options.n_images;
    const int64_t bytes = rows * (int64_t)sizeof(double);
    TRY(device_alloc(m->dev, bytes, (void **)&m->state.max));
    TRY(device_alloc(m->dev, bytes, (void **)&m->state.best));
    TRY(device_alloc(m->dev, bytes * LADDER * 3, (void **)&m->state.sums));
    double **choice[] = {&m->state.beta, &m->state.log_z, &m->state.entropy, &m->state.expected,
                         &m->counts};
    for (int i = 0; i < 5; i++)
        TRY(device_alloc(m->dev, bytes, (void **)choice[i]));
    TRY(device_alloc(m->dev, bytes_of(m, rows), &m->fluence));
    TRY(device_alloc(m->dev, bytes_of(m, rows), &m->coefficient));
    double **arrays[] = {&m->score, &m->beta, &m->entropy, &m->expected};
    for (int i = 0; i < 4; i++)
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
                    const match_source *images, match **created)
{
    status result = STATUS_OK;
    *created = NULL;
    if (options->method == MATCH_NCC && !pixels->whitening)
        FAIL(STATUS_INVALID, "the whitened correlation needs whitening weights");
    match *m = calloc(1, sizeof *m);
    if (!m) FAIL(STATUS_RESOURCE, "out of host memory");
    m->dev = dev;
    m->kernels = match_kernels_of(dev, options->precision);
    m->products = image_kernels_of(dev, options->precision);
    m->options = *options;
    m->n_rows = padded_rows(options->n_images);
    TRY_OR(fail, upload_pixels(m, pixels));
    TRY_OR(fail, keep_images(m, images));
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
    if (m->scored.data != m->images.data) match_rows_free(m->dev, &m->scored);
    match_rows_free(m->dev, &m->images);
    void *on_device[] = {m->correction,     m->offset,     m->whitening,   m->fluence,
                         m->coefficient,    m->counts,     m->state.max,   m->state.best,
                         m->state.sums,     m->state.beta, m->state.log_z, m->state.entropy,
                         m->state.expected, m->scores,     m->posterior,   m->active,
                         m->bias,           m->scratch,    m->weights};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        device_free(m->dev, on_device[i]);
    void *on_host[] = {m->mean,    m->best,     m->score,        m->beta,
                       m->entropy, m->expected, m->batch_weights};
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
    m->max_batch = max_batch = row_stride(max_batch);
    m->keep = keeps(&m->options, m->n_rows, n_references);
    m->stride = m->keep ? row_stride(n_references) : max_batch;
    TRY(reserve(m, &m->scores, &m->scores_capacity, m->n_rows * m->stride));
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
    *ld = m->stride;
    return m->keep ? (char *)m->scores + bytes_of(m, first) : m->scores;
}

static status score_batch(match *m, int64_t first, int64_t count, void *slices)
{
    const match_kernels *k = m->kernels;
    int64_t ld;
    void *scores = batch_scores(m, first, &ld);
    TRY(k->operand(m->dev, &m->rule, count, m->n_used, slices, slices, m->bias));
    TRY(m->products->score(m->dev, &m->scored, m->n_used, count, slices, scores, ld));
    return k->subtract_bias(m->dev, m->n_rows, count, scores, ld, m->coefficient, m->bias);
}

status match_add(match *m, int64_t first, int64_t count, void *slices)
{
    int64_t ld;
    void *scores = batch_scores(m, first, &ld);
    TRY(score_batch(m, first, count, slices));
    return m->kernels->ladder_add(m->dev, m->n_rows, count, scores, ld, first, m->bias, &m->state);
}

status match_decide(match *m, double perplexity)
{
    const int64_t bytes = m->options.n_images * (int64_t)sizeof(double);
    const bool soft = m->options.method == MATCH_EMC && perplexity > 1;
    const ladder_rule rule = {!soft, soft ? log(perplexity) : 0, m->total};
    const ladder *s = &m->state;
    TRY(m->kernels->choose(m->dev, m->n_rows, m->options.n_images, &rule, s));
    TRY(device_to_host(m->dev, m->best, s->best, bytes));
    TRY(device_to_host(m->dev, m->score, s->max, bytes));
    TRY(device_to_host(m->dev, m->beta, s->beta, bytes));
    TRY(device_to_host(m->dev, m->entropy, s->entropy, bytes));
    return device_to_host(m->dev, m->expected, s->expected, bytes);
}

status match_assign(match *m, const int64_t *best)
{
    const int64_t bytes = m->n_rows * (int64_t)sizeof(double);
    for (int64_t i = 0; i < m->n_rows; i++) {
        const bool image = i < m->options.n_images;
        if (image && (best[i] < 0 || best[i] >= m->n_references))
            FAIL(STATUS_INVALID, "image %lld is assigned to reference %lld of %lld", (long long)i,
                 (long long)best[i], (long long)m->n_references);
        m->best[i] = image ? best[i] : -1;
        m->beta[i] = -1;
        m->score[i] = m->entropy[i] = 0;
        m->expected[i] = m->total;
    }
    m->keep = true; /* there are no scores to compute again */
    TRY(device_from_host(m->dev, m->state.beta, m->beta, bytes));
    return device_from_host(m->dev, m->state.best, m->best, bytes);
}

status match_counts(match *m, int64_t n_pixels_used, double *counts)
{
    TRY(m->products->count(m->dev, &m->images, n_pixels_used, m->counts));
    return device_to_host(m->dev, counts, m->counts, m->options.n_images * (int64_t)sizeof *counts);
}

void match_get_images(const match *m, match_images *images)
{
    *images = (match_images){m->best, m->score, m->beta, m->entropy, m->expected};
}

int64_t match_image_bytes(const match *m)
{
    const int64_t all = match_rows_bytes(&m->images, m->options.precision);
    if (m->scored.data == m->images.data) return all;
    return all + match_rows_bytes(&m->scored, m->options.precision);
}

bool match_keeps_scores(const match *m)
{
    return m->keep;
}

status match_get_score(const match *m, int64_t first, int64_t column, int64_t image, double *score)
{
    int64_t ld;
    const char *scores = batch_scores(m, first, &ld);
    return device_to_doubles(m->dev, m->options.precision, 1,
                             scores + bytes_of(m, image * ld + column), score);
}

status match_posterior_sums(match *m, int64_t n_active, double *sums)
{
    const image_rows rows = {.n_rows = m->n_rows,
                             .n_pixels = m->max_batch,
                             .stride = m->max_batch,
                             .data = n_active < 0 ? m->posterior : m->active};
    TRY(m->products->count(m->dev, &rows, n_active < 0 ? m->batch : n_active, m->counts));
    return device_to_host(m->dev, sums, m->counts, m->options.n_images * (int64_t)sizeof *sums);
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
    TRY(m->kernels->take_columns(m->dev, m->n_rows, n_active, columns, m->posterior, m->max_batch,
                                 m->active, m->max_batch));
    TRY(device_zero(m->dev, tomograms, bytes_of(m, n_active * m->n_used)));
    if (m->n_rows == 0) return STATUS_OK;
    return m->products->accumulate(m->dev, &m->images, m->n_used, n_active, m->active, m->max_batch,
                                   tomograms);
}

status match_tomograms_fixed(match *m, int64_t n_active, const int64_t *columns, double scale,
                             int64_t *sums)
{
    TRY(reserve(m, &m->scratch, &m->scratch_capacity, m->max_batch * m->n_used));
    TRY(m->kernels->take_columns(m->dev, m->n_rows, n_active, columns, m->posterior, m->max_batch,
                                 m->active, m->max_batch));
    for (int64_t row = 0; row < m->n_rows; row += MATCH_BLOCK) {
        TRY(device_zero(m->dev, m->scratch, bytes_of(m, n_active * m->n_used)));
        const image_rows part = image_rows_part(&m->images, m->options.precision, row, MATCH_BLOCK);
        TRY(m->products->accumulate(m->dev, &part, m->n_used, n_active,
                                    (char *)m->active + bytes_of(m, row * m->max_batch),
                                    m->max_batch, m->scratch));
        TRY(m->kernels->add_fixed(m->dev, n_active * m->n_used, m->scratch, scale, sums));
    }
    return STATUS_OK;
}
