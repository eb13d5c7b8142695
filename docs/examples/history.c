/* history.c - keeps a conversation in a history, and reads it again.
 *
 *     history FILE.db "Who are you?"
 *     confab history list --db FILE.db
 */
#include <confab/confab.h>
#include <confab/conversation.h>
#include <confab/store.h>
#include <stdio.h>

/* Stores every turn of the conversation, first to last. */
static cf_status keep(cf_store *store, const cf_conversation *from, cf_uuid *id, cf_error *err)
{
    cf_store_conv conv = {.title = cf_str_from("from the library")};
    CF_TRY(cf_store_put_conv(store, &conv, id, err));
    for (size_t i = 0; i < cf_conversation_n_turns(from); i++) {
        const cf_turn *turn = cf_conversation_turn(from, i);
        char *text = json_dumps(turn->message, JSON_COMPACT);
        if (text == NULL) {
            return cf_oom(err);
        }
        cf_store_turn row = {.id = turn->id,
                             .conversation = *id,
                             .parent = turn->parent,
                             .message = cf_str_from(text),
                             .status = turn->status,
                             .fork_token = -1,
                             .created_ms = turn->created_ms,
                             .finished_ms = -1};
        cf_status st = cf_store_put_turn(store, &row, NULL, err);
        free(text);
        CF_TRY(st);
    }
    return CF_OK;
}

static cf_status print(cf_store *store, cf_uuid id, cf_error *err)
{
    cf_arena arena;
    cf_store_tree tree;
    cf_arena_init(&arena, 0);
    cf_status st = cf_store_get_tree(store, id, 0, &arena, &tree, err);
    for (size_t i = 0; st == CF_OK && i < tree.n; i++) {
        printf("%s\n", tree.turns[i].message.p);
    }
    cf_arena_deinit(&arena);
    return st;
}

int main(int argc, char **argv)
{
    cf_error err;
    cf_uuid id;
    cf_store *store = NULL;
    const cf_store_options options = {.flags = CF_STORE_CREATE};
    if (argc < 2) {
        fputs("usage: history FILE.db [QUESTION]\n", stderr);
        return 2;
    }
    confab *c = cf_open("bundled", &err);
    cf_status st = c != NULL ? CF_OK : err.code;
    if (st == CF_OK && cf_chat(c, argc > 2 ? argv[2] : "Who are you?", &err) == NULL) {
        st = err.code;
    }
    CF_THEN(st, cf_store_open(&store, argv[1], &options, &err));
    CF_THEN(st, keep(store, cf_parts_conversation(c), &id, &err));
    CF_THEN(st, print(store, id, &err));
    if (st != CF_OK) {
        fprintf(stderr, "%s\n", err.text);
    }
    cf_store_close(store);
    cf_close(c);
    return st == CF_OK ? 0 : 1;
}
