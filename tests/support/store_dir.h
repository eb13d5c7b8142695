/*
 * store_dir.h - a folder of its own for a test's files, gone afterwards.
 */
#ifndef CF_TESTS_SUPPORT_STORE_DIR_H
#define CF_TESTS_SUPPORT_STORE_DIR_H

/* For cmocka_run_group_tests(). */
int store_dir_make(void **state);
int store_dir_remove(void **state);

/* The path of a file in it; valid until eight more were asked for. */
const char *store_dir_file(const char *name);

#endif
