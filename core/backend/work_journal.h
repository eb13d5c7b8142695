/*
 * work_journal.h - the file of finished jobs that a later run resumes from:
 * lines {"key": KEY, "result": VALUE}.
 *
 * Threads:  one thread at a time.
 */
#ifndef CF_CORE_BACKEND_WORK_JOURNAL_H
#define CF_CORE_BACKEND_WORK_JOURNAL_H

#include "core/base/buf.h"
#include "core/json/json.h"

typedef struct cf_work__journal {
    int fd;           /* < 0: none */
    uint64_t end;     /* bytes of whole lines */
    json_t *old;      /* key -> result, as read when it was opened */
    const char *path; /* borrowed */
} cf_work__journal;

/* Opens or makes the file, locks it against other processes, reads it, and
 * cuts off a last line without its newline.  `path` NULL: an empty one that
 * keeps nothing.  CF_EBUSY, CF_EFORMAT with the line, CF_EIO, CF_ENOMEM; *out
 * is to be closed in every case. */
CF_MUST_USE cf_status cf_work__journal_open(cf_work__journal *out, const char *path, cf_error *err);
void cf_work__journal_close(cf_work__journal *j);

/* The result of an earlier run; NULL: none. */
const json_t *cf_work__journal_find(const cf_work__journal *j, cf_str key);

/* Adds a line and waits until it is on disk.  After a failure the file ends
 * with the line before. */
CF_MUST_USE cf_status cf_work__journal_add(cf_work__journal *j, cf_str key, cf_str result,
                                           cf_error *err);

#endif
