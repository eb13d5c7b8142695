/*
 * cmd_bisect.c - confab bisect: which change between two templates, two
 * conversations or two models' replies turns good into bad.
 *
 * Both are lists of items: the lines of a template, or a conversation's
 * messages, tools and variables, one a line of JSON with a letter before it.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_recorded.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/study/ask/asker.h"
#include "tui/study/shrink/bisect.h"
#include "tui/study/shrink/takeover.h"

typedef struct asked {
    const char *condition, *good, *bad, *family;
    uint32_t max_tokens;
    bool is_approved;
} asked;

typedef struct items {
    cf_buf text;
    cf_str *v; /* [n] lines of it, without their ends */
    size_t n;
} items;

typedef struct command {
    cf_cli *cli;
    asked a;
    cf_predicate *predicate;
    cf_study_engine engine;
    cf_asker asker;
    json_t *context; /* of templates; NULL: the items are a context */
    items good, bad;
    cf_bisect bisect;
} command;

static bool looks_at(const command *c, uint32_t what)
{
    return (cf_predicate_needs(c->predicate) & what) != 0;
}

/* ---- items -------------------------------------------------------------- */

static cf_status split(items *it, cf_error *err)
{
    size_t cap = 0;
    CF_TRY(cf_buf_check(&it->text, err));
    for (size_t at = 0; at < it->text.n;) {
        const char *p = it->text.p + at;
        const char *end = memchr(p, '\n', it->text.n - at);
        size_t n = end != NULL ? (size_t)(end - p) : it->text.n - at;
        if (!cf_grow(&it->v, &cap, it->n + 1, sizeof *it->v)) {
            return cf_oom_for(err, "the versions");
        }
        it->v[it->n++] = cf_str_make(p, n);
        at += n + 1;
    }
    return CF_OK;
}

static void items_deinit(items *it)
{
    cf_buf_deinit(&it->text);
    cf_free(it->v);
}

static void put_list(cf_buf *out, char letter, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        cf_buf_addc(out, letter);
        cf_json_write(out, json_array_get(list, i));
        cf_buf_addc(out, '\n');
    }
}

/* A conversation as items; for a reply to it, without its last answer. */
static cf_status read_conversation(command *c, const char *uuid, items *out, cf_error *err)
{
    cf_study_case one;
    cf_study_case_init(&one);
    cf_status st = cf_study_case_whole(&one, c->cli->store, &c->engine, uuid, err);
    size_t n = json_array_size(one.messages);
    cf_role role = cf_role_parse(cf_json_get_str(json_array_get(one.messages, n - 1), "role"));
    if (st == CF_OK && looks_at(c, CF_SEE_REPLY) && n > 0 &&
        (role == CF_ROLE_ASSISTANT || role == CF_ROLE_AGENT)) {
        st = json_array_remove(one.messages, n - 1) == 0 ? CF_OK : cf_oom(err);
    }
    if (st == CF_OK) {
        put_list(&out->text, 'm', one.messages);
        put_list(&out->text, 't', one.tools);
        void *iter = json_object_iter(one.extra);
        for (; iter != NULL; iter = json_object_iter_next(one.extra, iter)) {
            json_t *pair =
                json_pack("{s:O}", json_object_iter_key(iter), json_object_iter_value(iter));
            cf_buf_addc(&out->text, 'v');
            cf_json_write(&out->text, pair);
            cf_buf_addc(&out->text, '\n');
            json_decref(pair);
        }
        st = split(out, err);
    }
    cf_study_case_deinit(&one);
    return st;
}

static cf_status make_context(const cf_str *v, size_t n, json_t **out, cf_error *err)
{
    json_t *messages = json_array(), *tools = json_array();
    *out = json_pack("{s:o,s:b}", "messages", messages, "add_generation_prompt", 1);
    cf_status st = *out != NULL ? CF_OK : cf_oom(err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        json_t *item = NULL;
        st = cf_json_read(&item, v[i].p + 1, v[i].n - 1, err);
        bool ok = st != CF_OK        ? true
                  : v[i].p[0] == 'm' ? json_array_append(messages, item) == 0
                  : v[i].p[0] == 't' ? json_array_append(tools, item) == 0
                                     : json_object_update(*out, item) == 0;
        json_decref(item);
        st = ok ? st : cf_oom(err);
    }
    if (st == CF_OK && json_array_size(tools) > 0 && json_object_set(*out, "tools", tools) != 0) {
        st = cf_oom(err);
    }
    json_decref(tools);
    return st;
}

