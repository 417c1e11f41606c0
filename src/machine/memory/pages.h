/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of pages that memory is mapped with. */
#ifndef LOCUS_PAGES_H
#define LOCUS_PAGES_H

enum pages {
	PAGES_BASE, /* system pages; transparent huge pages declined */
	PAGES_THP,  /* transparent huge pages asked for */
	PAGES_2M,   /* hugetlb */
	PAGES_1G,   /* hugetlb */
};
/* the choices of a parameter, in the order of enum pages */
#define PAGES_CHOICES "base,thp,2M,1G"

#endif
