/*
 * fuzz_file.h - files for fuzz targets of readers that take a path.
 */
#ifndef CF_TESTS_SUPPORT_FUZZ_FILE_H
#define CF_TESTS_SUPPORT_FUZZ_FILE_H

#include <stddef.h>

/* The path of `name` in a folder of this process below TMPDIR, which is
 * removed at its end; valid until four more paths were asked for. */
const char *cf_fuzz_path(const char *name);

/* Writes the n bytes at p to that file, and returns its path. */
const char *cf_fuzz_file(const char *name, const void *p, size_t n);

#endif
