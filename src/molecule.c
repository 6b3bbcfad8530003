#include "molecule.h"

#include "core/log.h"
#include "molecule_parts.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WARNINGS = 10 };

status molecule_settings_of(const config *c, molecule_settings *settings)
{
    const char *element = c->molecule.element;
    *settings = (molecule_settings){.hydrogens = c->molecule.hydrogens,
                                    .waters = c->molecule.waters,
                                    .assembly = c->molecule.assembly,
                                    .b_factor = c->molecule.b_factor,
                                    .model = c->molecule.model,
                                    .element = element_of_symbol(element, strlen(element))};
    if (*element && !settings->element)
        return config_fail(c, &c->molecule.element, "is '%.20s', which is no element", element);
    return STATUS_OK;
}

void parts_free(parts *p)
{
    for (int64_t i = 0; i < p->n_assembly; i++) {
        free(p->assembly[i].chains);
        free(p->assembly[i].operations);
    }
    free(p->assembly);
    free(p->records);
}

void parts_warn(parts *p, const char *path, int64_t line, const char *format, ...)
{
    if (p->n_warnings++ >= MAX_WARNINGS) return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_warning("%s:%lld: %s", path, (long long)line, text);
}

static bool is_water(const record *r)
{
    static const char *const names[] = {"HOH", "WAT", "DOD", "H2O", "TIP", "TIP3", "SOL"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(r->residue_name, names[i]) == 0) return true;
    return false;
}

/* Removes records that `unwanted` names and returns how many. */
static int64_t drop(parts *p, bool (*unwanted)(const record *r))
{
    int64_t kept = 0, n = p->n_records;
    for (int64_t i = 0; i < n; i++)
        if (!unwanted(&p->records[i])) p->records[kept++] = p->records[i];
    p->n_records = kept;
    return n - kept;
}

static bool is_hydrogen(const record *r)
{
    return r->atom.element == 1;
}

static bool is_marked(const record *r)
{
    return r->atom.element == 0;
}

static int compare_residues(const record *a, const record *b)
{
    int order = strcmp(a->chain, b->chain);
    if (order == 0) order = (a->residue > b->residue) - (a->residue < b->residue);
    if (order == 0) order = a->insertion - b->insertion;
    return order;
}

/* By residue, then name, then place in the file. */
static int compare_alternates(const void *left, const void *right)
{
    const record *a = *(record *const *)left, *b = *(record *const *)right;
    int order = compare_residues(a, b);
    if (order == 0) order = strcmp(a->name, b->name);
    if (order == 0) order = (a > b) - (a < b);
    return order;
}

/* The conformer of a residue: the letter with the highest total occupancy, the earliest of equals. */
static const record *choose_conformer(record *const *alternates, int64_t n)
{
    double total[256] = {0};
    const record *best = NULL;
    for (int64_t i = 0; i < n; i++)
        total[(unsigned char)alternates[i]->alternate] += alternates[i]->atom.occupancy;
    for (int64_t i = 0; i < n; i++) {
        const record *r = alternates[i];
        double gain =
            best ? total[(unsigned char)r->alternate] - total[(unsigned char)best->alternate] : 1;
        if (gain > 1e-6 || (gain > -1e-6 && r < best)) best = r;
    }
    return best;
}

/* Of the locations of one atom of a residue, marks all but the one to keep. */
static void mark_locations(record *const *locations, int64_t n, const record *conformer)
{
    record *keep = NULL;
    for (int64_t i = 0; i < n; i++) {
        record *r = locations[i];
        if (r->alternate == conformer->alternate) {
            keep = r;
            break;
        }
        bool same_residue = strcmp(r->residue_name, conformer->residue_name) == 0;
        if (same_residue && (!keep || r->atom.occupancy > keep->atom.occupancy)) keep = r;
    }
    for (int64_t i = 0; i < n; i++)
        if (locations[i] != keep) locations[i]->atom.element = 0;
}

static void mark_residue(record *const *alternates, int64_t n)
{
    const record *conformer = choose_conformer(alternates, n);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n; end++)
            if (strcmp(alternates[end]->name, alternates[begin]->name) != 0) break;
        mark_locations(alternates + begin, end - begin, conformer);
    }
}

static status drop_alternates(parts *p, int64_t *n_dropped)
{
    int64_t n = 0;
    record **alternates = malloc(((size_t)p->n_records + 1) * sizeof(record *));
    if (!alternates) FAIL(STATUS_RESOURCE, "no memory for alternate locations");
    for (int64_t i = 0; i < p->n_records; i++)
        if (p->records[i].alternate != ' ') alternates[n++] = &p->records[i];
    qsort(alternates, (size_t)n, sizeof(record *), compare_alternates);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n; end++)
            if (compare_residues(alternates[end], alternates[begin]) != 0) break;
        mark_residue(alternates + begin, end - begin);
    }
    free(alternates);
    *n_dropped = drop(p, is_marked);
    return STATUS_OK;
}

static bool applies_to(const assembly_part *part, const char *chain)
{
    for (int64_t i = 0; i < part->n_chains; i++)
        if (strcmp(part->chains[i], chain) == 0) return true;
    return false;
}

