/*
 * bisect_settings.c - settings to items and back, by a table of names.
 */
#include "tui/study/shrink/bisect_settings.h"

#include <inttypes.h>
#include <string.h>

#include "core/api/reply_options.h"
#include "core/json/json_builder.h"

static const char *const thinking_names[] = {
    [CF_THINKING_DEFAULT] = "default", [CF_THINKING_ON] = "on", [CF_THINKING_OFF] = "off"};

static const char variable[] = "variable ";

/* ---- to items ----------------------------------------------------------- */

static bool is_list(cf_option_id id)
{
    return cf_options[id].kind == CF_OPTION_BIAS || cf_options[id].kind == CF_OPTION_TOKENS;
}

static void put_sampler(cf_buf *out, const cf_recorded *was)
{
    const cf_chat_options chat = {.sampling = was->options.sampling};
    for (int i = 0; i < CF_OPTION_N; i++) {
        if (i == CF_OPTION_SEED_VALUE) {
            cf_buf_addf(out, "seed=%" PRIu64 "\n", was->run->seed);
        } else if (!is_list((cf_option_id)i)) {
            cf_buf_addf(out, "%s=%.9g\n", cf_options[i].name,
                        cf_option_number(&chat, (cf_option_id)i));
        }
    }
}

static void put_json(cf_buf *out, const char *name, const json_t *v)
{
    cf_buf_addf(out, "%s=", name);
    cf_json_write(out, v);
    cf_buf_addc(out, '\n');
}

static bool is_system(const json_t *message)
{
    cf_role role = cf_role_parse(cf_json_get_str(message, "role"));
    return role == CF_ROLE_SYSTEM || role == CF_ROLE_DEVELOPER;
}

static const json_t *system_of(const json_t *messages)
{
    const json_t *first = json_array_get(messages, 0);
    return is_system(first) ? json_object_get(first, "content") : NULL;
}

cf_status cf_bisect_settings_of(cf_bisect_items *out, const cf_study_case *c, cf_error *err)
{
    const cf_run_options *o = &c->was.options;
    const char *key;
    json_t *value;
    if (c->was.run != NULL && o->has_sampling) {
        put_sampler(&out->text, &c->was);
    }
    cf_buf_addf(&out->text,
                "thinking=%s\nload_as=%.*s\nadapters=%.*s\ntemplate=", thinking_names[o->thinking],
                (int)o->load_as.n, o->load_as.n > 0 ? o->load_as.p : "", (int)o->adapters.n,
                o->adapters.n > 0 ? o->adapters.p : "");
    cf_json_write_str(&out->text, c->was.template_source);
    cf_buf_addc(&out->text, '\n');
    if (c->was.constraint != NULL) {
        put_json(&out->text, "constraint", c->was.constraint);
    }
    if (system_of(c->messages) != NULL) {
        put_json(&out->text, "system", system_of(c->messages));
    }
    json_object_foreach(cf_json_ref(c->extra), key, value)
    {
        if (strcmp(key, "enable_thinking") != 0) {
            cf_buf_adds(&out->text, variable);
            put_json(&out->text, key, value);
        }
    }
    return cf_bisect_items_split(out, err);
}

/* ---- pairs -------------------------------------------------------------- */

static cf_str name_of(cf_str item)
{
    const char *eq = memchr(item.p, '=', item.n);
    return cf_str_make(item.p, eq != NULL ? (size_t)(eq - item.p) : item.n);
}

static const cf_str *find(const cf_bisect_items *it, cf_str name)
{
    for (size_t i = 0; i < it->n; i++) {
        if (cf_str_eq(name_of(it->v[i]), name)) {
            return &it->v[i];
        }
    }
    return NULL;
}

/* `like`'s names with the values of `of`, then the rest of `of`. */
static void put_paired(cf_buf *out, const cf_bisect_items *of, const cf_bisect_items *first,
                       const cf_bisect_items *then)
{
    const cf_bisect_items *const names[] = {first, then};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < names[k]->n; i++) {
            cf_str name = name_of(names[k]->v[i]);
            if (k == 1 && find(first, name) != NULL) {
                continue;
            }
            const cf_str *item = find(of, name);
            if (item != NULL) {
                cf_buf_add(out, item->p, item->n);
            } else {
                cf_buf_add(out, name.p, name.n);
                cf_buf_addc(out, '=');
            }
            cf_buf_addc(out, '\n');
        }
    }
}

cf_status cf_bisect_settings_pair(cf_bisect_items *good, cf_bisect_items *bad, cf_error *err)
{
    cf_bisect_items a = {.n = 0}, b = {.n = 0};
    put_paired(&a.text, good, good, bad);
    put_paired(&b.text, bad, good, bad);
    cf_status st = cf_bisect_items_split(&a, err);
    CF_THEN(st, cf_bisect_items_split(&b, err));
    if (st != CF_OK) {
        cf_bisect_items_deinit(&a);
        cf_bisect_items_deinit(&b);
        return st;
    }
    cf_bisect_items_deinit(good);
    cf_bisect_items_deinit(bad);
    *good = a;
    *bad = b;
    return CF_OK;
}

