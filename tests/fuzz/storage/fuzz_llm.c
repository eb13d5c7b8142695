/*
 * fuzz_llm.c - SQL that makes a logs.db of llm, or any bytes in its place.
 *
 * Tables and columns may be missing or hold anything; the import ends, with an
 * error or without, and what it read is sound.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/exchange.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[300];

/* "S" and SQL makes a database; anything else is the file. */
static void make_file(const uint8_t *data, size_t size)
{
    cf_error err;
    sqlite3 *db;
    unlink(path);
    if (data[0] != 'S') {
        if (cf_os_write_file(path, data, size, 0600, &err) != CF_OK) {
            abort();
        }
        return;
    }
    char *sql = malloc(size);
    if (sql == NULL || sqlite3_open(path, &db) != SQLITE_OK) {
        abort();
    }
    memcpy(sql, data + 1, size - 1);
    sql[size - 1] = '\0';
    (void)sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 10000);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    if (strstr(sql, "RECURSIVE") == NULL && strstr(sql, "recursive") == NULL) {
        (void)sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    sqlite3_close(db);
    free(sql);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_error err;
    cf_import_report report;
    const cf_import_options opts = {.format = CF_FORMAT_LLM_DB, .is_dry = true};
    if (size == 0) {
        return 0;
    }
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "%s", cf_fuzz_path("llm.db"));
    }
    make_file(data, size);
    (void)!cf_import_file(NULL, path, &opts, &report, &err);
    return 0;
}
