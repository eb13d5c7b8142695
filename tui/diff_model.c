/*
 * diff_model.c - rendering with two templates and comparing what comes out.
 */
#include "tui/diff_model.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "templates/builtin.h"
#include "tui/cli/keep.h"
#include "tui/cli/open_backend.h"

enum { STEP_US = 8000, ROWS_MAX = 100000, HITS_MAX = 10000 };

void cf_diff_model_init(cf_diff_model *m, cf_bench *bench, cf_store *store)
{
    memset(m, 0, sizeof *m);
    m->bench = bench;
    m->store = store;
    cf_arena_init(&m->arena, 0);
    cf_arena_init(&m->all.arena, 0);
}

static void close_pair(cf_diff_model *m)
{
    if (m->has_pair) {
        cf_diff_pair_close(&m->pair);
        m->has_pair = false;
    }
}

void cf_diff_model_deinit(cf_diff_model *m)
{
    close_pair(m);
    cf_buf_deinit(&m->other);
    cf_arena_deinit(&m->arena);
    cf_arena_deinit(&m->all.arena);
    cf_free(m->all.hit);
    memset(m, 0, sizeof *m);
}

/* ---- the templates ------------------------------------------------------- */

cf_status cf_diff_model_with(cf_diff_model *m, const char *name, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (strcmp(name, "model") == 0) {
        const char *first;
        cf_str source;
        cf_bench_first_template(m->bench, &first, &source);
        name = first;
        cf_buf_add(&text, source.p, source.n);
        st = cf_buf_check(&text, err);
    } else {
        st = cf_cli_read_template(&text, name, err);
    }
    if (st == CF_OK && text.n != 0) {
        cf_template *tpl;
        st = cf_template_compile(&tpl, cf_str_make(cf_buf_cstr(&text), text.n),
                                 NULL, NULL, NULL, err);
        if (st == CF_OK) {
            cf_template_free(tpl);
        } else {
            cf_fail_in(err, st, name);
        }
    }
    if (st != CF_OK) {
        cf_buf_deinit(&text);
        return st;
    }
    cf_buf_deinit(&m->other);
    m->other = text;
    snprintf(m->name, sizeof m->name, "%s", name);
    m->subject = m->subject == CF_DIFF_MARKS ? CF_DIFF_BENCH : m->subject;
    cf_diff_model_stop(m);
    m->all.is_on = false;
    return CF_OK;
}

const char *cf_diff_model_name(const cf_diff_model *m, int side)
{
    if (m->subject == CF_DIFF_MARKS && m->level != CF_DIFF_LEVEL_SOURCE) {
        return side == 0 ? "conversation A" : "conversation B";
    }
    bool is_other = (side == 1) != m->is_swapped;
    return is_other && m->name[0] != '\0' ? m->name
                                          : cf_bench_template_name(m->bench);
}

static cf_status open_pair(cf_diff_model *m, cf_error *err)
{
    const cf_bench_engine *e = cf_bench_engine_of(m->bench);
    cf_str own = e->template_source;
    cf_str other = m->name[0] == '\0' || m->subject == CF_DIFF_MARKS
                       ? own
                       : cf_str_make(cf_buf_cstr(&m->other), m->other.n);
    close_pair(m);
    m->has_pair = true;
    return cf_diff_pair_of(&m->pair, e->tokenizer, m->is_swapped ? other : own,
                           m->is_swapped ? own : other, err);
}

/* ---- the prompts --------------------------------------------------------- */

static cf_status load_saved(cf_diff_model *m, cf_uuid id, cf_arena *arena,
                            cf_conversation **out, cf_error *err)
{
    const cf_preface none = {NULL, NULL, NULL};
    cf_store_tree tree;
    if (m->store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "history is off");
    }
    CF_TRY(cf_store_get_tree(m->store, id, 0, arena, &tree, err));
    return cf_keep_tree(out, &tree, tree.conv.head, &none, err);
}

/* What would be sent now, the text in the composer included. */
static cf_status render_bench(cf_diff_model *m, cf_error *err)
{
    cf_conversation *conv;
    json_t *message = NULL;
    cf_str draft = cf_bench_draft(m->bench);
    size_t n_path;
    cf_bench_path(m->bench, &n_path);
    if (n_path == 0 && draft.n == 0) {
        return cf_fail(err, CF_ENOTFOUND,
                       "nothing is said yet: write a message (1 i), or S "
                       "compares what is saved");
    }
    if (draft.n != 0) {
        message = json_pack("{s:s,s:s%}", "role", "user", "content", draft.p,
                            draft.n);
        if (message == NULL) {
            return cf_fail(err, CF_EFORMAT, "the draft is not UTF-8");
        }
    }
    const cf_turn_options options = {.extra_context = cf_bench_vars(m->bench)};
    const cf_send send = {.message = message, .options = &options};
    cf_status st = cf_bench_clone_conv(m->bench, &conv, err);
    if (st == CF_OK) {
        for (int i = 0; st == CF_OK && i < 2; i++) {
            st = cf_diff_pair_one(&m->pair, i, conv, &send, &m->render,
                                  &m->arena, err);
        }
        cf_conversation_free(conv);
    }
    json_decref(message);
    return st;
}

