/* dataset.h: diffraction images in an HDF5 file, laid out as by skopi and spinifel.

     /intensities                f4 (N, panels, ny, nx)     photons
     /pixel_position_reciprocal  f8 (panels, ny, nx, 3)     s = (k_out - k_in)/2pi in 1/m
     /polarization, /solid_angle f8 (panels, ny, nx)        correction factors
     /pixel_index_map            i8 (panels, ny, nx, 2)     row, column
     /orientations               f8 (N, 4)                  true particle rotations w, x, y, z
     /fluences                   f8 (N)
     attributes reciprocal_extent, n_images, n_pixels_per_image, det_shape, det_distance, command_line
   and ours: /mask u1 (1 = use), /truth (the atoms), attributes wavelength (A), photon_energy (eV). */
#ifndef MTIP_DATASET_H
#define MTIP_DATASET_H

#include "mtip/detector.h"
#include "mtip/scatter.h"

/* ---- reading; not collective ---------------------------------------------------------------- */

typedef struct dataset {
    char *path;
    int64_t n_images;
    int64_t n_pixels; /* of an image: shape[0] shape[1] shape[2] */
    int64_t shape[3]; /* panels, rows, columns */
    double *s;        /* [n_pixels][3], 1/Angstrom */
    double *
        correction; /* [n_pixels]: polarization times solid angle, mean 1 over used pixels; 1 where the file has neither */
    uint8_t *mask;  /* [n_pixels], 1 = use; all 1 where the file has none */
    double wavelength; /* Angstrom, from the file or from the curvature of s; 0 where s is flat */
    bool has_truth;    /* orientations of every image */
    void *file;        /* open while the dataset is */
    char images_name[256];
} dataset;

/* Opens a file and reads all but the images.  images_name: where they are (NULL: "/intensities").
   Accepts any real element type, images (N, panels, ny, nx) or (N, ny, nx), and positions with the
   vector's components last or (old files) first.  STATUS_INPUT names dataset, found and expected. */
status dataset_open(const char *path, const char *images_name, dataset **opened);
/* Accepts NULL. */
void dataset_close(dataset *ds);

/* Images first .. first+count-1 to images [count][n_pixels], as they are in the file. */
status dataset_read(const dataset *ds, int64_t first, int64_t count, float *images);

/* True orientations [count][4] of these images, unit quaternions w, x, y, z of the particle's
   rotation, and true fluences [count] (1 where the file has none; NULL: not wanted).  STATUS_INPUT
   when the file has no orientations. */
status dataset_read_truth(const dataset *ds, int64_t first, int64_t count, double *quaternions,
                          double *fluences);

/* The atoms the images were made from; the caller frees them.  STATUS_INPUT when absent. */
typedef struct dataset_atoms {
    atom *atoms;
    int64_t n_atoms;
    scatter_settings scattering;
} dataset_atoms;
status dataset_read_atoms(const dataset *ds, dataset_atoms *truth);

/* What is wrong with images [count][n_pixels], in pixels that the mask uses. */
typedef struct dataset_faults {
    int64_t n_nan, n_infinite, n_negative; /* pixels */
    int64_t n_bad_images;                  /* images with any of these */
    int64_t n_dark_images;                 /* images without a photon */
    int64_t first_bad, first_dark;         /* index of the first of them, -1 if none */
} dataset_faults;
/* Adds the faults of a block whose first image has index `first`; *faults starts as
   dataset_no_faults. */
extern const dataset_faults dataset_no_faults;
void dataset_check(const dataset *ds, const float *images, int64_t first, int64_t count,
                   dataset_faults *faults);

/* ---- writing; one process writes ------------------------------------------------------------ */

typedef struct dataset_writer dataset_writer;

typedef struct dataset_description {
    const detector *det;
    int64_t n_images;
    const char *command_line;
    const char *config_text;    /* NULL: none */
    const dataset_atoms *truth; /* NULL: neither atoms nor orientations nor fluences are written */
    double flux;                /* photons per square metre at fluence 1 */
    uint64_t seed;
} dataset_description;

/* Starts a file that appears under its name in dataset_commit (io_hdf5.h). */
status dataset_create(const char *path, const dataset_description *about, dataset_writer **created);
/* Images first .. first+count-1 with their true orientations and fluences; every image once. */
status dataset_write(dataset_writer *w, int64_t first, int64_t count, const float *images,
                     const double *quaternions, const double *fluences);
/* Verifies, names and frees; nothing is left of the file on failure. */
status dataset_commit(dataset_writer *w);
/* Accepts NULL. */
void dataset_abandon(dataset_writer *w);

#endif
