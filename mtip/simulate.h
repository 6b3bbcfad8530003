/* simulate.h: diffraction images of one particle in random orientations.

   The expected photons of a pixel are N = flux phi r_e^2 P Omega |F(R^T s)|^2 (flux in photons per
   area, phi the image's fluence, P and Omega of detector.h), the counts Poisson numbers of that
   mean.  Orientation, fluence and noise of an image follow from the seed and its index alone. */
#ifndef MTIP_SIMULATE_H
#define MTIP_SIMULATE_H

#include "mtip/detector.h"
#include "mtip/scatter.h"

typedef struct simulate_settings {
    uint64_t seed;
    double flux; /* photons per square metre in a pulse, at fluence 1 */
    double
        photons_per_image; /* > 0: the flux is what makes this the mean (simulate_mean_photons) */
    double fluence_jitter; /* fluence uniform in 1 +- jitter, 0 <= jitter < 1 */
    bool noise;            /* false: the expected photons themselves */
} simulate_settings;

typedef struct simulate simulate;

/* The detector and the scatterer (made for the detector's pixels) are used, not owned. */
status simulate_create(const detector *det, scatter *sc, const simulate_settings *settings,
                       simulate **created);
/* Accepts NULL. */
void simulate_destroy(simulate *sim);

/* Flux in use (photons per square metre), and the mean photons of an image at fluence 1 over the
   whole detector and over the pixels not behind the beam stop; averages over evenly spread
   orientations, so many that a protein's mean is right to 0.1 % (64 leave an error of 1 %). */
enum { SIMULATE_MEAN_ORIENTATIONS = 256 };
double simulate_flux(const simulate *sim);
double simulate_mean_photons(const simulate *sim);
double simulate_mean_photons_used(const simulate *sim);

/* The most photons of a pixel not behind the beam stop, at fluence 1, over the same orientations.
   At the largest fluence this may be up to SIMULATE_MOST_PHOTONS, what 32 bits count: the caller
   checks it before simulate_images. */
#define SIMULATE_MOST_PHOTONS 4294967295.0
double simulate_brightest_photons(const simulate *sim);

/* Guinier's estimate of the photons of an image on an unlimited detector:
   3/(4 pi) flux r_e^2 n_electrons^2 (wavelength / gyration)^2. */
double simulate_guinier_photons(double flux, double n_electrons, double wavelength,
                                double gyration);

/* The particle's orientation in image `index` (rotation.h), and its fluence. */
void simulate_orientation(const simulate *sim, int64_t index, double quaternion[4]);
double simulate_fluence(const simulate *sim, int64_t index);

/* Images first .. first+count-1 as images [count][n_pixels]; pixels behind the beam stop are 0.
   STATUS_INVALID where the flux gives a pixel too many photons. */
status simulate_images(const simulate *sim, int64_t first, int64_t count, float *images);

#endif
