# SPDX-License-Identifier: Apache-2.0
# Copy this file to PACKAGES/locus/package.py in a repository of packages of yours.
from spack.package import *

try:  # from Spack 1.0 on; before, it is in spack.package
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
except ImportError:
    pass


class Locus(AutotoolsPackage):
    """Benchmark of what data placement and sharing cost on a cluster node: cache lines, TLB pages,
    NUMA nodes, threads and MPI ranks."""

    homepage = "https://example.org/locus"  # until a release has a place
    url = "file:///path/to/locus-0.2.0.tar.gz"

    license("Apache-2.0")

    version("0.2.0")  # add the line of SHA256SUMS: sha256="..."

    variant("mpi", default=False, description="Build locus-mpi, for MPI jobs")
    variant("papi", default=False, description="Count hardware events through PAPI")
    variant("urcu", default=False, description="Compare with the hash map of liburcu")
    variant("report", default=True, description="Add Python for the commands that read records")

    depends_on("c", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2.5:")
    depends_on("numactl")
    depends_on("jansson@2.11:")
    depends_on("mpi", when="+mpi")
    depends_on("papi", when="+papi")
    depends_on("userspace-rcu", when="+urcu")
    depends_on("cmocka", type="test")
    # Its modules come from PyPI: locus report prints the command that installs them. make install
    # compiles to bytecode.
    depends_on("python@3.9:", type=("build", "run"), when="+report")

    # One binary serves a cluster, and its timed loops are the same everywhere: with AVX-512, gcc
    # would keep pointers in mask registers, which takes cycles.
    def setup_build_environment(self, env):
        for name in ("SPACK_TARGET_ARGS", "SPACK_TARGET_ARGS_CC"):  # of Spack 0.x and 1.x
            env.set(name, "")

    def configure_args(self):
        args = self.with_or_without("mpi") + self.with_or_without("papi")
        args += self.with_or_without("urcu")
        if self.spec.satisfies("+report"):
            args.append(f"PYTHON={self.spec['python'].command.path}")
        else:
            args.append("--without-python")
        return args

    # Tests of units need nothing but cmocka; the others, Python's modules of other origin.
    def check(self):
        with working_dir(self.build_directory):
            make("check", "TESTS=$(programs)")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_that_it_runs(self):
        Executable(self.prefix.bin.locus)("list")
