/*
 * inside_choice.c - each part hidden in turn, and why a tool was called or not:
 * what flips that.
 *
 * One pass a hidden part answers for every tool: it gives the best token at each
 * place of the call from its first token on.
 */
#include <string.h>

#include "core/api/steer.h"
#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "tui/study/inside/inside_study.h"

enum { CALL_MAX = 32 }; /* tokens from the start of a call to its name */

typedef struct choosing {
    cf_inside_case *c;
    cf_inside_choice *v; /* [n] of tools, then of no call; n 0: none is asked for */
    size_t n;
    const cf_token *line; /* [n_line] */
    size_t n_line;
    uint32_t first, end; /* positions that are read */
    cf_token *plain;     /* [end - first] the best after each, as it is */
    cf_token *best;      /* the same under a change */
    size_t n_done, n_all;
    cf_inside_fn fn;
    void *ud;
} choosing;

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "looking inside");
}

static void count(choosing *f)
{
    f->n_done++;
    if (f->fn != NULL) {
        f->fn(f->ud, f->n_done, f->n_all);
    }
}

/* ---- one pass ----------------------------------------------------------- */

typedef struct reading {
    const choosing *f;
    cf_inside_answer *answer; /* at c->at; NULL: not asked for */
    cf_token *best;
    bool is_plain; /* margins are read */
    uint32_t first, shift;
} reading;

static void on_logits(void *ud, uint32_t pos, const float *logits)
{
    const reading *r = ud;
    const choosing *f = r->f;
    size_t n_vocab = cf_tokenizer_n_vocab(f->c->engine.tok);
    cf_token best = 0;
    if (pos < r->first || pos - r->first >= f->end - f->first) {
        return;
    }
    for (size_t i = 1; i < n_vocab; i++) {
        best = logits[i] > logits[best] ? (cf_token)i : best;
    }
    r->best[pos - r->first] = best;
    uint32_t at = f->first + (pos - r->first);
    if (r->answer != NULL && at == f->c->at) {
        cf_inside_study_read(r->answer, f->c, logits);
    }
    for (size_t i = 0; r->is_plain && i < f->n; i++) {
        cf_inside_choice *v = &f->v[i];
        if (v->at == at && v->id == CF_TOKEN_NONE) { /* no call: the best one else */
            v->id = v->written == 0 ? 1 : 0;
            for (size_t t = 0; t < n_vocab; t++) {
                v->id =
                    (cf_token)t != v->written && logits[t] > logits[v->id] ? (cf_token)t : v->id;
            }
        }
        if (v->at == at) {
            v->margin = (double)logits[v->id] - (double)logits[v->written];
        }
    }
}

/* The best tokens on a line, whose prompt is `shift` tokens longer than the
 * case's. */
static cf_status read_line(const choosing *f, cf_session *session, const cf_token *line,
                           int64_t shift, const cf_changes *changes, reading *r, cf_error *err)
{
    uint32_t first = (uint32_t)((int64_t)f->first + shift);
    const cf_inside_ask ask = {.ids = line,
                               .n = (size_t)((int64_t)f->n_line + shift),
                               .at = (uint32_t)((int64_t)f->end + shift),
                               .changes = changes,
                               .cancel = f->c->cancel};
    r->f = f;
    r->first = first;
    return cf_inside_logits(session, &ask, first + (size_t)1, on_logits, r, err);
}

/* ---- whether a choice is another one ------------------------------------ */

/* Whether the line's own tokens at [from, to) come as before. */
static bool stays(const choosing *f, const cf_token *best, uint32_t from, uint32_t to)
{
    for (uint32_t p = from; p < to; p++) {
        cf_token own = f->line[p + 1];
        if (f->plain[p - f->first] == own && best[p - f->first] != own) {
            return false;
        }
    }
    return true;
}

/* Whether choice i is made now: of what was written, whether anything else is. */
static bool is_made(const choosing *f, const cf_inside_choice *v, const cf_token *best)
{
    const cf_inside_case *c = f->c;
    if (v->is_written) {
        return !stays(f, best, f->first, f->end);
    }
    if (v->is_no_call) {
        return !stays(f, best, v->at, v->at + 1);
    }
    if (!stays(f, best, f->first, v->at) || best[v->at - f->first] != v->id) {
        return false;
    }
    if (v->name_id == CF_TOKEN_NONE || c->n_line <= v->at + (size_t)1) {
        return true;
    }
    for (uint32_t p = v->at; p + 1 < f->end; p++) { /* the call of this very tool */
        if (best[p - f->first] != f->line[p + 1]) {
            return false;
        }
    }
    return best[f->end - 1 - f->first] == v->name_id;
}

