from spack.package import *

try:  # where Spack 1 keeps it
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
except ImportError:
    pass


class Xraylib(AutotoolsPackage):
    """Interactions of X-rays with matter: the library for C."""

    homepage = "https://github.com/tschoonj/xraylib"
    git = "https://github.com/tschoonj/xraylib.git"

    license("BSD-3-Clause")

    version("4.0.0", tag="xraylib-4.0.0")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("pkgconfig", type="build")

    def configure_args(self):
        bindings = ("fortran2003", "python", "python-numpy", "perl", "java", "lua", "ruby", "php")
        return [f"--disable-{binding}" for binding in bindings]
