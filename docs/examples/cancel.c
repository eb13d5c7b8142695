/* cancel.c - ends a reply from another thread, and goes on afterwards.
 *
 *     cancel [MODEL]
 */
#include <confab/confab.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct watch {
    confab *chat;
    atomic_int n_pieces;
} watch;

static void on_piece(void *user, cf_heard kind, const char *text, size_t n)
{
    watch *w = user;
    if (kind == CF_HEARD_TEXT) {
        printf("%.*s", (int)n, text);
        atomic_fetch_add(&w->n_pieces, 1);
    }
}

/* Ends the reply once three pieces of it have come. */
static void *interrupt(void *user)
{
    watch *w = user;
    while (atomic_load(&w->n_pieces) < 3) {
    }
    cf_interrupt(w->chat);
    return NULL;
}

int main(int argc, char **argv)
{
    cf_error err;
    watch w = {.chat = cf_open(argc > 1 ? argv[1] : "bundled", &err)};
    pthread_t thread;
    if (w.chat == NULL || pthread_create(&thread, NULL, interrupt, &w) != 0) {
        fprintf(stderr, "%s\n", w.chat == NULL ? err.text : "no thread");
        return 1;
    }
    cf_on_reply(w.chat, on_piece, &w);
    const char *reply = cf_chat(w.chat, "What is confab?", &err);
    printf("\n[%s]\n", reply == NULL ? err.text : "it ended before it was interrupted");
    pthread_join(thread, NULL);
    reply = cf_chat(w.chat, "Who are you?", &err);
    printf("\n[%s]\n", reply == NULL ? err.text : "whole");
    cf_close(w.chat);
    return 0;
}
