/*
 * demo_notes.h - the notes that the demonstration tools find before anybody
 * wrote one.
 */
#ifndef CF_TUI_DEMO_DEMO_NOTES_H
#define CF_TUI_DEMO_DEMO_NOTES_H

/* The tag of conversations that are notes: found before anything else. */
#define CF_DEMO_NOTES_TAG  "notes"
#define CF_DEMO_OUTBOX_TAG "outbox"

/* Prepared notes, ended by NULL. */
extern const char *const cf_demo_prepared_notes[];

#endif
