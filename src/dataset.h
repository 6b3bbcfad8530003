/* dataset.h: diffraction images in a file of any format, with where their pixels are.

   A format is a table of functions (dataset_format.h); which one a file has, its contents say.

   Ours is the layout of skopi and spinifel in HDF5:
     /intensities                f4 (N, panels, ny, nx)     photons
     /pixel_position_reciprocal  f8 (panels, ny, nx, 3)     s = (k_out - k_in)/2pi in 1/m
     /polarization, /solid_angle f8 (panels, ny, nx)        correction factors
     /pixel_index_map            i8 (panels, ny, nx, 2)     row, column
     /orientations               f8 (N, 4)                  true particle rotations w, x, y, z
     /fluences                   f8 (N)
     attributes reciprocal_extent, n_images, n_pixels_per_image, det_shape, det_distance, command_line
   and of our own: /mask u1 (1 = use), /truth (the atoms), attributes wavelength (A), photon_energy
   (eV). */
#ifndef MTIP_DATASET_H
#define MTIP_DATASET_H

#include "config.h"
#include "geometry.h"
#include "mtip/photons.h"
#include "mtip/scatter.h"

/* ---- reading; not collective ---------------------------------------------------------------- */

typedef struct dataset_settings {
    const char *path;
    int format;                 /* CONFIG_FORMAT_..., CONFIG_FORMAT_AUTO: by content */
    const char *images;         /* name of the images in an HDF5 file; NULL, "": the usual one */
    geometry_settings geometry; /* for files that do not say, or instead of what they say */
    bool anywhere;              /* open files whose pixels are nowhere known, too (det->s NULL) */
    bool corrected;             /* the images are divided by the detector's factors already */
    double units_per_photon;    /* of the numbers in the file; 0 means 1 */
    int64_t clip, bin;          /* see detector_bin; bin 0 means 1 */
} dataset_settings;

dataset_settings dataset_settings_of(const config *c);
/* The detector of the data set that mtip simulate makes: flat by numbers, or as geometry.file has it, at
   the beam's energy. The caller destroys it. */
status dataset_detector_to_simulate(const config *c, detector **det);

typedef struct dataset_format dataset_format;

typedef struct dataset {
    char *path;
    const dataset_format *format;
    int64_t n_images;
    int64_t n_pixels;   /* of an image: det->n_pixels */
    detector *det;      /* the pixels of an image, and the mask */
    double *correction; /* [n_pixels]: polarization times solid angle, mean 1 over used pixels; 1
                           where the file has neither, or its images are corrected */
    bool has_truth;     /* orientations of every image */
    bool has_atoms;     /* the particle */
    bool is_sparse;     /* images are lists of photons in the file */
    double units_per_photon;
    int64_t clip, bin;
    float *flags; /* of pixels as stored, as in detector.h: what they flag is NAN when it is read */
    int64_t stored_shape[3]; /* of images in the file, before they are binned */
    void *source;            /* the format's own */
} dataset;

/* Whether the file's contents are of one of the formats. */
bool dataset_recognize(const char *path);

/* Opens a file and reads all but the images.  STATUS_INPUT names dataset or line, found and
   expected. */
status dataset_open(const dataset_settings *settings, dataset **opened);
/* Accepts NULL. */
void dataset_close(dataset *ds);

/* "spinifel", ... */
const char *dataset_format_name(const dataset *ds);

/* Images first .. first+count-1 to images [count][n_pixels], in photons. */
status dataset_read(const dataset *ds, int64_t first, int64_t count, float *images);

/* Whether images can be read as lists of photons: they are so in the file, and stay as they are. */
bool dataset_is_sparse(const dataset *ds);

/* Photons of images first .. first+count-1, which the caller frees; of a dataset that is sparse. */
status dataset_read_photons(const dataset *ds, int64_t first, int64_t count, photon_lists *read);

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
    const dataset_atoms *truth; /* NULL: neither atoms nor orientations nor fluences are written;
                                   without atoms: only these */
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
