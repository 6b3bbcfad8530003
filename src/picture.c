#include "picture.h"

#include "png.h"

#include <math.h>
#include <stdlib.h>

enum { COLOURS = 6 };

/* White, yellow, orange, red, purple, black: told apart in grey as well. */
static const uint8_t colours[COLOURS][3] = {{255, 255, 255}, {253, 224, 122}, {245, 148, 66},
                                            {196, 62, 92},   {96, 28, 110},   {10, 8, 30}};
const char picture_gradient[] = "#fff,#fde07a,#f59442,#c43e5c,#601c6e,#0a081e";

static const uint8_t nothing[3] = {214, 219, 224};

static void colour_of(double part, uint8_t rgb[3])
{
    if (isnan(part)) {
        for (int c = 0; c < 3; c++)
            rgb[c] = nothing[c];
        return;
    }
    const double at = fmin(fmax(part, 0), 1) * (COLOURS - 1);
    const int below = at < COLOURS - 2 ? (int)at : COLOURS - 2;
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)lround(colours[below][c] +
                                 (at - below) * (colours[below + 1][c] - colours[below][c]));
}

status picture_print(int64_t width, int64_t height, const double *values, double low, double high,
                     FILE *file)
{
    uint8_t *rgb = malloc((size_t)(3 * width * height));
    if (!rgb)
        FAIL(STATUS_RESOURCE, "no memory for a picture of %lld x %lld", (long long)width,
             (long long)height);
    for (int64_t i = 0; i < width * height; i++)
        colour_of(high > low ? (values[i] - low) / (high - low) : values[i] - values[i],
                  rgb + 3 * i);
    const status result = png_print(width, height, rgb, file);
    free(rgb);
    return result;
}

/* Steps from voxel to voxel along the picture's columns and rows, and across them. */
static void strides(int64_t n, int axis, int64_t step[3])
{
    const int64_t all[3] = {1, n, n * n};
    step[0] = axis == 0 ? all[1] : all[0];
    step[1] = axis == 2 ? all[1] : all[2];
    step[2] = all[axis];
}

static void look(int64_t n, const double *volume, int axis, int64_t first, int64_t last,
                 double *out)
{
    int64_t step[3];
    strides(n, axis, step);
    for (int64_t row = 0; row < n; row++)
        for (int64_t column = 0; column < n; column++) {
            double sum = 0, count = 0;
            const double *from = volume + (n - 1 - row) * step[1] + column * step[0];
            for (int64_t i = first; i <= last; i++) {
                if (isnan(from[i * step[2]])) continue;
                sum += from[i * step[2]];
                count++;
            }
            out[row * n + column] = count > 0 ? sum / count : NAN;
        }
}

void picture_plane(int64_t n, const double *volume, int axis, double *out)
{
    look(n, volume, axis, n / 2, n / 2, out);
}

void picture_projection(int64_t n, const double *volume, int axis, double *out)
{
    look(n, volume, axis, 0, n - 1, out);
}
