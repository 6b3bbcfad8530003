#include "volume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io_atomic.h"
#include "io_hdf5.h"

enum { MAX_SIDE = 65535, PATH_SIZE = 8192 };

static const char cxi_name[] = "/entry_1/image_1/data";
static const char *const usual_names[] = {"/map", "/density", cxi_name};
enum { N_USUAL = sizeof usual_names / sizeof *usual_names };

/* ---- reading ---- */

bool volume_recognize(const char *path)
{
    bool found = mrc_recognize(path);
    for (int i = 0; i < N_USUAL && !found; i++)
        found = h5_file_has(path, usual_names[i]);
    return found;
}

static void set_voxel(mrc_map *map, double voxel)
{
    const int64_t n[3] = {map->nx, map->ny, map->nz};
    for (int d = 0; d < 3; d++) {
        map->voxel[d] = voxel;
        map->origin[d] = -voxel * (double)(n[d] / 2);
    }
}

/* image_size is that of the whole image along x, y and z, in m. */
static status read_cxi_size(const h5_reader *r, mrc_map *map)
{
    static const char name[] = "/entry_1/image_1/image_size";
    const int64_t n[3] = {map->nx, map->ny, map->nz};
    double *size = NULL;
    int64_t n_sizes = 0;
    if (!h5_has(r, name)) return STATUS_OK;
    TRY(h5_read_list(r, name, &size, &n_sizes));
    for (int d = 0; d < 3 && n_sizes == 3; d++) {
        map->voxel[d] = 1e10 * size[d] / (double)n[d];
        map->origin[d] = -map->voxel[d] * (double)(n[d] / 2);
    }
    free(size);
    if (n_sizes != 3)
        FAIL(STATUS_INPUT, "%s: dataset '%s' has %lld numbers; expected 3", h5_path(r), name,
             (long long)n_sizes);
    return STATUS_OK;
}

static status read_sizes(const h5_reader *r, const char *name, mrc_map *map)
{
    double voxel;
    if (strcmp(name, cxi_name) == 0) return read_cxi_size(r, map);
    if (h5_has_attribute(r, name, "voxel") && h5_has_attribute(r, name, "origin")) {
        TRY(h5_read_numbers(r, name, "voxel", H5_DOUBLE, 3, map->voxel));
        return h5_read_numbers(r, name, "origin", H5_DOUBLE, 3, map->origin);
    }
    if (!h5_has_attribute(r, "/", "voxel_angstrom")) return STATUS_OK;
    TRY(h5_read_numbers(r, "/", "voxel_angstrom", H5_DOUBLE, 1, &voxel));
    set_voxel(map, voxel);
    return STATUS_OK;
}

static status read_values(const h5_reader *r, const char *name, mrc_map *map)
{
    h5_shape shape;
    TRY(h5_get_shape(r, name, &shape));
    bool good = shape.rank == 3;
    for (int d = 0; d < 3 && good; d++)
        good = shape.dims[d] >= 1 && shape.dims[d] <= MAX_SIDE;
    if (!good || h5_count(&shape, INT32_MAX) > INT32_MAX) {
        char text[128];
        h5_describe(&shape, text, sizeof text);
        FAIL(STATUS_INPUT,
             "%s: dataset '%s' is %s; expected a map (z, y, x) of at most 2^31 voxels", h5_path(r),
             name, text);
    }
    map->nz = shape.dims[0];
    map->ny = shape.dims[1];
    map->nx = shape.dims[2];
    map->values = malloc((size_t)h5_count(&shape, INT32_MAX) * sizeof *map->values);
    if (!map->values) FAIL(STATUS_RESOURCE, "%s: no memory for the map", h5_path(r));
    TRY(h5_read(r, name, H5_SINGLE, 3, shape.dims, map->values));
    return read_sizes(r, name, map);
}

static status read_hdf5(const char *path, const char *given, mrc_map *map)
{
    h5_reader *r = NULL;
    char name[256];
    const char *usual = usual_names[0];
    TRY(h5_open(path, &r));
    for (int i = N_USUAL - 1; i >= 0; i--)
        if (h5_has(r, usual_names[i])) usual = usual_names[i];
    status result = h5_full_name(given, usual, name, sizeof name);
    if (result == STATUS_OK) result = read_values(r, name, map);
    h5_close(r);
    return result;
}

status volume_read(const char *path, const char *name, mrc_map **read)
{
    *read = NULL;
    if (!h5_recognize(path)) return mrc_read(path, read);
    mrc_map *map = calloc(1, sizeof *map);
    if (!map) FAIL(STATUS_RESOURCE, "%s: no memory for the map", path);
    status result = read_hdf5(path, name, map);
    if (result == STATUS_OK)
        *read = map;
    else
        mrc_destroy(map);
    return result;
}

/* ---- writing ---- */

static status write_mrc(const char *path, const mrc_map *map)
{
    return mrc_write_map(path, map, "mtip convert");
}

