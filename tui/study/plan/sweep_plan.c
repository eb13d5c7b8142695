/*
 * sweep_plan.c - reads a plan line by line: a table of words, a function each.
 */
#include "tui/study/plan/sweep_plan_impl.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/api/reply_options.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/json/json_builder.h"
#include "templates/open.h"
#include "tui/lab/reply/recorded.h"
#include "tui/lab/talk/saved.h"
#include "tui/study/plan/sweep_words.h"

enum { TOKENS_DEFAULT = 256 };

typedef cf_plan__reader reader;

cf_status cf_plan__copy(reader *r, cf_str *to, cf_str s, cf_error *err)
{
    char *p = cf_arena_strndup(&r->p->arena, s.p, s.n);
    *to = cf_str_make(p, s.n);
    return p != NULL ? CF_OK : cf_oom_for(err, "the plan");
}

const char *cf_plan__find_file(void *ud, cf_str name)
{
    reader *r = ud;
    const char *slash = strrchr(r->p->path, '/');
    cf_buf b = CF_BUF_INIT;
    const char *found = NULL;
    if (name.n > 0 && name.p[0] != '/' && slash != NULL) {
        cf_buf_add(&b, r->p->path, (size_t)(slash - r->p->path) + 1);
        cf_buf_add(&b, name.p, name.n);
        if (!b.failed && access(cf_buf_cstr(&b), R_OK) == 0) {
            found = cf_arena_strndup(&r->p->arena, cf_buf_cstr(&b), b.n);
        }
    }
    cf_buf_deinit(&b);
    return found != NULL ? found : cf_arena_strndup(&r->p->arena, name.p, name.n);
}

/* The start of a text, after a byte order mark. */
static size_t after_mark(cf_str text)
{
    return cf_str_starts(text, cf_str_from("\xEF\xBB\xBF")) ? 3 : 0;
}

/* ---- prompts ------------------------------------------------------------ */

cf_status cf_plan__add_item(reader *r, const cf_sweep_item *item, cf_error *err)
{
    cf_sweep_plan *p = r->p;
    cf_status st = CF_OK;
    if (p->n_item == CF_SWEEP_ITEMS_MAX) {
        st = cf_fail(err, CF_ELIMIT, "more than %d prompts", CF_SWEEP_ITEMS_MAX);
    } else if (!cf_grow(&p->item, &p->cap_item, p->n_item + 1, sizeof *p->item)) {
        st = cf_oom_for(err, "the prompts");
    }
    if (st != CF_OK) {
        json_decref(item->messages);
        json_decref(item->tools);
        json_decref(item->extra);
        json_decref(item->fields);
        return st;
    }
    p->item[p->n_item++] = *item;
    return CF_OK;
}

/* The messages of a line: "messages", or "system" and "prompt"; *out is NULL
 * where it has neither. */
static cf_status messages_of(const json_t *line, json_t **out, cf_error *err)
{
    const json_t *list = json_object_get(line, "messages");
    const json_t *prompt = json_object_get(line, "prompt");
    const json_t *system = json_object_get(line, "system");
    cf_jb b = CF_JB_INIT;
    *out = NULL;
    if (json_is_array(list)) {
        cf_jb_copy(&b, NULL, list);
        return cf_jb_finish(&b, out, err);
    }
    if (!json_is_string(prompt)) {
        return CF_OK;
    }
    cf_jb_array(&b, NULL);
    if (json_is_string(system)) {
        cf_jb_pack(&b, NULL, "{s:s,s:O}", "role", "system", "content", system);
    }
    cf_jb_pack(&b, NULL, "{s:s,s:O}", "role", "user", "content", prompt);
    cf_jb_end(&b);
    return cf_jb_finish(&b, out, err);
}

static cf_status check_messages(const json_t *list, cf_error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (cf_json_get_str(json_array_get(list, i), "role").p == NULL) {
            return cf_fail(err, CF_EFORMAT, "message %zu has no role", i + 1);
        }
    }
    return json_array_size(list) > 0
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "no \"prompt\" (a text) and no \"messages\"");
}

