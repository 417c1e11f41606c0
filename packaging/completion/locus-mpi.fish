# SPDX-License-Identifier: Apache-2.0
# fish looks for a file of the command's name.
source (status dirname)/locus.fish
