/* image_store.h: images that a rank has read, kept small in its memory so that none is read twice.

   An image takes one byte a pixel if its values are whole numbers up to 255, two up to 65535, else
   four.  What does not fit is not kept; a store never fails. */
#ifndef MTIP_IMAGE_STORE_H
#define MTIP_IMAGE_STORE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct image_store image_store;

/* For n_images images of n_pixels, in at most `most` bytes; NULL if there is no memory: an empty store
   for the other functions. */
image_store *image_store_create(int64_t n_images, int64_t n_pixels, int64_t most);
void image_store_destroy(image_store *s);

bool image_store_has(const image_store *s, int64_t image);
/* Images first .. first+count-1 from rows [count][n_pixels]. */
void image_store_put(image_store *s, int64_t first, int64_t count, const float *rows);
/* An image that the store has, to row [n_pixels]: the same bits that were put. */
void image_store_get(const image_store *s, int64_t image, float *row);

#endif
