/*
 * easy_influence.c - what the last reply depends on: its likelihood without each
 * part of its prompt, and without some of them together.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "templates/easy/easy.h"
#include "templates/prompt_part.h"
#include "templates/text_plan.h"

typedef struct study {
    confab *c;
    const cf_tokenizer *tok;
    cf_part_context context; /* before the reply; its JSON is the study's own */
    cf_prompt whole;
    cf_text_plan plan; /* of the reply */
    double with;       /* its log-likelihood after the whole prompt */
    cf_part_list parts;
    cf_part_effect *effect; /* [parts.n] */
    cf_jw w;
    cf_arena arena;
} study;

/* ---- the reply ---------------------------------------------------------- */

/* The messages before the last reply, which is at the conversation's end. */
static cf_status read_context(study *s, cf_error *err)
{
    const confab *c = s->c;
    cf_message_source *list = NULL;
    size_t n = 0;
    json_t *messages = json_array();
    s->context = (cf_part_context){.messages = messages, .as_is = c->chat.as_is};
    if (!c->kept.is_whole || c->kept.n <= c->kept.n_prompt || c->kept.n_prompt == 0 ||
        !cf_uuid_eq(c->kept.at, cf_conversation_head(c->conv))) {
        return cf_fail(err, CF_EINVAL, "the conversation does not end with a reply made here");
    }
    CF_TRY(
        cf_conversation_sources(c->conv, cf_conversation_head(c->conv), &s->arena, &list, &n, err));
    for (size_t i = 0; i + 1 < n; i++) {
        if (json_array_append(messages, cf_json_ref(list[i].message)) != 0) {
            return cf_oom(err);
        }
    }
    if (json_array_size(c->tools) > 0) {
        s->context.tools = cf_tool_set_openai(cf_conversation_tools(c->conv));
    }
    return messages != NULL && (json_array_size(c->tools) == 0 || s->context.tools != NULL)
               ? CF_OK
               : cf_oom(err);
}

/* The reply's tokens, each as it was drawn: freely, under the constraint, or not. */
static cf_status plan_tokens(study *s, const cf_text_pieces *pieces, cf_constraint *constraint,
                             cf_error *err)
{
    const cf_easy_reply *r = &s->c->kept;
    for (size_t i = r->n_prompt; i < r->n; i++) {
        char how = r->how.p[i - r->n_prompt];
        bool is_given = (how & CF_TOKEN_GIVEN) != 0;
        cf_constraint *under = (how & CF_TOKEN_HELD) != 0 ? constraint : NULL;
        if (under != NULL && cf_tokenizer_is_end(s->tok, r->ids[i])) {
            CF_TRY(cf_text_plan_add_end(&s->plan, pieces, under, &s->arena, err));
        } else {
            CF_TRY(cf_text_plan_add(&s->plan, pieces, under, r->ids[i], is_given, &s->arena, err));
        }
    }
    return cf_text_plan_finish(&s->plan, pieces, err);
}

static cf_status plan_reply(study *s, cf_error *err)
{
    cf_grammar *grammar = s->c->kept.grammar;
    cf_text_pieces pieces;
    cf_constraint *constraint = NULL;
    CF_TRY(cf_text_pieces_init(&pieces, s->tok, err));
    cf_status st =
        grammar != NULL ? cf_constraint_new(&constraint, grammar, s->c->vocab, err) : CF_OK;
    CF_THEN(st, plan_tokens(s, &pieces, constraint, err));
    cf_constraint_free(constraint);
    cf_text_pieces_deinit(&pieces);
    return st;
}

/* ---- scores ------------------------------------------------------------- */

typedef struct reading {
    const study *s;
    size_t first; /* of the reply's tokens */
    float *read;  /* [plan.n_way] */
} reading;

static void on_logits(void *ud, uint32_t pos, const float *logits)
{
    const reading *r = ud;
    size_t next = (size_t)pos + 1;
    if (next >= r->first && next < r->first + r->s->plan.n) {
        cf_text_plan_read(&r->s->plan, next - r->first, logits, cf_tokenizer_n_vocab(r->s->tok),
                          r->read);
    }
}