static cf_status read_prompt(reader *r, cf_str text, size_t number, cf_error *err)
{
    json_t *line;
    char name[32];
    CF_TRY(cf_json_read(&line, text.p, text.n, err));
    cf_sweep_item item = {.fields = line};
    cf_status st = messages_of(line, &item.messages, err);
    CF_THEN(st, check_messages(item.messages, err));
    cf_str given = cf_json_get_str(line, "name");
    if (given.p == NULL) {
        snprintf(name, sizeof name, "%zu", number);
        given = cf_str_from(name);
    }
    CF_THEN(st, cf_plan__copy(r, &item.name, given, err));
    cf_tool_set *tools = NULL;
    CF_THEN(st, cf_tool_set_new(&tools, json_object_get(line, "tools"), err));
    cf_tool_set_free(tools);
    if (st != CF_OK) {
        json_decref(item.messages);
        json_decref(line);
        return st;
    }
    item.tools = json_incref(json_object_get(line, "tools"));
    return cf_plan__add_item(r, &item, err);
}

static cf_status prompts_line(reader *r, cf_str rest, cf_error *err)
{
    const char *path = cf_plan__find_file(r, rest);
    cf_buf text = CF_BUF_INIT;
    cf_status st = path != NULL ? cf_os_read_file(&text, path, CF_PLAN__PROMPTS_MAX, err)
                                : cf_oom_for(err, "the plan");
    size_t number = 0, n;
    for (size_t at = after_mark(cf_buf_str(&text)); st == CF_OK && at < text.n; at += n + 1) {
        const char *p = cf_buf_cstr(&text) + at;
        const char *end = memchr(p, '\n', text.n - at);
        n = end != NULL ? (size_t)(end - p) : text.n - at;
        number++;
        cf_error why;
        if (n > 0 && p[0] != '\r') {
            st = read_prompt(r, cf_str_make(p, n), number, &why);
        }
        if (st != CF_OK) {
            cf_fail(err, st, "%.120s, line %zu: %s", path, number, why.text);
        }
    }
    cf_buf_deinit(&text);
    return st;
}

static bool is_reply(const cf_message_source *m)
{
    return cf_role_parse(cf_json_get_str(m->message, "role")) == CF_ROLE_ASSISTANT;
}

/* Copies what a reply was drawn with into the plan; a run also has a prompt and a
 * trace, which are long. */
static cf_status copy_run(reader *r, const cf_store_run *from, const cf_store_run **out,
                          cf_error *err)
{
    cf_store_run *to = cf_arena_calloc(&r->p->arena, 1, sizeof *to);
    cf_str *tools = cf_arena_calloc(&r->p->arena, from->n_tools + 1, sizeof *tools);
    if (to == NULL || tools == NULL) {
        return cf_oom_for(err, "the plan");
    }
    *to = cf_store_run_none();
    to->seed = from->seed;
    to->has_seed = from->has_seed;
    to->n_reply = from->n_reply;
    to->tools = tools;
    to->n_tools = from->n_tools;
    CF_TRY(cf_plan__copy(r, &to->options, from->options, err));
    CF_TRY(cf_plan__copy(r, &to->vars, from->vars, err));
    CF_TRY(cf_plan__copy(r, &to->constraint_spec, from->constraint_spec, err));
    for (size_t i = 0; i < from->n_tools; i++) {
        CF_TRY(cf_plan__copy(r, &tools[i], from->tools[i], err));
    }
    *out = to;
    return CF_OK;
}

/* The conditions of a reply (NULL: there is none) for the item: its run, and its
 * thinking and variables over those of the conversation. */
static cf_status take_run(reader *r, const cf_turn *turn, cf_arena *arena, cf_sweep_item *item,
                          cf_error *err)
{
    cf_recorded was;
    json_t *extra = NULL;
    if (turn == NULL) {
        return CF_OK;
    }
    CF_TRY(cf_recorded_load(&was, r->saved->store, turn->id, arena, err));
    cf_status st = cf_recorded_variables(&extra, &was, item->extra, err);
    if (st == CF_OK && was.run != NULL) {
        st = copy_run(r, was.run, &item->run, err);
    }
    cf_recorded_deinit(&was);
    if (st == CF_OK) {
        json_decref(item->extra);
        item->extra = extra;
    } else {
        json_decref(extra);
    }
    return st;
}

