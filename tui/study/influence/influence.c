/*
 * influence.c - prompts without each part, their tokens, and the differences.
 *
 * The target's tokens are the same in every variant: the reply's own where the
 * model wrote it, else those that its text has after the whole prompt.
 */
#include "tui/study/influence/influence_impl.h"

#include <math.h>
#include <string.h>

#include "core/api/inside.h"
#include "core/base/alloc.h"
#include "tui/study/ask/reply_tokens.h"
#include "tui/study/influence/parts.h"

void cf_influence_init(cf_influence *v)
{
    *v = (cf_influence){.row = NULL};
    cf_arena_init(&v->arena, 0);
}

void cf_influence_deinit(cf_influence *v)
{
    cf_arena_deinit(&v->arena);
    *v = (cf_influence){.row = NULL};
}

/* A prompt as tokens, then the reply. */
typedef struct variant {
    cf_token *ids; /* [n] */
    uint32_t *at;  /* [n] or NULL */
    size_t n, first;
    cf_inside_change *hidden; /* [n_hidden], CF_CHANGE_HIDE */
    size_t n_hidden;
    size_t n_lost; /* tokens less than the whole prompt, or made neutral */
} variant;

typedef struct making {
    cf_influence *out;
    const cf_study_case *c;
    const cf_study_engine *engine;
    const cf_influence_options *o;
    cf_study_context context;
    variant whole;
    cf_influence_token *all; /* [n_reply] the reply */
    size_t n_reply;
    size_t from, n_target; /* tokens of the reply that are the target */
    cf_token neutral;
    variant *v;        /* [n_row] */
    cf_score_job *job; /* [n_job]; the first is the whole prompt */
    size_t *row_of;    /* [n_job] */
    size_t n_job;
    size_t n_done;
    cf_influence_fn fn;
    void *ud;
} making;

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "the influence");
}

/* ---- tokens ------------------------------------------------------------- */

/* The prompt's tokens and the reply's in one list, in the arena. */
static cf_status join(making *m, const cf_token_list *list, variant *out, cf_error *err)
{
    out->n = list->n + m->n_reply;
    out->first = list->n;
    out->ids = cf_arena_calloc(&m->out->arena, out->n + 1, sizeof *out->ids);
    if (out->ids == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < list->n; i++) {
        out->ids[i] = list->v[i].id;
    }
    for (size_t i = 0; i < m->n_reply; i++) {
        out->ids[list->n + i] = m->all[i].id;
    }
    return CF_OK;
}

static cf_status reply_tokens(making *m, cf_error *err)
{
    cf_influence *out = m->out;
    cf_reply_token *v;
    CF_TRY(cf_study_reply_tokens(m->c, m->engine, &out->prompt, &out->tokens, &v, &m->n_reply,
                                 &out->arena, err));
    m->all = cf_arena_calloc(&out->arena, m->n_reply + 1, sizeof *m->all);
    for (size_t i = 0; m->all != NULL && i < m->n_reply; i++) {
        m->all[i] = (cf_influence_token){v[i].id, v[i].off, v[i].len, 0};
    }
    return m->all != NULL ? CF_OK : no_memory(err);
}

/* Which tokens of the reply are the target. */
static cf_status find_target(making *m, cf_error *err)
{
    size_t end = 0;
    m->from = SIZE_MAX;
    for (size_t i = 0; i < m->n_reply; i++) {
        const cf_influence_token *t = &m->all[i];
        if (!m->o->has_span || (t->off < m->o->span_to && t->off + t->len > m->o->span_from)) {
            m->from = m->from == SIZE_MAX ? i : m->from;
            end = i + 1;
        }
    }
    if (m->from == SIZE_MAX) {
        return cf_fail(err, CF_EINVAL, "the span %zu..%zu is not in the reply of %zu bytes",
                       m->o->span_from, m->o->span_to, m->c->reply.n);
    }
    m->n_target = end - m->from;
    m->n_reply = end; /* what follows the target is not needed */
    m->out->target = m->all + m->from;
    m->out->n_target = m->n_target;
    return CF_OK;
}

static cf_status make_whole(making *m, cf_error *err)
{
    CF_TRY(cf_influence__check(m->o, err));
    CF_TRY(cf_study_render(m->engine, &m->context, &m->out->arena, &m->out->prompt, err));
    CF_TRY(reply_tokens(m, err));
    CF_TRY(cf_influence__match(m->out, m->c, &m->out->tokens, err));
    CF_TRY(find_target(m, err));
    CF_TRY(join(m, &m->out->tokens, &m->whole, err));
    return m->whole.first > 0 ? CF_OK
                              : cf_fail(err, CF_EINVAL, "there is no prompt before the reply");
}

