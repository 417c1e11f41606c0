/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of pages that memory is mapped with. */
#ifndef LOCUS_PAGES_H
#define LOCUS_PAGES_H

enum pages {
	PAGES_BASE, /* system pages; transparent huge pages declined */
	PAGES_THP,  /* transparent huge pages asked for */
	PAGES_2M,   /* hugetlb */
	PAGES_1G,   /* hugetlb */
	/* transparent huge pages of a size below that of PAGES_THP: touch with multisize_touch() */
	PAGES_MULTISIZE,
	PAGES_MULTISIZE_16K = PAGES_MULTISIZE,
	PAGES_MULTISIZE_64K,
	PAGES_MULTISIZE_256K,
};
/* the choices of a parameter, in the order of enum pages; the second part may be left out */
#define PAGES_CHOICES		"base,thp,2M,1G"
#define PAGES_CHOICES_MULTISIZE ",thp-16K,thp-64K,thp-256K"

#endif