/* ---- hiding ------------------------------------------------------------- */

static cf_status hide_part(choosing *f, size_t i, cf_inside_answer *out, cf_error *err)
{
    const cf_inside_part *p = &f->c->part[i];
    cf_inside_change *look;
    reading r = {.answer = out, .best = f->best};
    CF_TRY(cf_inside_study_hide(&look, f->c, p->range, p->n_range, err));
    const cf_changes all = {.v = look, .n = p->n_range};
    CF_TRY(read_line(f, f->c->session, f->line, 0, &all, &r, err));
    for (size_t k = 0; k < f->n; k++) {
        cf_inside_choice *v = &f->v[k];
        bool is_less = v->hide == f->c->n_part || p->n < f->c->part[v->hide].n;
        if (is_less && is_made(f, v, f->best)) {
            v->hide = i;
        }
    }
    count(f);
    return CF_OK;
}

static cf_status hide_each(choosing *f, cf_inside_answer **out, cf_error *err)
{
    *out = cf_arena_calloc(&f->c->arena, f->c->n_part + 1, sizeof **out);
    if (*out == NULL) {
        return no_memory(err);
    }
    /* From the last part to the first: what is before it stays cached. */
    for (size_t i = f->c->n_part; i-- > 0;) {
        CF_TRY(hide_part(f, i, &(*out)[i], err));
    }
    return CF_OK;
}

/* ---- moving ------------------------------------------------------------- */

json_t *cf_inside_moved(const json_t *tools, size_t i, size_t place)
{
    json_t *copy = cf_json_copy(tools);
    json_t *one = json_incref(json_array_get(copy, i));
    if (copy != NULL && (one == NULL || json_array_remove(copy, i) != 0 ||
                         json_array_insert(copy, place, one) != 0)) {
        json_decref(copy);
        copy = NULL;
    }
    json_decref(one);
    return copy;
}

/* The line after the prompt with other declarations. */
static cf_status render_line(const choosing *f, const json_t *tools, cf_arena *arena,
                             cf_token **line, int64_t *shift, cf_error *err)
{
    cf_inside_case *c = f->c;
    cf_part_context context = cf_study_context_of(&c->c);
    cf_prompt prompt;
    cf_token_list list;
    context.tools = tools;
    CF_TRY(cf_part_context_render(c->engine.backend, &context, NULL, arena, &prompt, err));
    CF_TRY(cf_prompt_tokenise(&list, &prompt, cf_str_make("", 0), c->engine.tok, arena, err));
    size_t n = f->n_line - c->n_prompt;
    *line = cf_arena_calloc(arena, list.n + n + 1, sizeof **line);
    if (*line == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < list.n; i++) {
        (*line)[i] = list.v[i].id;
    }
    memcpy(*line + list.n, f->line + c->n_prompt, n * sizeof **line);
    *shift = (int64_t)list.n - (int64_t)c->n_prompt;
    return list.n > 0 ? CF_OK : cf_fail(err, CF_EINVAL, "the prompt has no token");
}

static cf_status try_place(choosing *f, cf_session *session, cf_inside_choice *v, size_t place,
                           cf_error *err)
{
    cf_arena arena;
    cf_token *line = NULL;
    int64_t shift = 0;
    reading r = {.best = f->best};
    json_t *tools = cf_inside_moved(f->c->c.tools, v->index, place);
    cf_arena_init(&arena, 0);
    cf_status st =
        tools != NULL ? render_line(f, tools, &arena, &line, &shift, err) : no_memory(err);
    CF_THEN(st, read_line(f, session, line, shift, NULL, &r, err));
    if (st == CF_OK && is_made(f, v, f->best)) {
        v->place = place;
    }
    json_decref(tools);
    cf_arena_deinit(&arena);
    return st;
}

/* Each declaration at the end of the list, then at its beginning. */
static cf_status move_each(choosing *f, size_t only, cf_error *err)
{
    size_t n = json_array_size(f->c->c.tools);
    bool has_all = n * f->c->n_prompt <= CF_INSIDE_MOVES_MAX;
    cf_session *fork = NULL; /* the case's keeps its prompt */
    CF_TRY(cf_session_fork(&fork, f->c->session, err));
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && n > 1 && i < f->c->n_tool; i++) {
        cf_inside_choice *v = &f->v[i];
        v->is_moved = has_all || i == only;
        const size_t places[2] = {n - 1, 0};
        for (int k = 0; st == CF_OK && v->is_moved && k < 2 && v->place == SIZE_MAX; k++) {
            st = places[k] != v->index ? try_place(f, fork, v, places[k], err) : CF_OK;
        }
        count(f);
    }
    cf_session_free(fork);
    return st;
}

