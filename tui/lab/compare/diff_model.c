/*
 * diff_model.c - rendering with two templates and comparing what comes out.
 */
#include "tui/lab/compare/diff_model.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "templates/builtin.h"
#include "templates/open.h"
#include "tui/lab/prompt/kept_template.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_adapters.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_options.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/lab/talk/saved.h"

void cf_diff_model_init(cf_diff_model *m, cf_lab *lab, cf_store *store)
{
    memset(m, 0, sizeof *m);
    m->lab = lab;
    m->store = store;
    cf_arena_init(&m->arena, 0);
}

static void close_pair(cf_diff_model *m)
{
    if (m->has_pair) {
        cf_diff_pair_close(&m->pair);
        m->has_pair = false;
    }
}

void cf_diff_model_deinit(cf_diff_model *m)
{
    close_pair(m);
    cf_opened_adapters_close(&m->adapters);
    cf_buf_deinit(&m->other);
    cf_arena_deinit(&m->arena);
    memset(m, 0, sizeof *m);
}

/* ---- the templates ------------------------------------------------------ */

/* Takes the text for the other template; it is freed when it does not
 * compile. */
static cf_status take_other(cf_diff_model *m, const char *name, cf_buf *text, cf_error *err)
{
    cf_status st = cf_buf_check(text, err);
    cf_template *tpl;
    if (st == CF_OK && text->n != 0) {
        st = cf_template_compile(&tpl, cf_buf_str(text), NULL, NULL, NULL, err);
        if (st == CF_OK) {
            cf_template_free(tpl);
        } else {
            cf_fail_in(err, st, name);
        }
    }
    if (st != CF_OK) {
        cf_buf_deinit(text);
        return st;
    }
    cf_buf_deinit(&m->other);
    m->other = *text;
    m->is_server = false;
    snprintf(m->name, sizeof m->name, "%s", name);
    m->subject = m->subject == CF_DIFF_MARKS ? CF_DIFF_CURRENT : m->subject;
    return CF_OK;
}

static cf_status with_server(cf_diff_model *m, cf_error *err)
{
    cf_buf none = CF_BUF_INIT;
    if (!cf_lab_prompt_is_asked(m->lab)) {
        return cf_fail(err, CF_EUNSUPPORTED, "this engine is not a server that shows its prompt");
    }
    CF_TRY(take_other(m, "the server", &none, err));
    m->is_server = true;
    m->subject = CF_DIFF_CURRENT;
    m->level = CF_DIFF_LEVEL_TEXT;
    return CF_OK;
}

cf_status cf_diff_model_with(cf_diff_model *m, const char *name, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (strcmp(name, "server") == 0) {
        return with_server(m, err);
    }
    if (strcmp(name, "model") == 0) {
        const char *first;
        cf_str source;
        cf_lab_first_template(m->lab, &first, &source);
        name = first;
        cf_buf_add(&text, source.p, source.n);
    } else {
        st = cf_open_template_text(&text, name, err);
        if (st == CF_ENOTFOUND) {
            st = cf_kept_template(&text, m->store, name, err);
        }
    }
    if (st != CF_OK) {
        cf_buf_deinit(&text);
        return st;
    }
    return take_other(m, name, &text, err);
}

cf_status cf_diff_model_with_text(cf_diff_model *m, const char *name, cf_str source, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_add(&text, source.p, source.n);
    return take_other(m, name, &text, err);
}

/* ---- adapters ------------------------------------------------------------ */

static bool is_other(const cf_diff_model *m, int side)
{
    return (side == 0) != m->is_swapped;
}

cf_status cf_diff_model_lora(cf_diff_model *m, const char *text, cf_error *err)
{
    const cf_lab_engine *e = cf_lab_engine_of(m->lab);
    cf_opened_adapters now = {.n = 0};
    bool is_same = strcmp(text, "same") == 0;
    CF_TRY(cf_lab_need_idle(m->lab, err));
    if (e->engine == NULL || cf_backend_core_session(e->backend) == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "adapters need the built-in engine");
    }
    if (m->name[0] == '\0') {
        CF_TRY(cf_diff_model_with_text(m, e->template_name, e->template_source, err));
    }
    CF_TRY(cf_lab_open_adapters(&now, e->engine, is_same ? "off" : text, err));
    cf_opened_adapters_close(&m->adapters);
    m->adapters = now;
    m->has_adapters = !is_same;
    cf_buf label = CF_BUF_INIT;
    cf_adapters_label(&label, now.use, now.n);
    cf_utf8_copy(m->adapters_label, sizeof m->adapters_label,
                 now.n != 0 ? cf_buf_str(&label) : cf_str_from("no adapter"));
    cf_buf_deinit(&label);
    return CF_OK;
}