static cf_status render_saved(cf_diff_model *m, cf_error *err)
{
    cf_status st = CF_OK;
    for (int i = 0; st == CF_OK && i < 2; i++) {
        cf_conversation *conv = NULL;
        int which = m->is_swapped ? 1 - i : i;
        cf_uuid id = m->subject == CF_DIFF_MARKS
                         ? cf_bench_marked(m->bench, which)
                         : m->saved;
        st = load_saved(m, id, &m->arena, &conv, err);
        if (st == CF_OK) {
            st = cf_diff_pair_one(&m->pair, i, conv, NULL, &m->render,
                                  &m->arena, err);
        }
        cf_conversation_free(conv);
    }
    return st;
}

static size_t same_start(const cf_diff_model *m)
{
    size_t n = 0;
    if (m->has_tokens) {
        const cf_token_list *a = &m->tokens[0], *b = &m->tokens[1];
        while (n < a->n && n < b->n && a->v[n].id == b->v[n].id) {
            n++;
        }
        return n;
    }
    cf_str a = m->render.prompt[0].text, b = m->render.prompt[1].text;
    while (n < a.n && n < b.n && a.p[n] == b.p[n]) {
        n++;
    }
    return n;
}

static cf_status compare(cf_diff_model *m, cf_error *err)
{
    const cf_prompt *a = &m->render.prompt[0], *b = &m->render.prompt[1];
    if (m->pair.tok != NULL) {
        for (int i = 0; i < 2; i++) {
            CF_TRY(cf_diff_pair_tokens(&m->pair, &m->render.prompt[i],
                                       &m->tokens[i], &m->arena, err));
        }
        m->has_tokens = true;
    }
    m->n_same = same_start(m);
    if (m->level == CF_DIFF_LEVEL_TOKENS) {
        if (!m->has_tokens) {
            return cf_fail(err, CF_EUNSUPPORTED,
                           "this engine shows no tokens; t changes the level");
        }
        return cf_diff_tokens(&m->diff, a, &m->tokens[0], b, &m->tokens[1],
                              &m->arena, err);
    }
    return cf_diff_prompts(&m->diff, a, b, &m->arena, err);
}

static cf_status update(cf_diff_model *m, cf_error *err)
{
    if (m->name[0] == '\0' && m->subject != CF_DIFF_MARKS) {
        return cf_fail(err, CF_ENOTFOUND, "no template to compare with");
    }
    CF_TRY(open_pair(m, err));
    if (m->level == CF_DIFF_LEVEL_SOURCE) {
        return cf_diff_texts(&m->diff, cf_diff_pair_source(&m->pair, 0),
                             cf_diff_pair_source(&m->pair, 1), &m->arena, err);
    }
    CF_TRY(m->subject == CF_DIFF_BENCH ? render_bench(m, err)
                                       : render_saved(m, err));
    for (int i = 0; i < 2; i++) {
        if (m->render.status[i] != CF_OK) {
            return cf_fail(err, m->render.status[i], "%c, %.60s: %s", 'A' + i,
                           cf_diff_model_name(m, i), m->render.err[i].text);
        }
    }
    return compare(m, err);
}

void cf_diff_model_update(cf_diff_model *m)
{
    if (cf_bench_is_busy(m->bench) && m->subject == CF_DIFF_BENCH &&
        m->has_diff && m->level != CF_DIFF_LEVEL_SOURCE) {
        return; /* shown as it was until the reply is complete */
    }
    m->generation = cf_bench_generation(m->bench);
    m->has_diff = m->has_tokens = false;
    m->n_same = 0;
    m->err = (cf_error){0};
    m->diff = (cf_diff){.n_rows = 0};
    memset(&m->render, 0, sizeof m->render);
    cf_arena_reset(&m->arena);
    m->has_diff = update(m, &m->err) == CF_OK;
}

/* ---- everything saved ---------------------------------------------------- */

