/* molecule_parts.h: what a reader of structure files hands to molecule.c; for molecule*.c only. */
#ifndef MTIP_MOLECULE_PARTS_H
#define MTIP_MOLECULE_PARTS_H

#include "array.h"
#include "mtip/scatter.h"

enum { CHAIN_SIZE = 8 };

/* One atom record. */
typedef struct record {
    atom atom;
    char chain[CHAIN_SIZE];
    int residue;
    char insertion, alternate; /* ' ' for none */
    char name[8], residue_name[8];
} record;

typedef double operation[12]; /* rows of rotation and translation: x' = R x + t, [3][4] */

/* Operations and the chains they apply to. */
typedef struct assembly_part {
    char (*chains)[CHAIN_SIZE];
    int64_t n_chains, chain_capacity;
    operation *operations;
    int64_t n_operations, operation_capacity;
} assembly_part;

typedef struct parts {
    int64_t model; /* the one to read, from 1 */
    int element;   /* of atoms in a file that names none; 0: an error */
    record *records;
    int64_t n_records, capacity;
    assembly_part *assembly;
    int64_t n_assembly, assembly_capacity;
    int64_t n_warnings;
} parts;

void parts_free(parts *p);

/* A warning with file and line; after ten, silence (molecule_read gives the total). */
void parts_warn(parts *p, const char *path, int64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Atomic number of a symbol in any case ("CA", "Ca"), 1 for D; 0 when there is none. */
int element_of_symbol(const char *symbol, size_t length);

/* Atomic number from the four columns of an atom's name; hetero: from a HETATM record. 0: unknown. */
int element_of_name(const char name[4], const char *residue_name, bool hetero);

/* Whether the first line is a record of a PDB file. */
bool pdb_recognize(const char *path);
status pdb_read(const char *path, parts *p);

/* Whether the first line that is no comment starts a data block, as in mmCIF. */
bool cif_recognize(const char *path);
status cif_read(const char *path, parts *p);

bool xyz_recognize(const char *path);
status xyz_read(const char *path, parts *p);

#endif
