/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/threads/stacks.h"

#include <pthread.h>
#include <stddef.h>

void stacks_small(void)
{
	pthread_attr_t usual;
	size_t bytes = 0;

	if (!pthread_getattr_default_np(&usual)) {
		if (!pthread_attr_getstacksize(&usual, &bytes) && bytes > STACK_BYTES &&
		    !pthread_attr_setstacksize(&usual, STACK_BYTES))
			pthread_setattr_default_np(&usual);
		pthread_attr_destroy(&usual);
	}
}
