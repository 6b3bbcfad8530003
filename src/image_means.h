/* image_means.h: what a set's images are on average; for images.c. */
#ifndef MTIP_IMAGE_MEANS_H
#define MTIP_IMAGE_MEANS_H

#include "images.h"

/* Fills mean and square from the images of all ranks: sums in fixed point, whose bits do not depend on
   the division of the images over ranks. Collective. */
status image_means(images *set, comm *c);

#endif
