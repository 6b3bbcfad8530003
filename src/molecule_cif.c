#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "molecule_parts.h"
#include "text_file.h"

/* mmCIF is a sequence of words: names (_category.item) and their values, or loop_, names, and rows of
   values.  A single item is treated as a loop of one row.  Values are cut out of the text in place. */
enum { MAX_COLUMNS = 256, ID_SIZE = 16, MAX_FACTORS = 3, MAX_OPERATIONS = 100000 };

typedef struct operator_entry {
    char id[ID_SIZE];
    operation op;
} operator_entry;

/* A line of _pdbx_struct_assembly_gen that belongs to assembly 1; texts are the file's. */
typedef struct generator {
    char *expression, *chains;
} generator;

typedef struct cif_reader {
    const char *path;
    parts *parts;
    char *text, *at; /* the file, and the next character */
    bool ended_line; /* the character before it was a line's end, now overwritten */
    int64_t line;
    char *word; /* the last word */
    bool quoted;
    int64_t word_line;
    const char *names[MAX_COLUMNS];
    char *values[MAX_COLUMNS];
    int n_columns;
    char model[ID_SIZE]; /* of the last row of atoms */
    int64_t n_models;    /* so far */
    operator_entry *operators;
    int64_t n_operators, operator_capacity;
    generator *generators;
    int64_t n_generators, generator_capacity;
} cif_reader;

#define FAIL_HERE(r, ...)                                                         \
    return status_prefix(FAILED(STATUS_INPUT, __VA_ARGS__), "%s:%lld", (r)->path, \
                         (long long)(r)->word_line)

static void skip_blanks(cif_reader *r)
{
    const char *before = r->at;
    while (*r->at && (isspace((unsigned char)*r->at) || *r->at == '#')) {
        if (*r->at == '#') {
            while (*r->at && *r->at != '\n')
                r->at++;
        } else {
            r->line += *r->at++ == '\n';
        }
    }
    if (r->at > before) r->ended_line = r->at[-1] == '\n';
}

/* Ends the word at r->at, steps over the character there. */
static void end_word(cif_reader *r)
{
    if (!*r->at) return;
    r->ended_line = *r->at == '\n';
    r->line += r->ended_line;
    *r->at++ = 0;
}

/* From a line that starts with ; to the next one. */
static status read_text_field(cif_reader *r)
{
    r->word = ++r->at;
    for (; *r->at; r->at++) {
        if (*r->at != '\n') continue;
        r->line++;
        if (r->at[1] == ';') {
            *r->at = 0;
            r->at += 2;
            return STATUS_OK;
        }
    }
    FAIL_HERE(r, "a text that starts with ';' has no end");
}

static status read_quoted(cif_reader *r)
{
    char quote = *r->at++;
    r->word = r->at;
    while (*r->at && *r->at != '\n' &&
           !(*r->at == quote && (!r->at[1] || isspace((unsigned char)r->at[1]))))
        r->at++;
    if (*r->at != quote) FAIL_HERE(r, "a text that starts with %c has no end", quote);
    end_word(r);
    return STATUS_OK;
}

/* The next word; r->word is NULL at the end. */
static status next_word(cif_reader *r)
{
    skip_blanks(r);
    r->word = NULL;
    r->word_line = r->line;
    r->quoted = false;
    if (!*r->at) return STATUS_OK;
    bool is_field = *r->at == ';' && (r->ended_line || r->at == r->text);
    r->quoted = is_field || *r->at == '\'' || *r->at == '"';
    if (is_field) return read_text_field(r);
    if (r->quoted) return read_quoted(r);
    r->word = r->at;
    while (*r->at && !isspace((unsigned char)*r->at))
        r->at++;
    end_word(r);
    return STATUS_OK;
}

static bool is_keyword(const cif_reader *r)
{
    return !r->word || (!r->quoted && (r->word[0] == '_' || strcasecmp(r->word, "loop_") == 0 ||
                                       strncasecmp(r->word, "data_", 5) == 0));
}

/* The value of a column in the current row; "" where the file has none, or only ? or a dot. */
static const char *value_of(const cif_reader *r, const char *name)
{
    for (int i = 0; i < r->n_columns; i++)
        if (strcasecmp(r->names[i], name) == 0) {
            const char *value = r->values[i];
            return strcmp(value, "?") == 0 || strcmp(value, ".") == 0 ? "" : value;
        }
    return "";
}

