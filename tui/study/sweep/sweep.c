/*
 * sweep.c - cells, their results in the history, and their checks.
 *
 * Always true:
 *   1. Cells 0 .. n_told are done, and `fn` was called for each.
 *   2. A result is in the history before its cell is done.
 *   3. `seen` has the first cell of each key; later ones are linked to it by
 *      next_twin and end with it.
 */
#include "tui/study/sweep/sweep.h"

#include "core/base/alloc.h"
#include "core/json/json_builder.h"
#include "tui/study/sweep/sweep_impl.h"

/* ---- cells -------------------------------------------------------------- */

static size_t at_least_one(size_t n)
{
    return n > 0 ? n : 1;
}

static size_t index_of(size_t i, size_t n)
{
    return n > 0 ? i : CF_SWEEP_NONE;
}

static bool is_server(const cf_sweep_plan *p, size_t model)
{
    return p->n_model > 0 && p->model[model].is_server;
}

/* The number of templates that apply to a model: a server uses its own. */
static size_t n_templates(const cf_sweep_plan *p, size_t model)
{
    return is_server(p, model) ? 0 : p->n_template;
}

/* Likewise adapters, which are those of model files. */
static size_t n_adapters(const cf_sweep_plan *p, size_t model)
{
    return is_server(p, model) ? 0 : p->n_adapter;
}

static size_t count(const cf_sweep_plan *p)
{
    size_t n = 0, n_repeat = 0;
    for (size_t i = 0; i < p->n_sampler; i++) {
        n_repeat += p->sampler[i].n_repeat;
    }
    for (size_t m = 0; m < at_least_one(p->n_model); m++) {
        n += at_least_one(n_adapters(p, m)) * at_least_one(n_templates(p, m)) *
             at_least_one(p->n_system) * at_least_one(p->n_wording) * n_repeat * p->n_item;
    }
    return n;
}

/* All prompts with what the cell says of the axes. */
static void fill_prompts(cf_sweep *s, size_t *at, cf_sweep_cell like)
{
    for (like.item = 0; like.item < s->plan->n_item; like.item++) {
        s->cell[(*at)++] = like;
    }
}

/* The cells of one model, adapter and template. */
static void fill(cf_sweep *s, size_t *at, size_t model, size_t adapter, size_t tpl)
{
    const cf_sweep_plan *p = s->plan;
    cf_sweep_cell c = {.tpl = tpl,
                       .model = index_of(model, p->n_model),
                       .adapter = adapter,
                       .next_twin = CF_SWEEP_NONE};
    for (size_t y = 0; y < at_least_one(p->n_system); y++) {
        c.system = index_of(y, p->n_system);
        for (size_t w = 0; w < at_least_one(p->n_wording); w++) {
            c.wording = index_of(w, p->n_wording);
            for (c.sampler = 0; c.sampler < p->n_sampler; c.sampler++) {
                for (c.repeat = 0; c.repeat < p->sampler[c.sampler].n_repeat; c.repeat++) {
                    fill_prompts(s, at, c);
                }
            }
        }
    }
}

cf_status cf_sweep_init(cf_sweep *s, const cf_sweep_plan *plan, const cf_sweep_options *o,
                        cf_error *err)
{
    size_t n = count(plan), at = 0;
    *s = (cf_sweep){.plan = plan, .o = *o};
    if (n > CF_SWEEP_CELLS_MAX) {
        return cf_fail(err, CF_ELIMIT, "%zu cells, more than %d", n, CF_SWEEP_CELLS_MAX);
    }
    s->cell = cf_calloc(n, sizeof *s->cell);
    s->seen = json_object();
    if (s->cell == NULL || s->seen == NULL) {
        cf_sweep_deinit(s);
        return cf_oom_for(err, "the cells");
    }
    for (size_t m = 0; m < at_least_one(plan->n_model); m++) {
        size_t n_tpl = n_templates(plan, m), n_ada = n_adapters(plan, m);
        for (size_t a = 0; a < at_least_one(n_ada); a++) {
            for (size_t t = 0; t < at_least_one(n_tpl); t++) {
                fill(s, &at, m, index_of(a, n_ada), index_of(t, n_tpl));
            }
        }
    }
    s->n = n;
    for (size_t i = 0; i < n && plan->n_check > 0; i++) {
        s->cell[i].answer = cf_calloc(plan->n_check, sizeof *s->cell[i].answer);
        if (s->cell[i].answer == NULL) {
            cf_sweep_deinit(s);
            return cf_oom_for(err, "the cells");
        }
    }
    return CF_OK;
}