/* ---- neutral tokens ----------------------------------------------------- */

/* A token of plain text that says nothing: a full stop, or a space. */
static cf_status find_neutral(making *m, cf_error *err)
{
    static const char *const texts[] = {" .", ".", " ", "\n", "_"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cf_token_list list;
        CF_TRY(cf_tokenizer_encode(&list, m->engine->tok, cf_str_from(texts[i]), false, false,
                                   &m->out->arena, err));
        if (list.n == 1) {
            m->neutral = list.v[0].id;
            return CF_OK;
        }
    }
    return cf_fail(err, CF_EUNSUPPORTED, "the vocabulary has no token for neutral text");
}

/* Tokens wholly in the part become neutral ones. */
static cf_status make_neutral(making *m, cf_influence_row *row, variant *out, cf_error *err)
{
    const cf_influence *inf = m->out;
    CF_TRY(join(m, &inf->tokens, out, err));
    for (size_t i = 0; i < inf->tokens.n; i++) {
        const cf_token_span *t = &inf->tokens.v[i];
        bool is_in = t->len > 0;
        for (size_t b = 0; is_in && b < t->len; b++) {
            is_in = cf_parts_has_byte(&inf->prompt, &row->part, t->off + b);
        }
        if (is_in) {
            out->ids[i] = m->neutral;
            out->n_lost++;
        }
    }
    if (out->n_lost == 0) {
        row->why = "no token of the prompt shows this part alone";
    }
    return CF_OK;
}

/* ---- hidden tokens ------------------------------------------------------ */

/* The prompt's tokens that begin in the part, as looks that hide them from all
 * later ones. */
static cf_status make_hidden(making *m, cf_influence_row *row, variant *out, cf_error *err)
{
    const cf_influence *inf = m->out;
    uint32_t n_layer = cf_engine_get_info(m->engine->engine).n_layer;
    out->hidden = cf_arena_calloc(&m->out->arena, inf->tokens.n + 1, sizeof *out->hidden);
    CF_TRY(join(m, &inf->tokens, out, err));
    if (out->hidden == NULL) {
        return no_memory(err);
    }
    uint32_t end = 0;
    for (size_t i = 0; i < inf->tokens.n; i++) {
        const cf_token_span *t = &inf->tokens.v[i];
        if (t->len == 0 || !cf_parts_has_byte(&inf->prompt, &row->part, t->off)) {
            continue;
        }
        end = (uint32_t)i + 1;
        out->n_lost++;
        if (out->n_hidden > 0 && out->hidden[out->n_hidden - 1].at.end == i) {
            out->hidden[out->n_hidden - 1].at.end++;
        } else {
            out->hidden[out->n_hidden++] = (cf_inside_change){
                .kind = CF_CHANGE_LOOK, .last_layer = n_layer - 1, .at = {end - 1, end}};
        }
    }
    for (size_t i = 0; i < out->n_hidden; i++) {
        out->hidden[i].from = end;
    }
    if (out->n_lost == 0) {
        row->why = "no token of the prompt begins in this part";
    }
    return CF_OK;
}

/* Scores the target with each part hidden; what the history has is of other
 * runs. */
static cf_status score_hidden(making *m, const cf_study_scorer *s, cf_error *err)
{
    for (size_t i = 0; i < m->out->n_row; i++) {
        cf_influence_row *row = &m->out->row[i];
        const variant *v = &m->v[i];
        const cf_changes changes = {.v = v->hidden, .n = v->n_hidden};
        size_t first = v->first + m->from;
        if (row->why != NULL) {
            continue;
        }
        float *log_p = cf_arena_calloc(&m->out->arena, m->n_target, sizeof *log_p);
        if (log_p == NULL) {
            return no_memory(err);
        }
        const cf_inside_ask ask = {.ids = v->ids,
                                   .n = first + m->n_target,
                                   .at = (uint32_t)(first + m->n_target - 1),
                                   .changes = &changes,
                                   .cancel = s->cancel};
        CF_TRY(cf_inside_score(s->session, &ask, first, log_p, err));
        row->has_delta = true;
        row->log_p = log_p;
        row->without = cf_influence__sum(log_p, m->n_target);
        row->delta = row->without - m->out->with;
        m->out->n_scored++;
        if (m->fn != NULL) {
            m->fn(m->ud, i + 1, m->out->n_row);
        }
    }
    return CF_OK;
}

