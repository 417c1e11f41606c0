#%Module1.0
# SPDX-License-Identifier: Apache-2.0
# For Environment Modules: module use PREFIX/share/locus/modulefiles; module load locus
proc ModulesHelp {} {
    puts stderr "locus measures what the placement and sharing of data cost on a cluster node."
    puts stderr "Begin with: locus doctor; locus suite; man locus"
}
module-whatis "benchmark of data placement and sharing on cluster nodes"

# It is where it was installed. A copy elsewhere names the prefix instead.
regsub {/share/locus/modulefiles/.*} $ModulesCurrentModulefile {} prefix

prepend-path PATH $prefix/bin
prepend-path MANPATH $prefix/share/man
setenv LOCUS_JOBS $prefix/share/locus/jobs
