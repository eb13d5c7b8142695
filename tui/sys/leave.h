/*
 * leave.h - the end of the program, whatever its threads do.
 *
 * Who is told to end lets running work notice it, saves, and returns from main.
 * Work in a library may never notice: one instruction of SQLite, one match of a
 * pattern, a file system that does not answer.  So the first thing that is done
 * is to set a time after which the process ends as it is; the history is sound
 * at any moment.
 *
 * Threads:  any; all but cf_leave_by() may be called by a signal handler.
 */
#ifndef CF_TUI_SYS_LEAVE_H
#define CF_TUI_SYS_LEAVE_H

/* Ends the process with status 130 in less than two seconds, unless it ends
 * before.  Later calls do not move that time. */
void cf_leave_soon(void);

/* The process does not end after all. */
void cf_leave_not(void);

/* What is called before such an end, by a signal handler, to leave a terminal
 * as it was; NULL: nothing. */
void cf_leave_by(void (*fn)(void));

#endif
