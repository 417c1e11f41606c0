/* SPDX-License-Identifier: Apache-2.0 */
/* How much CPU time other programs use on this host. */
#ifndef LOCUS_HEALTH_FOREIGN_H
#define LOCUS_HEALTH_FOREIGN_H

/* s since some moment. */
struct foreign {
	double wall;
	double busy; /* of all CPUs; 0: unknown */
	double own;  /* of this program */
};

/*
 * Reads the host's times of /proc/stat (`root` as in base/sysfs.h), and the own ones: `who` is of
 * getrusage(2), this process or its children that have ended.
 */
void foreign_read(const char *root, struct foreign *, int who);
/* CPUs that others used between the two; 0 where that is unknown. */
double foreign_cpus(const struct foreign *before, const struct foreign *after);

#endif