cf_status cf_diff_model_use_lora(const cf_diff_model *m, int side, cf_session *session,
                                 cf_error *err)
{
    return m->has_adapters && is_other(m, side)
               ? cf_session_set_adapters(session, m->adapters.use, m->adapters.n, err)
               : CF_OK;
}

const char *cf_diff_model_lora_label(const cf_diff_model *m, int side)
{
    return m->has_adapters && is_other(m, side) ? m->adapters_label : "";
}

const char *cf_diff_model_name(const cf_diff_model *m, int side)
{
    if (m->subject == CF_DIFF_MARKS && m->level != CF_DIFF_LEVEL_SOURCE) {
        return m->title[side][0] != '\0' ? m->title[side]
               : side == 0               ? "conversation A"
                                         : "conversation B";
    }
    return is_other(m, side) && m->name[0] != '\0' ? m->name : cf_lab_template_name(m->lab);
}

/* Messages have the form of a send, by the workbench's settings. */
static cf_status pair_of(const cf_diff_model *m, cf_diff_pair *out, cf_str a, cf_str b,
                         cf_error *err)
{
    cf_status st = cf_diff_pair_of(out, cf_lab_engine_of(m->lab)->tokenizer, a, b, err);
    out->as_is = cf_lab_settings(m->lab)->chat.as_is;
    return st;
}

cf_status cf_diff_model_templates(const cf_diff_model *m, cf_diff_pair *out, cf_error *err)
{
    const cf_lab_engine *e = cf_lab_engine_of(m->lab);
    cf_str own = e->template_source;
    cf_str other = cf_buf_str(&m->other);
    if (m->name[0] == '\0') {
        return cf_fail(err, CF_ENOTFOUND, "first choose the other template: :with NAME or FILE");
    }
    if (m->is_server) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the server shows a prompt and not its template: :with "
                       "NAME or FILE chooses one");
    }
    return pair_of(m, out, m->is_swapped ? own : other, m->is_swapped ? other : own, err);
}

cf_status cf_diff_model_pair(const cf_diff_model *m, cf_diff_pair *out, cf_error *err)
{
    const cf_lab_engine *e = cf_lab_engine_of(m->lab);
    cf_str own = e->template_source;
    if (m->subject != CF_DIFF_MARKS) {
        return cf_diff_model_templates(m, out, err);
    }
    return pair_of(m, out, own, own, err);
}

static cf_status open_pair(cf_diff_model *m, cf_error *err)
{
    close_pair(m);
    m->has_pair = true;
    CF_TRY(cf_diff_model_pair(m, &m->pair, err));
    if (!cf_lab_is_busy(m->lab) && cf_lab_task_name(m->lab) == NULL) {
        cf_diff_pair_see(&m->pair, cf_backend_core_media(cf_lab_engine_of(m->lab)->backend));
    }
    return CF_OK;
}

/* ---- the prompts -------------------------------------------------------- */

void cf_diff_title(char out[80], const cf_store_conv *c)
{
    cf_utf8_copy(out, 80, c->title.n != 0 ? c->title : c->preview);
}

cf_status cf_diff_load(cf_store *store, cf_uuid id, const json_t *tools, cf_arena *arena,
                       cf_conversation **out, char title[80], cf_error *err)
{
    const cf_saved_choice choice = {.conversation = id, .has_raw = true, .tools = tools};
    cf_store_conv about;
    if (store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "history is off");
    }
    CF_TRY(cf_saved_load(out, &about, store, &choice, arena, err));
    cf_diff_title(title, &about);
    return CF_OK;
}

bool cf_diff_is_current(const cf_lab *lab, cf_uuid conv)
{
    size_t n;
    cf_lab_path(lab, &n);
    return n != 0 && cf_uuid_eq(conv, cf_lab_conv_id(lab));
}

bool cf_diff_shows_current(const cf_diff_model *m)
{
    return m->subject == CF_DIFF_CURRENT ||
           (m->subject == CF_DIFF_SAVED && cf_diff_is_current(m->lab, m->saved));
}

cf_status cf_diff_model_conv(cf_diff_model *m, int side, cf_conversation **out, cf_error *err)
{
    if (cf_diff_shows_current(m)) {
        if (m->subject == CF_DIFF_SAVED) {
            snprintf(m->title[side], sizeof m->title[side], "%s", cf_lab_title(m->lab));
        }
        return cf_lab_clone_conv(m->lab, out, err);
    }
    int which = m->is_swapped ? 1 - side : side;
    cf_uuid id = m->subject == CF_DIFF_MARKS ? cf_lab_marked(m->lab, which) : m->saved;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_status st = cf_diff_load(m->store, id, cf_lab_engine_of(m->lab)->tools, &arena, out,
                                m->title[side], err);
    cf_arena_deinit(&arena);
    return st;
}

