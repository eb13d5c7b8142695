/*
 * analyzer.h - included before every file that `make lint` gives clang-tidy.
 *
 * The analyzer does not look into functions that take "..." or are defined in
 * other files, and after a failure it assumes that they may have returned
 * CF_OK.  These macros show it what they return; no compiler sees this file.
 */
#ifndef CF_TESTS_TOOLS_ANALYZER_H
#define CF_TESTS_TOOLS_ANALYZER_H

#include "core/base/status.h"

#define cf_fail(err, code, ...)         (cf_fail((err), (code), __VA_ARGS__), (code))
#define cf_fail_at(err, code, off, ...) (cf_fail_at((err), (code), (off), __VA_ARGS__), (code))
#define cf_fail_line(err, code, line, col, ...) \
    (cf_fail_line((err), (code), (line), (col), __VA_ARGS__), (code))
#define cf_oom(err)           (cf_oom((err)), CF_ENOMEM)
#define cf_oom_for(err, what) (cf_oom_for((err), (what)), CF_ENOMEM)

#endif
