/*
 * fuzz_file.h - files for fuzz targets of readers that take a path.
 */
#ifndef CF_TESTS_SUPPORT_FUZZ_FILE_H
#define CF_TESTS_SUPPORT_FUZZ_FILE_H

#include <stddef.h>

/* Writes `name` in a folder of this process, which is gone at its end, and
 * returns its path; valid until four more were asked for. */
const char *cf_fuzz_file(const char *name, const void *p, size_t n);

#endif