/* ---- other prompts ------------------------------------------------------ */

/* Tokens after the part keep their positions.  What is left of the prompt must
 * be its beginning and its end with at most as much between them. */
static cf_status keep_positions(making *m, cf_influence_row *row, variant *v, cf_error *err)
{
    const variant *w = &m->whole;
    size_t head = 0, tail = 0;
    size_t max = v->n < w->n ? v->n : w->n;
    if (v->n > w->n) {
        row->why = "without it the prompt is longer: positions cannot be kept";
        return CF_OK;
    }
    while (head < max && v->ids[head] == w->ids[head]) {
        head++;
    }
    while (tail < max - head && v->ids[v->n - 1 - tail] == w->ids[w->n - 1 - tail]) {
        tail++;
    }
    v->at = cf_arena_calloc(&m->out->arena, v->n + 1, sizeof *v->at);
    if (v->at == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < v->n; i++) {
        v->at[i] = (uint32_t)(i < v->n - tail ? i : i + (w->n - v->n));
    }
    return CF_OK;
}

static cf_status make_variant(making *m, cf_influence_row *row, variant *out, cf_error *err)
{
    cf_prompt prompt;
    cf_token_list list;
    if (m->o->change == CF_CHANGE_HIDE) {
        return make_hidden(m, row, out, err);
    }
    if (m->o->change == CF_CHANGE_NEUTRAL) {
        return make_neutral(m, row, out, err);
    }
    CF_TRY(cf_influence__prompt(m->out, m->engine, &m->context, m->o, row, &prompt, err));
    CF_TRY(cf_prompt_tokenise(&list, &prompt, cf_str_make("", 0), m->engine->tok, &m->out->arena,
                              err));
    CF_TRY(join(m, &list, out, err));
    out->n_lost = m->whole.first > out->first ? m->whole.first - out->first : 0;
    if (out->first == 0) {
        row->why = "nothing of the prompt is left";
        return CF_OK;
    }
    return m->o->keeps_positions ? keep_positions(m, row, out, err) : CF_OK;
}

/* ---- scoring ------------------------------------------------------------ */

static cf_status list_parts(making *m, cf_error *err)
{
    cf_influence *out = m->out;
    CF_TRY(cf_influence__list(out, &m->context, m->o, err));
    m->v = cf_arena_calloc(&out->arena, out->n_row + 1, sizeof *m->v);
    m->job = cf_arena_calloc(&out->arena, out->n_row + 1, sizeof *m->job);
    m->row_of = cf_arena_calloc(&out->arena, out->n_row + 1, sizeof *m->row_of);
    return m->v != NULL && m->job != NULL && m->row_of != NULL ? CF_OK : no_memory(err);
}

static cf_status add_job(making *m, const variant *v, size_t row, cf_error *err)
{
    size_t first = v->first + m->from;
    cf_score_job *j = &m->job[m->n_job];
    *j = (cf_score_job){.ids = v->ids, .at = v->at, .n = first + m->n_target, .first = first};
    j->log_p = cf_arena_calloc(&m->out->arena, m->n_target, sizeof *j->log_p);
    m->row_of[m->n_job++] = row;
    return j->log_p != NULL ? CF_OK : no_memory(err);
}

