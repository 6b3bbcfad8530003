/* Images kept small come back with the bits they were put with, and no more are kept than may be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "image_store.h"

enum { IMAGES = 12, PIXELS = 37, ROW = PIXELS * (int)sizeof(float) };

/* Values at the ends of what a byte, two bytes and a float hold, each among zeros, ones and twos. */
static const float odd_ones[IMAGES] = {0,     255, 256, 65535,  65536,    0.5F,
                                       -0.0F, -1,  NAN, 255.5F, INFINITY, 1e-40F};

static void make_images(float images[IMAGES][PIXELS])
{
    for (int i = 0; i < IMAGES; i++)
        for (int p = 0; p < PIXELS; p++)
            images[i][p] = p == 3 * i ? odd_ones[i] : (float)((i + p) % 3);
}

static void images_come_back_as_they_were(void **state)
{
    (void)state;
    float images[IMAGES][PIXELS], row[PIXELS];
    image_store *s = image_store_create(IMAGES + 2, PIXELS, INT64_C(1) << 20);
    assert_non_null(s);
    make_images(images);
    image_store_put(s, 1, 5, images[0]);
    image_store_put(s, 4, IMAGES - 3, images[3]); /* two of them again */
    assert_false(image_store_has(s, 0));
    assert_false(image_store_has(s, IMAGES + 1));
    for (int i = 0; i < IMAGES; i++) {
        assert_true(image_store_has(s, i + 1));
        image_store_get(s, i + 1, row);
        assert_memory_equal(row, images[i], ROW);
    }
    image_store_destroy(s);
}

static void what_does_not_fit_is_not_kept(void **state)
{
    (void)state;
    float images[IMAGES][PIXELS];
    image_store *s = image_store_create(IMAGES, PIXELS, 2 * ROW);
    assert_non_null(s);
    make_images(images);
    image_store_put(s, 5, 1, images[5]); /* a float a pixel */
    image_store_put(s, 0, 2, images[0]);
    assert_true(image_store_has(s, 5));
    assert_false(image_store_has(s, 0) || image_store_has(s, 1));
    image_store_put(s, 0, 1, images[0]); /* a byte a pixel */
    assert_true(image_store_has(s, 0));
    image_store_destroy(s);
    assert_false(image_store_has(NULL, 0));
    image_store_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_come_back_as_they_were),
        cmocka_unit_test(what_does_not_fit_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
