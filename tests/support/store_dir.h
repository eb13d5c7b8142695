/*
 * store_dir.h - a folder of its own for a test's files, gone afterwards.
 */
#ifndef CF_TESTS_SUPPORT_STORE_DIR_H
#define CF_TESTS_SUPPORT_STORE_DIR_H

#include <stddef.h>

typedef char store_path[512];

/* For cmocka_run_group_tests(). */
int store_dir_make(void **state);
int store_dir_remove(void **state);

/* The path of a file in it; valid until eight more were asked for. */
const char *store_dir_file(const char *name);

/* The same into the caller's array. */
void store_dir_path(store_path out, const char *name);

/* Writes a file in it and returns its path, which is valid as long; fails the
 * test where it cannot. */
const char *store_dir_put(const char *name, const void *p, size_t n);
const char *store_dir_put_text(const char *name, const char *text);

/* Writes a file of any folder in the same way. */
void store_dir_write(const char *path, const char *text);

#endif
