/*
 * secret.h - the key for servers, taken out of the environment.
 *
 * Commands of tools, editors and other children inherit the environment, and their
 * output is stored; so the key is removed before any program is started.
 *
 * Threads:  cf_secret_take() is called once, before there are threads; then
 *           the key does not change.
 */
#ifndef CF_TUI_SYS_SECRET_H
#define CF_TUI_SYS_SECRET_H

/* Removes $CONFAB_API_KEY from the environment. If it is set, the
 * process is also made not dumpable: no core file, and no other process of the
 * user reads its memory or its first environment (Linux). */
void cf_secret_take(void);

/* The key, or NULL; borrowed, and never freed. */
const char *cf_secret_key(void);

#endif
