import os

from spack.package import *

try:  # where Spack 1 keeps it
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass


class Mtip(CMakePackage, CudaPackage):
    """Electron density from single-particle X-ray diffraction images of unknown orientation,
    by multitiered iterative phasing; with a library of nonuniform FFTs for CPUs and GPUs."""

    # The checkout that this recipe is in.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *4 * [os.pardir]))

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("nccl", default=True, when="+cuda", description="Sums over ranks by NCCL")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type=("build", "link"))
    depends_on("mpi@3:")
    depends_on("hdf5@1.10:")
    depends_on("fftw@3.3: precision=float,double")
    depends_on("libyaml@0.2:")
    depends_on("zlib-api")
    depends_on("xraylib@4:")
    depends_on("openblas")
    depends_on("random123")
    depends_on("cmocka", type="test")
    depends_on("cuda@13:", when="+cuda")
    depends_on("nccl@2.18:", when="+nccl")
    for arch in CudaPackage.cuda_arch_values:  # without one NCCL's own recipe refuses to be built
        depends_on(f"nccl cuda_arch={arch}", when=f"+nccl cuda_arch={arch}")

    def cmake_args(self):
        args = [
            self.define_from_variant("MTIP_CUDA", "cuda"),
            self.define("MTIP_TESTS", self.run_tests),
        ]
        architectures = self.spec.variants["cuda_arch"].value if "+cuda" in self.spec else ("none",)
        if "none" not in architectures:
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", architectures))
        return args