/* ---- asking ------------------------------------------------------------- */

static cf_status is_bad(void *ud, const cf_str *v, size_t n, bool *bad, cf_error *err)
{
    command *c = ud;
    if (c->context == NULL) {
        json_t *context = NULL;
        cf_status st = make_context(v, n, &context, err);
        CF_THEN(st, cf_asker_ask(&c->asker, context, cf_buf_str(&c->cli->opened.source), bad, err));
        json_decref(context);
        return st;
    }
    cf_buf source = CF_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        cf_buf_add(&source, v[i].p, v[i].n);
        cf_buf_addc(&source, '\n');
    }
    cf_status st = cf_buf_check(&source, err);
    CF_THEN(st, cf_asker_ask(&c->asker, c->context, cf_buf_str(&source), bad, err));
    cf_buf_deinit(&source);
    return st;
}

static cf_status open_all(command *c, const char *uuid, cf_error *err)
{
    bool needs_model =
        looks_at(c, CF_SEE_REPLY) ||
        (c->context == NULL && c->cli->open.template_name == NULL && !looks_at(c, CF_SEE_COMMAND));
    CF_TRY(cf_cli_open_store(&c->cli->store, c->cli, CF_STORE_READ_ONLY, err));
    CF_TRY(needs_model ? cf_cli_open_recorded(&c->cli->opened, c->cli, c->cli->store, uuid, NULL,
                                              c->a.family, &c->cli->arena, err)
                       : cf_open_without_model(&c->cli->opened, &c->cli->open, err));
    c->engine = cf_study_engine_of(&c->cli->opened);
    c->engine.roles = looks_at(c, CF_SEE_REPLY) ? &c->cli->opened.roles : NULL;
    cf_asker_init(&c->asker, &c->engine, c->predicate, cf_cli_cancel());
    c->asker.as_is = !looks_at(c, CF_SEE_REPLY);
    c->asker.max_tokens = c->a.max_tokens;
    return CF_OK;
}

static cf_status read_both(command *c, const char *uuid, cf_error *err)
{
    if (uuid == NULL) {
        CF_TRY(read_conversation(c, c->a.good, &c->good, err));
        return read_conversation(c, c->a.bad, &c->bad, err);
    }
    items it = {.v = NULL};
    cf_status st = read_conversation(c, uuid, &it, err);
    CF_THEN(st, make_context(it.v, it.n, &c->context, err));
    items_deinit(&it);
    CF_THEN(st, cf_open_template_text(&c->good.text, c->a.good, err));
    CF_THEN(st, cf_open_template_text(&c->bad.text, c->a.bad, err));
    CF_THEN(st, split(&c->good, err));
    CF_THEN(st, split(&c->bad, err));
    return st;
}

/* ---- output ------------------------------------------------------------- */

static void put_items(const command *c, cf_jw *w, const char *key, const cf_str *v, size_t n)
{
    cf_jw_array(w, key);
    for (size_t i = 0; i < n; i++) {
        if (c->context != NULL) {
            cf_jw_str(w, NULL, v[i]);
        } else {
            cf_jw_raw(w, NULL, cf_str_make(v[i].p + 1, v[i].n - 1));
        }
    }
    cf_jw_end(w);
}

static void put_json(const command *c, cf_buf *out)
{
    const cf_bisect *b = &c->bisect;
    const cf_change *found = &b->change[b->found];
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "of", c->context != NULL ? "template" : "conversation");
    cf_jw_uint(&w, "change", b->found);
    cf_jw_uint(&w, "changes", b->n_change);
    cf_jw_uint(&w, "good_item", found->a);
    cf_jw_uint(&w, "bad_item", found->b);
    put_items(c, &w, "good", b->good + found->a, found->n_a);
    put_items(c, &w, "bad", b->bad + found->b, found->n_b);
    cf_jw_bool(&w, "alone", b->is_enough);
    cf_jw_uint(&w, "runs", b->n_runs);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    out->failed = out->failed || cf_jw_finish(&w, NULL) != CF_OK;
}