cf_status cf_diff_model_message(const cf_diff_model *m, json_t **out, cf_error *err)
{
    cf_str unsent = cf_lab_unsent(m->lab);
    *out = NULL;
    if (m->subject != CF_DIFF_CURRENT || unsent.n == 0) {
        return CF_OK;
    }
    *out = json_pack("{s:s,s:s%}", "role", "user", "content", unsent.p, unsent.n);
    return *out != NULL ? CF_OK : cf_fail(err, CF_EFORMAT, "the unsent text is not UTF-8");
}

cf_status cf_diff_model_vars(const cf_diff_model *m, json_t **out, cf_error *err)
{
    *out = NULL;
    return cf_diff_shows_current(m) ? cf_diff_current_vars(m->lab, out, err) : CF_OK;
}

cf_status cf_diff_current_vars(cf_lab *lab, json_t **out, cf_error *err)
{
    cf_thinking thinking = cf_lab_settings(lab)->chat.thinking;
    *out = NULL;
    json_t *vars = cf_json_deep_copy(cf_lab_vars(lab));
    bool ok = vars != NULL;
    if (ok && thinking != CF_THINKING_DEFAULT && json_object_get(vars, "enable_thinking") == NULL) {
        ok = json_object_set_new(vars, "enable_thinking",
                                 json_boolean(thinking == CF_THINKING_ON)) == 0;
    }
    if (!ok) {
        json_decref(vars);
        return cf_oom_for(err, "the variables");
    }
    *out = vars;
    return CF_OK;
}

/* Renders what would be sent now, the text in the composer included. */
static cf_status render_current(cf_diff_model *m, cf_error *err)
{
    cf_conversation *conv = NULL;
    json_t *message = NULL, *vars = NULL;
    size_t n_path;
    cf_lab_path(m->lab, &n_path);
    CF_TRY(cf_diff_model_message(m, &message, err));
    if (n_path == 0 && message == NULL) {
        return cf_fail(err, CF_ENOTFOUND,
                       "nothing is said yet: write a message (1 i), or S "
                       "compares what is saved");
    }
    cf_status st = cf_diff_model_vars(m, &vars, err);
    const cf_turn_options options = {.extra_context = vars};
    cf_send send = {.message = message, .options = &options};
    if (m->is_server) {
        (void)cf_lab_prompt_parent(m->lab, &send);
    }
    CF_THEN(st, cf_diff_model_conv(m, 0, &conv, err));
    for (int i = 0; st == CF_OK && i < 2; i++) {
        st = cf_diff_pair_one(&m->pair, i, conv, &send, &m->render, &m->arena, err);
    }
    cf_conversation_free(conv);
    json_decref(message);
    json_decref(vars);
    return st;
}

/* The server's prompt as it was shown, copied. */
static cf_status take_theirs(cf_diff_model *m, cf_prompt *out, cf_error *err)
{
    const cf_prompt_model *shown = cf_lab_prompt(m->lab);
    if (shown == NULL) {
        return cf_fail(err, CF_ENOTFOUND,
                       "the server's prompt is not known: r in the Prompt view "
                       "asks for it");
    }
    const cf_prompt *p = &shown->prompt;
    cf_prompt_span *spans = cf_arena_calloc(&m->arena, p->n_spans + 1, sizeof *spans);
    const char *text = cf_arena_strndup(&m->arena, p->text.p, p->text.n);
    if (spans == NULL || text == NULL) {
        return cf_oom_for(err, "the prompt");
    }
    memcpy(spans, p->spans, p->n_spans * sizeof *spans);
    *out = *p;
    out->text = cf_str_make(text, p->text.n);
    out->spans = spans;
    return CF_OK;
}

/* Ours and the server's, of what would be sent now. */
static cf_status render_beside(cf_diff_model *m, cf_error *err)
{
    cf_str own = cf_lab_engine_of(m->lab)->template_source;
    int theirs = m->is_swapped ? 1 : 0;
    close_pair(m);
    if (own.n == 0) {
        return cf_fail(err, CF_ENOTFOUND, "no template is in use here: :template NAME, or -t");
    }
    CF_TRY(cf_diff_pair_of(&m->pair, NULL, own, own, err));
    m->has_pair = true;
    CF_TRY(render_current(m, err));
    m->render.status[theirs] = CF_OK;
    return take_theirs(m, &m->render.prompt[theirs], err);
}

