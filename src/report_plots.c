#include "report_plots.h"

#include "markup.h"
#include "mtip/rotation.h"
#include "svg_plot.h"

#include <math.h>
#include <stdlib.h>

static void begin_figure(FILE *file)
{
    fputs("<figure>\n", file);
}

static void end_figure(const char *caption, FILE *file)
{
    fputs("<figcaption>", file);
    markup_text(caption, file);
    fputs("</figcaption>\n</figure>\n", file);
}

/* -- convergence -- */

/* Attempts that are shown, the newest ones. */
enum { ATTEMPTS = 5, RUNS = 3, MAX_LINES = ATTEMPTS * RUNS };

static double period(const run_record *r, double s_max)
{
    return 1 / (r->step.resolution * s_max);
}

/* The first generation has random orientations: nothing has been compared or moved. */
static double known(double value)
{
    return value == 0 ? NAN : value;
}

typedef enum quantity {
    RESOLUTION,
    PERPLEXITY,
    ACTIVE,
    MOVED,
    R_FACTOR,
    SCORE,
    N_QUANTITIES
} quantity;

static double value_of(const run_record *r, quantity q, double s_max)
{
    switch (q) {
    case RESOLUTION:
        return period(r, s_max);
    case PERPLEXITY:
        return r->perplexity;
    case ACTIVE:
        return (double)r->n_active;
    case MOVED:
        return known(r->moved);
    case R_FACTOR:
        return r->r_factor;
    default:
        return known(r->score);
    }
}

static const struct {
    const char *title, *label, *caption;
    bool log;
} quantities[N_QUANTITIES] = {
    {"Resolution used", "full period (\u00c5)",
     "How far out in the images each generation looked. It marches from coarse to fine (downwards) by "
     "schedule, and ends at the edge of the data.",
     true},
    {"Perplexity", "orientations per image",
     "Over how many reference orientations an image is spread (its logarithm is the entropy of the "
     "assignment). It falls by schedule; good is near 1 at the end: every image knows its orientation.",
     true},
    {"Reference orientations in use", "references",
     "How many reference orientations carry weight from some image; there are more of them as the "
     "resolution rises. Good: a large part is in use. A small and falling number means that images "
     "crowd into few orientations.",
     true},
    {"Orientations moved", "median turn (degrees)",
     "How far the orientations turned since the generation before. Good: it drops to about the spacing "
     "of the references or less, and stays there. Tens of degrees at the end: nothing was found.",
     true},
    {"R factor of phasing", "R",
     "Misfit between the density's Fourier amplitudes and the merged intensity. Lower is better; it "
     "rises a little when finer, noisier data come in, and should then be flat.",
     false},
    {"Mean score", "log-likelihood",
     "How well images agree with their best slices, up to a constant: only rises and falls matter. Good: "
     "it rises and levels off; steps while the resolution still changes mean nothing.",
     false},
};

/* Points of one line. */
typedef struct track {
    double *x, *y;
    svg_line line;
} track;

static void add_point(track *tracks, int *n_tracks, const run_record *r, bool newest, double y)
{
    static const char *const names[RUNS] = {"half 1", "half 2", "all images"};
    static const int colour[RUNS] = {0, 1, 2};
    track *t = tracks + *n_tracks - 1;
    if (r->generation == 1 || *n_tracks == 0 || t->line.colour != colour[r->run]) {
        if (*n_tracks == MAX_LINES) return;
        double *x = *n_tracks == 0 ? tracks->x : t->x + t->line.n;
        double *start = *n_tracks == 0 ? tracks->y : t->y + t->line.n;
        t = tracks + (*n_tracks)++;
        *t = (track){x, start, {NULL, 0, x, start, colour[r->run], SVG_FAINT_LINE}};
        if (newest) t->line.style = SVG_LINE;
        if (newest) t->line.name = names[r->run];
    }
    t->x[t->line.n] = r->generation;
    t->y[t->line.n++] = y;
}

/* x, y: room for all records. */
static void print_quantity(const report_data *r, quantity q, double *x, double *y, FILE *file)
{
    track tracks[MAX_LINES] = {{.x = x, .y = y}};
    svg_line lines[MAX_LINES];
    int n = 0;
    const int last = r->records[r->n_records - 1].attempt;
    for (int i = 0; i < r->n_records; i++) {
        const run_record *record = r->records + i;
        if (record->attempt + ATTEMPTS <= last || record->run < 0 || record->run >= RUNS) continue;
        add_point(tracks, &n, record, record->attempt == last, value_of(record, q, r->s_max));
    }
    for (int l = 0; l < n; l++)
        lines[l] = tracks[l].line;
    const svg_plot plot = {.title = quantities[q].title,
                           .x = {.label = "generation"},
                           .y = {.label = quantities[q].label, .log = quantities[q].log},
                           .n_lines = n,
                           .lines = lines};
    begin_figure(file);
    svg_plot_print(&plot, file);
    end_figure(quantities[q].caption, file);
}

