/*
 * report_facts.c - gathers what a report shows: the path, the prompt with its
 * cache, the reply's record, the calls, the sibling replies.
 *
 * A fact that is not available is left out and does not end the report: an
 * imported conversation has no run, a server shows no prompt.  The only failures
 * are a turn that does not exist, lack of memory, and cancellation.
 */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "tui/lab/tokens/reply_reading.h"
#include "tui/study/report/report_impl.h"

/* Failures that end the report. */
static bool is_fatal(cf_status st)
{
    return st == CF_ENOMEM || st == CF_ECANCELLED;
}

static bool is_reply(const cf_turn *turn)
{
    return cf_role_parse(cf_json_get_str(turn->message, "role")) == CF_ROLE_ASSISTANT;
}

/* ---- the path ----------------------------------------------------------- */

static bool on_path(const cf_report_facts *f, cf_uuid id)
{
    for (size_t i = 0; i < f->n_path; i++) {
        if (cf_uuid_eq(f->path[i]->id, id)) {
            return true;
        }
    }
    return false;
}

/* The path to the head where it holds the turn, else the path to the turn. */
static cf_status find_path(cf_report_facts *f, cf_error *err)
{
    const cf_conversation *conv = f->from.conv;
    CF_TRY(cf_conversation_path(conv, cf_conversation_head(conv), &f->arena, &f->path, &f->n_path,
                                err));
    if (!cf_uuid_is_nil(f->from.turn) && !on_path(f, f->from.turn)) {
        CF_TRY(cf_conversation_path(conv, f->from.turn, &f->arena, &f->path, &f->n_path, err));
    }
    for (size_t i = f->n_path; i-- > 0 && f->turn == NULL;) {
        bool is_named = cf_uuid_eq(f->path[i]->id, f->from.turn);
        if (is_named && !is_reply(f->path[i])) {
            return cf_fail(err, CF_EINVAL,
                           "the turn is not a reply; name a reply, or the "
                           "conversation for its last one");
        }
        if (is_named || (cf_uuid_is_nil(f->from.turn) && is_reply(f->path[i]))) {
            f->turn = f->path[i];
        }
    }
    return CF_OK;
}

/* ---- the prompt --------------------------------------------------------- */

static cf_status preview(cf_report_facts *f, cf_uuid leaf, cf_prompt *prompt, cf_token_list *tokens,
                         cf_error *err)
{
    const cf_send send = {.options = f->from.options, .has_parent = true, .parent = leaf};
    return cf_conversation_preview(f->from.conv, f->from.backend, &send, &f->arena, prompt,
                                   f->from.tokenizer != NULL ? tokens : NULL, err);
}

static void add_loss(void *ud, const cf_loss *loss)
{
    cf_report_facts *f = ud;
    cf_buf_add(&f->losses, loss->line.p, loss->line.n);
    cf_buf_addc(&f->losses, '\n');
}

/* Ids of a list, in the arena; NULL where memory ran out. */
static cf_token *ids_of(cf_report_facts *f, const cf_token_list *list)
{
    cf_token *ids = cf_arena_calloc(&f->arena, list->n + 1, sizeof *ids);
    for (size_t i = 0; ids != NULL && i < list->n; i++) {
        ids[i] = list->v[i].id;
    }
    return ids;
}

/* The run's own figure, where its prompt is the one shown. */
static bool cache_of_run(cf_report_facts *f, const cf_token_list *tokens, const cf_token **cache,
                         size_t *n)
{
    const cf_store_run *run = f->has_run ? f->stored.run : NULL;
    if (run == NULL || run->n_kept < 0 || run->n_prompt_ids != tokens->n ||
        (size_t)run->n_kept > tokens->n) {
        return false;
    }
    for (size_t i = 0; i < tokens->n; i++) {
        if (run->prompt_ids[i] != tokens->v[i].id) {
            return false;
        }
    }
    *cache = run->prompt_ids;
    *n = (size_t)run->n_kept;
    f->cache = CF_REPORT_CACHE_RUN;
    return true;
}

