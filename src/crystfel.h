/* crystfel.h: CrystFEL's geometry files (.geom) as text: panels and values by name, no pixels.

   Lines are "name = value" or "panel/name = value", ';' starts a comment.  A value without a panel is
   the default of the panels that are first mentioned after it.  "bad..." begins the name of a region
   of bad pixels, "group" and "rigid_group" what is not needed here. */
#ifndef MTIP_CRYSTFEL_H
#define MTIP_CRYSTFEL_H

#include "core/status.h"
#include "core/types.h"

enum { CRYSTFEL_NAME = 64, CRYSTFEL_PATH = 256, CRYSTFEL_DIMS = 6, CRYSTFEL_MASKS = 8 };

/* A number with its unit taken off, or where it is in the file of the images. */
typedef struct crystfel_value {
    double number; /* NAN: not given */
    char path[CRYSTFEL_PATH];
    double unit; /* of the number at the path */
} crystfel_value;

typedef enum crystfel_dim {
    CRYSTFEL_DIM_NONE = -4,
    CRYSTFEL_DIM_EVENT = -3,
    CRYSTFEL_DIM_SS = -2,
    CRYSTFEL_DIM_FS = -1 /* >= 0: this index */
} crystfel_dim;

typedef struct crystfel_mask {
    char data[CRYSTFEL_PATH], file[CRYSTFEL_PATH]; /* data "": none */
    uint32_t good, bad;
} crystfel_mask;

typedef struct crystfel_panel {
    char name[CRYSTFEL_NAME];
    int64_t min_fs, max_fs, min_ss, max_ss; /* inclusive; -1: not given */
    double fs[3], ss[3];                    /* pixels */
    double corner[2];                       /* of the first pixel, in pixels; NAN: not given */
    double res;                             /* pixels per m; NAN: not given */
    double coffset;                         /* m */
    crystfel_value clen;                    /* m */
    bool no_index;
    char data[CRYSTFEL_PATH];
    int dims[CRYSTFEL_DIMS]; /* crystfel_dim */
    crystfel_mask masks[CRYSTFEL_MASKS];
    double adu_per_photon, adu_per_ev; /* NAN: not given */
    double less, more, equal;          /* flag_lessthan, ..; NAN: not given */
} crystfel_panel;

/* Pixels whose place lies within both ranges: x and y in pixels of the laboratory, or fs and ss. */
typedef struct crystfel_bad {
    char name[CRYSTFEL_NAME];
    char panel[CRYSTFEL_NAME]; /* "": any */
    double min_x, max_x, min_y, max_y;
    double min_fs, max_fs, min_ss, max_ss; /* inclusive */
    bool in_panel;                         /* by fs and ss */
} crystfel_bad;

typedef struct crystfel {
    crystfel_value photon_energy; /* eV */
    crystfel_value wavelength;    /* Angstrom */
    double shift[2];              /* of the detector, m */
    int64_t n_panels, panel_capacity;
    crystfel_panel *panels;
    crystfel_panel defaults; /* of the next panel */
    bool has_saturation_map;
    int64_t n_bad, bad_capacity;
    crystfel_bad *bad;
} crystfel;

/* Reads a text (cut up on the way).  STATUS_INPUT names `name` and the line: an unknown key, a value
   of the wrong kind, a panel without what it needs. Frees nothing on failure: crystfel_free does. */
status crystfel_parse(const char *name, char *text, crystfel *geom);
void crystfel_free(crystfel *geom);

#endif
