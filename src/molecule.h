/* molecule.h: reads the atoms of a particle from a structure file. */
#ifndef MTIP_MOLECULE_H
#define MTIP_MOLECULE_H

#include "config.h"
#include "mtip/scatter.h"

typedef struct molecule_settings {
    bool hydrogens;  /* keep hydrogen (and deuterium) */
    bool waters;     /* keep water */
    bool assembly;   /* build biological assembly 1 where the file describes it */
    double b_factor; /* >= 0: of all atoms, Angstrom^2; < 0: as in the file */
    int64_t model;   /* of several, from 1; 0: the first */
    int element;     /* of atoms in a file that names no elements; 0: none */
} molecule_settings;

/* Whether a file begins as PDB, mmCIF or XYZ files do. */
bool molecule_recognize(const char *path);

/* As the configuration has them; STATUS_CONFIG for an element that is none. */
status molecule_settings_of(const config *c, molecule_settings *settings);

typedef struct molecule {
    int64_t n_atoms;
    atom *atoms;
    /* What became of the atom records of the model. */
    int64_t n_records;
    int64_t n_waters, n_hydrogens, n_alternates, n_other_chains; /* left out */
    int n_operations; /* of the assembly; 0 when none was built */
} molecule;

/* Reads a PDB, an mmCIF (which begins with "data_") or an XYZ file, gzipped or not: one model of it;
   an empty occupancy is 1, an empty B factor 0.  Of alternate locations a residue keeps the conformer with the highest
   total occupancy (the first of equals), and an atom that this conformer lacks the location of its
   highest occupancy.
   PDB: ATOM and HETATM records by their columns; elements from columns 77-78, or from the atom's
   name where these hold no letter; assembly 1 is what REMARK 350 says of BIOMOLECULE 1 for its
   chains.  mmCIF: _atom_site; assembly "1" of _pdbx_struct_assembly_gen for its label_asym_id.
   Warnings and errors name file and line; STATUS_INPUT for a file that cannot be understood. */
status molecule_read(const char *path, const molecule_settings *settings, molecule **created);
/* Accepts NULL. */
void molecule_destroy(molecule *mol);

#endif