/* The reply's log-likelihood after a prompt. */
static cf_status score(const study *s, const cf_prompt *prompt, cf_arena *arena, double *sum,
                       cf_error *err)
{
    const cf_easy_reply *reply = &s->c->kept;
    cf_session *session = s->c->session;
    cf_token_list list;
    size_t n_cached;
    CF_TRY(cf_prompt_tokenise(&list, prompt, cf_str_make("", 0), s->tok, arena, err));
    size_t n = list.n + s->plan.n;
    cf_token *ids = cf_arena_calloc(arena, n, sizeof *ids);
    float *log_p = cf_arena_calloc(arena, s->plan.n, sizeof *log_p);
    reading r = {s, list.n, cf_arena_calloc(arena, s->plan.n_way + 1, sizeof *r.read)};
    if (ids == NULL || log_p == NULL || r.read == NULL) {
        return cf_oom(err);
    }
    if (list.n == 0) {
        return cf_fail(err, CF_EINVAL, "nothing of the prompt is left");
    }
    for (size_t i = 0; i < n; i++) {
        ids[i] = i < list.n ? list.v[i].id : reply->ids[reply->n_prompt + i - list.n];
    }
    cf_session_tokens(session, &n_cached);
    if (n_cached > list.n - 1) { /* kept positions report no logits */
        cf_session_rewind(session, list.n - 1);
    }
    const cf_run run = {.cancel = &s->c->cancel, .logits = on_logits, .ud = &r};
    CF_TRY(cf_session_sync(session, ids, n - 1, &run, NULL, err));
    CF_TRY(cf_text_plan_sum(&s->plan, r.read, log_p, err));
    *sum = 0;
    for (size_t i = 0; i < s->plan.n; i++) {
        *sum += (double)log_p[i];
    }
    return CF_OK;
}

typedef struct outcome {
    bool is_known, is_emptied;
    double sum;
    cf_error why; /* !is_known */
} outcome;

/* Without some parts; what fails for these alone is in the outcome. */
static cf_status try_without(const study *s, const size_t *row, size_t n, outcome *out,
                             cf_error *err)
{
    cf_arena arena; /* of this prompt alone: there is one for each word */
    cf_prompt prompt;
    cf_arena_init(&arena, 0);
    const cf_part_render from = {s->c->opened.backend, &s->c->chat, &s->context, &s->whole, &arena};
    const cf_part_set set = {.part = cf_arena_calloc(&arena, n, sizeof *set.part), .n = n};
    for (size_t i = 0; set.part != NULL && i < n; i++) {
        set.part[i] = &s->parts.v[row[i]];
    }
    *out = (outcome){.sum = 0};
    cf_status st = set.part != NULL ? CF_OK : cf_oom(&out->why);
    CF_THEN(st, cf_parts_prompt(&prompt, &from, &set, &out->is_emptied, &out->why));
    CF_THEN(st, score(s, &prompt, &arena, &out->sum, &out->why));
    cf_arena_deinit(&arena);
    out->is_known = st == CF_OK;
    return st == CF_ENOMEM || st == CF_ECANCELLED ? cf_fail(err, st, "%s", out->why.text) : CF_OK;
}

static cf_status cost_of(void *ud, const size_t *row, size_t n, double *cost, cf_error *err)
{
    const study *s = ud;
    outcome o;
    CF_TRY(try_without(s, row, n, &o, err));
    *cost = o.is_known ? s->with - o.sum : 0;
    return CF_OK;
}

/* ---- what is written ---------------------------------------------------- */