/* A saved conversation up to its last reply. */
static cf_status add_saved(reader *r, cf_uuid id, cf_error *err)
{
    cf_arena arena;
    cf_conversation *conv = NULL;
    cf_store_conv about;
    cf_message_source *v;
    size_t n;
    char name[CF_UUID_TEXT + 1];
    const cf_saved_choice choice = {.conversation = id};
    cf_arena_init(&arena, 0);
    cf_status st = cf_saved_load(&conv, &about, r->saved->store, &choice, &arena, err);
    CF_THEN(st, cf_conversation_sources(conv, cf_conversation_head(conv), &arena, &v, &n, err));
    cf_sweep_item item = {.conversation = id};
    cf_jb messages = CF_JB_INIT;
    cf_uuid_format(name, id);
    CF_THEN(st,
            cf_plan__copy(r, &item.name, about.title.n > 0 ? about.title : cf_str_from(name), err));
    if (st == CF_OK) {
        const cf_turn *last = n > 0 && is_reply(&v[n - 1]) ? v[n - 1].turn : NULL;
        while (n > 0 && is_reply(&v[n - 1])) {
            n--;
        }
        cf_jb_array(&messages, NULL);
        for (size_t i = 0; i < n; i++) {
            cf_jb_copy(&messages, NULL, v[i].message);
        }
        cf_jb_end(&messages);
        const cf_preface *p = cf_conversation_preface(conv);
        item.tools = cf_json_deep_copy(p->tools);
        item.extra = cf_json_deep_copy(p->extra_context);
        if ((p->tools != NULL) != (item.tools != NULL) ||
            (p->extra_context != NULL) != (item.extra != NULL)) {
            cf_jb_fail(&messages);
        }
        st = cf_jb_finish(&messages, &item.messages, err);
        CF_THEN(st, take_run(r, last, &arena, &item, err));
    }
    bool has_any = st == CF_OK && n > 0;
    if (has_any) {
        st = cf_plan__add_item(r, &item, err);
    } else {
        json_decref(item.messages);
        json_decref(item.tools);
        json_decref(item.extra);
    }
    cf_conversation_free(conv);
    cf_arena_deinit(&arena);
    return st;
}

static cf_status conversations_line(reader *r, cf_str rest, cf_error *err)
{
    enum { PAGE = 500 };
    size_t before = r->p->n_item, n = PAGE;
    if (r->saved->store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "the history is not open");
    }
    if (cf_str_is(rest, "ticked")) {
        for (size_t i = 0; i < r->saved->n_ticked; i++) {
            CF_TRY(add_saved(r, r->saved->ticked[i], err));
        }
        return r->saved->n_ticked > 0
                   ? CF_OK
                   : cf_fail(err, CF_ENOTFOUND, "no conversation is ticked (Space ticks one)");
    }
    for (size_t at = 0; n == PAGE; at += PAGE) {
        cf_arena arena;
        const cf_store_conv *rows;
        const cf_store_query q = {.text = rest,
                                  .sort = CF_SORT_CREATED,
                                  .is_reversed = true,
                                  .offset = at,
                                  .limit = PAGE};
        cf_arena_init(&arena, 0);
        cf_status st = cf_store_list(r->saved->store, &q, &arena, &rows, &n, err);
        for (size_t i = 0; st == CF_OK && i < n; i++) {
            st = add_saved(r, rows[i].id, err);
        }
        cf_arena_deinit(&arena);
        CF_TRY(st);
    }
    return r->p->n_item > before
               ? CF_OK
               : cf_fail(err, CF_ENOTFOUND, "no saved conversation matches '%.*s'",
                         (int)(rest.n < 60 ? rest.n : 60), rest.p);
}

/* ---- axes --------------------------------------------------------------- */

static cf_status has_room(size_t n, cf_str rest, const char *form, cf_error *err)
{
    if (n == CF_SWEEP_VALUES_MAX) {
        return cf_fail(err, CF_ELIMIT, "more than %d lines of this kind", CF_SWEEP_VALUES_MAX);
    }
    return rest.n > 0 ? CF_OK : cf_fail(err, CF_EINVAL, "%s", form);
}

static cf_status tools_line(reader *r, cf_str rest, cf_error *err)
{
    const char *path = cf_plan__find_file(r, rest);
    cf_tool_set *set = NULL;
    json_t *v = NULL;
    if (path == NULL) {
        return cf_oom_for(err, "the plan");
    }
    CF_TRY(cf_json_read_file(&v, path, err));
    cf_status st = cf_tool_set_new(&set, v, err);
    cf_tool_set_free(set);
    json_decref(r->p->tools);
    r->p->tools = v;
    return st;
}

static cf_status system_line(reader *r, cf_str rest, cf_error *err)
{
    cf_sweep_plan *p = r->p;
    CF_TRY(has_room(p->n_system, rest, "system NAME [TEXT]", err));
    cf_sweep_system *s = &p->system[p->n_system];
    CF_TRY(cf_plan__copy(r, &s->name, cf_sweep__word(&rest), err));
    CF_TRY(cf_plan__copy(r, &s->text, rest, err));
    p->n_system++;
    return CF_OK;
}

