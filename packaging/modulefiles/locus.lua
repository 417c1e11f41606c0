-- SPDX-License-Identifier: Apache-2.0
-- For Lmod: module use PREFIX/share/locus/modulefiles; module load locus
help([[
locus measures what the placement and sharing of data cost on a cluster node.
Begin with: locus doctor; locus suite; man locus
]])
whatis("Name: locus")
whatis("Version: " .. myModuleVersion())
whatis("Description: benchmark of data placement and sharing on cluster nodes")

-- It is where it was installed. A copy elsewhere names the prefix instead.
local prefix = myFileName():match("^(.*)/share/locus/modulefiles/")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
setenv("LOCUS_JOBS", pathJoin(prefix, "share/locus/jobs"))
