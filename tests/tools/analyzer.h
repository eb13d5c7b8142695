/*
 * analyzer.h - included before every file that `make lint` gives clang-tidy.
 *
 * The analyzer looks into no function that takes "...", so that after a
 * failure it goes on as if nothing had failed.  Here it is told what these
 * return; no compiler sees this file.
 */
#ifndef CF_TESTS_TOOLS_ANALYZER_H
#define CF_TESTS_TOOLS_ANALYZER_H

#include "core/base/status.h"

#define cf_fail(err, code, ...) (cf_fail((err), (code), __VA_ARGS__), (code))
#define cf_fail_at(err, code, off, ...) \
    (cf_fail_at((err), (code), (off), __VA_ARGS__), (code))
#define cf_fail_line(err, code, line, col, ...) \
    (cf_fail_line((err), (code), (line), (col), __VA_ARGS__), (code))

#endif
