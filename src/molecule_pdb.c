#include "molecule_parts.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"

/* One pass over the lines. `line` is NUL-terminated, without its line end, and padded with blanks
   to LINE_SIZE so that every column can be looked at. */
enum { LINE_SIZE = 96 };

typedef struct pdb_reader {
    const char *path;
    parts *parts;
    int64_t line_number;
    char line[LINE_SIZE + 1];
    int length;         /* of the line as it stands in the file */
    int64_t model;      /* that the line is in, from 1 */
    bool in_assembly_1; /* of REMARK 350 */
    bool seen_assembly;
    int rows; /* of the operation being read */
} pdb_reader;

#define FAIL_LINE(reader, ...)                                                         \
    return status_prefix(FAILED(STATUS_INPUT, __VA_ARGS__), "%s:%lld", (reader)->path, \
                         (long long)(reader)->line_number)

/* Columns first..last, counted from 1, without surrounding blanks. */
static void get_columns(const pdb_reader *r, int first, int last, char *text)
{
    const char *begin = r->line + first - 1, *end = r->line + last;
    while (begin < end && *begin == ' ')
        begin++;
    while (end > begin && end[-1] == ' ')
        end--;
    memcpy(text, begin, (size_t)(end - begin));
    text[end - begin] = 0;
}

/* A number in fixed columns; blank gives the default, NAN as default makes it required. */
static status get_number(const pdb_reader *r, int first, int last, double if_blank, double *value)
{
    char text[32], *end;
    get_columns(r, first, last, text);
    *value = if_blank;
    if (!text[0] && !isnan(if_blank)) return STATUS_OK;
    *value = strtod(text, &end);
    if (!text[0] || *end || !isfinite(*value) || strpbrk(text, "xX"))
        FAIL_LINE(r, "columns %d-%d hold '%s', expected a number", first, last, text);
    return STATUS_OK;
}

static status get_element(pdb_reader *r, record *new)
{
    char symbol[4];
    get_columns(r, 77, 78, symbol);
    if (isalpha((unsigned char)symbol[0]))
        new->atom.element = element_of_symbol(symbol, strlen(symbol));
    if (new->atom.element) return STATUS_OK;
    bool hetero = strncmp(r->line, "HETATM", 6) == 0;
    new->atom.element = element_of_name(r->line + 12, new->residue_name, hetero);
    if (!new->atom.element)
        FAIL_LINE(r, "no element in columns 77-78 ('%s') or in the atom's name '%s'", symbol,
                  new->name);
    if (isalpha((unsigned char)symbol[0]))
        parts_warn(r->parts, r->path, r->line_number,
                   "'%s' in columns 77-78 is no element; atomic number %d taken from the name '%s'",
                   symbol, new->atom.element, new->name);
    return STATUS_OK;
}

static status read_atom(pdb_reader *r)
{
    parts *p = r->parts;
    if (r->length < 54)
        FAIL_LINE(r, "the atom record ends in column %d, before its coordinates (31-54)",
                  r->length);
    TRY(array_grow((void **)&p->records, &p->capacity, p->n_records, sizeof *p->records));
    record *new = &p->records[p->n_records];
    *new = (record){.insertion = r->line[26], .alternate = r->line[16]};
    get_columns(r, 13, 16, new->name);
    get_columns(r, 18, 21, new->residue_name);
    get_columns(r, 22, 22, new->chain);
    char number[8];
    get_columns(r, 23, 26, number);
    new->residue = (int)strtol(number, NULL, 10);
    for (int d = 0; d < 3; d++)
        TRY(get_number(r, 31 + 8 * d, 38 + 8 * d, NAN, &new->atom.position[d]));
    TRY(get_number(r, 55, 60, 1, &new->atom.occupancy));
    TRY(get_number(r, 61, 66, 0, &new->atom.b_factor));
    if (new->atom.occupancy < 0)
        FAIL_LINE(r, "the occupancy (columns 55-60) is %g", new->atom.occupancy);
    if (new->atom.occupancy > 1)
        parts_warn(p, r->path, r->line_number, "the occupancy (columns 55-60) is %g, more than 1",
                   new->atom.occupancy);
    if (new->atom.b_factor < 0) {
        parts_warn(p, r->path, r->line_number, "the B factor (columns 61-66) is %g, taken as 0",
                   new->atom.b_factor);
        new->atom.b_factor = 0;
    }
    TRY(get_element(r, new));
    p->n_records++;
    return STATUS_OK;
}

static status add_chains(pdb_reader *r, const char *list)
{
    if (r->parts->n_assembly == 0) FAIL_LINE(r, "'AND CHAINS' before 'APPLY THE FOLLOWING'");
    assembly_part *part = &r->parts->assembly[r->parts->n_assembly - 1];
    while (*list) {
        size_t skip = strspn(list, " ,"), n = strcspn(list + skip, " ,");
        const char *name = list + skip;
        list = name + n;
        if (n == 0) break;
        if (n >= CHAIN_SIZE) FAIL_LINE(r, "chain '%.*s' has a name of %zu characters", 20, name, n);
        TRY(array_grow((void **)&part->chains, &part->chain_capacity, part->n_chains,
                       sizeof *part->chains));
        char *chain = part->chains[part->n_chains++];
        memset(chain, 0, CHAIN_SIZE);
        bool blank = n == 4 && strncmp(name, "NULL", 4) == 0; /* old files */
        if (!blank) memcpy(chain, name, n);
    }
    return STATUS_OK;
}

