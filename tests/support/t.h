/*
 * t.h - cmocka, with shorthands for frequent test steps.
 *
 * A test program:  static void test_thing__case(void **state) {...} and
 * int main(void) { return cf_t_main({cmocka_unit_test(...), ...}) }.
 */
#ifndef CF_TESTS_SUPPORT_T_H
#define CF_TESTS_SUPPORT_T_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/status.h"

/* The call must return CF_OK; its cf_error `err` is printed otherwise. */
#define T_OK(call, err)                                                           \
    do {                                                                          \
        cf_status t_status_ = (call);                                             \
        if (t_status_ != CF_OK) {                                                 \
            fail_msg("%s: %s: %s", #call, cf_status_name(t_status_), (err).text); \
        }                                                                         \
    } while (0)

/* The call must return exactly `code`. */
#define T_FAILS(call, code)                                                   \
    do {                                                                      \
        cf_status t_status_ = (call);                                         \
        if (t_status_ != (code)) {                                            \
            fail_msg("%s: %s, expected %s", #call, cf_status_name(t_status_), \
                     cf_status_name(code));                                   \
        }                                                                     \
    } while (0)

/* n bytes at p equal the C string `want`. */
#define T_TEXT(p, n, want)                     \
    do {                                       \
        assert_int_equal((n), strlen(want));   \
        assert_memory_equal((p), (want), (n)); \
    } while (0)

/* A counted skip with its reason. */
#define T_SKIP(reason)                             \
    do {                                           \
        printf("SKIP %s: %s\n", __func__, reason); \
        skip();                                    \
    } while (0)

#endif