/* The same from a file, for a text of several lines. */
static cf_status system_file_line(reader *r, cf_str rest, cf_error *err)
{
    cf_sweep_plan *p = r->p;
    cf_buf text = CF_BUF_INIT;
    CF_TRY(has_room(p->n_system, rest, "system-file NAME FILE", err));
    cf_sweep_system *s = &p->system[p->n_system];
    CF_TRY(cf_plan__copy(r, &s->name, cf_sweep__word(&rest), err));
    const char *path = cf_plan__find_file(r, rest);
    cf_status st = path != NULL ? cf_os_read_file(&text, path, CF_PLAN__FILE_MAX, err)
                                : cf_oom_for(err, "the plan");
    CF_THEN(st, cf_plan__copy(r, &s->text, cf_buf_str(&text), err));
    cf_buf_deinit(&text);
    p->n_system += st == CF_OK;
    return st;
}

static cf_status template_line(reader *r, cf_str rest, cf_error *err)
{
    cf_sweep_plan *p = r->p;
    CF_TRY(has_room(p->n_template, rest, "template NAME", err));
    CF_TRY(cf_plan__copy(r, &p->template_name[p->n_template], rest, err));
    p->template_path[p->n_template] = NULL;
    if (!cf_str_is(rest, "model")) {
        const char *path = cf_plan__find_file(r, rest);
        cf_buf source = CF_BUF_INIT;
        cf_status st =
            path != NULL ? cf_open_template_text(&source, path, err) : cf_oom_for(err, "the plan");
        cf_buf_deinit(&source);
        CF_TRY(st);
        p->template_path[p->n_template] = path;
    }
    p->n_template++;
    return CF_OK;
}

bool cf_plan__is_address(cf_str word)
{
    return cf_str_starts(word, cf_str_from("http://")) ||
           cf_str_starts(word, cf_str_from("https://"));
}

static cf_status model_line(reader *r, cf_str rest, cf_error *err)
{
    cf_sweep_plan *p = r->p;
    CF_TRY(has_room(p->n_model, rest, "model M", err));
    cf_sweep_model *m = &p->model[p->n_model];
    *m = (cf_sweep_model){.is_server = true};
    CF_TRY(cf_plan__copy(r, &m->name, rest, err));
    cf_str left = rest;
    while (left.n > 0) {
        cf_str word = cf_sweep__word(&left);
        m->is_server = m->is_server && cf_plan__is_address(word);
        if (m->n_address < CF_SWEEP_ADDRESSES_MAX) {
            m->address[m->n_address++] = cf_arena_strndup(&p->arena, word.p, word.n);
        }
    }
    if (!m->is_server) { /* a file's name may have blanks */
        m->n_address = 1;
        bool is_script = cf_str_starts(rest, cf_str_from("script:"));
        cf_buf b = CF_BUF_INIT;
        cf_str file = is_script ? cf_str_make(rest.p + 7, rest.n - 7) : rest;
        const char *found = cf_plan__find_file(r, file);
        cf_buf_adds(&b, is_script ? "script:" : "");
        cf_buf_adds(&b, found != NULL ? found : "");
        m->address[0] = cf_arena_strndup(&p->arena, cf_buf_cstr(&b), b.n);
        cf_buf_deinit(&b);
    }
    p->n_model++;
    return p->arena.failed ? cf_oom_for(err, "the plan") : CF_OK;
}

cf_status cf_sweep_plan_servers(cf_sweep_plan *p, const char *const *names, size_t n, cf_error *err)
{
    cf_buf all = CF_BUF_INIT;
    bool are_servers = n > 0;
    if (p->n_model > 0) {
        return CF_OK;
    }
    cf_sweep_model *m = &p->model[0];
    *m = (cf_sweep_model){.is_server = true};
    for (size_t i = 0; i < n; i++) {
        are_servers = are_servers && cf_plan__is_address(cf_str_from(names[i]));
        cf_buf_addf(&all, "%s%s", i > 0 ? " " : "", names[i]);
        if (i < CF_SWEEP_ADDRESSES_MAX) {
            m->address[m->n_address++] = cf_arena_strndup(&p->arena, names[i], strlen(names[i]));
        }
    }
    m->name = cf_str_make(cf_arena_strndup(&p->arena, cf_buf_cstr(&all), all.n), all.n);
    cf_status st = cf_buf_check(&all, err);
    cf_buf_deinit(&all);
    if (n > 1 && !are_servers) {
        return cf_fail(err, CF_EINVAL, "several models must be servers");
    }
    p->n_model = are_servers ? 1 : 0;
    return p->arena.failed ? cf_oom_for(err, "the plan") : st;
}