/* `skip` bytes before each line are not shown. */
static void put_lines(cf_buf *out, const char *mark, const cf_str *v, size_t n, size_t skip)
{
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(out, mark);
        cf_safe_line(out, v[i].p + skip, v[i].n - skip);
        cf_buf_addc(out, '\n');
    }
}

static void put_text(const command *c, cf_buf *out)
{
    const cf_bisect *b = &c->bisect;
    const cf_change *found = &b->change[b->found];
    cf_buf_addf(out, "change %zu of %zu turns good into bad%s (%zu runs), %s %zu:\n", b->found + 1,
                b->n_change, b->is_enough ? ", alone" : ", after those before it", b->n_runs,
                c->context != NULL ? "line" : "item", found->b + 1);
    size_t skip = c->context == NULL; /* the letter before an item */
    put_lines(out, "- ", b->good + found->a, found->n_a, skip);
    put_lines(out, "+ ", b->bad + found->b, found->n_b, skip);
}

/* ---- two models --------------------------------------------------------- */

static const char model_prefix[] = "model:";

static bool names_model(const char *version)
{
    return strncmp(version, model_prefix, sizeof model_prefix - 1) == 0;
}

/* A model of the two, with its template. */
typedef struct side {
    cf_opened opened;
    cf_study_engine engine;
    cf_asker asker;
} side;

static cf_status open_side(command *c, side *s, const char *version, cf_error *err)
{
    cf_open_options o = c->cli->open;
    o.model = version + (sizeof model_prefix - 1);
    CF_TRY(cf_open_backend(&s->opened, &o, c->a.family, err));
    s->engine = cf_study_engine_of(&s->opened);
    s->engine.roles = &s->opened.roles;
    cf_asker_init(&s->asker, &s->engine, c->predicate, cf_cli_cancel());
    s->asker.max_tokens = c->a.max_tokens;
    return CF_OK;
}

static void put_takeover(const command *c, const cf_takeover *t, cf_buf *out)
{
    cf_str token = cf_str_make(cf_buf_cstr(&t->bad) + t->off, t->len);
    if (!c->cli->is_json) {
        cf_buf_addf(out,
                    "token %zu of %zu of the bad reply turns it bad (%zu "
                    "runs):\n  ",
                    t->token + 1, t->n_token, t->n_runs);
        cf_safe_line(out, cf_buf_cstr(&t->bad), t->off);
        cf_buf_adds(out, "\n- ");
        cf_safe_line(out, cf_buf_cstr(&t->instead), t->instead.n);
        cf_buf_adds(out, "\n+ ");
        cf_safe_line(out, token.p, t->bad.n - t->off);
        cf_buf_addc(out, '\n');
        return;
    }
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "of", "model");
    cf_jw_uint(&w, "token", t->token);
    cf_jw_uint(&w, "tokens", t->n_token);
    cf_jw_uint(&w, "off", t->off);
    cf_jw_bytes(&w, "text", token);
    cf_jw_buf(&w, "instead", &t->instead);
    cf_jw_buf(&w, "good", &t->good);
    cf_jw_buf(&w, "bad", &t->bad);
    cf_jw_uint(&w, "runs", t->n_runs);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    out->failed = out->failed || cf_jw_finish(&w, NULL) != CF_OK;
}

static cf_status compare_models(command *c, side *good, side *bad, const char *uuid, cf_error *err)
{
    cf_takeover t;
    items it = {.v = NULL};
    CF_TRY(cf_cli_open_store(&c->cli->store, c->cli, CF_STORE_READ_ONLY, err));
    CF_TRY(open_side(c, good, c->a.good, err));
    CF_TRY(open_side(c, bad, c->a.bad, err));
    c->engine = good->engine;
    cf_status st = read_conversation(c, uuid, &it, err);
    CF_THEN(st, make_context(it.v, it.n, &c->context, err));
    items_deinit(&it);
    CF_TRY(st);
    const cf_takeover_side a = {&good->asker, cf_buf_str(&good->opened.source)};
    const cf_takeover_side b = {&bad->asker, cf_buf_str(&bad->opened.source)};
    cf_takeover_init(&t);
    st = cf_takeover_run(&t, a, b, c->context, err);
    if (st == CF_OK) {
        put_takeover(c, &t, &c->cli->out);
    }
    cf_takeover_deinit(&t);
    return st;
}

