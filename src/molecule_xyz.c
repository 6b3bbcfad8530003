/* XYZ: the number of atoms, a comment, then lines of an element's symbol (or atomic number) and x, y
   and z in Angstrom.  Only the first frame is read.  Files of bare coordinates, x y z on a line, need
   an element for all of them. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "molecule_parts.h"
#include "text.h"
#include "text_file.h"

typedef struct xyz_reader {
    const char *path;
    parts *parts;
    text_lines lines;
} xyz_reader;

#define FAIL_LINE(r, ...)                                                         \
    return status_prefix(FAILED(STATUS_INPUT, __VA_ARGS__), "%s:%lld", (r)->path, \
                         (long long)(r)->lines.number)

static bool is_count(const char *line)
{
    int64_t n;
    return text_int64(line, &n) == TEXT_NUMBER_OK && n > 0;
}

bool xyz_recognize(const char *path)
{
    char begin[1024];
    double numbers[3];
    if (text_begin(path, begin, sizeof begin - 1) == 0) return false;
    text_lines lines = {begin, 0};
    const char *line = text_next_line(&lines, "");
    if (!line) return false;
    if (text_numbers(line, 3, numbers) == 3) return true;
    if (!is_count(line) || !text_next_line(&lines, "")) return false;
    line = text_next_line(&lines, "");
    size_t symbol = line ? strcspn(line, " \t") : 0;
    return symbol > 0 && symbol <= 3 && text_numbers(line + symbol, 3, numbers) == 3;
}

static status add_atom(xyz_reader *r, int element, const double at[3])
{
    parts *p = r->parts;
    TRY(array_grow((void **)&p->records, &p->capacity, p->n_records, sizeof *p->records));
    record *new = &p->records[p->n_records++];
    *new = (record){.insertion = ' ', .alternate = ' '};
    new->atom = (atom){.occupancy = 1, .element = element};
    memcpy(new->atom.position, at, sizeof new->atom.position);
    return STATUS_OK;
}

/* Ag, AG, 47, and what programs write after the symbol: C1 */
static int element_of(const char *text, size_t length)
{
    char number[4] = "";
    int64_t element;
    if (length < sizeof number) memcpy(number, text, length);
    if (text_int64(number, &element) == TEXT_NUMBER_OK)
        return element >= 1 && element <= 98 ? (int)element : 0;
    while (length > 0 && isdigit((unsigned char)text[length - 1]))
        length--;
    return element_of_symbol(text, length);
}

static status read_atoms(xyz_reader *r, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double at[3];
        const char *line = text_next_line(&r->lines, "");
        if (!line)
            FAIL_LINE(r, "the file ends after %lld of %lld atoms", (long long)i, (long long)n);
        size_t symbol = strcspn(line, " \t");
        int element = element_of(line, symbol);
        /* columns after z hold charges, forces and the like */
        char *end = (char *)line + symbol;
        bool good = element > 0;
        for (int d = 0; d < 3 && good; d++) {
            const char *start = end;
            at[d] = strtod(start, &end);
            good = end != start && isfinite(at[d]);
        }
        if (!good) FAIL_LINE(r, "'%.60s': expected an element and x, y and z", line);
        TRY(add_atom(r, element, at));
    }
    return STATUS_OK;
}

static status read_bare(xyz_reader *r, const char *line)
{
    if (!r->parts->element) FAIL_LINE(r, "coordinates without elements; set molecule.element");
    for (; line; line = text_next_line(&r->lines, "")) {
        double at[3];
        if (!*line) continue;
        if (text_numbers(line, 3, at) != 3) FAIL_LINE(r, "'%.60s': expected x, y and z", line);
        TRY(add_atom(r, r->parts->element, at));
    }
    return STATUS_OK;
}

status xyz_read(const char *path, parts *p)
{
    xyz_reader r = {.path = path, .parts = p};
    char *text = NULL;
    size_t size;
    int64_t n = 0;
    TRY(text_load(path, &text, &size));
    r.lines.at = text;
    const char *line = text_next_line(&r.lines, "");
    const bool counted = line && is_count(line) && text_int64(line, &n) == TEXT_NUMBER_OK;
    if (counted) text_next_line(&r.lines, "");
    status result = counted ? read_atoms(&r, n) : read_bare(&r, line);
    free(text);
    return result;
}
