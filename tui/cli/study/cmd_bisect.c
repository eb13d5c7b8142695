/*
 * cmd_bisect.c - confab bisect: which change between two templates, two
 * conversations or two models' replies turns good into bad.
 *
 * Both are lists of items: the lines of a template, or those of
 * tui/study/shrink/bisect_items.h.  Of a longer list of versions two neighbours
 * are found first.
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
#include "tui/study/shrink/bisect_settings.h"
#include "tui/study/shrink/engines.h"
#include "tui/study/shrink/takeover.h"

enum { SETTING_SHOWN = 160 }; /* bytes */

typedef struct asked {
    const char *condition, *good, *bad, *family;
    cf_opt_list between;
    uint32_t max_tokens, repeat, at_least;
    bool is_approved, has_settings;
} asked;

typedef struct command {
    cf_cli *cli;
    asked a;
    cf_predicate *predicate;
    cf_study_engine engine;
    cf_asker asker;
    cf_study_case c; /* that replies are drawn as: the conversation, or the bad one */
    json_t *context; /* of templates; NULL: the items are a context */
    cf_bisect_items good, bad;
    cf_bisect bisect;
    cf_buf engine_key; /* the adapters and the type of weights of the open engine */
    size_t version;    /* of those that were named, the first bad one; 0: not looked for */
    bool holds;        /* the last answer */
} command;

static bool looks_at(const command *c, uint32_t what)
{
    return (cf_predicate_needs(c->predicate) & what) != 0;
}

/* ---- items ------------------------------------------------------------- */

/* A conversation as items; for a reply to it, without its last answer.  `one` is
 * the case that was read. */
static cf_status read_conversation(command *c, cf_study_case *one, const char *uuid,
                                   cf_bisect_items *out, cf_error *err)
{
    cf_study_case_deinit(one);
    cf_study_case_init(one);
    cf_status st = cf_study_case_whole(one, c->cli->store, &c->engine, uuid, err);
    size_t n = json_array_size(one->messages);
    cf_role role = cf_role_parse(cf_json_get_str(json_array_get(one->messages, n - 1), "role"));
    if (st == CF_OK && looks_at(c, CF_SEE_REPLY) && n > 0 &&
        (role == CF_ROLE_ASSISTANT || role == CF_ROLE_AGENT)) {
        st = json_array_remove(one->messages, n - 1) == 0 ? CF_OK : cf_oom(err);
    }
    const cf_part_context context = cf_study_context_of(one);
    CF_THEN(st, cf_bisect_items_of(out, &context, err));
    return st;
}

/* ---- asking ------------------------------------------------------------- */