/* What a session holds that wrote the reply before this one. */
static cf_status cache_of_earlier(cf_report_facts *f, const cf_token **cache, size_t *n,
                                  cf_error *err)
{
    const cf_turn *earlier = NULL;
    for (size_t i = 0; i < f->n_path && f->path[i] != f->turn; i++) {
        earlier = is_reply(f->path[i]) ? f->path[i] : earlier;
    }
    cf_prompt prompt;
    cf_token_list unused, tokens;
    if (earlier == NULL) {
        return CF_OK;
    }
    CF_TRY(preview(f, earlier->parent, &prompt, &unused, err));
    CF_TRY(cf_prompt_tokenise(&tokens, &prompt, cf_reading_written(earlier), f->from.tokenizer,
                              &f->arena, err));
    *cache = ids_of(f, &tokens);
    *n = *cache != NULL ? tokens.n : 0;
    f->cache = CF_REPORT_CACHE_EARLIER;
    return *cache != NULL ? CF_OK : cf_oom_for(err, "the prompt");
}

static cf_status find_prompt(cf_report_facts *f, cf_error *err)
{
    cf_prompt prompt;
    cf_token_list tokens = {0};
    const cf_token *cache = NULL;
    size_t n_cache = 0;
    cf_uuid leaf = f->turn != NULL ? f->turn->parent : cf_conversation_head(f->from.conv);
    CF_TRY(cf_conversation_sources(f->from.conv, leaf, &f->arena, &f->message, &f->n_message, err));
    CF_TRY(preview(f, leaf, &prompt, &tokens, err));
    if (f->from.tokenizer != NULL && !cache_of_run(f, &tokens, &cache, &n_cache)) {
        cf_status st = cache_of_earlier(f, &cache, &n_cache, err);
        if (is_fatal(st)) {
            return st;
        }
    }
    CF_TRY(cf_prompt_model_build(&f->prompt, &prompt, &tokens, cache, n_cache, err));
    if (f->from.tokenizer != NULL) {
        cf_prompt_model_mark_specials(&f->prompt, f->from.tokenizer);
    }
    f->has_prompt = true;
    const cf_send send = {.options = f->from.options, .has_parent = true, .parent = leaf};
    return cf_conversation_losses(f->from.conv, &send, &prompt, add_loss, f, err);
}

/* ---- the reply ---------------------------------------------------------- */

static bool has_probabilities(const cf_reply *r)
{
    for (size_t i = 0; i < r->n_token; i++) {
        if (r->token[i].p >= 0) {
            return true;
        }
    }
    return false;
}

/* Has the model score a reply whose probabilities are not known. */
static cf_status read_reply(cf_report_facts *f, cf_error *err)
{
    cf_session *session = cf_backend_core_session(f->from.backend);
    cf_str text = cf_reading_written(f->turn);
    if (session == NULL || f->from.tokenizer == NULL || text.n == 0 || !f->has_prompt) {
        return CF_OK;
    }
    cf_reading r;
    cf_status st = cf_reading_init(&r, &f->prompt.prompt, text, f->from.tokenizer, session, err);
    CF_THEN(st, cf_reading_run(&r, f->from.cancel, err));
    if (st == CF_OK) {
        const cf_reply_read read = cf_reading_result(&r);
        cf_reply_take_read(&f->own, f->from.tokenizer, &read);
        f->is_read = true;
    }
    cf_reading_deinit(&r);
    return st;
}

/* The run of the reply, where the history has one. */
static cf_status load_run(cf_report_facts *f, cf_error *err)
{
    cf_status st = f->turn != NULL && f->from.store != NULL
                       ? cf_store_get_turn(f->from.store, f->turn->id, &f->arena, &f->stored, err)
                       : CF_ENOTFOUND;
    f->has_run = st == CF_OK && f->stored.run != NULL;
    return st == CF_ENOMEM ? st : CF_OK;
}

/* The reply's own tools, in place of those of the conversation. */
static cf_status use_tools(cf_report_facts *f, cf_error *err)
{
    json_t *none = json_array();
    cf_status st = none != NULL ? CF_OK : cf_oom_for(err, "the tools");
    CF_THEN(st, cf_tool_set_new(&f->tools, f->was.tools != NULL ? f->was.tools : none, err));
    json_decref(none);
    f->options.tools = f->tools;
    return st;
}

