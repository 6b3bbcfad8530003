-- Lmod: `module use PREFIX/share/mtip/modulefiles; module load mtip`.
help([[mtip: electron density from single-particle X-ray diffraction images.  `man mtip`, `mtip --help`.]])
whatis("Name: mtip")
whatis("Version: " .. myModuleVersion())
whatis("Description: single-particle X-ray imaging by multitiered iterative phasing")

-- This file is PREFIX/share/mtip/modulefiles/mtip/VERSION.lua.
local prefix = myFileName():gsub("/share/mtip/modulefiles/mtip/[^/]*$", "")
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
setenv("MTIP_DATA", pathJoin(prefix, "share/mtip"))