static cf_status write_row(study *s, size_t i, cf_error *err)
{
    const cf_part *p = &s->parts.v[i];
    outcome o;
    CF_TRY(try_without(s, &i, 1, &o, err));
    s->effect[i] = (cf_part_effect){p, o.is_known, o.sum - s->with};
    cf_jw_object(&s->w, NULL);
    cf_jw_text(&s->w, "kind", cf_part_kind_name(p->kind));
    cf_part_write(p, &s->w);
    if (o.is_known) {
        cf_jw_double(&s->w, "without", o.sum);
        cf_jw_double(&s->w, "delta", o.sum - s->with);
    } else {
        cf_jw_text(&s->w, "why", o.why.text);
    }
    if (o.is_emptied) {
        cf_jw_bool(&s->w, "emptied", true);
    }
    cf_jw_end(&s->w);
    return CF_OK;
}

static cf_status write_groups(study *s, cf_error *err)
{
    cf_part_group group[CF_PART_GROUPS_MAX];
    size_t n = 0;
    const cf_part_grouping g = {s->effect, s->parts.n, cost_of, s, &s->arena};
    CF_TRY(cf_part_groups_find(group, &n, &g, err));
    cf_jw_array(&s->w, "groups");
    for (size_t i = 0; i < n; i++) {
        cf_jw_object(&s->w, NULL);
        cf_jw_text(&s->w, "kind", cf_part_group_name(group[i].kind));
        cf_jw_uint(&s->w, "need", group[i].need);
        cf_jw_array(&s->w, "parts");
        for (size_t k = 0; k < group[i].n; k++) {
            cf_jw_uint(&s->w, NULL, group[i].row[k]);
        }
        cf_jw_end(&s->w);
        cf_jw_double(&s->w, "delta", group[i].delta);
        cf_jw_end(&s->w);
    }
    cf_jw_end(&s->w);
    return CF_OK;
}

static cf_status influence(study *s, const char *by, cf_error *err)
{
    cf_part_choice choice = {0, SIZE_MAX, SIZE_MAX};
    CF_TRY(cf_part_kinds_read(&choice.kinds, by, "by", err));
    CF_TRY(cf_easy__session(s->c, err));
    CF_TRY(cf_easy__tokenizer(s->c, &s->tok, err));
    CF_TRY(read_context(s, err));
    CF_TRY(plan_reply(s, err));
    CF_TRY(cf_part_context_render(s->c->opened.backend, &s->context, &s->c->chat, &s->arena,
                                  &s->whole, err));
    CF_TRY(cf_parts_add(&s->parts, &choice, &s->context, &s->whole, &s->arena, err));
    s->effect = cf_arena_calloc(&s->arena, s->parts.n + 1, sizeof *s->effect);
    if (s->effect == NULL) {
        return cf_oom(err);
    }
    CF_TRY(score(s, &s->whole, &s->arena, &s->with, err));
    cf_jw_object(&s->w, NULL);
    cf_jw_double(&s->w, "with", s->with);
    if (s->c->kept.grammar != NULL) {
        cf_jw_uint(&s->w, "forced", s->plan.n_forced);
    }
    cf_jw_array(&s->w, "parts");
    for (size_t i = 0; i < s->parts.n; i++) {
        CF_TRY(write_row(s, i, err));
    }
    cf_jw_end(&s->w);
    CF_TRY(write_groups(s, err));
    cf_jw_end(&s->w);
    return cf_jw_finish(&s->w, err);
}

const char *cf_influence(confab *c, const char *by, cf_error *err)
{
    if (cf_easy__may(c, err) != CF_OK) {
        return NULL;
    }
    study s = {.c = c};
    cf_buf b = CF_BUF_INIT;
    cf_arena_init(&s.arena, 0);
    cf_text_plan_init(&s.plan);
    cf_jw_init(&s.w, &b);
    cf_easy__begin(c);
    cf_status st = influence(&s, by != NULL ? by : "message,tool", err);
    cf_easy__end(c);
    CF_THEN(st, cf_buf_check(&b, err));
    cf_text_plan_deinit(&s.plan);
    cf_free(s.parts.v);
    cf_parts_drop(&s.context);
    cf_arena_deinit(&s.arena);
    return cf_easy__finish(&b, &c->influence, st);
}
