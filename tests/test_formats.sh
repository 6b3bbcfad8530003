#!/bin/sh
# The program and the formats of others: a data set of ours goes through each of them and is
# reconstructed alike; what a file holds is said; a blacklist leaves images out.
# Usage: test_formats.sh MTIP SOURCE_DIR
mtip=$1 source=$2
. "$(dirname "$0")/lib.sh"
# expect CODE TEXT ARGUMENT...: mtip exits with CODE and says TEXT.
expect() {
  code=$1 text=$2
  shift 2
  "$mtip" "$@" >out 2>&1
  got=$?
  [ $got -eq "$code" ] && { [ -z "$text" ] || grep -qF -- "$text" out; } && return
  say "$*: exit code $got, expected $code and: $text"
  head -n 8 out
}
small_config "$source" 'generations: 2, final_generations: 1, directory: run, deterministic: true' >a.yaml
expect 0 'images.h5: 40 images' simulate a.yaml

# The same images and places give the same orientations, whatever the file.
energy='--set geometry.photon_energy=4600'
expect 0 'converged' reconstruct a.yaml
expect 0 '' convert images.h5 det.h5 --to detector
# shellcheck disable=SC2086
for out in a.emc a.cxi b.emc:emc-int c.emc:emc-double d.h5:dragonfly; do
  name=${out%:*} to=${out#*:}
  [ "$to" = "$out" ] && to=
  expect 0 '40 images of 144 pixels' convert images.h5 $name ${to:+--to $to}
  geometry="--set geometry.file=det.h5 $energy"
  [ $name = a.cxi ] && geometry=
  expect 0 'images          40 of 1 x ' check $name
  expect 0 '4600.0 eV' check $name $geometry
  expect 0 'converged' reconstruct a.yaml --set data.file=$name $geometry --set run.directory=$name.run
  cut -d' ' -f1-3 run/orientations.txt >ours
  cut -d' ' -f1-3 $name.run/orientations.txt >theirs
  cmp ours theirs || say "$name: other orientations than from images.h5"
done
expect 0 'format          emc, lists of photons' check a.emc
expect 3 'nothing says where the pixels of a.emc are' reconstruct a.yaml --set data.file=a.emc --set run.directory=nowhere
expect 3 'det.h5 does not say the photon energy; set geometry.photon_energy' check det.h5
expect 0 'detector of Dragonfly' check det.h5 --set geometry.photon_energy=4600

# Other things that are converted, and looked at.
expect 0 '' convert run/density.mrc density.xdmf
expect 0 '' convert density.h5 back.mrc
[ "$(tail -c +1025 run/density.mrc | cksum)" = "$(tail -c +1025 back.mrc | cksum)" ] ||
  say 'a map has changed on its way through HDF5'
expect 0 'map             17 x 17 x 17 voxels' check run/result.h5
expect 0 'map             17 x 17 x 17 voxels' check density.h5
expect 0 '' convert run/result.h5 o.star
grep -q '_rlnAngleTilt' o.star || say 'no angles in o.star'
expect 0 '' convert run/orientations.txt o.dat --to quaternions
[ "$(head -n 1 o.dat)" = 40 ] || say 'o.dat does not begin with 40'
expect 0 'atoms           1001 of 1102 records' check "$source/tests/data/2LYZ.pdb"
gzip -c "$source/tests/data/2LYZ.pdb" >a.pdb.gz
expect 0 'atoms           1001 of 1102 records' check a.pdb.gz
expect 2 'its name does not tell the format' convert images.h5 images.what
expect 2 '--to nothing: is none of' convert images.h5 b.h5 --to nothing

# Images simulated on two panels with a gap of a row between them.
cat >two.geom <<END
clen = 60 mm
res = 500
dim0 = %
dim1 = ss
dim2 = fs
min_fs = 0
max_fs = 11
fs = x
ss = y
corner_x = -6
lower/min_ss = 0
lower/max_ss = 5
lower/corner_y = -6
upper/min_ss = 7
upper/max_ss = 12
upper/corner_y = 1
bad_stop/min_x = -1
bad_stop/max_x = 1
bad_stop/min_y = -1
bad_stop/max_y = 1
END
expect 0 'two.h5: 40 images' simulate a.yaml --set geometry.file=two.geom --set simulate.output=two.h5
expect 0 'images          40 of 1 x 13 x 12 pixels' check two.h5
expect 0 '8.97 % of them masked' check two.h5
expect 0 'images of 142 pixels' reconstruct a.yaml --set data.file=two.h5 --fresh
expect 0 '' convert two.geom two.dat --set geometry.photon_energy=4600
expect 0 'detector of Dragonfly (text)' check two.dat --set geometry.photon_energy=4600
expect 0 'dat.h5: 40 images' simulate a.yaml --set geometry.file=two.dat --set simulate.output=dat.h5
expect 0 'images          40 of 1 x 1 x 156 pixels' check dat.h5
awk 'NR == 1 {$3 *= 1.02} {print}' OFMT=%.17g CONVFMT=%.17g two.dat >off.dat
expect 4 'off.dat: its pixels lie on an Ewald sphere of' simulate a.yaml --set geometry.file=off.dat \
  --set simulate.output=off.h5
[ ! -e off.h5 ] || say 'images are simulated at places that are none'
expect 2 'two.geom: geometry of CrystFEL; name the output .h5 or .dat' convert two.geom two.cxi

# A blacklist.
i=0
while [ $i -lt 40 ]; do
  case $i in 3 | 17) echo 1 ;; *) echo 0 ;; esac
  i=$((i + 1))
done >black.txt
expect 0 '2 images on data.blacklist left out' reconstruct a.yaml --set data.blacklist=black.txt --fresh
grep -q '^3 \|^17 ' run/orientations.txt && say 'an unwanted image has an orientation'
[ "$(grep -vc '^#' run/orientations.txt)" -eq 38 ] || say 'not 38 orientations'
echo 0 >>black.txt
expect 4 'black.txt: 41 lines of 0 or 1, but the data set holds 40 images' \
  reconstruct a.yaml --set data.blacklist=black.txt --fresh
expect 4 'none.txt: cannot open' reconstruct a.yaml --set data.blacklist=none.txt --fresh
exit $failed
