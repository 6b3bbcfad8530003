#!/bin/sh
# Checks an MRC file with an independent program, PyPI's mrcfile. Exit 77 where that is not installed.
# Usage: check_mrc.sh FILE...
python3 -c 'import mrcfile' 2>/dev/null || {
  echo "skipped: no Python module mrcfile (pip install mrcfile)"
  exit 77
}
python3 - "$@" <<'END'
import sys
import mrcfile
import numpy
bad = 0
for name in sys.argv[1:]:
    ok = mrcfile.validate(name)
    with mrcfile.open(name) as m:
        h = m.header
        n = numpy.array(m.data.shape[::-1])
        voxel = numpy.array([m.voxel_size.x, m.voxel_size.y, m.voxel_size.z])
        origin = numpy.array([h.origin.x, h.origin.y, h.origin.z])
        tests = {
            "mode 2": h.mode == 2, "a volume": m.is_volume(), "voxels": (voxel > 0).all(),
            "centred": numpy.allclose(origin, -(n // 2) * voxel),
            "minimum": numpy.isclose(h.dmin, m.data.min()), "maximum": numpy.isclose(h.dmax, m.data.max()),
            "mean": numpy.isclose(h.dmean, m.data.mean(dtype=float), atol=1e-5),
            "deviation": numpy.isclose(h.rms, m.data.std(dtype=float), rtol=1e-4),
        }
    wrong = [test for test, passed in tests.items() if not passed]
    print(name, "good" if ok and not wrong else f"bad: valid {ok}, wrong {wrong}")
    bad += not ok or bool(wrong)
sys.exit(bad > 0)
END
