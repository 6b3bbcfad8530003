/* What pages are made of: pictures, plots, escaped text, and the table of generations. */
#include <math.h>
#include <unistd.h>
#include <zlib.h>

#include "history.h"
#include "markup.h"
#include "picture.h"
#include "png.h"
#include "sim_case.h"
#include "svg_plot.h"

/* What `print` prints, in a static text. */
static char printed[1 << 16];

static FILE *begin_print(void)
{
    memset(printed, 0, sizeof printed);
    FILE *file = fmemopen(printed, sizeof printed - 1, "w");
    assert_non_null(file);
    return file;
}

static uint32_t number_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The next chunk, whose checksum must be right: its data, and its size. */
static const uint8_t *take_chunk(const uint8_t **at, const char *name, uint32_t *size)
{
    const uint8_t *chunk = *at;
    *size = number_at(chunk);
    assert_memory_equal(chunk + 4, name, 4);
    assert_int_equal(number_at(chunk + 8 + *size), crc32(0, chunk + 4, *size + 4));
    *at = chunk + 12 + *size;
    return chunk + 8;
}

static void a_png_holds_the_picture_it_was_made_of(void **state)
{
    (void)state;
    enum { WIDTH = 7, HEIGHT = 5, ROW = 3 * WIDTH };
    uint8_t rgb[HEIGHT][ROW], rows[HEIGHT][ROW + 1], *bytes = NULL;
    for (int i = 0; i < HEIGHT * ROW; i++)
        rgb[i / ROW][i % ROW] = (uint8_t)(37 * i + i * i);
    size_t size = 0;
    uint32_t n;
    assert_ok(png_encode(WIDTH, HEIGHT, rgb[0], &bytes, &size));
    assert_memory_equal(bytes, "\x89PNG\r\n\x1a\n", 8);
    const uint8_t *at = bytes + 8, *header = take_chunk(&at, "IHDR", &n);
    assert_int_equal(n, 13);
    assert_int_equal(number_at(header), WIDTH);
    assert_int_equal(number_at(header + 4), HEIGHT);
    const uint8_t *packed = take_chunk(&at, "IDAT", &n);
    uLong unpacked = sizeof rows;
    assert_int_equal(uncompress(rows[0], &unpacked, packed, n), Z_OK);
    assert_int_equal(unpacked, sizeof rows);
    for (int y = 0; y < HEIGHT; y++) {
        assert_int_equal(rows[y][0], 0);
        assert_memory_equal(rows[y] + 1, rgb[y], ROW);
    }
    take_chunk(&at, "IEND", &n);
    assert_int_equal(n, 0);
    assert_int_equal(at - bytes, size);
    free(bytes);
}

static void base64_is_that_of_rfc_4648(void **state)
{
    (void)state;
    const uint8_t rgb[3] = {1, 2, 3};
    FILE *file = begin_print();
    assert_ok(png_print(1, 1, rgb, file));
    fclose(file);
    /* the signature and the header of a picture of one pixel */
    static const char start[] =
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1Pe";
    assert_memory_equal(printed, start, sizeof start - 1);
    const size_t n = strlen(printed) - (sizeof "data:image/png;base64," - 1);
    assert_int_equal(n % 4, 0);
}

static void planes_and_projections_are_those_of_the_volume(void **state)
{
    (void)state;
    enum { N = 4 };
    double v[N][N][N], out[N][N];
    for (int i = 0; i < N * N * N; i++)
        v[i / N / N][i / N % N][i % N] = i * i % 17;
    v[3][2][1] = NAN;
    picture_plane(N, v[0][0], 0, out[0]);
    for (int z = 0; z < N; z++)
        for (int y = 0; y < N; y++)
            assert_true(out[N - 1 - z][y] == v[z][y][2]);
    picture_plane(N, v[0][0], 1, out[0]);
    for (int z = 0; z < N; z++)
        for (int x = 0; x < N; x++)
            assert_true(out[N - 1 - z][x] == v[z][2][x] ||
                        (isnan(v[z][2][x]) && isnan(out[N - 1 - z][x])));
    picture_projection(N, v[0][0], 2, out[0]);
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
            const int n = y == 2 && x == 1 ? 3 : 4;
            const double sum = v[0][y][x] + v[1][y][x] + v[2][y][x] + (n == 4 ? v[3][y][x] : 0);
            assert_true(fabs(out[N - 1 - y][x] - sum / n) < 1e-12);
        }
}

static void text_is_escaped_and_what_is_no_text_replaced(void **state)
{
    (void)state;
    FILE *file = begin_print();
    markup_text("a<b> & \"c\" \u00c5 \xff\x01|\xc3", file);
    fclose(file);
    assert_string_equal(printed, "a&lt;b&gt; &amp; &quot;c&quot; \u00c5 ??|?");
}

