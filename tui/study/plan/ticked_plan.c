/*
 * ticked_plan.c - plan.txt, and beside it prompts.jsonl, tools.json and the texts
 * of templates and of system prompts that have several lines.
 */
#include "tui/study/plan/ticked_plan.h"

#include <string.h>

#include "core/base/os.h"
#include "core/base/utf8.h"
#include "core/json/json_builder.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/state/reply_settings.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_system.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/study/plan/sweep_check.h"

typedef struct writer {
    cf_lab *lab;
    const char *folder;
    cf_buf plan, prompts;
} writer;

static const char *const kinds[CF_TICK_KINDS] = {"system", "template", "model", "sampler"};

static cf_status write_file(const writer *w, const char *name, cf_str text, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    cf_buf_addf(&path, "%s/%s", w->folder, name);
    cf_status st = cf_buf_check(&path, err);
    CF_THEN(st, cf_os_write_file(cf_buf_cstr(&path), text.p, text.n, 0600, err));
    cf_buf_deinit(&path);
    return st;
}

static bool has_role(const cf_turn *t, const char *role)
{
    return cf_str_is(cf_json_get_str(t->message, "role"), role);
}

/* ---- prompts ------------------------------------------------------------ */

/* The question path[at] with what was said before it; without the system prompt
 * where a line of the plan has it. */
static cf_status put_question(writer *w, const cf_turn *const *path, size_t at, size_t number,
                              bool has_system, cf_error *err)
{
    cf_buf text = CF_BUF_INIT, name = CF_BUF_INIT;
    cf_jb line = CF_JB_INIT;
    json_t *v = NULL;
    cf_lab_message_text(&text, path[at]->message);
    size_t n = strcspn(cf_buf_cstr(&text), "\n");
    cf_buf_addf(&name, "%zu ", number);
    cf_buf_add(&name, cf_buf_cstr(&text),
               cf_utf8_valid_prefix(cf_buf_cstr(&text), n < 40 ? n : 40));
    cf_jb_object(&line, NULL);
    cf_jb_str(&line, "name", cf_buf_str(&name));
    cf_jb_array(&line, "messages");
    if (!has_system && !cf_turn_is_system(path[0]) && cf_lab_system(w->lab) != NULL) {
        cf_jb_copy(&line, NULL, cf_lab_system(w->lab));
    }
    for (size_t i = has_system && cf_turn_is_system(path[0]) ? 1 : 0; i <= at; i++) {
        cf_jb_copy(&line, NULL, path[i]->message);
    }
    cf_jb_end(&line);
    cf_jb_end(&line);
    cf_status st = cf_jb_finish(&line, &v, err);
    if (st == CF_OK) {
        cf_json_write(&w->prompts, v);
        cf_buf_addc(&w->prompts, '\n');
        st = cf_buf_check(&w->prompts, err);
    }
    json_decref(v);
    cf_buf_deinit(&text);
    cf_buf_deinit(&name);
    return st;
}

static cf_status put_prompts(writer *w, bool has_system, cf_error *err)
{
    size_t n, n_ticked, number = 0;
    const cf_turn *const *path = cf_lab_path(w->lab, &n);
    const cf_uuid *ticked = cf_lab_ticked(w->lab, &n_ticked);
    if (n_ticked > 0) {
        cf_buf_adds(&w->plan, "conversations ticked\n");
        for (size_t i = 0; i < n_ticked; i++) {
            char id[CF_UUID_TEXT + 1];
            cf_uuid_format(id, ticked[i]);
            cf_buf_addf(&w->prompts, "%s\n", id);
        }
        return CF_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (has_role(path[i], "user")) {
            CF_TRY(put_question(w, path, i, ++number, has_system, err));
        }
    }
    if (number == 0) {
        return cf_fail(err, CF_ENOTFOUND,
                       "no question to sweep: ask some here, or tick conversations (6, Space)");
    }
    cf_buf_adds(&w->plan, "prompts prompts.jsonl\n");
    return write_file(w, "prompts.jsonl", cf_buf_str(&w->prompts), err);
}

/* ---- axes --------------------------------------------------------------- */

/* A text in a file of its own: "template 2-mine.jinja". */
static cf_status put_text(writer *w, const char *key, size_t number, const char *name,
                          const char *ending, cf_str text, cf_error *err)
{
    char plain[64], file[96];
    const char *base = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
    size_t n = 0;
    for (const char *p = base; *p != '\0' && n + 1 < sizeof plain; p++) {
        plain[n++] = *p == ' ' || *p == '\t' || *p == '\n' ? '-' : *p;
    }
    plain[n] = '\0';
    bool has_ending = strstr(plain, ending) != NULL;
    snprintf(file, sizeof file, "%zu-%s%s", number, plain, has_ending ? "" : ending);
    cf_buf_addf(&w->plan, "%s %s\n", key, file);
    return write_file(w, file, text, err);
}

