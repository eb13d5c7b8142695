/*
 * slow.h - whether this build runs several times slower than the program: a
 * test that does one thing for very many cases takes fewer of them then.
 */
#ifndef CF_TESTS_SUPPORT_SLOW_H
#define CF_TESTS_SUPPORT_SLOW_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define T_IS_SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define T_IS_SLOW 1
#endif
#endif
#ifndef T_IS_SLOW
#define T_IS_SLOW 0
#endif

/* How far a sweep over the nth allocation goes on.  With blocks of one there
 * are so many that after the first ones fewer and fewer are taken. */
#ifdef CF_TIGHT
#define T_SWEEP_STEP(nth) (1 + (nth) / 16)
#else
#define T_SWEEP_STEP(nth) 1
#endif

#endif
