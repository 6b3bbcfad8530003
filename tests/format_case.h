/* format_case.h: what the tests of image files and geometries share. */
#ifndef MTIP_FORMAT_CASE_H
#define MTIP_FORMAT_CASE_H

#include <math.h>

#include "dataset.h"
#include "sim_case.h"

/* All images of a data set, [n_images][n_pixels]; the caller frees them. */
static inline float *all_images(const dataset *ds)
{
    float *images = malloc((size_t)(ds->n_images * ds->n_pixels) * sizeof *images);
    assert_non_null(images);
    assert_ok(dataset_read(ds, 0, ds->n_images, images));
    return images;
}

/* A file of this text in the scratch folder. */
static inline const char *text_file(const char *name, const char *text)
{
    const char *path = case_scratch(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* s of a pixel whose centre is at (x, y, z) m. */
static inline void assert_centre(const detector *det, int64_t p, double x, double y, double z)
{
    double r = sqrt(x * x + y * y + z * z);
    const double out[3] = {x / r, y / r, z / r - 1};
    for (int d = 0; d < 3; d++)
        assert_close(det->s[3 * p + d] * det->wavelength, out[d], 1e-12);
}

#endif