/* ---- adapters ----------------------------------------------------------- */

/* The file resolved relative to the plan, with the scale of the word. */
static const char *adapter_file(reader *r, cf_str word)
{
    size_t n = word.n;
    while (n > 0 && word.p[n - 1] != '=' && word.p[n - 1] != '/') {
        n--;
    }
    bool has_scale = n > 0 && word.p[n - 1] == '=';
    size_t name = has_scale ? n - 1 : word.n;
    const char *found = cf_plan__find_file(r, cf_str_make(word.p, name));
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, found != NULL ? found : "");
    cf_buf_add(&b, word.p + name, word.n - name);
    const char *copy = found != NULL && !b.failed ? cf_arena_strndup(&r->p->arena, b.p, b.n) : NULL;
    cf_buf_deinit(&b);
    return copy;
}

static cf_status adapter_line(reader *r, cf_str rest, cf_error *err)
{
    cf_sweep_plan *p = r->p;
    CF_TRY(has_room(p->n_adapter, rest, "adapter NAME [FILE[=SCALE] ...]", err));
    cf_sweep_adapter *a = &p->adapter[p->n_adapter];
    *a = (cf_sweep_adapter){.n_file = 0};
    CF_TRY(cf_plan__copy(r, &a->name, cf_sweep__word(&rest), err));
    while (rest.n > 0) {
        if (a->n_file == CF_ADAPTERS_MAX) {
            return cf_fail(err, CF_ELIMIT, "more than %d adapters at once", CF_ADAPTERS_MAX);
        }
        a->file[a->n_file] = adapter_file(r, cf_sweep__word(&rest));
        if (a->file[a->n_file++] == NULL) {
            return cf_oom_for(err, "the plan");
        }
    }
    p->n_adapter++;
    return CF_OK;
}

/* ---- samplers ----------------------------------------------------------- */

/* NAME=VALUE of a sampler, by the names of the command line's options. */
static cf_status sampler_value(cf_sweep_sampler *s, const char *name, const char *value,
                               cf_error *err)
{
    if (strcmp(name, "tokens") == 0) {
        return cf_option_read_u32(&s->chat.max_tokens, name, value, UINT32_MAX, err);
    }
    if (strcmp(name, "repeat") == 0) {
        CF_TRY(cf_option_read_u32(&s->n_repeat, name, value, CF_SWEEP_REPEATS_MAX, err));
        return s->n_repeat > 0 ? CF_OK : cf_fail(err, CF_EINVAL, "repeat: at least 1");
    }
    cf_status st = cf_option_set(&s->chat, name, value, err);
    return st == CF_ENOTFOUND ? cf_fail(err, CF_EINVAL,
                                        "a sampler has no '%s'; it has greedy, tokens, repeat, and "
                                        "the sampler's options of the command line",
                                        name)
                              : st;
}

/* A word of a sampler: greedy, NAME=VALUE, or as the first one its name. */
static cf_status sampler_word(reader *r, cf_sweep_sampler *s, cf_str word, bool is_first,
                              cf_error *err)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(word.n < 63 ? word.n : 63), word.p);
    char *eq = strchr(text, '=');
    if (cf_str_is(word, "greedy")) {
        return cf_option_set(&s->chat, "temperature", "0", err);
    }
    if (eq != NULL) {
        *eq = '\0';
        return sampler_value(s, text, eq + 1, err);
    }
    return is_first ? cf_plan__copy(r, &s->name, word, err)
                    : cf_fail(err, CF_EINVAL, "a sampler has no '%s'", text);
}

cf_status cf_plan__plain_sampler(cf_sweep_sampler *s, cf_error *err)
{
    *s = (cf_sweep_sampler){.name = cf_str_from("greedy"),
                            .chat = {.has_sampling = true, .max_tokens = TOKENS_DEFAULT},
                            .n_repeat = 1};
    CF_TRY(cf_option_set(&s->chat, "temperature", "0", err));
    return cf_option_set(&s->chat, "seed", "0", err);
}