/* From now on the source is what the run had: its template with the roles and
 * the family of that, its variables, thinking and tools. */
static cf_status use_run(cf_report_facts *f, cf_error *err)
{
    cf_report_source *from = &f->from;
    cf_study_engine e = {.backend = from->backend,
                         .tok = from->tokenizer,
                         .engine = from->engine,
                         .family = from->family,
                         .roles = from->roles,
                         .template_source = from->template_source};
    if (!f->has_run) {
        return CF_OK;
    }
    CF_TRY(cf_recorded_read(&f->was, from->store, f->stored.run, &f->arena, err));
    if (from->options != NULL) {
        f->options = *from->options;
    }
    cf_recorded_chat(&f->was, &f->options.chat);
    f->options.extra_context = f->was.vars;
    if (cf_recorded_has_tools(f->was.run)) {
        CF_TRY(use_tools(f, err));
    }
    from->options = &f->options;
    CF_TRY(cf_study_own_init(&f->engine, &e, &f->was, err));
    if (f->engine.backend != NULL) {
        from->template_name = "history";
    }
    from->backend = e.backend;
    from->family = e.family;
    from->roles = e.roles;
    from->template_source = e.template_source;
    return CF_OK;
}

static cf_status find_reply(cf_report_facts *f, cf_error *err)
{
    f->reply = f->from.reply;
    if (f->reply == NULL) {
        if (f->has_run) {
            cf_reply_load(&f->own, f->from.tokenizer, f->stored.run);
        }
        f->reply = &f->own;
    }
    if (f->from.reads && !has_probabilities(f->reply)) {
        f->reply = &f->own;
        CF_TRY(read_reply(f, err));
    }
    return CF_OK;
}

/* ---- siblings ----------------------------------------------------------- */

/* The other replies at a place of the path. */
static cf_status siblings_at(cf_report_facts *f, size_t place, cf_error *err)
{
    const cf_turn *reply = f->path[place], *t;
    for (size_t i = 0; (t = cf_conversation_child(f->from.conv, reply->parent, i)) != NULL; i++) {
        f->n_all += reply == f->turn;
        if (t == reply) {
            continue;
        }
        if (f->n_sibling == CF_REPORT_SIBLINGS) {
            f->n_more++;
            continue;
        }
        cf_report_sibling *s = &f->sibling[f->n_sibling];
        s->turn = t;
        s->place = place;
        cf_status st = cf_diff_texts(&s->diff, cf_reading_written(t), cf_reading_written(reply),
                                     &f->arena, err);
        if (is_fatal(st)) {
            return st;
        }
        f->n_sibling += st == CF_OK;
    }
    return CF_OK;
}

/* Of every reply up to the one reported, that one first. */
static cf_status find_siblings(cf_report_facts *f, cf_error *err)
{
    bool is_before = false;
    for (size_t i = f->n_path; i-- > 0;) {
        is_before = is_before || f->path[i] == f->turn;
        if (is_before && is_reply(f->path[i])) {
            CF_TRY(siblings_at(f, i, err));
        }
    }
    return CF_OK;
}

/* ---- influence ---------------------------------------------------------- */

static cf_study_engine engine_of(const cf_report_facts *f)
{
    return (cf_study_engine){.backend = f->from.backend,
                             .tok = f->from.tokenizer,
                             .engine = f->from.engine,
                             .family = f->from.family,
                             .roles = f->from.roles,
                             .template_source = f->from.template_source};
}

static cf_status find_case(const cf_report_facts *f, cf_study_case *out,
                           const cf_study_engine *engine, cf_error *err)
{
    char id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, f->turn->id);
    CF_TRY(cf_study_case_of(out, f->from.conv, engine, id, err));
    return cf_study_case_record(out, f->from.store, engine, err);
}