void report_print_convergence(const report_data *r, FILE *file)
{
    double *room = malloc((size_t)(2 * r->n_records + 2) * sizeof *room);
    for (quantity q = 0; q < N_QUANTITIES && room && r->n_records > 0; q++)
        if (q != RESOLUTION || r->s_max > 0)
            print_quantity(r, q, room, room + r->n_records + 1, file);
    free(room);
}

/* -- resolution -- */

/* Without the shell of s = 0. */
static svg_line line_of(const report_curve *c, const char *name, int colour)
{
    return (svg_line){name, c->n - 1, c->s + 1, c->value + 1, colour, SVG_LINE_AND_DOTS};
}

static void print_curves(const char *title, const char *label, int n, const svg_line *lines,
                         const svg_level levels[2], FILE *file)
{
    const svg_line *first = lines;
    const svg_plot plot = {
        .title = title,
        .x = {.label = "1/resolution (1/\u00c5), resolution as full period below",
              .periods = true,
              .low = 0,
              .high = 1.02 * first->x[first->n - 1]},
        .y = {.label = label, .low = 0, .high = 1},
        .n_lines = n,
        .lines = lines,
        .n_levels = 2,
        .levels = levels};
    begin_figure(file);
    svg_plot_print(&plot, file);
}

void report_print_resolution(const report_data *r, FILE *file)
{
    static const svg_level fsc_levels[2] = {{0.5, "0.5"}, {0.143, "0.143"}};
    svg_line lines[2];
    char random[64], caption[600];
    int n = 0;
    if (r->halves.n > 1) lines[n++] = line_of(&r->halves, "halves", 0);
    if (r->truth.n > 1) lines[n++] = line_of(&r->truth, "truth", 1);
    if (n > 0) {
        print_curves("Fourier shell correlation", "FSC", n, lines, fsc_levels, file);
        end_figure(
            "Agreement of two maps, ring by ring of resolution (the halves come from different "
            "images and different random starts). 1 is perfect, 0 is chance. Good: a plateau "
            "near 1 that falls once; the resolution is where it first falls below 0.5, or 0.143 "
            "for the stricter convention of a final map.",
            file);
    }
    if (r->prtf.n < 2) return;
    snprintf(random, sizeof random, "random phases");
    const svg_level prtf_levels[2] = {{1 / M_E, "1/e"},
                                      {1 / sqrt((double)(r->starts > 0 ? r->starts : 1)), random}};
    const svg_line line = line_of(&r->prtf, NULL, 3);
    print_curves("Phase retrieval transfer function", "PRTF", 1, &line, prtf_levels, file);
    snprintf(
        caption, sizeof caption,
        "How far %lld phasings from random starts came to the same phases: 1 where all agree, %.2f "
        "where they are random. Good: above 1/e as far as the FSC reaches; where it is lower, the "
        "phases there are not determined.",
        (long long)r->starts, prtf_levels[1].y);
    end_figure(caption, file);
}

/* -- orientations -- */

enum { DIRECTIONS = 4000, HUES = 12, SECTORS = 24, GRID = 2000 };
static const double disc = 56; /* radius of a hemisphere in the picture */

/* Of an image: where the beam came from in the particle's frame, and the turn about the beam. */
typedef struct view {
    double beam[3], turn;
} view;

static view view_of(const double q[4])
{
    double m[9];
    rotation_matrix(q, m);
    return (view){{m[6], m[7], m[8]}, atan2(m[5], m[2])};
}

static void print_hemisphere(const view *views, int n, int side, double x, double y, FILE *file)
{
    fprintf(file, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"%.0f\" fill=\"#f4f6f8\" stroke=\"#222\"/>\n",
            x, y, disc);
    fprintf(file,
            "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"%.1f\" fill=\"none\" stroke=\"#c3ccd3\"/>\n<path "
            "d=\"M%.0f %.0fh%.0fM%.0f %.0fv%.0f\" stroke=\"#c3ccd3\"/>\n",
            x, y, disc * sqrt(1 - sqrt(0.5)), x - disc, y, 2 * disc, x, y - disc, 2 * disc);
    for (int hue = 0; hue < HUES; hue++) {
        fprintf(file,
                "<path fill=\"none\" stroke-linecap=\"round\" stroke-width=\"%.1f\" "
                "stroke=\"hsl(%d,70%%,40%%)\" d=\"M0 0",
                n > 500 ? 2.2 : 3.5, hue * 360 / HUES);
        for (int i = 0; i < n; i++) {
            const double *b = views[i].beam, z = side * b[2];
            const int mine = (int)((views[i].turn / (2 * M_PI) + 0.5) * HUES) % HUES;
            if (z < 0 || mine != hue) continue;
            /* the area of a cap is that of its circle (Lambert) */
            const double across = hypot(b[0], b[1]), r = disc * sqrt(fmax(0, 1 - z));
            const double scale = across > 0 ? r / across : 0;
            fprintf(file, "M%.1f %.1fh0", x + side * scale * b[0], y - scale * b[1]);
        }
        fputs("\"/>\n", file);
    }
}

