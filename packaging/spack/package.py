# bigbird for Spack. In a repository of one's own (spack repo create), as packages/bigbird/package.py. No address has the
# sources yet: packaging/release.sh makes bigbird-VERSION.tar.gz, and `spack install --no-checksum bigbird` takes it from
# the folder where it is started; `spack dev-build bigbird@0.1.0` takes a checkout.
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Bigbird(CMakePackage):
    """Sparse-attention transformers (BigBird) for genomes and long texts, from the command line."""

    homepage = "https://arxiv.org/abs/2007.14062"
    url = f"file://{os.getcwd()}/bigbird-0.1.0.tar.gz"
    manual_download = True

    license("Apache-2.0")

    version("0.1.0")

    variant("cuda", default=False, description="Kernels for NVIDIA's GPUs")
    variant("mpi", default=False, description="A plug-in for training on ranks over an MPI")
    variant("matio", default=True, description="MATLAB files of version 5")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("zlib-api")
    depends_on("htslib@1.16:")
    depends_on("sentencepiece")
    depends_on("fmt")
    depends_on("spdlog")
    depends_on("hdf5")
    depends_on("icu4c")
    depends_on("expat")
    depends_on("curl")
    depends_on("matio", when="+matio")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12.4:", when="+cuda")

    # C++20, as g++ 12 and clang 14 compile it.
    conflicts("%gcc@:11")
    conflicts("%clang@:13")

    def cmake_args(self):
        return [
            self.define_from_variant("BIGBIRD_CUDA", "cuda"),
            self.define_from_variant("BIGBIRD_MATIO", "matio"),
            self.define("BIGBIRD_UNITY", True),
            self.define("BIGBIRD_TESTS", False),
            self.define("BIGBIRD_BENCH", False),
            self.define("BIGBIRD_ONEDNN", "OFF"),
        ]

    def test_demo(self):
        """score the demonstration's variants with a model that comes along"""
        bigbird = which(self.prefix.bin.bigbird)
        output = bigbird("demo", "--species", "yeast-r64", "-o", "demo", output=str.split, error=str.split)
        assert "alleles are scored" in output