static cf_status find_influence(cf_report_facts *f, cf_error *err)
{
    const cf_study_engine engine = engine_of(f);
    const cf_influence_options o = {.kinds = 1u << CF_PART_MESSAGE | 1u << CF_PART_TOOL |
                                             1u << CF_PART_SENTENCE,
                                    .message = SIZE_MAX,
                                    .tool = SIZE_MAX};
    cf_study_scorer scorer;
    CF_TRY(cf_study_scorer_init(&scorer, f->from.backend, f->from.store, f->from.cancel, err));
    cf_status st = find_case(f, &f->study, &engine, err);
    CF_THEN(st, cf_influence_make(&f->influence, &f->study, &engine, &scorer, &o, NULL, NULL, err));
    f->has_influence = st == CF_OK;
    cf_study_scorer_deinit(&scorer);
    return st;
}

/* What chose the called tool, or the reply's first token. */
static cf_status find_inside(cf_report_facts *f, cf_error *err)
{
    const cf_inside_question q = {.off = CF_INSIDE_FROM_CALL, .tool = SIZE_MAX};
    const cf_session *session = cf_backend_core_session(f->from.backend);
    cf_session *fork = NULL;
    if (session == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "looking inside needs the built-in engine");
    }
    CF_TRY(cf_session_fork(&fork, session, err));
    cf_status st = cf_inside_work_new(&f->inside, &q, err);
    if (st == CF_OK) {
        f->inside->c.engine = engine_of(f);
        f->inside->c.session = fork;
        f->inside->c.cancel = f->from.cancel;
        st = find_case(f, &f->inside->c.c, &f->inside->c.engine, err);
        CF_THEN(st, cf_inside_work_make(f->inside, NULL, NULL, err));
    }
    cf_session_free(fork);
    if (st != CF_OK) {
        cf_inside_work_free(f->inside);
        f->inside = NULL;
    }
    return st;
}

/* ---- all ---------------------------------------------------------------- */

static cf_status gather(cf_report_facts *f, cf_error *err)
{
    cf_error why = {0};
    CF_TRY(find_path(f, err));
    CF_TRY(load_run(f, err));
    CF_TRY(use_run(f, err));
    cf_status st = find_prompt(f, &why);
    if (st != CF_OK) {
        f->has_prompt = false;
        f->prompt_why = why;
    }
    if (st == CF_OK || !is_fatal(st)) {
        st = f->turn != NULL ? find_reply(f, &why) : CF_OK;
    }
    if (st == CF_OK || !is_fatal(st)) {
        st = f->turn != NULL ? find_siblings(f, &why) : CF_OK;
    }
    if (f->from.influences && f->turn != NULL && !is_fatal(st)) {
        st = find_influence(f, &why);
        f->influence_why = st == CF_OK ? (cf_error){0} : why;
    }
    if (f->from.looks && f->turn != NULL && !is_fatal(st)) {
        st = find_inside(f, &why);
        f->inside_why = st == CF_OK ? (cf_error){0} : why;
    }
    if (is_fatal(st)) {
        *err = why;
        return st;
    }
    return cf_tool_model_build(&f->calls, f->path, f->n_path, f->from.family,
                               cf_conversation_tools(f->from.conv), f->from.template_source, err);
}

cf_status cf_report_facts_init(cf_report_facts *f, const cf_report_source *from, cf_error *err)
{
    *f = (cf_report_facts){.from = *from};
    cf_arena_init(&f->arena, 0);
    cf_study_case_init(&f->study);
    cf_influence_init(&f->influence);
    cf_status st = gather(f, err);
    CF_THEN(st, cf_buf_check(&f->losses, err));
    /* A fact lost for lack of memory must not look like one that is unknown. */
    if (st == CF_OK && (f->own.is_partial || f->own.raw.failed)) {
        st = cf_oom_for(err, "the reply");
    }
    if (st != CF_OK) {
        cf_report_facts_deinit(f);
    }
    return st;
}

void cf_report_facts_deinit(cf_report_facts *f)
{
    cf_inside_work_free(f->inside);
    cf_influence_deinit(&f->influence);
    cf_study_case_deinit(&f->study);
    cf_study_own_deinit(&f->engine);
    cf_recorded_deinit(&f->was);
    cf_tool_set_free(f->tools);
    cf_prompt_model_deinit(&f->prompt);
    cf_tool_model_deinit(&f->calls);
    cf_reply_deinit(&f->own);
    cf_buf_deinit(&f->losses);
    cf_arena_deinit(&f->arena);
    *f = (cf_report_facts){.n_path = 0};
}