/* Points that are none, or not on a logarithmic axis, interrupt a line; marks are 1, 2, 5, 10, .. */
static void a_plot_leaves_out_what_cannot_be_shown(void **state)
{
    (void)state;
    const double x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {3, NAN, 40, 0, INFINITY, 20};
    const svg_line line = {"l<i>ne", 6, x, y, 0, SVG_LINE_AND_DOTS};
    const svg_plot plot = {.title = "t & t",
                           .x = {.label = "x"},
                           .y = {.label = "y", .log = true},
                           .n_lines = 1,
                           .lines = &line};
    FILE *file = begin_print();
    svg_plot_print(&plot, file);
    fclose(file);
    assert_null(strstr(printed, "nan"));
    assert_null(strstr(printed, "inf"));
    assert_non_null(strstr(printed, "l&lt;i&gt;ne"));
    assert_non_null(strstr(printed, "t &amp; t"));
    int dots = 0;
    for (const char *c = printed; (c = strstr(c, "<circle")); c++)
        dots++;
    assert_int_equal(dots, 3);
    static const char *const marks[] = {">2<", ">5<", ">10<", ">20<", ">50<"};
    for (int i = 0; i < 5; i++)
        assert_non_null(strstr(printed, marks[i]));
    assert_null(strstr(printed, ">100<"));
}

static void an_axis_from_nothing_begins_with_0(void **state)
{
    (void)state;
    const double x[2] = {0.1, 0.9}, y[2] = {0.2, 0.7};
    const svg_line line = {"line", 2, x, y, 0, SVG_LINE};
    const svg_plot plot = {.title = "t",
                           .x = {.label = "x", .low = 0, .high = 1},
                           .y = {.label = "y", .low = 0, .high = 1},
                           .n_lines = 1,
                           .lines = &line};
    FILE *file = begin_print();
    svg_plot_print(&plot, file);
    fclose(file);
    assert_null(strstr(printed, ">-0<"));
    assert_non_null(strstr(printed, ">0<"));
    assert_non_null(strstr(printed, ">1<"));
}

static run_record record_of(int attempt, int which, int generation)
{
    run_record r = {.attempt = attempt, .run = which, .generation = generation};
    r.step = (run_step){0.5, 100 * generation, 3, true};
    r.perplexity = 1.5 + which;
    r.score = -1e5 - generation;
    r.r_factor = 0.25;
    r.moved = 7;
    r.n_active = 42;
    r.cg_iterations = 20;
    r.costs[N_STAGES - 1].seconds = 0.125 * generation;
    return r;
}

static void generations_are_read_back_in_their_order(void **state)
{
    (void)state;
    static const int which[5][3] = {{1, 1, 1}, {2, 0, 1}, {1, 0, 2}, {1, 0, 1}, {1, 2, 3}};
    static const int order[5] = {3, 2, 0, 4, 1};
    run_record *records = NULL, *read = NULL;
    int n = 0, n_read = 0;
    double row[HISTORY_COLUMNS], other[HISTORY_COLUMNS];
    for (int i = 0; i < 5; i++) {
        const run_record r = record_of(which[i][0], which[i][1], which[i][2]);
        assert_ok(history_add(&r, &n, &records));
    }
    const char *path = case_scratch("history.txt");
    assert_ok(history_write(path, n, records));
    assert_ok(history_read(path, &n_read, &read));
    assert_int_equal(n_read, 5);
    for (int i = 0; i < 5; i++) {
        const int *wanted = which[order[i]];
        const run_record r = record_of(wanted[0], wanted[1], wanted[2]);
        history_to_row(&r, row);
        history_to_row(read + i, other);
        assert_memory_equal(row, other, sizeof row);
        assert_int_equal(read[i].rank, -1);
    }
    free(records);
    free(read);
}

static void a_damaged_table_of_generations_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {"1 0 1\n", "1 0 1 x 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
                                        "1 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n",
                                        "1 0 1e300 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"};
    const char *path = case_scratch("damaged.txt");
    run_record *records = NULL;
    int n = 0;
    for (int i = 0; i < 4; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(lines[i], file);
        fclose(file);
        assert_int_equal(history_read(path, &n, &records), STATUS_INPUT);
        assert_null(records);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_png_holds_the_picture_it_was_made_of),
        cmocka_unit_test(base64_is_that_of_rfc_4648),
        cmocka_unit_test(planes_and_projections_are_those_of_the_volume),
        cmocka_unit_test(text_is_escaped_and_what_is_no_text_replaced),
        cmocka_unit_test(a_plot_leaves_out_what_cannot_be_shown),
        cmocka_unit_test(an_axis_from_nothing_begins_with_0),
        cmocka_unit_test(generations_are_read_back_in_their_order),
        cmocka_unit_test(a_damaged_table_of_generations_is_refused),
    };
    return case_run(tests);
}