static atom transform(const atom *a, const double *op)
{
    atom moved = *a;
    for (int d = 0; d < 3; d++)
        moved.position[d] = op[4 * d] * a->position[0] + op[4 * d + 1] * a->position[1] +
                            op[4 * d + 2] * a->position[2] + op[4 * d + 3];
    return moved;
}

static int64_t copies_of(const parts *p, const record *r)
{
    int64_t copies = p->n_assembly == 0;
    for (int64_t i = 0; i < p->n_assembly; i++)
        if (applies_to(&p->assembly[i], r->chain)) copies += p->assembly[i].n_operations;
    return copies;
}

/* Writes the atoms: as they are, or every copy that the assembly makes of them. */
static status build(const parts *p, molecule *mol)
{
    int64_t n = 0;
    for (int64_t i = 0; i < p->n_records; i++) {
        int64_t copies = copies_of(p, &p->records[i]);
        if (copies == 0) mol->n_other_chains++;
        n += copies;
    }
    mol->atoms = malloc((size_t)(n ? n : 1) * sizeof *mol->atoms);
    if (!mol->atoms) FAIL(STATUS_RESOURCE, "no memory for %lld atoms", (long long)n);
    for (int64_t i = 0; i < p->n_records && p->n_assembly == 0; i++)
        mol->atoms[mol->n_atoms++] = p->records[i].atom;
    for (int64_t k = 0; k < p->n_assembly; k++) {
        const assembly_part *part = &p->assembly[k];
        mol->n_operations += (int)part->n_operations;
        for (int64_t o = 0; o < part->n_operations; o++)
            for (int64_t i = 0; i < p->n_records; i++)
                if (applies_to(part, p->records[i].chain))
                    mol->atoms[mol->n_atoms++] =
                        transform(&p->records[i].atom, part->operations[o]);
    }
    return STATUS_OK;
}

static void set_weights(molecule *mol, const char *path, double b_factor)
{
    double total = 0;
    for (int64_t i = 0; i < mol->n_atoms; i++) {
        total += mol->atoms[i].occupancy;
        if (b_factor >= 0) mol->atoms[i].b_factor = b_factor;
    }
    if (total > 0) return;
    log_warning("%s: all occupancies are 0, taken as 1", path);
    for (int64_t i = 0; i < mol->n_atoms; i++)
        mol->atoms[i].occupancy = 1;
}

static void report(const molecule *mol, const char *path, const parts *p)
{
    if (p->n_warnings > MAX_WARNINGS)
        log_warning("%s: %lld warnings in all", path, (long long)p->n_warnings);
    log_info("%s: %lld atoms from %lld records (left out: %lld of water, %lld of hydrogen, %lld "
             "alternate locations, %lld in other chains; %d assembly operations)",
             path, (long long)mol->n_atoms, (long long)mol->n_records, (long long)mol->n_waters,
             (long long)mol->n_hydrogens, (long long)mol->n_alternates,
             (long long)mol->n_other_chains, mol->n_operations);
}

static status read_into(const char *path, const molecule_settings *settings, parts *p,
                        molecule *mol)
{
    p->model = settings->model > 0 ? settings->model : 1;
    p->element = settings->element;
    if (cif_recognize(path))
        TRY(cif_read(path, p));
    else
        TRY(xyz_recognize(path) ? xyz_read(path, p) : pdb_read(path, p));
    mol->n_records = p->n_records;
    if (!settings->waters) mol->n_waters = drop(p, is_water);
    TRY(drop_alternates(p, &mol->n_alternates));
    if (!settings->hydrogens) mol->n_hydrogens = drop(p, is_hydrogen);
    int64_t n_assembly = p->n_assembly;
    if (!settings->assembly) p->n_assembly = 0;
    status result = build(p, mol);
    p->n_assembly = n_assembly;
    TRY(result);
    if (mol->n_atoms == 0)
        FAIL(STATUS_INPUT,
             "%s: no atoms to scatter from (%lld atom records: %lld of water, %lld of hydrogen, "
             "%lld in chains that are not of the assembly)",
             path, (long long)mol->n_records, (long long)mol->n_waters, (long long)mol->n_hydrogens,
             (long long)mol->n_other_chains);
    set_weights(mol, path, settings->b_factor);
    report(mol, path, p);
    return STATUS_OK;
}

bool molecule_recognize(const char *path)
{
    return cif_recognize(path) || xyz_recognize(path) || pdb_recognize(path);
}

status molecule_read(const char *path, const molecule_settings *settings, molecule **created)
{
    *created = NULL;
    parts p = {0};
    molecule *mol = calloc(1, sizeof *mol);
    if (!mol) FAIL(STATUS_RESOURCE, "no memory for a molecule");
    status result = read_into(path, settings, &p, mol);
    parts_free(&p);
    if (result == STATUS_OK)
        *created = mol;
    else
        molecule_destroy(mol);
    return result;
}

void molecule_destroy(molecule *mol)
{
    if (!mol) return;
    free(mol->atoms);
    free(mol);
}