static status number_of(const cif_reader *r, const char *name, double if_missing, double *number)
{
    const char *text = value_of(r, name);
    char *end;
    *number = if_missing;
    if (!*text && !isnan(if_missing)) return STATUS_OK;
    *number = strtod(text, &end);
    if (*end == '(') end = strchr(end, ')') ? "" : end; /* a standard uncertainty */
    if (!*text || *end || !isfinite(*number) || strpbrk(text, "xX"))
        FAIL_HERE(r, "%s is '%s', expected a number", name, text);
    return STATUS_OK;
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

static char first_of(const char *text)
{
    return (char)(*text ? *text : ' ');
}

static status read_atom(cif_reader *r)
{
    parts *p = r->parts;
    const char *model = value_of(r, "_atom_site.pdbx_PDB_model_num");
    if (r->n_models == 0 || (*model && strncmp(model, r->model, ID_SIZE - 1) != 0)) {
        copy_text(r->model, ID_SIZE, model);
        r->n_models++;
    }
    if (r->n_models != p->model) return STATUS_OK;
    TRY(array_grow((void **)&p->records, &p->capacity, p->n_records, sizeof *p->records));
    record *new = &p->records[p->n_records];
    const char *insertion = value_of(r, "_atom_site.pdbx_PDB_ins_code");
    const char *alternate = value_of(r, "_atom_site.label_alt_id");
    const char *symbol = value_of(r, "_atom_site.type_symbol");
    const char *chain = value_of(r, "_atom_site.label_asym_id");
    *new = (record){.insertion = first_of(insertion), .alternate = first_of(alternate)};
    if (strlen(chain) >= CHAIN_SIZE)
        FAIL_HERE(r, "chain '%.20s' has a name of %zu characters", chain, strlen(chain));
    copy_text(new->chain, CHAIN_SIZE, chain);
    copy_text(new->name, sizeof new->name, value_of(r, "_atom_site.label_atom_id"));
    copy_text(new->residue_name, sizeof new->residue_name, value_of(r, "_atom_site.label_comp_id"));
    new->residue = (int)strtol(value_of(r, "_atom_site.auth_seq_id"), NULL, 10);
    TRY(number_of(r, "_atom_site.Cartn_x", NAN, &new->atom.position[0]));
    TRY(number_of(r, "_atom_site.Cartn_y", NAN, &new->atom.position[1]));
    TRY(number_of(r, "_atom_site.Cartn_z", NAN, &new->atom.position[2]));
    TRY(number_of(r, "_atom_site.occupancy", 1, &new->atom.occupancy));
    TRY(number_of(r, "_atom_site.B_iso_or_equiv", 0, &new->atom.b_factor));
    if (new->atom.occupancy < 0) FAIL_HERE(r, "the occupancy is %g", new->atom.occupancy);
    if (new->atom.b_factor < 0) {
        parts_warn(p, r->path, r->word_line, "the B factor is %g, taken as 0", new->atom.b_factor);
        new->atom.b_factor = 0;
    }
    new->atom.element = element_of_symbol(symbol, strlen(symbol));
    if (!new->atom.element) FAIL_HERE(r, "type_symbol '%s' is no element", symbol);
    p->n_records++;
    return STATUS_OK;
}

static status read_operator(cif_reader *r)
{
    TRY(array_grow((void **)&r->operators, &r->operator_capacity, r->n_operators,
                   sizeof *r->operators));
    operator_entry *new = &r->operators[r->n_operators];
    copy_text(new->id, ID_SIZE, value_of(r, "_pdbx_struct_oper_list.id"));
    for (int row = 0; row < 3; row++)
        for (int col = 0; col < 4; col++) {
            char name[64];
            if (col < 3)
                snprintf(name, sizeof name, "_pdbx_struct_oper_list.matrix[%d][%d]", row + 1,
                         col + 1);
            else
                snprintf(name, sizeof name, "_pdbx_struct_oper_list.vector[%d]", row + 1);
            TRY(number_of(r, name, NAN, &new->op[4 * row + col]));
        }
    r->n_operators++;
    return STATUS_OK;
}

static status read_generator(cif_reader *r)
{
    if (strcmp(value_of(r, "_pdbx_struct_assembly_gen.assembly_id"), "1") != 0) return STATUS_OK;
    TRY(array_grow((void **)&r->generators, &r->generator_capacity, r->n_generators,
                   sizeof *r->generators));
    generator new = {strdup(value_of(r, "_pdbx_struct_assembly_gen.oper_expression")),
                     strdup(value_of(r, "_pdbx_struct_assembly_gen.asym_id_list"))};
    r->generators[r->n_generators++] = new;
    if (!new.expression || !new.chains) FAIL(STATUS_RESOURCE, "%s: no memory", r->path);
    return STATUS_OK;
}

static bool in_category(const char *name, const char *category)
{
    size_t n = strlen(category);
    return strncasecmp(name, category, n) == 0 && name[n] == '.';
}

static status read_row(cif_reader *r)
{
    if (r->n_columns == 0) return STATUS_OK;
    if (in_category(r->names[0], "_atom_site")) return read_atom(r);
    if (in_category(r->names[0], "_pdbx_struct_oper_list")) return read_operator(r);
    if (in_category(r->names[0], "_pdbx_struct_assembly_gen")) return read_generator(r);
    return STATUS_OK;
}

static status read_loop(cif_reader *r)
{
    r->n_columns = 0;
    TRY(next_word(r));
    while (r->word && !r->quoted && r->word[0] == '_') {
        if (r->n_columns == MAX_COLUMNS)
            FAIL_HERE(r, "a loop of more than %d columns", MAX_COLUMNS);
        r->names[r->n_columns++] = r->word;
        TRY(next_word(r));
    }
    int column = 0;
    while (!is_keyword(r) && r->n_columns > 0) {
        r->values[column++] = r->word;
        if (column == r->n_columns) {
            TRY(read_row(r));
            column = 0;
        }
        TRY(next_word(r));
    }
    if (column != 0)
        FAIL_HERE(r, "the last row of '%s' has %d of its %d values", r->names[0], column,
                  r->n_columns);
    r->n_columns = 0;
    return STATUS_OK;
}

/* Items of one category that stand one by one make a row. */
static status read_item(cif_reader *r)
{
    char *name = r->word;
    size_t category = strcspn(name, ".");
    if (r->n_columns > 0 && strncasecmp(r->names[0], name, category + 1) != 0) {
        TRY(read_row(r));
        r->n_columns = 0;
    }
    TRY(next_word(r));
    if (is_keyword(r)) FAIL_HERE(r, "'%s' has no value", name);
    if (r->n_columns < MAX_COLUMNS) {
        r->names[r->n_columns] = name;
        r->values[r->n_columns++] = r->word;
    }
    return next_word(r);
}

/* After an item or a loop r->word is the word that follows it. */
static status read_words(cif_reader *r)
{
    TRY(next_word(r));
    int n_blocks = 0;
    while (r->word) {
        if (!r->quoted && strcasecmp(r->word, "loop_") == 0) {
            TRY(read_row(r));
            TRY(read_loop(r));
        } else if (!r->quoted && r->word[0] == '_') {
            TRY(read_item(r));
        } else {
            if (!r->quoted && strncasecmp(r->word, "data_", 5) == 0 && n_blocks++ > 0) break;
            TRY(next_word(r));
        }
    }
    TRY(read_row(r));
    return STATUS_OK;
}

/* ---- the assembly ---- */

static const double *find_operator(const cif_reader *r, const char *id)
{
    for (int64_t i = 0; i < r->n_operators; i++)
        if (strcmp(r->operators[i].id, id) == 0) return r->operators[i].op;
    return NULL;
}

/* product = a b: first b, then a */
static void multiply(const double *a, const double *b, double *product)
{
    for (int row = 0; row < 3; row++)
        for (int col = 0; col < 4; col++) {
            double sum = col == 3 ? a[4 * row + 3] : 0;
            for (int k = 0; k < 3; k++)
                sum += a[4 * row + k] * b[4 * k + col];
            product[4 * row + col] = sum;
        }
}

static status add_operation(assembly_part *part, const double *op)
{
    TRY(array_grow((void **)&part->operations, &part->operation_capacity, part->n_operations,
                   sizeof *part->operations));
    memcpy(part->operations[part->n_operations++], op, sizeof(operation));
    return STATUS_OK;
}

/* Multiplies every operation of `before` with the one of this id. */
static status apply_operator(const cif_reader *r, const char *id, const assembly_part *before,
                             assembly_part *after)
{
    const double *op = find_operator(r, id);
    if (!op)
        FAIL(STATUS_INPUT, "%s: the assembly needs operator '%s', which is not given", r->path, id);
    for (int64_t i = 0; i < before->n_operations; i++) {
        operation product;
        multiply(before->operations[i], op, product);
        if (after->n_operations == MAX_OPERATIONS)
            FAIL(STATUS_INPUT, "%s: an assembly of more than %d operations", r->path,
                 MAX_OPERATIONS);
        TRY(add_operation(after, product));
    }
    return STATUS_OK;
}

/* The same with all operators that ids such as "1,3-5,P" name, one after the other. */
static status apply_factor(const cif_reader *r, char *ids, const assembly_part *before,
                           assembly_part *after)
{
    char *rest = NULL;
    for (char *item = strtok_r(ids, ", ", &rest); item; item = strtok_r(NULL, ", ", &rest)) {
        char *end;
        const int64_t first = strtoll(item, &end, 10);
        const bool is_range = end > item && *end == '-';
        if (!is_range) {
            TRY(apply_operator(r, item, before, after));
            continue;
        }
        const int64_t last = strtoll(end + 1, NULL, 10);
        for (int64_t k = first; k <= last; k++) {
            char id[ID_SIZE];
            snprintf(id, sizeof id, "%lld", (long long)k);
            TRY(apply_operator(r, id, before, after));
        }
    }
    return STATUS_OK;
}

/* "1,2", "(1-60)" or a product of lists "(P)(1-60)", of which the last acts first. */
static status expand(const cif_reader *r, char *expression, assembly_part *part)
{
    static const operation identity = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    TRY(add_operation(part, identity));
    char *rest = NULL;
    int n_factors = 0;
    for (char *factor = strtok_r(expression, "()", &rest); factor;
         factor = strtok_r(NULL, "()", &rest)) {
        if (++n_factors > MAX_FACTORS)
            FAIL(STATUS_INPUT, "%s: an assembly of more than %d factors", r->path, MAX_FACTORS);
        assembly_part after = {0};
        status result = apply_factor(r, factor, part, &after);
        free(part->operations);
        part->operations = after.operations;
        part->n_operations = after.n_operations;
        part->operation_capacity = after.operation_capacity;
        TRY(result);
    }
    return STATUS_OK;
}

static status build_part(const cif_reader *r, const generator *g)
{
    parts *p = r->parts;
    TRY(array_grow((void **)&p->assembly, &p->assembly_capacity, p->n_assembly,
                   sizeof *p->assembly));
    assembly_part *part = &p->assembly[p->n_assembly++];
    *part = (assembly_part){0};
    char *rest = NULL;
    for (char *chain = strtok_r(g->chains, ", \n\r", &rest); chain;
         chain = strtok_r(NULL, ", \n\r", &rest)) {
        TRY(array_grow((void **)&part->chains, &part->chain_capacity, part->n_chains,
                       sizeof *part->chains));
        copy_text(part->chains[part->n_chains++], CHAIN_SIZE, chain);
    }
    return expand(r, g->expression, part);
}

static status read_all(cif_reader *r)
{
    TRY(read_words(r));
    if (r->parts->n_records == 0 && r->parts->model > 1)
        FAIL(STATUS_INPUT, "%s: no atoms of model %lld (molecule.model); it has %lld", r->path,
             (long long)r->parts->model, (long long)r->n_models);
    for (int64_t i = 0; i < r->n_generators; i++)
        TRY(build_part(r, &r->generators[i]));
    return STATUS_OK;
}

static status load_text(cif_reader *r)
{
    size_t size;
    TRY(text_load(r->path, &r->text, &size));
    r->at = r->text;
    r->line = 1;
    return STATUS_OK;
}

status cif_read(const char *path, parts *p)
{
    cif_reader *r = calloc(1, sizeof *r);
    if (!r) FAIL(STATUS_RESOURCE, "%s: no memory to read it", path);
    r->path = path;
    r->parts = p;
    status result = load_text(r);
    if (result == STATUS_OK) result = read_all(r);
    for (int64_t i = 0; i < r->n_generators; i++) {
        free(r->generators[i].expression);
        free(r->generators[i].chains);
    }
    free(r->generators);
    free(r->operators);
    free(r->text);
    free(r);
    return result;
}

bool cif_recognize(const char *path)
{
    enum { SIZE = 65536 };
    char *begin = malloc(SIZE);
    bool found = false, other = !begin || text_begin(path, begin, SIZE - 1) == 0;
    text_lines lines = {begin, 0};
    for (const char *line; !found && !other && (line = text_next_line(&lines, "#"));) {
        found = strncasecmp(line, "data_", 5) == 0;
        other = !found && *line;
    }
    free(begin);
    return found;
}
