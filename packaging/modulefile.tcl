#%Module1.0
# Environment Modules: `module use PREFIX/share/mtip/modulefiles; module load mtip`.
proc ModulesHelp {} {
    puts stderr "mtip: electron density from single-particle X-ray diffraction images.  `man mtip`, `mtip --help`."
}
module-whatis "single-particle X-ray imaging by multitiered iterative phasing"
conflict mtip

# This file is PREFIX/share/mtip/modulefiles/mtip/VERSION.
set prefix $ModulesCurrentModulefile
for {set up 0} {$up < 5} {incr up} {
    set prefix [file dirname $prefix]
}
prepend-path PATH $prefix/bin
prepend-path MANPATH $prefix/share/man
append-path MANPATH {} ;# after it the pages that were found before
prepend-path CMAKE_PREFIX_PATH $prefix
setenv MTIP_DATA $prefix/share/mtip
