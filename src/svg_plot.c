#include "svg_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 720, HEIGHT = 480, LEFT = 80, RIGHT = 130, TOP = 40, BOTTOM = 60 };

static const char *const colours[SVG_PLOT_MAX_LINES] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728",
                                                        "#9467bd", "#8c564b", "#000000", "#7f7f7f"};

/* What is shown: x from x0 to x1, y from y0 to y1, powers of ten. */
typedef struct frame {
    double x0, x1, y0, y1;
} frame;

static frame frame_of(const svg_plot *p)
{
    double low = INFINITY, high = 0;
    for (int l = 0; l < p->n_lines; l++)
        for (int i = 0; i < p->n; i++) {
            if (!(p->lines[l].y[i] > 0)) continue;
            low = fmin(low, p->lines[l].y[i]);
            high = fmax(high, p->lines[l].y[i]);
        }
    if (!(high > 0)) low = high = 1;
    frame f = {p->x[0] / 1.1, p->x[p->n - 1] * 1.1, pow(10, floor(log10(low))),
               pow(10, ceil(log10(high)))};
    if (f.y1 == f.y0) f.y1 *= 10;
    return f;
}

static double across(const frame *f, double x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * log(x / f->x0) / log(f->x1 / f->x0);
}

static double down(const frame *f, double y)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * log(y / f->y0) / log(f->y1 / f->y0);
}

static void write_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, text);
}

static void write_axes(FILE *file, const svg_plot *p, const frame *f)
{
    const double right = WIDTH - RIGHT, bottom = HEIGHT - BOTTOM;
    char text[32];
    fprintf(file, "<path d=\"M%d %d V%g H%g\" fill=\"none\" stroke=\"black\"/>\n", LEFT, TOP,
            bottom, right);
    for (int i = 0; i < p->n; i++) {
        snprintf(text, sizeof text, "%g", p->x[i]);
        write_text(file, across(f, p->x[i]), bottom + 18, "middle", text);
    }
    const int decades = (int)lround(log10(f->y1 / f->y0));
    for (int i = 0; i <= decades; i++) {
        const double y = f->y0 * pow(10, i);
        fprintf(file, "<path d=\"M%d %.1f H%g\" stroke=\"#ddd\"/>\n", LEFT, down(f, y), right);
        snprintf(text, sizeof text, "%g", y);
        write_text(file, LEFT - 8, down(f, y) + 4, "end", text);
    }
    write_text(file, (LEFT + right) / 2, 22, "middle", p->title);
    write_text(file, (LEFT + right) / 2, HEIGHT - 16, "middle", p->x_label);
    fprintf(file,
            "<text transform=\"translate(22 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
            HEIGHT / 2, p->y_label);
}

static void write_line(FILE *file, const svg_plot *p, const frame *f, int l)
{
    const double *y = p->lines[l].y;
    const char *colour = colours[l];
    fprintf(file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (int i = 0; i < p->n; i++)
        if (y[i] > 0) fprintf(file, "%.1f,%.1f ", across(f, p->x[i]), down(f, y[i]));
    fprintf(file, "\"/>\n");
    for (int i = 0; i < p->n; i++)
        if (y[i] > 0)
            fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                    across(f, p->x[i]), down(f, y[i]), colour);
    fprintf(file, "<path d=\"M%d %d h20\" stroke=\"%s\" stroke-width=\"2\"/>\n", WIDTH - RIGHT + 12,
            TOP + 20 * l, colour);
    write_text(file, WIDTH - RIGHT + 38, TOP + 20 * l + 4, "start", p->lines[l].name);
}

status svg_plot_write(const svg_plot *p, const char *path)
{
    const frame f = frame_of(p);
    FILE *file = fopen(path, "w");
    if (!file) FAIL(STATUS_OUTPUT, "cannot write %s: %s", path, strerror(errno));
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"white\"/>\n",
            WIDTH, HEIGHT);
    write_axes(file, p, &f);
    for (int l = 0; l < p->n_lines; l++)
        write_line(file, p, &f, l);
    fprintf(file, "</svg>\n");
    const int lost = ferror(file);
    if (fclose(file) != 0 || lost) FAIL(STATUS_OUTPUT, "cannot write %s: is the disk full?", path);
    return STATUS_OK;
}
