#include "match_problem.h"

#include "mtip/random.h"
#include "stage_case.h"

problem *new_problem(void)
{
    problem *p = calloc(1, sizeof *p);
    assert_non_null(p);
    double *u = uniform(REFERENCES * PIXELS, 11, 0, 2), *c = uniform(PIXELS, 12, .5, 1.5);
    memcpy(p->slices, u, sizeof p->slices);
    memcpy(p->correction, c, sizeof p->correction);
    free(u), free(c);
    for (int t = TRUE_PIXELS; t < USED; t++)
        for (int r = 0; r < REFERENCES; r++)
            p->slices[r][t] = 1;
    static const double scales[] = {20, 0.3, 0.01};
    for (int k = 0; k < IMAGES; k++) {
        random_stream stream;
        random_start(&stream, 13, RANDOM_PHOTONS, (uint64_t)k, 0);
        p->fluence[k] = scales[k % 3];
        const double *slice = p->slices[k % REFERENCES];
        for (int i = 0; i < PIXELS; i++)
            p->images[k][i] =
                i >= TRUE_PIXELS && i < USED
                    ? (float)(i == TRUE_PIXELS + k)
                    : (float)random_poisson(&stream, p->fluence[k] * slice[i] * p->correction[i]);
        for (int i = 0; i < PIXELS; i++)
            p->mean[i] += (double)p->images[k][i] / IMAGES;
    }
    for (int i = 0; i < PIXELS; i++)
        p->whitening[i] = 0.3 + 0.01 * i;
    return p;
}

static double rate(const problem *p, int r, int i)
{
    return fmax(p->slices[r][i], floor_value) * p->correction[i];
}

double expected_total(const problem *p, int r)
{
    double sum = 0;
    for (int i = 0; i < USED; i++)
        sum += rate(p, r, i);
    return sum;
}

double poisson_score(const problem *p, int k, int r)
{
    double sum = -p->fluence[k] * expected_total(p, r);
    for (int i = 0; i < USED; i++)
        sum += (double)p->images[k][i] * log(rate(p, r, i));
    return sum;
}

double ncc_score(const problem *p, int k, int r)
{
    double product = 0, image = 0, slice = 0;
    for (int i = 0; i < PIXELS; i++) {
        double y = (double)p->images[k][i] * p->whitening[i];
        double x = p->slices[r][i] * p->correction[i] * p->whitening[i];
        image += y * y;
        if (i >= USED) continue;
        product += x * y;
        slice += x * x;
    }
    return product / sqrt(image * slice);
}

double l2_score(const problem *p, int k, int r)
{
    double sum = 0;
    for (int i = 0; i < USED; i++) {
        double d = (double)p->images[k][i] - p->slices[r][i] * p->correction[i];
        sum -= d * d / 2;
    }
    return sum;
}

int naive_best(const problem *p, score_formula score, int k)
{
    int best = 0;
    for (int r = 1; r < REFERENCES; r++)
        if (score(p, k, r) > score(p, k, best)) best = r;
    return best;
}

void naive_posterior(const problem *p, int k, double beta, double posterior[REFERENCES])
{
    double max = poisson_score(p, k, naive_best(p, poisson_score, k)), sum = 0;
    for (int r = 0; r < REFERENCES; r++)
        sum += posterior[r] = exp(beta * (poisson_score(p, k, r) - max));
    for (int r = 0; r < REFERENCES; r++)
        posterior[r] /= sum;
}