static cf_status sampler_line(reader *r, cf_str rest, cf_error *err)
{
    cf_sweep_plan *p = r->p;
    cf_sweep_sampler s;
    CF_TRY(has_room(p->n_sampler, rest, "sampler greedy tokens=N", err));
    CF_TRY(cf_plan__plain_sampler(&s, err));
    CF_TRY(cf_plan__copy(r, &s.name, rest, err));
    cf_str left = rest;
    for (bool is_first = true; left.n > 0; is_first = false) {
        CF_TRY(sampler_word(r, &s, cf_sweep__word(&left), is_first, err));
    }
    CF_TRY(cf_chat_options_check(&s.chat, err));
    p->sampler[p->n_sampler++] = s;
    return CF_OK;
}

static cf_status check_line(reader *r, cf_str rest, cf_error *err)
{
    cf_sweep_plan *p = r->p;
    CF_TRY(has_room(p->n_check, rest, "check NAME KIND [VALUE]", err));
    CF_TRY(cf_sweep_check_read(&p->check[p->n_check], rest, &p->arena, cf_plan__find_file, r, err));
    p->n_check++;
    return CF_OK;
}

/* ---- lines -------------------------------------------------------------- */

static const struct {
    const char *word;
    cf_status (*read)(reader *r, cf_str rest, cf_error *err);
} lines[] = {{"prompts", prompts_line},
             {"conversations", conversations_line},
             {"tools", tools_line},
             {"system", system_line},
             {"system-file", system_file_line},
             {"template", template_line},
             {"model", model_line},
             {"adapter", adapter_line},
             {"sampler", sampler_line},
             {"check", check_line}};

static cf_status read_line(reader *r, cf_str line, cf_error *err)
{
    cf_str rest = line;
    if (rest.n > 0 && (rest.p[0] == ' ' || rest.p[0] == '\t')) {
        cf_sweep__word(&rest); /* an empty one: blanks at the start */
    }
    while (rest.n > 0 && strchr(" \t\r", rest.p[rest.n - 1]) != NULL) {
        rest.n--;
    }
    if (rest.n == 0 || rest.p[0] == '#') {
        return CF_OK;
    }
    cf_str word = cf_sweep__word(&rest);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (cf_str_is(word, lines[i].word)) {
            return lines[i].read(r, rest, err);
        }
    }
    return cf_fail(err, CF_EINVAL,
                   "'%.*s' is not a keyword of plans, which are prompts, conversations, "
                   "tools, system, system-file, template, model, adapter, sampler and check",
                   (int)(word.n < 40 ? word.n : 40), word.p);
}

cf_status cf_plan__lines(reader *r, cf_str text, cf_error *err)
{
    size_t number = 0, n;
    for (size_t at = after_mark(text); at < text.n; at += n + 1) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        cf_error why;
        n = end != NULL ? (size_t)(end - text.p) - at : text.n - at;
        number++;
        cf_status st = read_line(r, cf_str_make(text.p + at, n), &why);
        if (st != CF_OK) {
            return cf_fail(err, st, "%.160s:%zu: %s", r->p->path, number, why.text);
        }
    }
    return r->p->n_item > 0 ? CF_OK
                            : cf_fail(err, CF_EINVAL,
                                      "%.160s: the plan has no prompts: a line 'prompts "
                                      "FILE' or 'conversations QUERY' is needed",
                                      r->p->path);
}

const cf_sweep_check *cf_sweep_plan_check(const cf_sweep_plan *p, size_t item, size_t check)
{
    const cf_sweep_item *it = &p->item[item];
    for (size_t i = 0; p->has_own && i < it->n_own; i++) {
        if (p->own[it->first_own + i].column == check) {
            return &p->own[it->first_own + i].check;
        }
    }
    return p->has_own ? NULL : &p->check[check];
}

void cf_sweep_plan_deinit(cf_sweep_plan *plan)
{
    for (size_t i = 0; i < plan->n_item; i++) {
        json_decref(plan->item[i].messages);
        json_decref(plan->item[i].tools);
        json_decref(plan->item[i].extra);
        json_decref(plan->item[i].fields);
    }
    for (size_t i = 0; i < plan->n_check; i++) {
        cf_sweep_check_deinit(&plan->check[i]);
    }
    for (size_t i = 0; i < plan->n_own; i++) {
        cf_sweep_check_deinit(&plan->own[i].check);
    }
    cf_free(plan->own);
    cf_free(plan->item);
    json_decref(plan->tools);
    cf_arena_deinit(&plan->arena);
    *plan = (cf_sweep_plan){.n_item = 0};
}
