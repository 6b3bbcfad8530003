#!/bin/sh
# Damages files of every format N times (bytes flipped, cut off, added) and reads them: no crash, no
# hang, and of a data set of ours no other numbers than were written.  The whole campaign is
# `sh tests/mutate.sh build/bin/mtip build/tests/mutate . 100000`.
# Usage: mutate.sh MTIP MUTATE SOURCE_DIR N [SEED]
mtip=$1 tool=$2 source=$3 n=$4 seed=${5:-1}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
data=${MTIP_SHARED_DATA:-$source/../shared/data}
make() { "$mtip" -q "$@" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }; }
cat >"$work/simulate.yaml" <<END
molecule: {file: $source/tests/data/2LYZ.pdb}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 20, photons_per_image: 1e3, output: $work/ours.h5}
END
make simulate "$work/simulate.yaml"
for to in emc emc-int emc-double dragonfly cxi detector; do
  make convert "$work/ours.h5" "$work/$to" --to $to
done
make convert "$work/ours.h5" "$work/detector.dat" --to detector
head -n 400 "$source/tests/data/2LYZ.pdb" | gzip >"$work/a.pdb.gz"
head -n 400 "$source/tests/data/2LYZ.pdb" >"$work/a.pdb"
printf '3\na comment\nC 1 2 3\nFE -1 0 4.5 0.25\n8 1e0 2 3\n' >"$work/a.xyz"
cat >"$work/a.geom" <<END
photon_energy = 4600 eV
clen = 60 mm
res = 500
coffset = 0.001 ; m
dim0 = %
dim1 = ss
dim2 = fs
mask = /entry_1/data_1/mask
mask_good = 0x0
mask_bad = 0xff
p0/min_fs = 0
p0/max_fs = 11
p0/min_ss = 0
p0/max_ss = 5
p0/corner_x = -6
p0/corner_y = -6
p1/min_fs = 0
p1/max_fs = 11
p1/min_ss = 6
p1/max_ss = 11
p1/corner_x = -6.0
p1/corner_y = 0.5
p1/fs = +1.0x -0.001y
p1/ss = +0.001x +1.0y
bad_stop/min_x = -1
bad_stop/max_x = 1
bad_stop/min_y = -1
bad_stop/max_y = 1
END
cat >"$work/a.json" <<END
[{"n_fs": 12, "n_ss": 6, "fs_vec": [0.002, 0.0, 0.0], "ss_vec": [0.0, 0.002, 0.0],
"t_vec": [-0.011, -0.011, 0.06], "parent_data_shape": [12, 12], "parent_data_slice": [[0, 6, 1], [0, 12, 1]]},
{"n_fs": 12, "n_ss": 6, "fs_vec": [0.002, 0.0, 0.0], "ss_vec": [0.0, 0.002, 0.0],
"t_vec": [-0.011, 0.001, 0.06], "parent_data_shape": [12, 12], "parent_data_slice": [[6, 12, 1], [0, 12, 1]]}]
END
cat >"$work/a.cif" <<END
data_A
loop_
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_comp_id
_atom_site.label_asym_id
_atom_site.auth_seq_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
_atom_site.occupancy
_atom_site.B_iso_or_equiv
N N ALA A 1 1.5 -2 3 0.5 10.25
C "C" ALA A 1 2.5 -2 3 ? .
loop_
_pdbx_struct_oper_list.id
_pdbx_struct_oper_list.matrix[1][1]
_pdbx_struct_oper_list.matrix[1][2]
_pdbx_struct_oper_list.matrix[1][3]
_pdbx_struct_oper_list.vector[1]
_pdbx_struct_oper_list.matrix[2][1]
_pdbx_struct_oper_list.matrix[2][2]
_pdbx_struct_oper_list.matrix[2][3]
_pdbx_struct_oper_list.vector[2]
_pdbx_struct_oper_list.matrix[3][1]
_pdbx_struct_oper_list.matrix[3][2]
_pdbx_struct_oper_list.matrix[3][3]
_pdbx_struct_oper_list.vector[3]
1 1 0 0 0 0 1 0 0 0 0 1 0
2 -1 0 0 5 0 -1 0 0 0 0 1 3
_pdbx_struct_assembly_gen.assembly_id 1
_pdbx_struct_assembly_gen.oper_expression (1,2)(1-2)
_pdbx_struct_assembly_gen.asym_id_list A
END
printf '%s\n%s\n' "$work/emc" "$work/dragonfly" >"$work/a.list"
set -- "$work"/ours.h5 "$work"/emc "$work"/emc-int "$work"/emc-double "$work"/dragonfly "$work"/cxi \
  "$work"/detector "$work"/detector.dat "$work"/a.*
for more in maps/EMD-3197.map maps/gemmi_5i55_tiny.ccp4 maps/gemmi_iota_yzx.ccp4.gz cxi/derived_prd1_stack100.cxi \
  cxi/typical_raw.cxi dragonfly/prd1_mini/det_sim.h5 geom/cspad-cxiformat.geom geom/pnccd_geometry.json; do
  [ -e "$data/$more" ] && set -- "$@" "$data/$more"
done
"$tool" "$n" "$seed" "$work/scratch" "$@"