void cf_sweep_deinit(cf_sweep *s)
{
    for (size_t i = 0; i < s->n; i++) {
        cf_sweep_cell *c = &s->cell[i];
        for (size_t k = 0; c->answer != NULL && k < s->plan->n_check; k++) {
            cf_free(c->answer[k].why);
        }
        cf_free(c->answer);
        cf_free(c->error);
        json_decref(c->result);
    }
    cf_free(s->cell);
    json_decref(s->seen);
    cf_sweep__free_judges(s);
    *s = (cf_sweep){.n = 0};
}

bool cf_sweep__is_cancelled(const cf_sweep *s)
{
    return s->o.cancel != NULL && atomic_load(s->o.cancel);
}

cf_open_options cf_sweep__open_options(const cf_sweep *s, size_t model, size_t adapter)
{
    cf_open_options o = s->o.open;
    if (adapter != CF_SWEEP_NONE) {
        o.lora = s->plan->adapter[adapter].file;
        o.n_lora = s->plan->adapter[adapter].n_file;
    }
    if (model != CF_SWEEP_NONE) {
        const cf_sweep_model *m = &s->plan->model[model];
        o.model = m->address[0];
        o.server_model = m->server_model != NULL ? m->server_model : o.server_model;
        o.key = m->key;
    }
    return o;
}

/* ---- checks ------------------------------------------------------------- */

/* What a predicate sees of a result; `tools` may be NULL. */
static void sight_of(cf_sight *sight, const json_t *result, const cf_tool_set *tools,
                     cf_cancel *cancel, cf_token *ids)
{
    cf_tool_family family = CF_TOOLS_NONE;
    const json_t *list = json_object_get(result, "ids");
    cf_tool_family_parse(&family, cf_json_get_str(result, "family"));
    for (size_t i = 0; ids != NULL && i < json_array_size(list); i++) {
        ids[i] = (cf_token)json_integer_value(json_array_get(list, i));
    }
    *sight =
        (cf_sight){.has_reply = true,
                   .raw = cf_json_get_str(result, "raw"),
                   .message = json_object_get(result, "message"),
                   .calls = (cf_tool_status)json_integer_value(json_object_get(result, "status")),
                   .findings = json_object_get(result, "findings"),
                   .ids = ids,
                   .n_ids = ids != NULL ? json_array_size(list) : 0,
                   .family = family,
                   .tools = tools,
                   .cancel = cancel};
}

/* An answer out of the result: a judge's word with its reason, or a
 * likelihood. */
static cf_status answer_of_score(const cf_sweep *s, const cf_sweep_cell *c,
                                 const cf_sweep_check *check, cf_sweep_answer *a, cf_error *err)
{
    cf_buf key = CF_BUF_INIT, why = CF_BUF_INIT;
    cf_sweep_check_key(check, s->plan->item[c->item].fields, &key);
    const json_t *v = json_object_get(json_object_get(c->result, "scores"), cf_buf_cstr(&key));
    if (check->kind == CF_CHECK_JUDGE) {
        const json_t *says = json_object_get(v, "says");
        cf_str words = cf_json_get_str(v, "words");
        a->is_known = json_is_boolean(says);
        a->passes = a->is_known && json_is_true(says) != check->is_negated;
        cf_buf_adds(&why, a->is_known ? "" : "the judge gave no answer");
        cf_buf_addf(&why, "%s%.*s", !a->is_known && words.n > 0 ? ": " : "", (int)words.n,
                    words.n > 0 ? words.p : "");
    } else if (json_is_number(v)) {
        a->is_known = a->has_value = true;
        a->value = json_number_value(v);
        a->passes = a->value >= check->least;
    } else {
        cf_buf_adds(&why, "this model gives no likelihoods");
    }
    cf_status st = cf_buf_check(&key, err);
    CF_THEN(st, cf_buf_check(&why, err));
    if (st == CF_OK && why.n > 0) {
        a->why = cf_strdup(cf_buf_cstr(&why));
        st = a->why != NULL ? st : cf_oom_for(err, "the checks");
    }
    cf_buf_deinit(&key);
    cf_buf_deinit(&why);
    return st;
}