static cf_status put_choice(writer *w, const cf_lab_choice *c, size_t number, cf_error *err)
{
    cf_str text = cf_buf_str(&c->text);
    char key[96];
    switch (c->kind) {
    case CF_TICK_TEMPLATE:
        return put_text(w, "template", number, c->name, ".jinja", text, err);
    case CF_TICK_SYSTEM:
        if (memchr(text.p, '\n', text.n) != NULL) {
            snprintf(key, sizeof key, "system-file %s", c->name);
            return put_text(w, key, number, c->name, ".txt", text, err);
        }
        cf_buf_addf(&w->plan, "system %s%s", c->name, text.n > 0 ? " " : "");
        break;
    default:
        cf_buf_addf(&w->plan, "%s ", kinds[c->kind]);
        break;
    }
    cf_buf_add(&w->plan, text.p, text.n);
    cf_buf_addc(&w->plan, '\n');
    return CF_OK;
}

/* The sampler in use; without one a plan's is greedy. */
static void put_sampler(writer *w)
{
    const cf_reply_settings *s = cf_lab_settings(w->lab);
    const cf_sampling *o = &s->chat.sampling;
    if (s->chat.has_sampling && o->temperature > 0) {
        cf_buf_addf(&w->plan, "sampler now temperature=%g top-k=%u top-p=%g min-p=%g seed=%llu",
                    (double)o->temperature, (unsigned)o->top_k, (double)o->top_p, (double)o->min_p,
                    (unsigned long long)o->seed);
    } else {
        cf_buf_adds(&w->plan, "sampler greedy");
    }
    if (s->chat.max_tokens > 0) {
        cf_buf_addf(&w->plan, " tokens=%u", (unsigned)s->chat.max_tokens);
    }
    cf_buf_addc(&w->plan, '\n');
}

/* What is in use where nothing was ticked and a plan would take another one. */
static cf_status put_in_use(writer *w, const bool *has, cf_error *err)
{
    size_t n_ticked;
    const char *name;
    cf_str first, now = cf_lab_engine_of(w->lab)->template_source;
    cf_lab_first_template(w->lab, &name, &first);
    (void)cf_lab_ticked(w->lab, &n_ticked);
    if (!has[CF_TICK_SAMPLER] && n_ticked == 0) { /* as those were recorded */
        put_sampler(w);
    }
    if (!has[CF_TICK_TEMPLATE] && !has[CF_TICK_MODEL] && now.n > 0 && !cf_str_eq(first, now)) {
        return put_text(w, "template", 0, cf_lab_template_name(w->lab), ".jinja", now, err);
    }
    return CF_OK;
}

/* Of a file that a check names: as it is given. */
static const char *find_file(void *arena, cf_str name)
{
    return cf_arena_strndup(arena, name.p, name.n);
}

static cf_status put_check(writer *w, const char *check, cf_error *err)
{
    cf_arena arena;
    cf_sweep_check c;
    cf_buf line = CF_BUF_INIT;
    if (check[0] == '\0') {
        return CF_OK;
    }
    cf_arena_init(&arena, 0);
    cf_buf_addf(&line, "%.*s %s", (int)strcspn(check, " "), check, check);
    cf_status st = cf_sweep_check_read(&c, cf_buf_str(&line), &arena, find_file, &arena, err);
    if (st == CF_OK) {
        cf_sweep_check_deinit(&c);
        cf_buf_addf(&w->plan, "check %s\n", cf_buf_cstr(&line));
    }
    cf_buf_deinit(&line);
    cf_arena_deinit(&arena);
    return st;
}

static cf_status put_tools(writer *w, cf_error *err)
{
    const json_t *tools = cf_lab_engine_of(w->lab)->tools;
    cf_buf text = CF_BUF_INIT;
    if (json_array_size(tools) == 0) {
        return CF_OK;
    }
    cf_json_write(&text, tools);
    cf_buf_adds(&w->plan, "tools tools.json\n");
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, write_file(w, "tools.json", cf_buf_str(&text), err));
    cf_buf_deinit(&text);
    return st;
}

static cf_status put_plan(writer *w, const char *check, cf_error *err)
{
    size_t n;
    const cf_lab_choice *c = cf_lab_choices(w->lab, &n);
    bool has[CF_TICK_KINDS] = {false};
    for (size_t i = 0; i < n; i++) {
        has[c[i].kind] = true;
    }
    cf_buf_adds(&w->plan, "# Written by :sweep from what was ticked.\n");
    CF_TRY(put_prompts(w, has[CF_TICK_SYSTEM], err));
    CF_TRY(put_tools(w, err));
    for (size_t i = 0; i < n; i++) {
        CF_TRY(put_choice(w, &c[i], i + 1, err));
    }
    CF_TRY(put_in_use(w, has, err));
    CF_TRY(put_check(w, check, err));
    CF_TRY(cf_buf_check(&w->plan, err));
    return write_file(w, "plan.txt", cf_buf_str(&w->plan), err);
}

cf_status cf_ticked_plan_write(cf_lab *lab, const char *folder, const char *check, cf_buf *path,
                               cf_buf *text, cf_error *err)
{
    writer w = {.lab = lab, .folder = folder};
    cf_status st = cf_os_make_dirs(folder, err);
    CF_THEN(st, put_plan(&w, check, err));
    cf_buf_addf(path, "%s/plan.txt", folder);
    cf_buf_add(text, cf_buf_cstr(&w.plan), w.plan.n);
    cf_buf_add(text, cf_buf_cstr(&w.prompts), w.prompts.n);
    CF_THEN(st, cf_buf_check(path, err));
    CF_THEN(st, cf_buf_check(text, err));
    cf_buf_deinit(&w.plan);
    cf_buf_deinit(&w.prompts);
    return st;
}