cf_status cf_diff_model_all(cf_diff_model *m, cf_error *err)
{
    cf_diff_all *a = &m->all;
    const cf_store_query q = {.sort = CF_SORT_CREATED, .limit = ROWS_MAX};
    if (m->store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "history is off");
    }
    if (m->name[0] == '\0') {
        return cf_fail(err, CF_ENOTFOUND,
                       "first choose the other template: "
                       ":with NAME or FILE");
    }
    cf_arena_reset(&a->arena);
    a->n = a->at = a->n_differ = a->n_hit = 0;
    a->is_on = false;
    CF_TRY(cf_store_list(m->store, &q, &a->arena, &a->conv, &a->n, err));
    a->is_on = true;
    a->is_done = a->n == 0;
    return CF_OK;
}

void cf_diff_model_stop(cf_diff_model *m)
{
    m->all.is_done = true;
}

static void add_hit(cf_diff_all *a, const cf_diff_hit *hit)
{
    a->n_differ++;
    if (a->n_hit == HITS_MAX) {
        return; /* counted, not listed */
    }
    if (a->n_hit == a->cap_hit) {
        size_t cap = a->cap_hit != 0 ? a->cap_hit * 2 : 32;
        cf_diff_hit *v = cf_realloc(a->hit, cap, sizeof *v);
        if (v == NULL) {
            return;
        }
        a->hit = v;
        a->cap_hit = cap;
    }
    a->hit[a->n_hit++] = *hit;
}

/* One conversation with both templates. */
static cf_status step_one(cf_diff_model *m, const cf_diff_pair *pair,
                          const cf_store_conv *c, cf_arena *arena,
                          cf_error *err)
{
    cf_conversation *conv = NULL;
    cf_diff_renders r;
    cf_diff d = {.n_rows = 0};
    cf_diff_hit hit = {.id = c->id};
    cf_str title = c->title.n != 0 ? c->title : c->preview;
    CF_TRY(load_saved(m, c->id, arena, &conv, err));
    cf_status st = cf_diff_pair_saved(pair, conv, &r, arena, err);
    cf_conversation_free(conv);
    if (st != CF_OK) {
        return st;
    }
    snprintf(hit.title, sizeof hit.title, "%.*s",
             (int)(title.n < 79 ? title.n : 79), title.n != 0 ? title.p : "");
    int bad = r.status[0] != CF_OK ? 0 : 1;
    if (r.status[bad] != CF_OK) {
        hit.failed = true;
        snprintf(hit.why, sizeof hit.why, "%c: %.110s", 'A' + bad,
                 r.err[bad].text);
        if (!cf_diff_renders_fail_alike(&r)) {
            add_hit(&m->all, &hit);
        }
        return CF_OK;
    }
    CF_TRY(cf_diff_prompts(&d, &r.prompt[0], &r.prompt[1], arena, err));
    if (!cf_diff_is_equal(&d)) {
        hit.n_removed = d.n_of[CF_DIFF_REMOVED];
        hit.n_added = d.n_of[CF_DIFF_ADDED];
        hit.n_changed = d.n_of[CF_DIFF_CHANGED];
        add_hit(&m->all, &hit);
    }
    return CF_OK;
}

bool cf_diff_model_step(cf_diff_model *m)
{
    cf_diff_all *a = &m->all;
    if (!a->is_on || a->is_done) {
        return false;
    }
    cf_diff_pair pair;
    cf_arena arena;
    cf_error err;
    const cf_bench_engine *e = cf_bench_engine_of(m->bench);
    cf_str own = e->template_source;
    cf_str other = cf_str_make(cf_buf_cstr(&m->other), m->other.n);
    uint64_t until = cf_os_monotonic_us() + STEP_US;
    cf_arena_init(&arena, 0);
    cf_status st =
        cf_diff_pair_of(&pair, e->tokenizer, m->is_swapped ? other : own,
                        m->is_swapped ? own : other, &err);
    while (st == CF_OK && a->at < a->n) {
        const cf_store_conv *c = &a->conv[a->at++];
        cf_arena_reset(&arena);
        cf_status one = step_one(m, &pair, c, &arena, &err);
        if (one == CF_ENOMEM) {
            st = one;
        } else if (one != CF_OK && one != CF_ENOTFOUND) {
            cf_diff_hit hit = {.id = c->id, .failed = true};
            snprintf(hit.why, sizeof hit.why, "%.110s", err.text);
            add_hit(a, &hit);
        }
        if (cf_os_monotonic_us() >= until) {
            break;
        }
    }
    cf_diff_pair_close(&pair);
    cf_arena_deinit(&arena);
    a->is_done = st != CF_OK || a->at == a->n;
    return !a->is_done;
}