static status start_part(pdb_reader *r, const char *list)
{
    parts *p = r->parts;
    TRY(array_grow((void **)&p->assembly, &p->assembly_capacity, p->n_assembly,
                   sizeof *p->assembly));
    p->assembly[p->n_assembly++] = (assembly_part){0};
    return add_chains(r, list);
}

static double determinant(const double *op)
{
    return op[0] * (op[5] * op[10] - op[6] * op[9]) - op[1] * (op[4] * op[10] - op[6] * op[8]) +
           op[2] * (op[4] * op[9] - op[5] * op[8]);
}

/* REMARK 350   BIOMT2   1  0.327045 -0.944222  0.038562        0.79425 */
static status read_operation_row(pdb_reader *r)
{
    parts *p = r->parts;
    int row = r->line[18] - '1';
    if (row != r->rows)
        FAIL_LINE(r, "row %d of an operation where row %d was expected", row + 1, r->rows + 1);
    if (p->n_assembly == 0) FAIL_LINE(r, "an operation before 'APPLY THE FOLLOWING TO CHAINS'");
    assembly_part *part = &p->assembly[p->n_assembly - 1];
    TRY(array_grow((void **)&part->operations, &part->operation_capacity, part->n_operations,
                   sizeof *part->operations));
    double *op = part->operations[part->n_operations];
    for (int d = 0; d < 3; d++)
        TRY(get_number(r, 24 + 10 * d, 33 + 10 * d, NAN, &op[4 * row + d]));
    TRY(get_number(r, 54, 68, NAN, &op[4 * row + 3]));
    r->rows = (row + 1) % 3;
    if (r->rows) return STATUS_OK;
    if (fabs(determinant(op) - 1) > 0.01)
        FAIL_LINE(r, "the operation that ends here has determinant %g: not a rotation",
                  determinant(op));
    part->n_operations++;
    return STATUS_OK;
}

/* The text after `words` if the line holds them. */
static const char *text_after(const pdb_reader *r, const char *words)
{
    const char *found = strstr(r->line, words);
    return found ? found + strlen(words) : NULL;
}

static status read_remark_350(pdb_reader *r)
{
    const char *rest = text_after(r, "BIOMOLECULE:");
    if (rest) {
        r->in_assembly_1 = !r->seen_assembly && strtol(rest, NULL, 10) == 1;
        r->seen_assembly = r->seen_assembly || r->in_assembly_1;
        return STATUS_OK;
    }
    if (!r->in_assembly_1) return STATUS_OK;
    rest = text_after(r, "APPLY THE FOLLOWING TO CHAINS:");
    if (rest) return start_part(r, rest);
    rest = text_after(r, "AND CHAINS:");
    if (rest) return add_chains(r, rest);
    if (strncmp(r->line + 13, "BIOMT", 5) == 0) return read_operation_row(r);
    return STATUS_OK;
}

static status read_line(pdb_reader *r)
{
    const char *line = r->line;
    if (strncmp(line, "ATOM  ", 6) == 0 || strncmp(line, "HETATM", 6) == 0)
        return r->model == r->parts->model ? read_atom(r) : STATUS_OK;
    if (strncmp(line, "ENDMDL", 6) == 0) r->model++;
    if (strncmp(line, "REMARK 350", 10) == 0) return read_remark_350(r);
    return STATUS_OK;
}

static status read_lines(const char *text, size_t size, pdb_reader *r)
{
    for (const char *at = text, *end = text + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        ptrdiff_t n = (stop ? stop : end) - at;
        while (n > 0 && at[n - 1] == '\r')
            n--;
        r->line_number++;
        r->length = n > LINE_SIZE ? LINE_SIZE : (int)n;
        memset(r->line, ' ', LINE_SIZE);
        memcpy(r->line, at, (size_t)r->length);
        for (int i = 0; i < r->length; i++)
            if (r->line[i] == 0 || r->line[i] == '\t') r->line[i] = ' ';
        TRY(read_line(r));
        at = stop ? stop + 1 : end;
    }
    if (r->rows) FAIL(STATUS_INPUT, "%s: REMARK 350 ends inside an operation", r->path);
    if (r->parts->n_records == 0 && r->parts->model > 1)
        FAIL(STATUS_INPUT, "%s: no atoms of model %lld (molecule.model)", r->path,
             (long long)r->parts->model);
    return STATUS_OK;
}

status pdb_read(const char *path, parts *p)
{
    char *text = NULL;
    size_t size;
    TRY(text_load(path, &text, &size));
    pdb_reader r = {.path = path, .parts = p, .model = 1};
    status result = read_lines(text, size, &r);
    free(text);
    return result;
}

bool pdb_recognize(const char *path)
{
    static const char *const records[] = {"HEADER", "TITLE ", "COMPND", "REMARK", "CRYST1",
                                          "MODEL ", "ATOM  ", "HETATM", "AUTHOR", "EXPDTA"};
    char begin[8];
    if (text_begin(path, begin, sizeof begin - 1) < 6) return false;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        if (strncmp(begin, records[i], 6) == 0) return true;
    return false;
}