static status write_map_group(h5_writer *w, const mrc_map *map)
{
    const int64_t dims[3] = {map->nz, map->ny, map->nx};
    TRY(h5_write(w, "/map", H5_SINGLE, 3, dims, map->values, NULL, "[z][y][x]"));
    TRY(h5_write_numbers(w, "/map", "voxel", H5_DOUBLE, 3, map->voxel));
    TRY(h5_write_numbers(w, "/map", "origin", H5_DOUBLE, 3, map->origin));
    return h5_write_text(w, "/map", "lengths", "voxel and origin along x, y, z in Angstrom");
}

static status write_cxi_group(h5_writer *w, const mrc_map *map)
{
    const int64_t dims[3] = {map->nz, map->ny, map->nx}, three = 3;
    const int64_t n[3] = {map->nx, map->ny, map->nz};
    const int32_t version = 160;
    double size[3], centre[3];
    for (int d = 0; d < 3; d++) {
        size[d] = 1e-10 * map->voxel[d] * (double)n[d];
        centre[d] = (double)(n[d] / 2) + 0.5;
    }
    TRY(h5_write(w, "/cxi_version", H5_INT32, 0, NULL, &version, NULL, NULL));
    TRY(h5_write_string(w, "/entry_1/program_name", "mtip"));
    TRY(h5_write_string(w, "/entry_1/image_1/data_type", "electron density"));
    TRY(h5_write_string(w, "/entry_1/image_1/data_space", "real"));
    TRY(h5_write(w, "/entry_1/image_1/image_center", H5_DOUBLE, 1, &three, centre, NULL,
                 "pixels, the centre of the first at 0.5"));
    TRY(h5_write(w, cxi_name, H5_SINGLE, 3, dims, map->values, NULL, NULL));
    TRY(h5_write_text(w, cxi_name, "axes", "z:y:x"));
    TRY(h5_link(w, "/entry_1/data_1/data", cxi_name));
    if (map->voxel[0] > 0)
        TRY(h5_write(w, "/entry_1/image_1/image_size", H5_DOUBLE, 1, &three, size, NULL,
                     "whole image along x, y, z in m"));
    return STATUS_OK;
}

static status write_hdf5(const char *path, const mrc_map *map,
                         status (*fill)(h5_writer *w, const mrc_map *map))
{
    h5_writer *w = NULL;
    TRY(h5_create(path, &w));
    status result = fill(w, map);
    if (result == STATUS_OK) return h5_commit(w);
    h5_abandon(w);
    return result;
}

static status write_cxi(const char *path, const mrc_map *map)
{
    return write_hdf5(path, map, write_cxi_group);
}

/* XDMF counts axes from the slowest one, z. */
static void print_xdmf(FILE *out, const mrc_map *map, const char *data)
{
    const double *v = map->voxel, *o = map->origin;
    char size[64];
    snprintf(size, sizeof size, "%lld %lld %lld", (long long)map->nz, (long long)map->ny,
             (long long)map->nx);
    fprintf(out,
            "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">\n <Domain>\n"
            "  <Grid Name=\"density\" GridType=\"Uniform\">\n"
            "   <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"%s\"/>\n"
            "   <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n"
            "    <DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" Format=\"XML\">"
            "%.17g %.17g %.17g</DataItem>\n"
            "    <DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" Format=\"XML\">"
            "%.17g %.17g %.17g</DataItem>\n   </Geometry>\n",
            size, o[2], o[1], o[0], v[2], v[1], v[0]);
    fprintf(out,
            "   <Attribute Name=\"density\" AttributeType=\"Scalar\" Center=\"Node\">\n"
            "    <DataItem Dimensions=\"%s\" NumberType=\"Float\" Precision=\"4\" Format=\"HDF\">"
            "%s:/map</DataItem>\n   </Attribute>\n  </Grid>\n </Domain>\n</Xdmf>\n",
            size, data);
}

static status write_xdmf(const char *path, const mrc_map *map)
{
    char data[PATH_SIZE];
    const size_t n = strlen(path), suffix = strlen(".xdmf");
    const bool has_suffix = n > suffix && strcmp(path + n - suffix, ".xdmf") == 0;
    if (snprintf(data, sizeof data, "%.*s.h5", (int)(has_suffix ? n - suffix : n), path) >=
        (int)sizeof data)
        FAIL(STATUS_OUTPUT, "a path of %zu characters", n);
    TRY(write_hdf5(data, map, write_map_group));
    atomic_file *file = NULL;
    TRY(atomic_begin_stream(path, &file));
    const char *slash = strrchr(data, '/');
    print_xdmf(atomic_stream(file), map, slash ? slash + 1 : data);
    return atomic_commit(file);
}

const volume_format volume_formats[] = {
    {"mrc", ".mrc", write_mrc}, {"xdmf", ".xdmf", write_xdmf}, {"cxi-image", ".cxi", write_cxi}};
const int n_volume_formats = (int)(sizeof volume_formats / sizeof *volume_formats);