static cf_status answer_of_predicate(const cf_sweep *s, const cf_sweep_cell *c,
                                     const cf_sweep_check *check, const cf_sight *sight,
                                     cf_sweep_answer *a, cf_error *err)
{
    cf_buf why = CF_BUF_INIT;
    cf_error failure;
    cf_status st =
        cf_sweep_check_ask(check, s->plan->item[c->item].fields, sight, &a->passes, &why, &failure);
    a->is_known = st == CF_OK;
    a->why = cf_strdup(st == CF_OK ? cf_buf_cstr(&why) : failure.text);
    bool is_lost = st == CF_ENOMEM || why.failed || a->why == NULL;
    cf_buf_deinit(&why);
    return is_lost ? cf_oom_for(err, "the checks") : CF_OK;
}

/* Asks every check of the plan.  CF_ENOMEM: answers are missing. */
static cf_status ask(const cf_sweep *s, cf_sweep_cell *c, cf_error *err)
{
    const json_t *list = json_object_get(c->result, "ids");
    cf_token *ids = cf_calloc(json_array_size(list) + 1, sizeof *ids);
    cf_tool_set *tools = NULL;
    cf_sight sight;
    cf_error ignored;
    cf_status st = cf_tool_set_new(&tools, cf_sweep_tools(s, c), &ignored);
    st = ids == NULL || st == CF_ENOMEM ? cf_oom_for(err, "the checks") : CF_OK;
    sight_of(&sight, c->result, tools, s->o.cancel, ids);
    for (size_t k = 0; st == CF_OK && k < s->plan->n_check; k++) {
        cf_sweep_answer *a = &c->answer[k];
        const cf_sweep_check *check = cf_sweep_plan_check(s->plan, c->item, k);
        a->is_absent = check == NULL;
        if (check != NULL) {
            st = check->kind == CF_CHECK_PREDICATE
                     ? answer_of_predicate(s, c, check, &sight, a, err)
                     : answer_of_score(s, c, check, a, err);
        }
    }
    cf_tool_set_free(tools);
    cf_free(ids);
    return st;
}

/* ---- the history -------------------------------------------------------- */

/* Whether a result has the likelihoods that the checks ask for. */
static cf_status look_for_scores(const cf_sweep *s, const cf_sweep_cell *c, const json_t *result,
                                 bool *has, cf_error *err)
{
    *has = true;
    for (size_t k = 0; *has && k < s->plan->n_check; k++) {
        const cf_sweep_check *check = cf_sweep_plan_check(s->plan, c->item, k);
        cf_buf key = CF_BUF_INIT;
        if (check == NULL || check->kind != CF_CHECK_LIKELIHOOD) {
            continue;
        }
        cf_sweep_check_key(check, s->plan->item[c->item].fields, &key);
        *has = json_object_get(json_object_get(result, "scores"), cf_buf_cstr(&key)) != NULL;
        cf_status st = cf_buf_check(&key, err);
        cf_buf_deinit(&key);
        CF_TRY(st);
    }
    return CF_OK;
}

/* The cell's result in the history; NULL: none that has everything.
 * CF_ENOMEM. */
static cf_status load(const cf_sweep *s, const cf_sweep_cell *c, json_t **out, cf_error *err)
{
    cf_arena arena;
    cf_str text;
    json_t *result = NULL;
    bool has = false;
    *out = NULL;
    if (s->o.store == NULL) {
        return CF_OK;
    }
    cf_arena_init(&arena, 0);
    cf_status st = cf_store_get_cell(s->o.store, cf_str_from(c->key), &arena, &text, err);
    CF_THEN(st, cf_json_read(&result, text.p, text.n, err));
    CF_THEN(st, look_for_scores(s, c, result, &has, err));
    if (st == CF_OK && has) {
        *out = json_incref(result);
    }
    json_decref(result);
    cf_arena_deinit(&arena);
    return st == CF_ENOMEM ? st : CF_OK;
}

cf_status cf_sweep__save(const cf_sweep *s, const cf_sweep_cell *c, const json_t *result,
                         cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    if (s->o.store == NULL) {
        return CF_OK;
    }
    cf_json_write(&text, result);
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, cf_store_put_cell(s->o.store, cf_str_from(c->key), cf_buf_str(&text), err));
    cf_buf_deinit(&text);
    return st;
}