/* ---- from items --------------------------------------------------------- */

typedef struct reader {
    cf_bisect_settings *s;
    cf_chat_options chat;
    json_t *messages; /* of the context */
    cf_jb b;
} reader;

/* The system prompt of the context; NULL: it has none. */
static void set_system(reader *r, json_t *content)
{
    if (is_system(json_array_get(r->messages, 0))) {
        (void)json_array_remove(r->messages, 0);
    }
    if (content != NULL && !json_is_null(content)) {
        json_t *m = json_pack("{s:s,s:O}", "role", "system", "content", content);
        if (m == NULL || json_array_insert_new(r->messages, 0, m) != 0) {
            cf_jb_fail(&r->b);
        }
    }
}

static void set_thinking(reader *r, cf_str value)
{
    for (size_t i = 0; i < sizeof thinking_names / sizeof thinking_names[0]; i++) {
        if (cf_str_is(value, thinking_names[i])) {
            r->s->was.options.thinking = (cf_thinking)i;
        }
    }
    if (r->s->was.options.thinking != CF_THINKING_DEFAULT) {
        cf_jb_set(&r->b, r->s->context, "enable_thinking",
                  json_boolean(r->s->was.options.thinking == CF_THINKING_ON));
    }
}

/* A setting whose value is JSON; takes the value over. */
static void set_json(reader *r, cf_str name, json_t *v)
{
    cf_bisect_settings *s = r->s;
    cf_str prefix = cf_str_from(variable);
    if (cf_str_is(name, "system")) {
        set_system(r, v);
    } else if (cf_str_starts(name, prefix)) {
        char key[256];
        snprintf(key, sizeof key, "%.*s", (int)(name.n - prefix.n), name.p + prefix.n);
        if (v != NULL) {
            cf_jb_set(&r->b, s->context, key, json_incref(v));
        }
    } else {
        json_t **to = cf_str_is(name, "constraint") ? &s->was.constraint
                      : cf_str_is(name, "adapters") ? &s->adapters
                                                    : &s->source;
        json_decref(*to);
        *to = v;
        return;
    }
    json_decref(v);
}

static cf_status read_item(reader *r, cf_str item, cf_error *err)
{
    cf_str name = name_of(item);
    size_t skip = name.n < item.n ? name.n + 1 : item.n;
    cf_str value = cf_str_make(item.p + skip, item.n - skip);
    char key[64], text[64];
    if (cf_str_is(name, "thinking")) {
        set_thinking(r, value);
        return CF_OK;
    }
    if (cf_str_is(name, "load_as")) {
        r->s->load_as = value;
        return CF_OK;
    }
    snprintf(key, sizeof key, "%.*s", (int)(name.n < sizeof key ? name.n : 0), name.p);
    snprintf(text, sizeof text, "%.*s", (int)(value.n < sizeof text ? value.n : 0), value.p);
    for (int i = 0; i < CF_OPTION_N; i++) {
        if (strcmp(cf_options[i].name, key) == 0) {
            return value.n > 0 ? cf_option_set(&r->chat, key, text, err) : CF_OK;
        }
    }
    json_t *v = NULL;
    if (value.n > 0) {
        CF_TRY(cf_json_read(&v, value.p, value.n, err));
    }
    set_json(r, name, v);
    return CF_OK;
}

/* Everything else as the case has it. */
static cf_status begin(cf_bisect_settings *s, const cf_study_case *like, json_t **messages,
                       cf_error *err)
{
    const cf_part_context of = {.messages = like->messages, .tools = like->tools};
    s->was.run = like->was.run;
    s->was.options = like->was.options;
    s->was.tools = json_incref(like->was.tools); /* a constraint may be theirs */
    s->was.options.thinking = CF_THINKING_DEFAULT;
    s->context = cf_study_context_json(&of);
    *messages = cf_json_copy(like->messages);
    return s->context != NULL && *messages != NULL &&
                   json_object_set(s->context, "messages", *messages) == 0
               ? CF_OK
               : cf_oom_for(err, "the settings");
}

cf_status cf_bisect_settings_read(cf_bisect_settings *out, const cf_str *v, size_t n,
                                  const cf_study_case *like, cf_error *err)
{
    *out = (cf_bisect_settings){.context = NULL};
    reader r = {.s = out, .chat = {.sampling = like->was.options.sampling}, .b = CF_JB_INIT};
    cf_status st = begin(out, like, &r.messages, err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = read_item(&r, v[i], err);
    }
    CF_THEN(st, cf_jb_check(&r.b, err));
    out->was.options.sampling = r.chat.sampling;
    json_decref(r.messages);
    cf_jb_deinit(&r.b);
    if (st != CF_OK) {
        cf_bisect_settings_deinit(out);
    }
    return st;
}

void cf_bisect_settings_deinit(cf_bisect_settings *s)
{
    cf_recorded_deinit(&s->was);
    json_decref(s->context);
    json_decref(s->adapters);
    json_decref(s->source);
    *s = (cf_bisect_settings){.context = NULL};
}