static cf_status make_models(command *c, const char *uuid, cf_error *err)
{
    side good = {.engine = {.tok = NULL}}, bad = {.engine = {.tok = NULL}};
    cf_status st = CF_OK;
    if (uuid == NULL || !names_model(c->a.good) || !names_model(c->a.bad)) {
        st = cf_fail(err, CF_EINVAL,
                     "two models take a UUID, --good model:A and --bad "
                     "model:B");
    } else if (!looks_at(c, CF_SEE_REPLY)) {
        st = cf_fail(err, CF_EINVAL,
                     "two models differ in their replies, and this predicate looks at none");
    }
    CF_THEN(st, compare_models(c, &good, &bad, uuid, err));
    cf_asker_deinit(&good.asker);
    cf_asker_deinit(&bad.asker);
    cf_opened_close(&good.opened);
    cf_opened_close(&bad.opened);
    return st;
}

/* ---- the command -------------------------------------------------------- */

static cf_status make(command *c, const char *uuid, cf_error *err)
{
    if (names_model(c->a.good) || names_model(c->a.bad)) {
        return make_models(c, uuid, err);
    }
    /* Templates are given by name: the model's own is not needed. */
    if (uuid != NULL && c->cli->open.template_name == NULL) {
        c->cli->open.template_name = c->a.good;
    }
    CF_TRY(open_all(c, uuid != NULL ? uuid : c->a.bad, err));
    CF_TRY(read_both(c, uuid, err));
    CF_TRY(cf_bisect_init(&c->bisect, c->good.v, c->good.n, c->bad.v, c->bad.n, err));
    CF_TRY(cf_bisect_run(&c->bisect, is_bad, c, err));
    if (c->cli->is_json) {
        put_json(c, &c->cli->out);
    } else {
        put_text(c, &c->cli->out);
    }
    return CF_OK;
}

#define WANT                                                                \
    "takes --while, --good, --bad, and the UUID of a conversation for two " \
    "templates"

static const cf_opt_row options[] = {
    {"--while", 0, CF_OPT_STR, offsetof(command, a.condition), "PREDICATE",
     "a predicate as for shrink that holds for the bad version and not for the "
     "good one",
     0},
    {"--good", 0, CF_OPT_STR, offsetof(command, a.good), "VERSION",
     "the version that is good: with UUID a template or model:M, else a "
     "conversation",
     0},
    {"--bad", 0, CF_OPT_STR, offsetof(command, a.bad), "VERSION",
     "the version that is bad, likewise", 0},
    CF_ROW_MAX_TOKENS(offsetof(command, a.max_tokens)),
    CF_ROW_FAMILY(offsetof(command, a.family)),
    CF_ROW_YES(offsetof(command, a.is_approved)),
    CF_OPT_ROWS_END,
};

static int run_bisect(cf_cli *cli, void *state)
{
    command *c = state;
    cf_error err;
    c->cli = cli;
    if (c->a.condition == NULL || c->a.good == NULL || c->a.bad == NULL) {
        return cf_cli_usage(cli, WANT);
    }
    cf_status st = cf_cli_predicate(&c->predicate, c->a.condition, c->a.is_approved, &err);
    CF_THEN(st, make(c, cli->n_args == 1 ? cli->args[0] : NULL, &err));
    int status = cf_cli_end(cli, st, &err);
    cf_bisect_deinit(&c->bisect);
    items_deinit(&c->good);
    items_deinit(&c->bad);
    json_decref(c->context);
    cf_asker_deinit(&c->asker);
    cf_predicate_free(c->predicate);
    return status;
}

const cf_cli_command cf_cmd_bisect = {
    .name = "bisect",
    .arguments = "[UUID]",
    .summary = "find the change between two templates or conversations that breaks a reply",
    .options = options,
    .state_bytes = sizeof(command),
    .n_max = 1,
    .want = WANT,
    .run = run_bisect,
};