/* ---- steering ----------------------------------------------------------- */

/* The smallest power of 2 that, times the token's output row (its opposite for
 * what was written), makes the choice; pushed at the position that chooses. */
static cf_status find_strength(choosing *f, cf_inside_choice *v, const cf_steering *s,
                               cf_push *push, float *logits, cf_error *err)
{
    const cf_engine *e = cf_session_engine(f->c->session);
    size_t n_vocab = cf_tokenizer_n_vocab(f->c->engine.tok), n = 0;
    for (uint32_t l = 0; l <= cf_engine_get_info(e).n_layer; l++) {
        if (cf_steering_at(s, l) != NULL) {
            push[n++] = (cf_push){.layer = l, .v = cf_steering_at(s, l), .at = {v->at, v->at + 1}};
        }
    }
    const cf_changes all = {.push = push, .n_push = n};
    const cf_inside_ask ask = {
        .ids = f->line, .n = f->n_line, .at = v->at, .changes = &all, .cancel = f->c->cancel};
    for (float k = 1; v->k == 0 && k <= CF_INSIDE_STEER_MAX; k *= 2) {
        cf_token best = 0;
        for (size_t i = 0; i < n; i++) {
            push[i].scale = v->is_written ? -k : k;
        }
        CF_TRY(cf_inside_run(f->c->session, &ask, logits, err));
        for (size_t i = 1; i < n_vocab; i++) {
            best = logits[i] > logits[best] ? (cf_token)i : best;
        }
        v->k = (best == v->id) == v->is_written ? 0 : v->is_written ? -k : k;
    }
    return CF_OK;
}

static cf_status steer_one(choosing *f, cf_inside_choice *v, cf_error *err)
{
    const cf_engine *e = cf_session_engine(f->c->session);
    cf_steering *s = NULL;
    cf_push *push = cf_calloc(cf_engine_get_info(e).n_layer + (size_t)1, sizeof *push);
    float *logits = cf_calloc(cf_tokenizer_n_vocab(f->c->engine.tok), sizeof *logits);
    cf_status st = push != NULL && logits != NULL ? CF_OK : no_memory(err);
    CF_THEN(st, cf_steering_new(&s, e, err));
    CF_THEN(st, cf_steering_add_row(s, v->id, 1, err));
    if (st == CF_OK) {
        cf_steering_normalise(s);
        st = find_strength(f, v, s, push, logits, err);
    }
    cf_steering_free(s);
    cf_free(logits);
    cf_free(push);
    return st;
}

static cf_status steer_each(choosing *f, cf_error *err)
{
    for (size_t i = 0; i < f->n; i++) {
        cf_inside_choice *v = &f->v[i];
        const cf_inside_choice *same = NULL; /* tools that begin alike */
        for (size_t k = 0; k < i; k++) {
            same =
                f->v[k].at == v->at && f->v[k].id == v->id && !f->v[k].is_written ? &f->v[k] : same;
        }
        if (same != NULL && !v->is_written) {
            v->k = same->k;
        } else {
            CF_TRY(steer_one(f, v, err));
        }
    }
    return CF_OK;
}

/* ---- in words ----------------------------------------------------------- */

void cf_inside_flip_text(cf_buf *out, const cf_inside_case *c, const cf_inside_choice *v,
                         cf_inside_flip way)
{
    switch (way) {
    case CF_FLIP_HIDE:
        if (v->hide < c->n_part) {
            cf_buf_adds(out, "without ");
            cf_safe_line(out, c->part[v->hide].label.p, c->part[v->hide].label.n);
        } else {
            cf_buf_adds(out, "no single part");
        }
        break;
    case CF_FLIP_MOVE:
        cf_buf_adds(out, v->place == 0          ? "declared first"
                         : v->place != SIZE_MAX ? "declared last"
                         : v->is_moved          ? "neither declared first nor last"
                                                : "not tried");
        break;
    case CF_FLIP_STEER:
        if (v->k != 0) {
            cf_buf_addf(out, "steered by %g", (double)v->k);
        } else {
            cf_buf_addf(out, "not steered by %d", CF_INSIDE_STEER_MAX);
        }
        break;
    case CF_FLIP_DRAW:
        cf_buf_adds(out, "another draw: it was likelier");
        break;
    case CF_FLIP_NONE:
        cf_buf_adds(out, "nothing tried");
        break;
    }
}

/* ---- all of it ---------------------------------------------------------- */

/* The way that changes the fewest tokens; steering, which changes none, where
 * no other does it. */