static cf_status render_saved(cf_diff_model *m, cf_error *err)
{
    json_t *vars = NULL;
    cf_status st = cf_diff_model_vars(m, &vars, err);
    const cf_turn_options options = {.extra_context = vars};
    const cf_send send = {.options = &options};
    for (int i = 0; st == CF_OK && i < 2; i++) {
        cf_conversation *conv = NULL;
        st = cf_diff_model_conv(m, i, &conv, err);
        CF_THEN(st, cf_diff_pair_one(&m->pair, i, conv, &send, &m->render, &m->arena, err));
        cf_conversation_free(conv);
    }
    json_decref(vars);
    return st;
}

static size_t same_start(const cf_diff_model *m)
{
    size_t n = 0;
    if (m->has_tokens) {
        const cf_token_list *a = &m->tokens[0], *b = &m->tokens[1];
        while (n < a->n && n < b->n && a->v[n].id == b->v[n].id) {
            n++;
        }
        return n;
    }
    cf_str a = m->render.prompt[0].text, b = m->render.prompt[1].text;
    while (n < a.n && n < b.n && a.p[n] == b.p[n]) {
        n++;
    }
    return n;
}

static cf_status compare(cf_diff_model *m, cf_error *err)
{
    const cf_prompt *a = &m->render.prompt[0], *b = &m->render.prompt[1];
    if (m->pair.tok != NULL) {
        for (int i = 0; i < 2; i++) {
            CF_TRY(
                cf_diff_pair_tokens(&m->pair, &m->render.prompt[i], &m->tokens[i], &m->arena, err));
        }
        m->has_tokens = true;
    }
    m->n_same = same_start(m);
    if (m->level == CF_DIFF_LEVEL_TOKENS) {
        if (!m->has_tokens) {
            return cf_fail(err, CF_EUNSUPPORTED,
                           "this engine shows no tokens; t changes the level");
        }
        return m->subject == CF_DIFF_MARKS
                   ? cf_diff_conversations(&m->diff, a, &m->tokens[0], b, &m->tokens[1], &m->arena,
                                           err)
                   : cf_diff_tokens(&m->diff, a, &m->tokens[0], b, &m->tokens[1], &m->arena, err);
    }
    if (m->subject == CF_DIFF_MARKS) {
        return cf_diff_conversations(&m->diff, a, NULL, b, NULL, &m->arena, err);
    }
    return cf_diff_prompts(&m->diff, a, b, &m->arena, err);
}

static cf_status fail_side(const cf_diff_model *m, int i, cf_error *err)
{
    return cf_fail(err, m->render.status[i], "%c, %.60s: %s", 'A' + i, cf_diff_model_name(m, i),
                   m->render.err[i].text);
}

static cf_status update(cf_diff_model *m, cf_error *err)
{
    if (m->name[0] == '\0' && m->subject != CF_DIFF_MARKS) {
        return cf_fail(err, CF_ENOTFOUND, "no template to compare with");
    }
    if (m->is_server && m->subject == CF_DIFF_CURRENT) {
        CF_TRY(render_beside(m, err));
        return m->render.status[m->is_swapped ? 0 : 1] == CF_OK
                   ? compare(m, err)
                   : fail_side(m, m->is_swapped ? 0 : 1, err);
    }
    CF_TRY(open_pair(m, err));
    if (m->level == CF_DIFF_LEVEL_SOURCE) {
        return cf_diff_texts(&m->diff, cf_diff_pair_source(&m->pair, 0),
                             cf_diff_pair_source(&m->pair, 1), &m->arena, err);
    }
    CF_TRY(m->subject == CF_DIFF_CURRENT ? render_current(m, err) : render_saved(m, err));
    for (int i = 0; i < 2; i++) {
        if (m->render.status[i] != CF_OK) {
            return fail_side(m, i, err);
        }
    }
    return compare(m, err);
}

void cf_diff_model_update(cf_diff_model *m)
{
    if (cf_lab_is_busy(m->lab) && m->subject == CF_DIFF_CURRENT && m->has_diff &&
        m->level != CF_DIFF_LEVEL_SOURCE) {
        return; /* shown as it was until the reply is complete */
    }
    m->generation = cf_lab_generation(m->lab);
    m->has_diff = m->has_tokens = false;
    m->n_same = 0;
    m->err = (cf_error){0};
    m->diff = (cf_diff){.n_rows = 0};
    memset(&m->render, 0, sizeof m->render);
    memset(m->title, 0, sizeof m->title);
    cf_arena_reset(&m->arena);
    m->has_diff = update(m, &m->err) == CF_OK;
}
