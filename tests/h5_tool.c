/* h5_tool.c: for test scripts: compares datasets of two files, damages a data set.

     h5_tool same A B PATH...       the same bits in both?
     h5_tool alike A B PATH LEAST   correlation of at least this (printed)
     h5_tool fill FILE PATH VALUE [FIRST COUNT]   numbers of a dataset, counted along it (all)
     h5_tool damage FILE WHAT       same: all images are the first; positions: of another detector;
                                    truth: taken away; wavelength: taken away
     h5_tool flip FILE SEED         one bit of the file's bytes, chosen by the seed */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All numbers of a dataset as doubles; NULL if there is no such thing. */
static double *numbers(const char *path, const char *name, hsize_t *n)
{
    hid_t id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = id < 0 ? -1 : H5Dopen2(id, name, H5P_DEFAULT);
    double *values = NULL;
    if (set >= 0) {
        hid_t space = H5Dget_space(set);
        *n = (hsize_t)H5Sget_simple_extent_npoints(space);
        values = malloc((*n + 1) * sizeof *values);
        if (values && H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
            free(values);
            values = NULL;
        }
        H5Sclose(space);
        H5Dclose(set);
    }
    if (id >= 0) H5Fclose(id);
    if (!values) fprintf(stderr, "h5_tool: cannot read %s of %s\n", name, path);
    return values;
}

static int same(const char *a, const char *b, const char *path)
{
    hsize_t n = 0, m = 0;
    double *x = numbers(a, path, &n), *y = numbers(b, path, &m);
    int equal = x && y && n == m && memcmp(x, y, n * sizeof *x) == 0;
    if (!equal) printf("%s differs between %s and %s\n", path, a, b);
    free(x);
    free(y);
    return equal;
}

static int alike(const char *a, const char *b, const char *path, double least)
{
    hsize_t n = 0, m = 0;
    double *x = numbers(a, path, &n), *y = numbers(b, path, &m), c = NAN;
    if (x && y && n == m) {
        double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
        for (hsize_t i = 0; i < n; i++) {
            mx += x[i] / (double)n;
            my += y[i] / (double)n;
        }
        for (hsize_t i = 0; i < n; i++) {
            xx += (x[i] - mx) * (x[i] - mx);
            yy += (y[i] - my) * (y[i] - my);
            xy += (x[i] - mx) * (y[i] - my);
        }
        c = xy / sqrt(xx * yy);
    }
    free(x);
    free(y);
    printf("%s of %s and %s: correlation %.6f\n", path, a, b, c);
    return c >= least;
}

static int fill(const char *path, const char *name, double value, hsize_t first, hsize_t count)
{
    hsize_t n = 0;
    double *values = numbers(path, name, &n);
    if (count == 0) count = n;
    for (hsize_t i = first; values && i < first + count && i < n; i++)
        values[i] = value;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t set = file < 0 ? -1 : H5Dopen2(file, name, H5P_DEFAULT);
    herr_t code = -1;
    if (set >= 0 && values && first + count <= n)
        code = H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    free(values);
    if (set >= 0) H5Dclose(set);
    return file >= 0 && H5Fclose(file) >= 0 && code >= 0;
}

static int flip(const char *path, unsigned long seed)
{
    FILE *file = fopen(path, "r+b");
    if (!file || fseek(file, 0, SEEK_END) != 0) return 0;
    const unsigned long size = (unsigned long)ftell(file);
    const unsigned long bit = (seed * 2654435761u + seed * seed * 40503u) % (8 * size);
    const long at = (long)(bit / 8);
    const int byte = fseek(file, at, SEEK_SET) == 0 ? fgetc(file) : EOF;
    const int done =
        byte != EOF && fseek(file, at, SEEK_SET) == 0 && fputc(byte ^ (1 << bit % 8), file) != EOF;
    return fclose(file) == 0 && done;
}

static int repeat_first(hid_t file)
{
    hid_t set = H5Dopen2(file, "/intensities", H5P_DEFAULT), space = H5Dget_space(set);
    hsize_t dims[4];
    H5Sget_simple_extent_dims(space, dims, NULL);
    const size_t n = (size_t)(dims[1] * dims[2] * dims[3]);
    float *all = calloc(n * (size_t)dims[0], sizeof *all);
    herr_t code = H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all);
    for (hsize_t i = 1; i < dims[0]; i++)
        memcpy(all + i * n, all, n * sizeof *all);
    if (code >= 0) code = H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all);
    free(all);
    H5Sclose(space);
    H5Dclose(set);
    return code >= 0;
}

static int other_detector(hid_t file)
{
    const char *name = "/pixel_position_reciprocal";
    const hsize_t dims[4] = {1, 5, 7, 3};
    H5Ldelete(file, name, H5P_DEFAULT);
    hid_t space = H5Screate_simple(4, dims, NULL);
    hid_t set =
        H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(space);
    H5Dclose(set);
    return set >= 0;
}

static int damage(const char *path, const char *what)
{
    int done = 0;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file < 0) return 0;
    if (strcmp(what, "same") == 0) done = repeat_first(file);
    if (strcmp(what, "positions") == 0) done = other_detector(file);
    if (strcmp(what, "wavelength") == 0) done = H5Adelete(file, "wavelength") >= 0;
    if (strcmp(what, "truth") == 0)
        done = H5Ldelete(file, "/orientations", H5P_DEFAULT) >= 0 &&
               H5Ldelete(file, "/fluences", H5P_DEFAULT) >= 0 &&
               H5Ldelete(file, "/truth", H5P_DEFAULT) >= 0;
    return H5Fclose(file) >= 0 && done;
}

int main(int argc, char **argv)
{
    int good = argc > 4;
    if (argc > 4 && strcmp(argv[1], "same") == 0)
        for (int i = 4; i < argc; i++)
            good &= same(argv[2], argv[3], argv[i]);
    else if (argc == 6 && strcmp(argv[1], "alike") == 0)
        good = alike(argv[2], argv[3], argv[4], strtod(argv[5], NULL));
    else if ((argc == 5 || argc == 7) && strcmp(argv[1], "fill") == 0)
        good = fill(argv[2], argv[3], strtod(argv[4], NULL),
                    argc == 7 ? strtoull(argv[5], NULL, 10) : 0,
                    argc == 7 ? strtoull(argv[6], NULL, 10) : 0);
    else if (argc == 4 && strcmp(argv[1], "damage") == 0)
        good = damage(argv[2], argv[3]);
    else if (argc == 4 && strcmp(argv[1], "flip") == 0)
        good = flip(argv[2], strtoul(argv[3], NULL, 10));
    return !good;
}