static void save(cf_sweep *s, const cf_sweep_cell *c)
{
    s->n_unsaved += cf_sweep__save(s, c, c->result, &s->store_why) != CF_OK;
}

/* ---- ends --------------------------------------------------------------- */

/* Takes a cell's result and answers away. */
static void lose(const cf_sweep *s, cf_sweep_cell *c, const cf_error *err)
{
    for (size_t k = 0; k < s->plan->n_check; k++) {
        cf_free(c->answer[k].why);
        c->answer[k] = (cf_sweep_answer){.why = NULL};
    }
    json_decref(c->result);
    c->result = NULL;
    c->is_reused = false;
    c->error = cf_strdup(err->text); /* NULL is shown as out of memory, too */
}

/* Tells of the cells whose turn it is. */
static void tell(cf_sweep *s)
{
    while (s->n_told < s->n && s->cell[s->n_told].is_done) {
        size_t i = s->n_told++;
        if (s->o.fn != NULL) {
            s->o.fn(s->o.ud, s, i);
        }
    }
}

/* A cell whose answers did not fit into memory has failed: any of them may be
 * wrong or lack its reason. */
static void end(cf_sweep *s, cf_sweep_cell *c)
{
    cf_error err;
    if (c->result != NULL && ask(s, c, &err) != CF_OK) {
        lose(s, c, &err);
    }
    c->is_done = true;
    s->n_done++;
    s->n_reused += c->is_reused;
    s->n_failed += c->result == NULL;
    if (s->o.progress != NULL) {
        s->o.progress(s->o.ud, s->n_done, s->n);
    }
}

/* Ends the cell and its twins with the result or the error of the cell. */
static void end_all(cf_sweep *s, cf_sweep_cell *first)
{
    end(s, first);
    for (size_t k = first->next_twin; k != CF_SWEEP_NONE;) {
        cf_sweep_cell *c = &s->cell[k];
        c->result = json_incref(first->result);
        c->error = first->error != NULL ? cf_strdup(first->error) : NULL;
        c->is_reused = first->result != NULL;
        end(s, c);
        k = c->next_twin;
    }
    tell(s);
}

/* Links a cell to the first one of its key, where it is not that one.
 * CF_ENOMEM. */
static cf_status link_twin(cf_sweep *s, size_t cell, bool *is_twin, cf_error *err)
{
    cf_sweep_cell *c = &s->cell[cell];
    const json_t *v = json_object_get(s->seen, c->key);
    *is_twin = v != NULL;
    if (v == NULL) {
        cf_jb b = CF_JB_INIT;
        cf_jb_set(&b, s->seen, c->key, json_integer((json_int_t)cell));
        return cf_jb_check(&b, err);
    }
    cf_sweep_cell *first = &s->cell[json_integer_value(v)];
    if (first->is_done) {
        c->result = json_incref(first->result);
        c->error = first->error != NULL ? cf_strdup(first->error) : NULL;
        c->is_reused = first->result != NULL;
        end(s, c);
        tell(s);
    } else {
        c->next_twin = first->next_twin;
        first->next_twin = cell;
    }
    return CF_OK;
}

/* Asks the judges of a cell, and saves its result if it is not saved yet, or
 * changed.  What a judge says without memory is not kept. */
static void take_judgements(cf_sweep *s, cf_sweep_cell *c, bool is_saved)
{
    cf_error err;
    bool is_changed = false;
    if (cf_sweep__ask_judges(s, c, c->result, &is_changed, &err) != CF_OK) {
        lose(s, c, &err);
    } else if (is_changed || !is_saved) {
        save(s, c);
    }
}

bool cf_sweep__is_known(cf_sweep *s, size_t cell)
{
    cf_sweep_cell *c = &s->cell[cell];
    cf_error err;
    bool is_twin = false;
    cf_status st = link_twin(s, cell, &is_twin, &err);
    if (is_twin) {
        return true;
    }
    CF_THEN(st, load(s, c, &c->result, &err));
    if (st != CF_OK) {
        /* It may be known: running it could compute a cell twice. */
        lose(s, c, &err);
        end_all(s, c);
        return true;
    }
    if (c->result == NULL) {
        return false;
    }
    c->is_reused = true;
    take_judgements(s, c, true);
    end_all(s, c);
    return true;
}

