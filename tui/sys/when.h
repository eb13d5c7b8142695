/*
 * when.h - times in the format of lists.
 */
#ifndef CF_TUI_SYS_WHEN_H
#define CF_TUI_SYS_WHEN_H

#include <stdint.h>

enum { CF_WHEN_TEXT = 11, CF_WHEN_CLOCK = 9 };

/* Writes "10:12" for today, "yesterday", "11-17" for this year, else
 * "2025-11-17", in local time; a NUL ends it. */
void cf_when_format(char out[CF_WHEN_TEXT], int64_t ms, int64_t now_ms);

/* Writes "10:12:07", in local time. */
void cf_when_clock(char out[CF_WHEN_CLOCK], int64_t ms);

#endif
