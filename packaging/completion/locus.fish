# SPDX-License-Identifier: Apache-2.0
# fish completion for locus and locus-mpi: asks the program itself, so that it never lags behind its
# tables.
function __locus_complete
	set -l words (commandline -opc)
	set -l typed (commandline -ct)
	set -l program $words[1]
	set -e words[1]
	set -l found ($program list --complete $words "$typed" 2>/dev/null)
	if test "$found" = :files
		set -l option (string match -r -- '^--[^=]*=' "$typed")
		for file in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$typed"))
			echo "$option$file"
		end
	else
		printf '%s\n' $found
	end
end
complete -c locus -f -a '(__locus_complete)'
complete -c locus-mpi -f -a '(__locus_complete)'