void cf_sweep__finish(cf_sweep *s, size_t cell, json_t *result, bool is_saved, const cf_error *err)
{
    cf_sweep_cell *c = &s->cell[cell];
    c->result = result;
    if (result == NULL) {
        c->error = cf_strdup(err->text[0] != '\0' ? err->text : cf_status_name(err->code));
    } else {
        take_judgements(s, c, is_saved);
    }
    end_all(s, c);
}

cf_status cf_sweep_run(cf_sweep *s, cf_error *err)
{
    const size_t n = s->plan->n_model;
    CF_TRY(cf_sweep__run_servers(s, err));
    for (size_t m = 0; m < at_least_one(n); m++) {
        if (!is_server(s->plan, m)) {
            CF_TRY(cf_sweep__run_local(s, index_of(m, n), err));
        }
    }
    return CF_OK;
}

/* ---- names -------------------------------------------------------------- */

static const cf_str nothing = {"", 0};

cf_str cf_sweep_system_name(const cf_sweep *s, const cf_sweep_cell *c)
{
    return c->system != CF_SWEEP_NONE ? s->plan->system[c->system].name : nothing;
}

cf_str cf_sweep_template_name(const cf_sweep *s, const cf_sweep_cell *c)
{
    return c->tpl != CF_SWEEP_NONE ? s->plan->template_name[c->tpl] : nothing;
}

cf_str cf_sweep_model_name(const cf_sweep *s, const cf_sweep_cell *c)
{
    const char *given = cf_open_model(&s->o.open);
    return c->model != CF_SWEEP_NONE ? s->plan->model[c->model].name
                                     : cf_str_from(given != NULL ? given : "bundled");
}

cf_str cf_sweep_adapter_name(const cf_sweep *s, const cf_sweep_cell *c)
{
    return c->adapter != CF_SWEEP_NONE ? s->plan->adapter[c->adapter].name : nothing;
}

const cf_sweep_sampler *cf_sweep_sampler_of(const cf_sweep *s, const cf_sweep_cell *c)
{
    const cf_sweep_model *m = c->model != CF_SWEEP_NONE ? &s->plan->model[c->model] : NULL;
    return m != NULL && m->has_sampler ? &m->sampler : &s->plan->sampler[c->sampler];
}

cf_chat_options cf_sweep_chat_of(const cf_sweep *s, const cf_sweep_cell *c)
{
    cf_chat_options o = cf_sweep_sampler_of(s, c)->chat;
    o.sampling.seed += c->repeat;
    return o;
}

cf_str cf_sweep_sampler_name(const cf_sweep *s, const cf_sweep_cell *c)
{
    return cf_sweep_sampler_of(s, c)->name;
}

cf_str cf_sweep_wording_name(const cf_sweep *s, const cf_sweep_cell *c)
{
    return c->wording != CF_SWEEP_NONE ? s->plan->wording[c->wording] : nothing;
}

void cf_sweep_reply(const cf_sweep_cell *c, cf_buf *out)
{
    const json_t *message = json_object_get(c->result, "message");
    cf_message_call call;
    cf_message_text(out, message, "");
    for (size_t i = 0; cf_message_call_at(&call, message, i); i++) {
        cf_buf_adds(out, out->n > 0 ? "\n" : "");
        cf_buf_add(out, call.name.p, call.name.n);
        cf_buf_addc(out, '(');
        cf_message_put_arguments(out, &call, "");
        cf_buf_addc(out, ')');
    }
}

double cf_sweep_score(const cf_sweep *s, const cf_sweep_cell *c)
{
    double sum = 0;
    size_t n = 0;
    for (size_t k = 0; c->result != NULL && k < s->plan->n_check; k++) {
        const cf_sweep_answer *a = &c->answer[k];
        if (a->is_known) {
            sum += a->passes ? 1 : 0;
            n++;
        }
    }
    return n > 0 ? sum / (double)n : -1;
}

bool cf_sweep_passes(const cf_sweep *s, const cf_sweep_cell *c)
{
    bool passes = c->result != NULL;
    for (size_t k = 0; passes && k < s->plan->n_check; k++) {
        passes = c->answer[k].passes || c->answer[k].is_absent;
    }
    return passes;
}