static cf_status is_bad(void *ud, const cf_str *v, size_t n, bool *bad, cf_error *err)
{
    command *c = ud;
    if (c->context == NULL) {
        json_t *context = NULL;
        cf_status st = cf_bisect_items_context(v, n, &context, err);
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

static void set_asker(command *c, cf_asker *a)
{
    a->max_tokens = c->a.max_tokens;
    a->repeat = c->a.repeat;
    a->at_least = c->a.at_least;
    a->was = &c->c.was;
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
    set_asker(c, &c->asker);
    return CF_OK;
}

/* The conversation that templates are tried on. */
static cf_status read_context(command *c, const char *uuid, cf_error *err)
{
    cf_bisect_items it = {.v = NULL};
    cf_status st = read_conversation(c, &c->c, uuid, &it, err);
    CF_THEN(st, cf_bisect_items_context(it.v, it.n, &c->context, err));
    cf_bisect_items_deinit(&it);
    return st;
}

static cf_status read_both(command *c, const char *uuid, cf_error *err)
{
    if (uuid == NULL) {
        CF_TRY(read_conversation(c, &c->c, c->a.good, &c->good, err));
        return read_conversation(c, &c->c, c->a.bad, &c->bad, err);
    }
    cf_status st = cf_open_template_text(&c->good.text, c->a.good, err);
    CF_THEN(st, cf_open_template_text(&c->bad.text, c->a.bad, err));
    CF_THEN(st, cf_bisect_items_split(&c->good, err));
    CF_THEN(st, cf_bisect_items_split(&c->bad, err));
    return st;
}

/* ---- output ------------------------------------------------------------- */

/* An item as it is shown: a line of a template, or JSON. */
static cf_status put_item(const command *c, cf_buf *out, const cf_bisect_items *it, size_t i,
                          cf_error *err)
{
    if (c->context != NULL) {
        cf_buf_add(out, it->v[i].p, it->v[i].n);
        return CF_OK;
    }
    return cf_bisect_items_put(out, it, i, err);
}

/* The items from i to `end` that are shown as one: a head has its lines. */
static size_t n_shown_as_one(const command *c, const cf_bisect_items *it, size_t i, size_t end)
{
    size_t n = 1;
    bool is_head = c->context == NULL && it->v[i].p[0] == CF_BISECT_HEAD;
    while (is_head && i + n < end && cf_bisect_items_place(it, i + n).is_line) {
        n++;
    }
    return n;
}

static cf_status put_items(const command *c, cf_jw *w, const char *key, const cf_bisect_items *it,
                           size_t first, size_t n, cf_error *err)
{
    cf_status st = CF_OK;
    cf_jw_array(w, key);
    for (size_t i = first, end = first + n; st == CF_OK && i < end;
         i += n_shown_as_one(c, it, i, end)) {
        cf_buf item = CF_BUF_INIT;
        st = put_item(c, &item, it, i, err);
        if (c->context != NULL) {
            cf_jw_buf(w, NULL, &item);
        } else {
            cf_jw_raw(w, NULL, cf_buf_str(&item));
        }
        w->out->failed = w->out->failed || item.failed;
        cf_buf_deinit(&item);
    }
    cf_jw_end(w);
    return st;
}

/* Where the change begins: an item, and of a message that is changed inside the
 * line. */
static void put_place(const command *c, cf_jw *w, const char *item, const char *line,
                      const cf_bisect_items *it, size_t i)
{
    const cf_bisect_place p =
        c->context == NULL ? cf_bisect_items_place(it, i) : (cf_bisect_place){.part = i};
    cf_jw_uint(w, item, p.part);
    if (p.is_line && !p.is_whole) {
        cf_jw_uint(w, line, p.line);
    }
}

static void put_version(const command *c, cf_jw *w)
{
    if (c->version > 0) {
        cf_jw_uint(w, "version", c->version);
        cf_jw_uint(w, "versions", c->a.between.n + 2);
        cf_jw_text(w, "from", c->a.good);
        cf_jw_text(w, "to", c->a.bad);
    }
}

static cf_status put_json(const command *c, cf_buf *out, cf_error *err)
{
    const cf_bisect *b = &c->bisect;
    const cf_change *found = &b->change[b->found];
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "of",
               c->a.has_settings    ? "settings"
               : c->context != NULL ? "template"
                                    : "conversation");
    put_version(c, &w);
    cf_jw_uint(&w, "change", b->found);
    cf_jw_uint(&w, "changes", b->n_change);
    put_place(c, &w, "good_item", "good_line", &c->good, found->a);
    put_place(c, &w, "bad_item", "bad_line", &c->bad, found->b);
    cf_status st = put_items(c, &w, "good", &c->good, found->a, found->n_a, err);
    CF_THEN(st, put_items(c, &w, "bad", &c->bad, found->b, found->n_b, err));
    cf_jw_bool(&w, "alone", b->is_enough);
    cf_jw_bool(&w, "holds", b->holds);
    cf_jw_buf(&w, "why", &c->asker.why);
    cf_jw_uint(&w, "runs", b->n_runs);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    out->failed = out->failed || cf_jw_finish(&w, NULL) != CF_OK;
    return st;
}

/* The items as lines, as they are or as JSON. */
static cf_status put_lines(const command *c, cf_buf *out, const char *mark,
                           const cf_bisect_items *it, size_t first, size_t n, cf_error *err)
{
    cf_status st = CF_OK;
    for (size_t i = first, end = first + n; st == CF_OK && i < end;
         i += n_shown_as_one(c, it, i, end)) {
        cf_buf item = CF_BUF_INIT;
        st = put_item(c, &item, it, i, err);
        size_t shown = c->a.has_settings && item.n > SETTING_SHOWN ? SETTING_SHOWN : item.n;
        cf_buf_adds(out, mark);
        cf_safe_line(out, cf_buf_cstr(&item), shown);
        cf_buf_adds(out, shown < item.n ? " ..." : "");
        cf_buf_addc(out, '\n');
        out->failed = out->failed || item.failed;
        cf_buf_deinit(&item);
    }
    return st;
}

static cf_status put_text(const command *c, cf_buf *out, cf_error *err)
{
    const cf_bisect *b = &c->bisect;
    const cf_change *found = &b->change[b->found];
    if (c->version > 0) {
        cf_buf_addf(out, "version %zu of %zu is the first that is bad: %s after %s\n",
                    c->version + 1, c->a.between.n + 2, c->a.bad, c->a.good);
    }
    cf_buf_addf(out, "change %zu of %zu turns good into bad%s (%zu runs), ", b->found + 1,
                b->n_change, b->is_enough ? ", alone" : ", after those before it", b->n_runs);
    if (c->context != NULL) {
        cf_buf_addf(out, "%s %zu:\n", c->a.has_settings ? "setting" : "line", found->b + 1);
    } else {
        const cf_bisect_place p = cf_bisect_items_place(&c->bad, found->b);
        cf_buf_addf(out, "item %zu", p.part + 1);
        if (p.is_line && !p.is_whole) {
            cf_buf_addf(out, ", line %zu", p.line + 1);
        }
        cf_buf_adds(out, ":\n");
    }
    CF_TRY(put_lines(c, out, "- ", &c->good, found->a, found->n_a, err));
    CF_TRY(put_lines(c, out, "+ ", &c->bad, found->b, found->n_b, err));
    if (c->asker.repeat > 1 || !b->holds) {
        cf_buf_addf(out, "%s: ", b->holds ? "asked last" : "asked again, it is not bad");
        cf_safe_line(out, cf_buf_cstr(&c->asker.why), c->asker.why.n);
        cf_buf_addc(out, '\n');
    }
    return CF_OK;
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
    cf_study_case c; /* its conditions, with the constraint in its vocabulary */
} side;

static cf_status open_side(command *c, side *s, const char *version, cf_error *err)
{
    cf_open_options o = c->cli->open;
    o.model = version + (sizeof model_prefix - 1);
    CF_TRY(cf_open_backend(&s->opened, &o, c->a.family, err));
    s->engine = cf_study_engine_of(&s->opened);
    s->engine.roles = &s->opened.roles;
    cf_asker_init(&s->asker, &s->engine, c->predicate, cf_cli_cancel());
    set_asker(c, &s->asker);
    s->asker.was = &s->c.was;
    return CF_OK;
}

static void close_side(side *s)
{
    cf_asker_deinit(&s->asker);
    cf_study_case_deinit(&s->c);
    cf_opened_close(&s->opened);
}

/* The conversation for one model. */
static cf_status read_side(command *c, side *s, const char *uuid, json_t **context, cf_error *err)
{
    cf_bisect_items it = {.v = NULL};
    c->engine = s->engine;
    cf_status st = read_conversation(c, &s->c, uuid, &it, err);
    CF_THEN(st, cf_bisect_items_context(it.v, it.n, context, err));
    cf_bisect_items_deinit(&it);
    return st;
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
    put_version(c, &w);
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
    json_t *ignored = NULL;
    CF_TRY(open_side(c, good, c->a.good, err));
    CF_TRY(open_side(c, bad, c->a.bad, err));
    CF_TRY(read_side(c, bad, uuid, &ignored, err));
    json_decref(ignored);
    CF_TRY(read_side(c, good, uuid, &c->context, err));
    const cf_takeover_side a = {&good->asker, cf_buf_str(&good->opened.source)};
    const cf_takeover_side b = {&bad->asker, cf_buf_str(&bad->opened.source)};
    cf_takeover_init(&t);
    cf_status st = cf_takeover_run(&t, a, b, c->context, err);
    if (st == CF_OK) {
        c->holds = true;
        put_takeover(c, &t, &c->cli->out);
    }
    cf_takeover_deinit(&t);
    return st;
}

/* ---- a list of versions ------------------------------------------------- */

static const char *version_at(const command *c, size_t i)
{
    return i == 0 ? c->a.good : i <= c->a.between.n ? c->a.between.v[i - 1] : c->a.bad;
}

/* Asks about one version as a whole. */
typedef cf_status (*version_fn)(command *c, const char *uuid, const char *version, bool *bad,
                                cf_error *err);

/* Two neighbours, the first not bad and the second bad, become the good and the
 * bad version; the ends are asked about later. */
static cf_status find_version(command *c, const char *uuid, version_fn fn, cf_error *err)
{
    size_t good = 0, bad = c->a.between.n + 1;
    if (c->a.between.n == 0) {
        return CF_OK;
    }
    while (bad - good > 1) {
        size_t mid = good + (bad - good) / 2;
        bool is_bad = false;
        CF_TRY(fn(c, uuid, version_at(c, mid), &is_bad, err));
        *(is_bad ? &bad : &good) = mid;
    }
    const char *from = version_at(c, good), *to = version_at(c, bad);
    c->a.good = from;
    c->a.bad = to;
    c->version = bad;
    return CF_OK;
}

static cf_status is_bad_model(command *c, const char *uuid, const char *version, bool *bad,
                              cf_error *err)
{
    side s = {.engine = {.tok = NULL}};
    json_t *context = NULL;
    cf_study_case_init(&s.c);
    cf_status st = open_side(c, &s, version, err);
    CF_THEN(st, read_side(c, &s, uuid, &context, err));
    CF_THEN(st, cf_asker_ask(&s.asker, context, cf_buf_str(&s.opened.source), bad, err));
    json_decref(context);
    close_side(&s);
    return st;
}

static cf_status is_bad_version(command *c, const char *uuid, const char *version, bool *bad,
                                cf_error *err)
{
    cf_bisect_items it = {.v = NULL};
    cf_status st = uuid == NULL ? read_conversation(c, &c->c, version, &it, err)
                                : cf_open_template_text(&it.text, version, err);
    if (uuid != NULL) {
        CF_THEN(st, cf_bisect_items_split(&it, err));
    }
    CF_THEN(st, is_bad(c, it.v, it.n, bad, err));
    cf_bisect_items_deinit(&it);
    return st;
}

static cf_status make_models(command *c, const char *uuid, cf_error *err)
{
    side good = {.engine = {.tok = NULL}}, bad = {.engine = {.tok = NULL}};
    cf_status st = CF_OK;
    cf_study_case_init(&good.c);
    cf_study_case_init(&bad.c);
    if (uuid == NULL || !names_model(c->a.good) || !names_model(c->a.bad)) {
        st = cf_fail(err, CF_EINVAL,
                     "two models take a UUID, --good model:A and --bad "
                     "model:B");
    } else if (!looks_at(c, CF_SEE_REPLY)) {
        st = cf_fail(err, CF_EINVAL,
                     "two models differ in their replies, and this predicate looks at none");
    }
    for (size_t i = 0; st == CF_OK && i < c->a.between.n; i++) {
        if (!names_model(c->a.between.v[i])) {
            st =
                cf_fail(err, CF_EINVAL, "--between '%.100s': versions are model:M, like the others",
                        c->a.between.v[i]);
        }
    }
    CF_THEN(st, cf_cli_open_store(&c->cli->store, c->cli, CF_STORE_READ_ONLY, err));
    CF_THEN(st, find_version(c, uuid, is_bad_model, err));
    CF_THEN(st, compare_models(c, &good, &bad, uuid, err));
    close_side(&good);
    close_side(&bad);
    return st;
}

/* ---- settings ----------------------------------------------------------- */

/* Opens the engine again where adapters or the type of weights are others. */
static cf_status use_engine(command *c, const cf_bisect_settings *s, cf_error *err)
{
    cf_buf key = CF_BUF_INIT;
    cf_buf_add(&key, s->load_as.p, s->load_as.n);
    cf_buf_addc(&key, ' ');
    if (s->adapters != NULL) {
        cf_json_write(&key, s->adapters);
    }
    cf_status st = cf_buf_check(&key, err);
    if (st != CF_OK || cf_str_eq(cf_buf_str(&key), cf_buf_str(&c->engine_key))) {
        cf_buf_deinit(&key);
        return st;
    }
    cf_open_options o = c->cli->open;
    o.template_text = c->c.was.template_source;
    o.cache = o.cache != CF_CACHE_DEFAULT ? o.cache : c->c.was.options.cache;
    o.n_lora = json_array_size(s->adapters);
    o.lora = cf_cli_adapter_names(s->adapters, &c->cli->arena);
    o.load_as =
        s->load_as.n > 0 ? cf_arena_strndup(&c->cli->arena, s->load_as.p, s->load_as.n) : NULL;
    bool ok = o.lora != NULL && (s->load_as.n == 0 || o.load_as != NULL);
    st = ok ? CF_OK : cf_oom_for(err, "the settings");
    if (st == CF_OK) {
        cf_opened_close(&c->cli->opened);
        st = cf_open_backend(&c->cli->opened, &o, c->a.family, err);
    }
    if (st == CF_OK) {
        c->engine = cf_study_engine_of(&c->cli->opened);
        c->engine.roles = &c->cli->opened.roles;
    }
    cf_buf_deinit(&c->engine_key);
    c->engine_key = key;
    return st;
}

static cf_status is_bad_setting(void *ud, const cf_str *v, size_t n, bool *bad, cf_error *err)
{
    command *c = ud;
    cf_bisect_settings s;
    CF_TRY(cf_bisect_settings_read(&s, v, n, &c->c, err));
    cf_status st = use_engine(c, &s, err);
    const json_t *given = s.source;
    cf_str source = json_string_length(given) > 0
                        ? cf_str_make(json_string_value(given), json_string_length(given))
                        : cf_buf_str(&c->cli->opened.source);
    c->asker.was = &s.was;
    CF_THEN(st, cf_asker_ask(&c->asker, s.context, source, bad, err));
    c->asker.was = NULL;
    cf_bisect_settings_deinit(&s);
    return st;
}

/* The settings of a saved reply; `one` is its case. */
static cf_status read_settings(command *c, cf_study_case *one, const char *uuid,
                               cf_bisect_items *out, cf_error *err)
{
    cf_bisect_items ignored = {.v = NULL};
    cf_status st = read_conversation(c, one, uuid, &ignored, err);
    if (st == CF_OK && one->was.run == NULL) {
        st = cf_fail(err, CF_ENOTFOUND, "%.60s: no settings are recorded", uuid);
    }
    CF_THEN(st, cf_bisect_settings_of(out, one, err));
    cf_bisect_items_deinit(&ignored);
    return st;
}

/* Of two saved replies the settings, on the conversation of the bad one or
 * `uuid`. */
static cf_status make_settings(command *c, const char *uuid, cf_error *err)
{
    cf_study_case good;
    cf_study_case_init(&good);
    CF_TRY(open_all(c, c->a.bad, err));
    cf_status st = read_settings(c, &good, c->a.good, &c->good, err);
    CF_THEN(st, read_settings(c, &c->c, c->a.bad, &c->bad, err));
    CF_THEN(st, cf_bisect_settings_pair(&c->good, &c->bad, err));
    if (st == CF_OK) {
        const cf_run_options *o = &c->c.was.options;
        cf_buf_addf(&c->engine_key, "%.*s %.*s", (int)o->load_as.n,
                    o->load_as.n > 0 ? o->load_as.p : "", (int)o->adapters.n,
                    o->adapters.n > 0 ? o->adapters.p : "");
        c->context = json_object();
        st = c->context != NULL ? cf_buf_check(&c->engine_key, err) : cf_oom(err);
    }
    if (st == CF_OK && uuid != NULL) {
        cf_bisect_items ignored = {.v = NULL};
        st = read_conversation(c, &c->c, uuid, &ignored, err);
        cf_bisect_items_deinit(&ignored);
    }
    CF_THEN(st, cf_bisect_init(&c->bisect, c->good.v, c->good.n, c->bad.v, c->bad.n, err));
    CF_THEN(st, cf_bisect_run(&c->bisect, is_bad_setting, c, err));
    cf_study_case_deinit(&good);
    if (st == CF_OK) {
        c->holds = c->bisect.holds;
        st = c->cli->is_json ? put_json(c, &c->cli->out, err) : put_text(c, &c->cli->out, err);
    }
    return st;
}

/* ---- two engines -------------------------------------------------------- */

static const char engine_prefix[] = "engine:";

static bool names_engine(const char *version)
{
    return strncmp(version, engine_prefix, sizeof engine_prefix - 1) == 0;
}

/* Opens the model's file by the engine that the version names. */
static cf_status open_by_engine(command *c, cf_engine **out, const char *version, cf_error *err)
{
    const char *name = version + (sizeof engine_prefix - 1);
    const char *file = cf_open_plugin_file(cf_open_model(&c->cli->open));
    cf_open_options o = c->cli->open;
    cf_buf model = CF_BUF_INIT;
    if (!names_engine(version) || (strcmp(name, "own") != 0 && strcmp(name, "llama") != 0)) {
        return cf_fail(err, CF_EINVAL, "'%.80s': two engines are engine:own and engine:llama",
                       version);
    }
    bool is_own = strcmp(name, "own") == 0;
    if (!is_own && cf_open_is_bundled(&o)) {
        return cf_fail(err, CF_EINVAL, "engine:llama needs a file: -m FILE.gguf");
    }
    o.has_gpu_layers = o.has_gpu_layers && !is_own;
    if (!is_own) { /* what is about the arithmetic is the other side's */
        o.arithmetic = CF_ARITHMETIC_16;
        o.kernel_set = o.load_as = NULL;
        cf_buf_adds(&model, "llama:");
    }
    cf_buf_adds(&model, file != NULL ? file : "bundled");
    o.model = cf_buf_cstr(&model);
    cf_status st = cf_buf_check(&model, err);
    CF_THEN(st, cf_open_engine(out, &o, false, err));
    cf_buf_deinit(&model);
    return st;
}

/* The tokens of the reply that is compared, in the arena of the command line. */
static cf_status read_ids(command *c, const char *uuid, cf_engines_ask *ask, cf_error *err)
{
    cf_store_turn turn = {.run = NULL};
    cf_arena *arena = &c->cli->arena;
    CF_TRY(cf_cli_open_store(&c->cli->store, c->cli, CF_STORE_READ_ONLY, err));
    CF_TRY(cf_study_case_turn(&turn, c->cli->store, uuid, NULL, arena, err));
    const cf_store_run *run = turn.run;
    if (run == NULL || run->n_prompt_ids == 0 || run->n_reply_ids == 0) {
        return cf_fail(err, CF_EUNSUPPORTED, "%.60s: the tokens of the reply were not kept", uuid);
    }
    cf_token *ids = cf_arena_calloc(arena, run->n_prompt_ids + run->n_reply_ids, sizeof *ids);
    if (ids == NULL) {
        return cf_oom_for(err, "the reply");
    }
    memcpy(ids, run->prompt_ids, run->n_prompt_ids * sizeof *ids);
    memcpy(ids + run->n_prompt_ids, run->reply_ids, run->n_reply_ids * sizeof *ids);
    ask->ids = ids;
    ask->n_prompt = run->n_prompt_ids;
    ask->n = run->n_prompt_ids + run->n_reply_ids;
    return CF_OK;
}

static void json_parted(cf_jw *w, const cf_engines_ask *ask, const cf_engines_found *f)
{
    cf_jw_uint(w, "token", f->token);
    cf_jw_int(w, "id", ask->ids[ask->n_prompt + f->token]);
    cf_jw_int(w, "good_best", f->best[0]);
    cf_jw_int(w, "bad_best", f->best[1]);
    cf_jw_bool(w, "has_layers", f->has_layers);
    if (f->has_layer) {
        cf_jw_uint(w, "layer", f->layer);
        cf_jw_double(w, "layer_share", f->layer_share);
    }
}

static void json_engines(const command *c, const cf_engines_ask *ask, const cf_engines_found *f)
{
    cf_jw w;
    cf_jw_init(&w, &c->cli->out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "of", "engine");
    cf_jw_text(&w, "good", cf_engine_get_info(ask->engine[0]).engine);
    cf_jw_text(&w, "bad", cf_engine_get_info(ask->engine[1]).engine);
    cf_jw_bool(&w, "parted", f->is_parted);
    cf_jw_uint(&w, "tokens", ask->n - ask->n_prompt);
    cf_jw_double(&w, "limit", f->limit);
    cf_jw_double(&w, "share", f->share);
    if (f->is_parted) {
        json_parted(&w, ask, f);
    }
    cf_jw_end(&w);
    cf_buf_addc(&c->cli->out, '\n');
}

static void put_token(cf_buf *out, const cf_engines_ask *ask, cf_token id)
{
    cf_buf piece = CF_BUF_INIT;
    cf_tokenizer_piece(&piece, cf_engine_tokenizer(ask->engine[0]), id, true);
    cf_buf_addf(out, "%d '", (int)id);
    cf_safe_line(out, cf_buf_cstr(&piece), piece.n);
    cf_buf_addc(out, '\'');
    cf_buf_deinit(&piece);
}

static void text_engines(const command *c, const cf_engines_ask *ask, const cf_engines_found *f)
{
    cf_buf *out = &c->cli->out;
    const char *good = cf_engine_get_info(ask->engine[0]).engine;
    const char *bad = cf_engine_get_info(ask->engine[1]).engine;
    if (!f->is_parted) {
        cf_buf_addf(out,
                    "%s and %s do not part in %zu tokens: logits differ by %.2g of the largest, "
                    "rounding is %.2g\n",
                    good, bad, ask->n - ask->n_prompt, f->share, f->limit);
        return;
    }
    cf_buf_addf(out, "token %zu of %zu parts, ", f->token + 1, ask->n - ask->n_prompt);
    put_token(out, ask, ask->ids[ask->n_prompt + f->token]);
    cf_buf_addf(out, ": logits differ by %.2g of the largest, rounding is %.2g\n  best of %s: ",
                f->share, f->limit, good);
    put_token(out, ask, f->best[0]);
    cf_buf_addf(out, "\n  best of %s: ", bad);
    put_token(out, ask, f->best[1]);
    if (f->has_layer) {
        cf_buf_addf(out, "\n  layer %u parts first, by %.2g of its largest value\n", f->layer + 1,
                    f->layer_share);
    } else {
        cf_buf_addf(out, "\n  %s\n",
                    f->has_layers ? "no layer parts: what follows the last one does"
                                  : "the layers are not disclosed by both");
    }
}

static cf_status make_engines(command *c, const char *uuid, cf_error *err)
{
    cf_engines_ask ask = {.n_ctx = c->cli->open.n_ctx, .cancel = cf_cli_cancel()};
    cf_engines_found found;
    if (uuid == NULL || c->a.condition != NULL || c->a.between.n > 0) {
        return cf_fail(err, CF_EINVAL,
                       "two engines take a UUID, --good engine:own and --bad engine:llama alone");
    }
    cf_status st = read_ids(c, uuid, &ask, err);
    CF_THEN(st, open_by_engine(c, &ask.engine[0], c->a.good, err));
    CF_THEN(st, open_by_engine(c, &ask.engine[1], c->a.bad, err));
    CF_THEN(st, cf_engines_compare(&found, &ask, err));
    if (st == CF_OK) {
        c->holds = !found.is_parted; /* status 1 where they part */
        (c->cli->is_json ? json_engines : text_engines)(c, &ask, &found);
    }
    cf_engine_close(ask.engine[0]);
    cf_engine_close(ask.engine[1]);
    return st;
}

/* ---- the command -------------------------------------------------------- */

static cf_status make(command *c, const char *uuid, cf_error *err)
{
    if (names_engine(c->a.good) || names_engine(c->a.bad)) {
        return make_engines(c, uuid, err);
    }
    if (c->a.has_settings) {
        return make_settings(c, uuid, err);
    }
    if (names_model(c->a.good) || names_model(c->a.bad)) {
        return make_models(c, uuid, err);
    }
    /* Templates are given by name: the model's own is not needed. */
    if (uuid != NULL && c->cli->open.template_name == NULL) {
        c->cli->open.template_name = c->a.good;
    }
    CF_TRY(open_all(c, uuid != NULL ? uuid : c->a.bad, err));
    if (uuid != NULL) {
        CF_TRY(read_context(c, uuid, err));
    }
    CF_TRY(find_version(c, uuid, is_bad_version, err));
    CF_TRY(read_both(c, uuid, err));
    CF_TRY(cf_bisect_init(&c->bisect, c->good.v, c->good.n, c->bad.v, c->bad.n, err));
    c->bisect.head = c->context == NULL ? CF_BISECT_HEAD : 0;
    CF_TRY(cf_bisect_run(&c->bisect, is_bad, c, err));
    c->holds = c->bisect.holds;
    return c->cli->is_json ? put_json(c, &c->cli->out, err) : put_text(c, &c->cli->out, err);
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
     "the version that is good: with UUID a template, model:M or engine:E, else a "
     "conversation",
     0},
    {"--bad", 0, CF_OPT_STR, offsetof(command, a.bad), "VERSION",
     "the version that is bad, likewise", 0},
    {"--between", 0, CF_OPT_LIST, offsetof(command, a.between), "VERSION",
     "a version between the good and the bad one, in order; may be repeated: "
     "finds the first bad one, then the change in it",
     0},
    {"--settings", 0, CF_OPT_FLAG, offsetof(command, a.has_settings), NULL,
     "the versions are two saved replies, and their settings are compared: "
     "sampler, seed, thinking, template, system prompt, constraint, adapters, "
     "type of weights, variables",
     0},
    CF_ROW_REPEAT(offsetof(command, a.repeat)),
    CF_ROW_AT_LEAST(offsetof(command, a.at_least)),
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
    bool is_of_engines = c->a.good != NULL && names_engine(c->a.good);
    if ((c->a.condition == NULL && !is_of_engines) || c->a.good == NULL || c->a.bad == NULL) {
        return cf_cli_usage(cli, WANT);
    }
    const char *wrong = cf_cli_wrong_repeat(c->a.repeat, c->a.at_least);
    if (wrong != NULL) {
        return cf_cli_usage(cli, wrong);
    }
    cf_study_case_init(&c->c);
    cf_status st = c->a.condition == NULL
                       ? CF_OK
                       : cf_cli_predicate(&c->predicate, c->a.condition, c->a.is_approved, &err);
    CF_THEN(st, make(c, cli->n_args == 1 ? cli->args[0] : NULL, &err));
    int status = cf_cli_end(cli, st, &err);
    if (status == CF_EXIT_OK && !c->holds) {
        status = CF_EXIT_FINDING;
    }
    cf_bisect_deinit(&c->bisect);
    cf_bisect_items_deinit(&c->good);
    cf_bisect_items_deinit(&c->bad);
    cf_buf_deinit(&c->engine_key);
    json_decref(c->context);
    cf_asker_deinit(&c->asker);
    cf_study_case_deinit(&c->c);
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
