/* SPDX-License-Identifier: Apache-2.0 */
/* TSAN: 1 if compiled with ThreadSanitizer, which gcc and clang announce differently. */
#ifndef LOCUS_TSAN_H
#define LOCUS_TSAN_H

#if defined(__SANITIZE_THREAD__)
#define TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSAN 1
#endif
#endif

#ifndef TSAN
#define TSAN 0
#endif

#endif