static cf_inside_flip least_of(const cf_inside_case *c, const cf_inside_choice *v)
{
    size_t n_moved = 0;
    for (size_t i = 0; i < c->n_part; i++) {
        const cf_part *p = &c->part[i].part;
        n_moved = p->kind == CF_PART_TOOL && p->index == v->index ? c->part[i].n : n_moved;
    }
    if (!v->is_written && v->margin > 0) {
        return CF_FLIP_DRAW;
    }
    bool hides = v->hide < c->n_part, moves = v->place != SIZE_MAX;
    if (hides && (!moves || c->part[v->hide].n <= n_moved)) {
        return CF_FLIP_HIDE;
    }
    return moves ? CF_FLIP_MOVE : v->k != 0 ? CF_FLIP_STEER : CF_FLIP_NONE;
}

/* Where the call begins: its mark, as near to the name as there is one. */
static uint32_t start_of_call(const cf_inside_case *c, uint32_t at)
{
    uint32_t start = (uint32_t)c->n_prompt - 1;
    uint32_t least = at > start + CALL_MAX ? at - CALL_MAX : start;
    for (uint32_t p = at; p > least; p--) {
        if (c->line[p] == c->call_id) {
            return p - 1;
        }
    }
    return least;
}

/* The choices, and the positions that are read for them. */
static cf_status list_choices(choosing *f, cf_error *err)
{
    cf_inside_case *c = f->c;
    bool has_call = cf_inside_case_has_call(c);
    uint32_t last = 0;
    f->n = c->n_tool + has_call;
    f->v = cf_arena_calloc(&c->arena, f->n + 1, sizeof *f->v);
    if (f->v == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < c->n_tool; i++) {
        const cf_inside_tool *t = &c->tool[i];
        f->v[i] = (cf_inside_choice){.at = t->at,
                                     .id = t->id,
                                     .written = t->called_id,
                                     .name_id = t->name_id,
                                     .is_written = t->is_called,
                                     .index = t->index};
        last = t->at > last ? t->at : last;
    }
    f->first = start_of_call(c, last);
    if (has_call) {
        f->v[c->n_tool] = (cf_inside_choice){.at = f->first,
                                             .id = CF_TOKEN_NONE,
                                             .written = c->line[f->first + 1],
                                             .name_id = CF_TOKEN_NONE,
                                             .is_no_call = true,
                                             .index = SIZE_MAX};
    }
    f->end = has_call ? last + 1 : (uint32_t)c->n_line;
    for (size_t i = 0; i < f->n; i++) {
        f->v[i].hide = c->n_part;
        f->v[i].place = SIZE_MAX;
    }
    return CF_OK;
}

static cf_status prepare(choosing *f, bool has_tools, cf_error *err)
{
    cf_inside_case *c = f->c;
    f->line = c->ids;
    f->n_line = c->n;
    f->first = c->at;
    f->end = c->at + 1;
    if (has_tools) {
        f->line = c->line;
        f->n_line = c->n_line;
        CF_TRY(list_choices(f, err));
        f->first = c->at < f->first ? c->at : f->first;
        f->end = c->at + 1 > f->end ? c->at + 1 : f->end;
    }
    f->plain = cf_arena_calloc(&c->arena, f->end - f->first, sizeof *f->plain);
    f->best = cf_arena_calloc(&c->arena, f->end - f->first, sizeof *f->best);
    return f->plain != NULL && f->best != NULL ? CF_OK : no_memory(err);
}

cf_status cf_inside_study_without(cf_inside_answer **out, cf_inside_case *c, cf_inside_fn fn,
                                  void *ud, cf_error *err)
{
    choosing f = {.c = c, .n_all = c->n_part, .fn = fn, .ud = ud};
    CF_TRY(prepare(&f, false, err));
    return hide_each(&f, out, err);
}

cf_status cf_inside_study_choices(cf_inside_choice **out, cf_inside_answer **without,
                                  cf_inside_case *c, size_t only, cf_inside_fn fn, void *ud,
                                  cf_error *err)
{
    choosing f = {.c = c, .n_all = c->n_part + c->n_tool, .fn = fn, .ud = ud};
    reading r = {.is_plain = true};
    CF_TRY(prepare(&f, true, err));
    r.best = f.plain;
    CF_TRY(read_line(&f, c->session, f.line, 0, NULL, &r, err));
    CF_TRY(hide_each(&f, without, err));
    CF_TRY(move_each(&f, only, err));
    CF_TRY(steer_each(&f, err));
    for (size_t i = 0; i < f.n; i++) {
        f.v[i].least = least_of(c, &f.v[i]);
    }
    *out = f.v;
    return CF_OK;
}
