/*
 * truncate.c - plans which turns go, and makes the branch without them.
 *
 * A cut is a place on the path where a message of the user begins what is
 * left.  Fewer turns make fewer tokens, so the first cut that fits is found by
 * halving; each try renders the conversation that would be left.
 */
#include "core/api/truncate.h"

#include "core/chat/conversation_impl.h"

typedef struct way {
    const cf_turn **turn; /* [n], in the arena */
    size_t n, n_lead;
    size_t *cut; /* [n_cut] indices, ascending, in the arena */
    size_t n_cut;
} way;

static bool is_role(const cf_turn *t, const char *a, const char *b)
{
    cf_str role = cf_json_get_str(t->message, "role");
    return cf_str_is(role, a) || cf_str_is(role, b);
}

static cf_status find_way(way *w, const cf_conversation *conv, cf_arena *arena, cf_error *err)
{
    *w = (way){NULL, 0, 0, NULL, 0};
    CF_TRY(cf_conversation_path(conv, cf_conversation_head(conv), arena, &w->turn, &w->n, err));
    while (w->n_lead < w->n && is_role(w->turn[w->n_lead], "system", "developer")) {
        w->n_lead++;
    }
    w->cut = cf_arena_calloc(arena, w->n + 1, sizeof *w->cut);
    if (w->cut == NULL) {
        return cf_oom(err);
    }
    w->cut[w->n_cut++] = w->n_lead; /* nothing goes */
    for (size_t i = w->n_lead + 1; i < w->n; i++) {
        if (is_role(w->turn[i], "user", "human")) {
            w->cut[w->n_cut++] = i;
        }
    }
    return CF_OK;
}

static size_t count_sound(const way *w, size_t from)
{
    size_t n = 0;
    for (size_t i = from; i < w->n; i++) {
        n += !cf_turn_is_failed(w->turn[i]);
    }
    return n;
}

static void set_plan(cf_truncation *out, const way *w, size_t cut)
{
    *out = (cf_truncation){.n_path = w->n, .n_lead = w->n_lead, .first = w->cut[cut]};
}

cf_status cf_truncation_by_turns(cf_truncation *out, const cf_conversation *conv, size_t n_turns,
                                 cf_error *err)
{
    cf_arena arena;
    way w;
    cf_arena_init(&arena, 0);
    cf_status st = find_way(&w, conv, &arena, err);
    size_t k = 0;
    while (st == CF_OK && k < w.n_cut && count_sound(&w, w.cut[k]) > n_turns) {
        k++;
    }
    if (st == CF_OK && k == w.n_cut) {
        st = cf_fail(err, CF_ELIMIT,
                     "the newest message of the user and what follows it are "
                     "%zu turns",
                     count_sound(&w, w.cut[w.n_cut - 1]));
    } else if (st == CF_OK) {
        set_plan(out, &w, k);
    }
    cf_arena_deinit(&arena);
    return st;
}

typedef struct counter {
    const cf_conversation *conv;
    cf_backend *backend;
    const cf_turn_options *options;
} counter;

/* The tokens of the prompt after a plan. */
static cf_status count_tokens(const counter *c, const cf_truncation *plan, size_t *n, cf_error *err)
{
    cf_conversation *left;
    cf_arena arena;
    cf_prompt prompt;
    cf_token_list tokens = {NULL, 0};
    const cf_send send = {.options = c->options};
    CF_TRY(cf_conversation_clone(&left, c->conv, err));
    cf_arena_init(&arena, 0);
    cf_status st = cf_conversation_truncate(left, plan, NULL, NULL, err);
    CF_THEN(st, cf_conversation_preview(left, c->backend, &send, &arena, &prompt, &tokens, err));
    *n = tokens.n;
    cf_arena_deinit(&arena);
    cf_conversation_free(left);
    return st;
}

/* The first cut, of those from `low` on, that fits; n_cut: none. */
static cf_status find_cut(const counter *c, const way *w, size_t n_tokens, size_t *cut,
                          size_t *n_least, cf_error *err)
{
    size_t low = 0, high = w->n_cut;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        cf_truncation plan;
        size_t n;
        set_plan(&plan, w, mid);
        CF_TRY(count_tokens(c, &plan, &n, err));
        if (n <= n_tokens) {
            high = mid;
        } else {
            low = mid + 1;
            *n_least = n;
        }
    }
    *cut = low;
    return CF_OK;
}

cf_status cf_truncation_by_tokens(cf_truncation *out, const cf_conversation *conv,
                                  cf_backend *backend, const cf_turn_options *options,
                                  size_t n_tokens, cf_error *err)
{
    const counter c = {conv, backend, options};
    cf_arena arena;
    way w;
    size_t cut = 0, n_least = 0, before = 0, after = 0;
    cf_truncation all;
    cf_arena_init(&arena, 0);
    cf_status st = find_way(&w, conv, &arena, err);
    if (st == CF_OK) {
        set_plan(&all, &w, 0);
        st = count_tokens(&c, &all, &before, err);
    }
    CF_THEN(st, find_cut(&c, &w, n_tokens, &cut, &n_least, err));
    if (st == CF_OK && cut == w.n_cut) {
        st = cf_fail(err, CF_ELIMIT,
                     "the newest message of the user and what follows it are "
                     "%zu tokens with the system prompt",
                     n_least);
    }
    if (st == CF_OK) {
        set_plan(out, &w, cut);
        st = count_tokens(&c, out, &after, err);
        out->n_tokens_before = before;
        out->n_tokens_after = after;
    }
    cf_arena_deinit(&arena);
    return st;
}

/* Copies of all that stays, one after another; *at is the last of them. */
static cf_status copy_turns(cf_conversation *conv, const way *w, const cf_truncation *plan,
                            cf_turn_copy_fn fn, void *ud, cf_uuid *at, cf_error *err)
{
    for (size_t i = 0; i < w->n; i++) {
        const cf_turn *from = w->turn[i];
        if ((i >= plan->n_lead && i < plan->first) || cf_turn_is_failed(from)) {
            continue;
        }
        const cf_turn copy = {.parent = *at,
                              .created_ms = from->created_ms,
                              .status = from->status,
                              .message = from->message,
                              .raw = from->raw};
        cf_uuid id = from->id;
        CF_TRY(cf_conversation_add(conv, &copy, at, err));
        if (fn != NULL) {
            fn(ud, cf_conversation_find(conv, *at), id);
        }
    }
    return CF_OK;
}

cf_status cf_conversation_truncate(cf_conversation *conv, const cf_truncation *plan,
                                   cf_turn_copy_fn fn, void *ud, cf_error *err)
{
    cf_arena arena;
    way w;
    cf_uuid at = {{0}};
    if (plan->first == plan->n_lead) {
        return CF_OK;
    }
    cf_arena_init(&arena, 0);
    cf_status st = find_way(&w, conv, &arena, err);
    if (st == CF_OK && (w.n != plan->n_path || w.n_lead != plan->n_lead || plan->first >= w.n ||
                        plan->first < w.n_lead)) {
        st = cf_fail(err, CF_EINVAL, "the plan is of another path");
    }
    CF_THEN(st, copy_turns(conv, &w, plan, fn, ud, &at, err));
    CF_THEN(st, cf_conversation_set_head(conv, at, err));
    cf_arena_deinit(&arena);
    return st;
}
