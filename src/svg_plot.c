#include "svg_plot.h"

#include "io_atomic.h"
#include "markup.h"

#include <math.h>
#include <string.h>

/* Units of the picture; letters are 11.5 high. */
enum {
    WIDTH = 380,
    LEFT = 52,
    RIGHT = 14,
    PLOT_HEIGHT = 180,
    TITLE = 20,
    LEGEND = 16,
    COLUMNS = 4
};
/* A logarithmic axis that is longer has marks at powers of ten only. */
enum { TWO_DECADES = 101, MAX_MARKS = 64 };

const char *const svg_colours[SVG_COLOURS] = {"#0072b2", "#d55e00", "#007a5a", "#b3548c",
                                              "#222222", "#3e95c9", "#b07d00", "#777777"};

/* What is shown, and where. */
typedef struct frame {
    const svg_plot *plot;
    svg_axis x, y; /* with both ends */
    double top, bottom;
    FILE *file;
} frame;

/* -- what is shown -- */

static bool fits(const svg_axis *a, double value)
{
    return isfinite(value) && (!a->log || value > 0);
}

static void take_value(const svg_axis *a, double value, double *low, double *high)
{
    if (!fits(a, value)) return;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

/* A width in 1, 2, 5, 10, .. that gives about `wanted` of them. */
static double nice_step(double width, double wanted)
{
    const double power = pow(10, floor(log10(width / wanted))), rest = width / wanted / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

/* The next of .., 1, 2, 5, 10, 20, .. that is not above the value, or not below it. */
static double log_mark(double value, bool up)
{
    static const double steps[] = {1, 2, 5, 10};
    const double power = pow(10, floor(log10(value) + 1e-9));
    int i = 0;
    while (i < 3 && (up ? steps[i] * power < value * (1 - 1e-9)
                        : steps[i + 1] * power <= value * (1 + 1e-9)))
        i++;
    return steps[i] * power;
}

static void round_ends(svg_axis *a)
{
    if (a->log && a->each) {
        a->low /= 1.1;
        a->high *= 1.1;
    } else if (a->log && a->high > TWO_DECADES * a->low) {
        a->low = pow(10, floor(log10(a->low) + 1e-9));
        a->high = pow(10, ceil(log10(a->high) - 1e-9));
    } else if (a->log) {
        a->low = log_mark(a->low, false);
        a->high = log_mark(a->high, true);
        if (a->high == a->low) a->high = log_mark(1.01 * a->high, true);
    } else {
        if (a->high == a->low) a->high += a->high == 0 ? 1 : fabs(a->high) / 10;
        const double step = nice_step(a->high - a->low, 5);
        a->low = step * floor(a->low / step + 1e-9);
        a->high = step * ceil(a->high / step - 1e-9);
    }
}

/* The axis with the ends that were asked for, or those of the data. */
static svg_axis ends_of(const svg_plot *p, bool vertical)
{
    svg_axis a = vertical ? p->y : p->x;
    if (a.low < a.high) return a;
    a.low = INFINITY;
    a.high = -INFINITY;
    for (int l = 0; l < p->n_lines; l++)
        for (int i = 0; i < p->lines[l].n; i++)
            take_value(&a, vertical ? p->lines[l].y[i] : p->lines[l].x[i], &a.low, &a.high);
    if (!(a.low <= a.high)) a.low = a.high = 1;
    if (vertical || a.each || a.log) round_ends(&a);
    if (a.low == a.high) a.high += 1;
    return a;
}

static double part(const svg_axis *a, double value)
{
    return a->log ? log(value / a->low) / log(a->high / a->low)
                  : (value - a->low) / (a->high - a->low);
}

static double across(const frame *f, double x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * part(&f->x, x);
}

static double down(const frame *f, double y)
{
    return f->bottom - (f->bottom - f->top) * fmin(fmax(part(&f->y, y), -0.02), 1.02);
}

/* -- marks -- */

/* On a logarithmic axis 1, 2, 5, 10, .. over up to two decades, else powers of ten. */
static double next_mark(const svg_axis *a, double mark)
{
    const double step = nice_step(a->high - a->low, 5);
    if (!a->log) return step * floor(mark / step + 1.5);
    const double next = log_mark(1.01 * mark, true);
    return a->high <= TWO_DECADES * a->low ? next : pow(10, ceil(log10(next) - 1e-9));
}

static int marks_of(const svg_plot *p, const svg_axis *a, double marks[MAX_MARKS])
{
    int n = 0;
    if (a->each) {
        for (int i = 0; p->n_lines > 0 && i < p->lines[0].n && n < MAX_MARKS; i++)
            marks[n++] = p->lines[0].x[i];
        return n;
    }
    const double step = nice_step(a->high - a->low, 5), last = a->high + 1e-6 * (a->high - a->low);
    double mark = a->log ? a->low : step * ceil(a->low / step - 1e-9) + 0.; /* never -0 */
    while (mark <= last && n < MAX_MARKS) {
        marks[n++] = mark;
        mark = next_mark(a, mark);
    }
    return n;
}

static void print_text(const frame *f, double x, double y, const char *anchor, const char *text)
{
    fprintf(f->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    markup_text(text, f->file);
    fputs("</text>\n", f->file);
}

static void print_x_axis(const frame *f)
{
    double marks[MAX_MARKS];
    char text[48];
    const int n = marks_of(f->plot, &f->x, marks);
    for (int i = 0; i < n; i++) {
        const double x = across(f, marks[i]);
        fprintf(f->file, "<path d=\"M%.1f %.1fv4\" stroke=\"#222\"/>\n", x, f->bottom);
        snprintf(text, sizeof text, "%.6g", marks[i]);
        print_text(f, x, f->bottom + 16, "middle", text);
        if (!f->x.periods) continue;
        snprintf(text, sizeof text, marks[i] > 0 ? "%.3g \u00c5" : "\u221e", 1 / marks[i]);
        print_text(f, x, f->bottom + 29, "middle", text);
    }
    print_text(f, (LEFT + WIDTH - RIGHT) / 2., f->bottom + (f->x.periods ? 45 : 33), "middle",
               f->x.label);
}

static void print_y_axis(const frame *f)
{
    double marks[MAX_MARKS];
    char text[48];
    const int n = marks_of(f->plot, &f->y, marks);
    for (int i = 0; i < n; i++) {
        const double y = down(f, marks[i]);
        fprintf(f->file, "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", LEFT, y, WIDTH - RIGHT);
        snprintf(text, sizeof text, "%.6g", marks[i]);
        print_text(f, LEFT - 6, y + 4, "end", text);
    }
    fprintf(f->file, "<text transform=\"translate(11 %.1f) rotate(-90)\" text-anchor=\"middle\">",
            (f->top + f->bottom) / 2);
    markup_text(f->y.label, f->file);
    fputs("</text>\n", f->file);
    fprintf(f->file, "<path d=\"M%d %.1fV%.1fH%d\" fill=\"none\" stroke=\"#222\"/>\n", LEFT, f->top,
            f->bottom, WIDTH - RIGHT);
}

/* -- lines -- */

static void print_level(const frame *f, const svg_level *level)
{
    const double y = down(f, level->y);
    fprintf(f->file, "<path d=\"M%d %.1fH%d\" stroke=\"#777\" stroke-dasharray=\"5 3\"/>\n", LEFT,
            y, WIDTH - RIGHT);
    print_text(f, LEFT + 4, y - 4, "start", level->text);
}

static const char *style_of(svg_style style)
{
    if (style == SVG_DOTTED_LINE) return " stroke-dasharray=\"2 3\"";
    return style == SVG_FAINT_LINE ? " opacity=\"0.35\"" : "";
}

static bool is_shown(const frame *f, const svg_line *line, int i)
{
    return fits(&f->x, line->x[i]) && fits(&f->y, line->y[i]);
}

static void print_line(const frame *f, const svg_line *line)
{
    const char *colour = svg_colours[line->colour];
    bool drawing = false;
    fprintf(f->file, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"%s d=\"M%d 0", colour,
            style_of(line->style), LEFT);
    for (int i = 0; i < line->n; i++) {
        const bool shown = is_shown(f, line, i);
        if (shown)
            fprintf(f->file, "%c%.1f %.1f", drawing ? 'L' : 'M', across(f, line->x[i]),
                    down(f, line->y[i]));
        drawing = shown;
    }
    fputs("\"/>\n", f->file);
    for (int i = 0; i < line->n && line->style == SVG_LINE_AND_DOTS; i++)
        if (is_shown(f, line, i))
            fprintf(f->file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\" fill=\"%s\"/>\n",
                    across(f, line->x[i]), down(f, line->y[i]), colour);
}

static void print_legend(const frame *f)
{
    int n = 0;
    for (int l = 0; l < f->plot->n_lines; l++) {
        const svg_line *line = &f->plot->lines[l];
        if (!line->name) continue;
        const double x = LEFT + n % COLUMNS * (WIDTH - LEFT) / (double)COLUMNS;
        const double y = TITLE + LEGEND * (n / COLUMNS) + 8;
        n++;
        fprintf(f->file, "<path d=\"M%.1f %.1fh14\" stroke=\"%s\" stroke-width=\"2.5\"%s/>\n", x, y,
                svg_colours[line->colour], style_of(line->style));
        print_text(f, x + 18, y + 4, "start", line->name);
    }
}

static int legend_rows(const svg_plot *p)
{
    int n = 0;
    for (int l = 0; l < p->n_lines; l++)
        n += p->lines[l].name != NULL;
    return (n + COLUMNS - 1) / COLUMNS;
}

void svg_plot_print(const svg_plot *p, FILE *file)
{
    frame f = {.plot = p, .x = ends_of(p, false), .y = ends_of(p, true), .file = file};
    f.top = TITLE + LEGEND * legend_rows(p) + 8;
    f.bottom = f.top + PLOT_HEIGHT;
    const double height = f.bottom + (f.x.periods ? 52 : 40);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
            "font-family=\"sans-serif\" font-size=\"11.5\" fill=\"#222\">\n"
            "<rect width=\"%d\" height=\"%.0f\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"14\" font-weight=\"bold\">",
            WIDTH, height, WIDTH, height, LEFT);
    markup_text(p->title, file);
    fputs("</text>\n", file);
    print_x_axis(&f);
    print_y_axis(&f);
    for (int l = 0; l < p->n_levels; l++)
        print_level(&f, &p->levels[l]);
    for (int l = 0; l < p->n_lines; l++)
        print_line(&f, &p->lines[l]);
    print_legend(&f);
    fputs("</svg>\n", file);
}

status svg_plot_write(const svg_plot *plot, const char *path)
{
    atomic_file *file = NULL;
    TRY(atomic_begin_stream(path, &file));
    svg_plot_print(plot, atomic_stream(file));
    return atomic_commit(file);
}
