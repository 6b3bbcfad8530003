/* mmCIF: the ribosome, and small texts with one trap each. */
#include <math.h>

#include "core/log.h"
#include "molecule.h"
#include "sim_case.h"

static const molecule_settings usual = {false, false, true, -1, 1, 0};

static const char *text_file(const char *text)
{
    const char *path = case_scratch("a.cif");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static molecule *read_text(const char *text)
{
    molecule *mol;
    assert_ok(molecule_read(text_file(text), &usual, &mol));
    return mol;
}

static void assert_text_fails(const char *text, const char *words)
{
    molecule *mol;
    assert_fails(molecule_read(text_file(text), &usual, &mol), STATUS_INPUT, words);
    assert_null(mol);
}

#define ATOMS                                                                              \
    "loop_\n_atom_site.group_PDB\n_atom_site.type_symbol\n_atom_site.label_atom_id\n"      \
    "_atom_site.label_alt_id\n_atom_site.label_comp_id\n_atom_site.label_asym_id\n"        \
    "_atom_site.auth_seq_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n" \
    "_atom_site.occupancy\n_atom_site.B_iso_or_equiv\n_atom_site.pdbx_PDB_model_num\n"

static void rows_are_read_by_the_names_of_columns(void **state)
{
    (void)state;
    molecule *mol = read_text("# a comment\n\ndata_TEST\n" ATOMS
                              "ATOM N \"N\" . ALA A 1 1.5 -2 3e0 0.5 10.25 1 # another\n"
                              "HETATM FE 'FE' ?\nHEM B 2 4 5 6 ? ? 1\n"
                              "HETATM O O . HOH C 3 4 5 6 1 1 1\n"
                              "ATOM H \"H5'\" . ALA A 1 4 5 6 1 1 1\n"
                              "ATOM C C . ALA A 1 4 5 6 1 1 2\n");
    assert_int_equal(mol->n_atoms, 2);
    assert_int_equal(mol->n_waters, 1);
    assert_int_equal(mol->n_hydrogens, 1);
    const atom *a = mol->atoms;
    assert_close(a[0].position[0], 1.5, 0);
    assert_close(a[0].position[1], -2, 0);
    assert_close(a[0].occupancy, 0.5, 0);
    assert_close(a[0].b_factor, 10.25, 0);
    assert_int_equal(a[1].element, 26);
    assert_close(a[1].occupancy, 1, 0);
    assert_close(a[1].b_factor, 0, 0);
    molecule_destroy(mol);
}

static void alternate_locations_follow_the_same_rule(void **state)
{
    (void)state;
    molecule *mol = read_text("data_TEST\n" ATOMS "ATOM C CB A ALA A 1 1 0 0 0.4 1 1\n"
                              "ATOM C CB B ALA A 1 2 0 0 0.6 1 1\n"
                              "ATOM C CB A ALA A 2 3 0 0 0.6 1 1\n"
                              "ATOM C CB B ALA A 2 4 0 0 0.4 1 1\n");
    assert_int_equal(mol->n_atoms, 2);
    assert_close(mol->atoms[0].position[0], 2, 0);
    assert_close(mol->atoms[1].position[0], 3, 0);
    molecule_destroy(mol);
}

#define OPERATORS                                                                \
    "loop_\n_pdbx_struct_oper_list.id\n_pdbx_struct_oper_list.matrix[1][1]\n"    \
    "_pdbx_struct_oper_list.matrix[1][2]\n_pdbx_struct_oper_list.matrix[1][3]\n" \
    "_pdbx_struct_oper_list.vector[1]\n_pdbx_struct_oper_list.matrix[2][1]\n"    \
    "_pdbx_struct_oper_list.matrix[2][2]\n_pdbx_struct_oper_list.matrix[2][3]\n" \
    "_pdbx_struct_oper_list.vector[2]\n_pdbx_struct_oper_list.matrix[3][1]\n"    \
    "_pdbx_struct_oper_list.matrix[3][2]\n_pdbx_struct_oper_list.matrix[3][3]\n" \
    "_pdbx_struct_oper_list.vector[3]\n"                                         \
    "1 1 0 0 0  0 1 0 0  0 0 1 0\n"   /* identity */                             \
    "2 -1 0 0 0  0 -1 0 0  0 0 1 0\n" /* half a turn about z */                  \
    "P 1 0 0 10  0 1 0 0  0 0 1 0\n"  /* a step along x */

/* (P)(1-2): the half turn first, then the step. Items that stand alone, a text field, and operators
   after their use. */
static void assemblies_are_products_of_operators(void **state)
{
    (void)state;
    molecule *mol = read_text("data_TEST\n" ATOMS "ATOM N N . ALA A 1 1 2 3 1 1 1\n"
                              "ATOM C C . ALA LONG 1 1 2 3 1 1 1\n"
                              "ATOM O O . ALA Z 1 1 2 3 1 1 1\n"
                              "_pdbx_struct_assembly_gen.assembly_id 1\n"
                              "_pdbx_struct_assembly_gen.oper_expression '(P)(1-2)'\n"
                              "_pdbx_struct_assembly_gen.asym_id_list\n;A,\nLONG\n;\n" OPERATORS);
    assert_int_equal(mol->n_atoms, 4);
    assert_int_equal(mol->n_operations, 2);
    assert_int_equal(mol->n_other_chains, 1);
    assert_close(mol->atoms[0].position[0], 11, 0);
    assert_close(mol->atoms[2].position[0], 9, 0);
    assert_close(mol->atoms[2].position[1], -2, 0);
    molecule_destroy(mol);
}

static void only_assembly_one_is_built(void **state)
{
    (void)state;
    molecule *mol = read_text("data_TEST\n" ATOMS "ATOM N N . ALA A 1 1 2 3 1 1 1\n"
                              "ATOM C C . ALA B 1 1 2 3 1 1 1\n" OPERATORS
                              "loop_\n_pdbx_struct_assembly_gen.assembly_id\n"
                              "_pdbx_struct_assembly_gen.oper_expression\n"
                              "_pdbx_struct_assembly_gen.asym_id_list\n"
                              "1 1,2 A\n1 1 B\n2 1 A,B\n");
    assert_int_equal(mol->n_atoms, 3);
    molecule_destroy(mol);
}

static void wrong_texts_are_named(void **state)
{
    (void)state;
    assert_text_fails("data_TEST\n" ATOMS "ATOM N N . ALA A 1 1 2x 3 1 1 1\n",
                      "a.cif:16: _atom_site.Cartn_y is '2x', expected a number");
    assert_text_fails("data_TEST\n" ATOMS "ATOM N N . ALA A 1 1 ? 3 1 1 1\n",
                      "_atom_site.Cartn_y is '', expected a number");
    assert_text_fails("data_TEST\n" ATOMS "ATOM Qq N . ALA A 1 1 2 3 1 1 1\n",
                      "type_symbol 'Qq' is no element");
    assert_text_fails("data_TEST\n" ATOMS "ATOM N N . ALA A 1 1 2 3 -1 1 1\n", "occupancy is -1");
    assert_text_fails("data_TEST\n" ATOMS "ATOM N N . ALA A 1 1 2 3\n",
                      "the last row of '_atom_site.group_PDB' has 10 of its 13 values");
    assert_text_fails("data_TEST\n" ATOMS "ATOM N 'N . ALA\n",
                      "a.cif:16: a text that starts with '");
    assert_text_fails("data_TEST\n_a.b\n;never\nended\n", "a.cif:3: a text that starts with ';'");
    assert_text_fails("data_TEST\n_a.b\n_a.c 1\n", "'_a.b' has no value");
    assert_text_fails("data_TEST\n", "no atoms");
    assert_text_fails("data_TEST\n" ATOMS "ATOM N N . ALA ABCDEFGHIJ 1 1 2 3 1 1 1\n",
                      "a name of 10 characters");
    assert_text_fails("data_TEST\n" ATOMS "ATOM N N . ALA A 1 1 2 3 1 1 1\n"
                      "_pdbx_struct_assembly_gen.assembly_id 1\n"
                      "_pdbx_struct_assembly_gen.oper_expression 7\n"
                      "_pdbx_struct_assembly_gen.asym_id_list A\n",
                      "needs operator '7', which is not given");
}

static void damaged_texts_do_no_harm(void **state)
{
    (void)state;
    static const char text[] =
        "data_TEST\n" ATOMS "ATOM N \"N\" . ALA A 1 1 2 3 1 1 1\n"
        "ATOM C 'C' A ALA B 1 1 2 3 1 1 1\n" OPERATORS "_pdbx_struct_assembly_gen.assembly_id 1\n"
        "_pdbx_struct_assembly_gen.oper_expression (P)(1-2)\n"
        "_pdbx_struct_assembly_gen.asym_id_list\n;A,B\n;\n";
    unsigned seed = 5;
    for (int trial = 0; trial < 2000; trial++) {
        char damaged[sizeof text];
        memcpy(damaged, text, sizeof text);
        for (int i = 0; i < 3; i++) {
            seed = seed * 1664525u + 1013904223u;
            damaged[10 + (seed >> 4) % (sizeof text - 11)] = "\n ;'_\"0-9(x"[(seed >> 27) % 11];
        }
        molecule *mol;
        status result = molecule_read(text_file(damaged), &usual, &mol);
        assert_true(result == STATUS_OK || result == STATUS_INPUT);
        molecule_destroy(mol);
    }
}

static void the_ribosome_has_its_atoms(void **state)
{
    (void)state;
    molecule *mol;
    assert_ok(molecule_read(case_shared("pdb/6zu5_ribosome.cif.gz"), &usual, &mol));
    scatter_size size = scatter_measure(mol->atoms, mol->n_atoms);
    assert_int_equal(mol->n_atoms, 165175);
    assert_close(size.n_electrons, 1145526, 1000);
    assert_close(size.gyration, 88, 1);
    molecule_destroy(mol);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read_by_the_names_of_columns),
        cmocka_unit_test(alternate_locations_follow_the_same_rule),
        cmocka_unit_test(assemblies_are_products_of_operators),
        cmocka_unit_test(only_assembly_one_is_built),
        cmocka_unit_test(wrong_texts_are_named),
        cmocka_unit_test(damaged_texts_do_no_harm),
        cmocka_unit_test(the_ribosome_has_its_atoms),
    };
    log_setup(LOG_ERROR, 0, 1);
    return case_run(tests);
}