/* How often images are turned about the beam by how much, in the colours of the points. */
static void print_rose(const view *views, int n, double x, double y, FILE *file)
{
    int counts[SECTORS] = {0}, most = 1;
    for (int i = 0; i < n; i++)
        counts[(int)((views[i].turn / (2 * M_PI) + 0.5) * SECTORS) % SECTORS]++;
    for (int s = 0; s < SECTORS; s++)
        most = counts[s] > most ? counts[s] : most;
    fprintf(file, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"%.0f\" fill=\"none\" stroke=\"#222\"/>\n", x,
            y, disc);
    for (int s = 0; s < SECTORS; s++) {
        const double r = disc * counts[s] / most, a = 2 * M_PI * s / SECTORS - M_PI,
                     b = a + 2 * M_PI / SECTORS;
        fprintf(
            file,
            "<path fill=\"hsl(%d,70%%,45%%)\" d=\"M%.0f %.0fL%.1f %.1fA%.1f %.1f 0 0 0 %.1f %.1fZ\"/>\n",
            s * HUES / SECTORS * 360 / HUES, x, y, x + r * cos(a), y - r * sin(a), r, r,
            x + r * cos(b), y - r * sin(b));
    }
}

/* The direction farthest from all views, in degrees. */
static double largest_gap(const view *views, int n)
{
    double worst = 1;
    for (int g = 0; g < GRID; g++) {
        const double z = 1 - (2 * g + 1.) / GRID, r = sqrt(1 - z * z),
                     turn = g * M_PI * (3 - sqrt(5));
        double nearest = -1;
        for (int i = 0; i < n; i++)
            nearest = fmax(nearest, views[i].beam[0] * r * cos(turn) +
                                        views[i].beam[1] * r * sin(turn) + views[i].beam[2] * z);
        worst = fmin(worst, nearest);
    }
    return acos(fmin(fmax(worst, -1), 1)) * 180 / M_PI;
}

/* Of so many directions at random: caps of area 1 - cos a are empty with exp(-n (1 - cos a) / 2). */
static double expected_gap(int n)
{
    return acos(fmax(-1, 1 - 2 * log(n) / n)) * 180 / M_PI;
}

static void print_views(const report_data *r, const view *views, int n, FILE *file)
{
    char caption[900], shown[64] = "";
    begin_figure(file);
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 380 150\" role=\"img\" "
          "font-family=\"sans-serif\" font-size=\"11.5\" fill=\"#222\">\n"
          "<rect width=\"380\" height=\"150\" fill=\"#fff\"/>\n",
          file);
    print_hemisphere(views, n, 1, 64, 62, file);
    print_hemisphere(views, n, -1, 190, 62, file);
    print_rose(views, n, 316, 62, file);
    fputs("<text x=\"64\" y=\"136\" text-anchor=\"middle\">beam from +z</text>\n"
          "<text x=\"190\" y=\"136\" text-anchor=\"middle\">beam from \u2212z</text>\n"
          "<text x=\"316\" y=\"136\" text-anchor=\"middle\">turn about the beam</text>\n</svg>\n",
          file);
    if (n < r->n_images) snprintf(shown, sizeof shown, " (%d of them are shown)", n);
    snprintf(
        caption, sizeof caption,
        "From where the beam met the particle in each of %lld images%s: two hemispheres seen from "
        "outside, equal areas for equal numbers; the colour is the turn about the beam, whose "
        "histogram is on the right. Good: both even, without holes or clusters. The largest hole has "
        "a radius of %.0f\u00b0; about %.0f\u00b0 would be chance. Clusters mean preferred "
        "orientations, or a reconstruction that is trapped.",
        (long long)r->n_images, shown, largest_gap(views, n), expected_gap(n));
    end_figure(caption, file);
}

void report_print_orientations(const report_data *r, FILE *file)
{
    const int64_t step = r->n_images / DIRECTIONS + 1;
    view *views = malloc((size_t)(r->n_images / step + 1) * sizeof *views);
    int n = 0;
    for (int64_t i = 0; views && i < r->n_images; i += step)
        views[n++] = view_of(r->orientations + 4 * i);
    if (n > 1) print_views(r, views, n, file);
    free(views);
}