static cf_status make_jobs(making *m, const cf_study_scorer *s, cf_error *err)
{
    CF_TRY(add_job(m, &m->whole, SIZE_MAX, err));
    for (size_t i = 0; i < m->out->n_row; i++) {
        cf_influence_row *row = &m->out->row[i];
        variant *v = &m->v[i];
        cf_error why = {0};
        if (s->cancel != NULL && atomic_load(s->cancel)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        cf_status st = make_variant(m, row, v, &why);
        if (cf_influence__is_of_part(st)) {
            row->why = cf_arena_strndup(&m->out->arena, why.text, strlen(why.text));
            st = row->why != NULL ? CF_OK : CF_ENOMEM;
        }
        if (st != CF_OK) {
            return st == CF_ENOMEM ? no_memory(err) : cf_fail(err, st, "%s", why.text);
        }
        row->n_tokens = v->n_lost;
        if (row->why == NULL && v->n > cf_session_n_ctx(s->session)) {
            row->why = "the prompt with this change does not fit the context";
        }
        if (row->why == NULL && m->o->change != CF_CHANGE_HIDE) {
            CF_TRY(add_job(m, v, i, err));
        }
    }
    return CF_OK;
}

static void on_scored(void *ud, size_t job)
{
    making *m = ud;
    (void)job;
    m->n_done++;
    if (m->fn != NULL) {
        m->fn(m->ud, m->n_done, m->n_job);
    }
}

static void take_scores(making *m)
{
    cf_influence *out = m->out;
    out->with = cf_influence__sum(m->job[0].log_p, m->n_target);
    for (size_t i = 0; i < m->n_target; i++) {
        out->target[i].log_p = m->job[0].log_p[i];
    }
    for (size_t i = 1; i < m->n_job; i++) {
        cf_influence_row *row = &out->row[m->row_of[i]];
        row->has_delta = true;
        row->log_p = m->job[i].log_p;
        row->without = cf_influence__sum(row->log_p, m->n_target);
        row->delta = row->without - out->with;
        row->was_known = m->job[i].was_known;
        out->n_scored++;
        out->n_known += m->job[i].was_known;
    }
}

cf_status cf_influence_make(cf_influence *out, const cf_study_case *c,
                            const cf_study_engine *engine, cf_study_scorer *scorer,
                            const cf_influence_options *options, cf_influence_fn fn, void *ud,
                            cf_error *err)
{
    making m = {.out = out,
                .c = c,
                .engine = engine,
                .o = options,
                .context = cf_study_context_of(c),
                .fn = fn,
                .ud = ud};
    if (scorer->server != NULL) {
        return cf_influence__by_server(out, c, engine, scorer, options, fn, ud, err);
    }
    if (engine->tok == NULL || (options->change == CF_CHANGE_HIDE && engine->engine == NULL)) {
        return cf_fail(err, CF_EUNSUPPORTED, "this engine shows no tokens");
    }
    CF_TRY(make_whole(&m, err));
    if (options->change == CF_CHANGE_NEUTRAL) {
        CF_TRY(find_neutral(&m, err));
    }
    CF_TRY(list_parts(&m, err));
    CF_TRY(make_jobs(&m, scorer, err));
    CF_TRY(cf_study_score(scorer, m.job, m.n_job, on_scored, &m, err));
    take_scores(&m);
    if (options->change == CF_CHANGE_HIDE) {
        CF_TRY(score_hidden(&m, scorer, err));
    }
    out->has_failed_store = scorer->has_failed_store;
    return CF_OK;
}

/* ---- reading the result ------------------------------------------------- */

static bool is_before(const cf_influence_row *a, const cf_influence_row *b)
{
    if (!a->has_delta || !b->has_delta) {
        return a->has_delta && !b->has_delta;
    }
    return a->delta < b->delta;
}

void cf_influence_sort(const cf_influence *v, size_t *order)
{
    for (size_t i = 0; i < v->n_row; i++) {
        size_t at = i;
        while (at > 0 && is_before(&v->row[i], &v->row[order[at - 1]])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

void cf_part_label(const cf_part *p, const cf_study_case *c, cf_buf *out)
{
    const json_t *tool = json_array_get(c->tools, p->index);
    cf_str name = cf_json_get_str(json_object_get(tool, "function"), "name");
    cf_str role = cf_json_get_str(json_array_get(c->messages, p->index), "role");
    switch (p->kind) {
    case CF_PART_MESSAGE:
        cf_buf_addf(out, "message %zu (%.*s)", 1 + p->index, (int)role.n,
                    role.p != NULL ? role.p : "");
        break;
    case CF_PART_TOOL:
        cf_buf_adds(out, "tool ");
        cf_buf_add(out, name.p, name.n);
        break;
    case CF_PART_SENTENCE:
    case CF_PART_WORD:
        cf_buf_addf(out, "%s %zu of message %zu", cf_part_kind_name(p->kind), 1 + p->index,
                    1 + p->message);
        break;
    case CF_PART_FIELD:
        cf_buf_adds(out, "tool ");
        cf_buf_add(out, name.p, name.n);
        cf_buf_adds(out, "'s ");
        cf_buf_add(out, p->path.p, p->path.n);
        break;
    case CF_PART_PIECE:
        cf_buf_addf(out, "template %u:%u", (unsigned)p->line, (unsigned)p->col);
        break;
    case CF_PART_KINDS:
        break;
    }
}
