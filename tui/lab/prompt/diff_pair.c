/*
 * diff_pair.c - reading two templates and rendering with both.
 */
#include "tui/lab/prompt/diff_pair.h"

#include <string.h>

#include "templates/chat_template.h"
#include "templates/open.h"
#include "tui/lab/prompt/context_text.h"
#include "tui/lab/prompt/server_prompt.h"

/* ---- opening ------------------------------------------------------------ */

/* With media as blocks; a template without a place for them writes what it
 * does. */
static cf_status render_media(const cf_diff_half *half, const cf_prompt_renderer *r,
                              const json_t *context, cf_arena *arena, cf_prompt *out, cf_error *err)
{
    cf_error ignored;
    if (half->media != NULL) {
        cf_status st = cf_prompt_render_media(out, half->media, r, context, arena, &ignored);
        if (st == CF_OK) {
            return st;
        }
    }
    return r->render(r->ud, context, arena, out, err);
}

/* A context gets the model's special tokens. */
static cf_status render_with(const cf_diff_half *half, const cf_prompt_renderer *r,
                             const json_t *context, cf_arena *arena, cf_prompt *out, cf_error *err)
{
    if (half->tok == NULL && json_object_size(half->tokens) == 0) {
        return render_media(half, r, context, arena, out, err);
    }
    json_t *own = cf_json_deep_copy(context);
    bool ok =
        own != NULL && (half->tokens == NULL || json_object_update_missing(own, half->tokens) == 0);
    cf_status st = ok ? CF_OK : cf_oom(err);
    if (st == CF_OK && half->tok != NULL) {
        st = cf_prompt_add_special(own, half->tok, err);
    }
    CF_THEN(st, render_media(half, r, own, arena, out, err));
    json_decref(own);
    return st;
}

/* The template for a context with or without tools. */
static const cf_template *template_for(const cf_diff_half *half, bool has_tools)
{
    return has_tools && half->for_tools != NULL ? half->for_tools : half->tpl;
}

static bool has_tools(const json_t *context)
{
    return json_array_size(json_object_get(context, "tools")) != 0;
}

static cf_status render_half(const void *ud, const json_t *context, cf_arena *arena, cf_prompt *out,
                             cf_error *err)
{
    const cf_diff_half *half = ud;
    const cf_template *tpl = template_for(half, has_tools(context));
    const cf_prompt_renderer r = tpl != NULL ? cf_renderer_template(tpl) : cf_renderer_plain();
    return render_with(half, &r, context, arena, out, err);
}

static cf_status render_half_as_is(const void *ud, const json_t *context, cf_arena *arena,
                                   cf_prompt *out, cf_error *err)
{
    const cf_diff_half *half = ud;
    const cf_template *tpl = template_for(half, has_tools(context));
    const cf_prompt_renderer r =
        tpl != NULL ? cf_renderer_template_as_is(tpl) : cf_renderer_plain();
    return render_with(half, &r, context, arena, out, err);
}

/* Makes what renders of the source that was read. */
static cf_status finish_half(cf_diff_half *half, const cf_tokenizer *tok, bool is_plain,
                             cf_error *err)
{
    cf_str source = cf_buf_str(&half->source);
    if (!is_plain) {
        CF_TRY(cf_template_compile(&half->tpl, source, NULL, NULL, NULL, err));
    }
    half->tok = tok;
    cf_role_map_init(&half->roles, source);
    /* A backend that only renders is a script without a story. */
    json_t *script = json_pack("{s:[{s:s}]}", "replies", "text", "");
    if (script == NULL) {
        return cf_oom(err);
    }
    const cf_script_options o = {.renderer = {render_half, half, render_half_as_is}};
    cf_status st = cf_backend_script_new(&half->backend, script, &o, err);
    json_decref(script);
    return st;
}

/* A half that is what the server of -m makes itself. */
static cf_status open_server(cf_diff_half *half, const cf_open_options *o, cf_error *err)
{
    const cf_remote_options remote = {.key = o->key, .model = o->server_model};
    half->is_server = true;
    cf_role_map_init(&half->roles, cf_str_make("", 0));
    return cf_backend_remote_new(&half->backend, o->model, &remote, err);
}

static cf_status open_half(cf_diff_half *half, const cf_diff_pair *pair, const cf_open_options *o,
                           const char *name, cf_error *err)
{
    if (strcmp(name, "model") == 0 && cf_server_is_address(o->model)) {
        return open_server(half, o, err);
    }
    if (strcmp(name, "model") == 0) {
        if (pair->engine == NULL) {
            return cf_fail(err, CF_EINVAL, "\"model\" needs a model (-m)");
        }
        cf_str own = cf_engine_chat_template(pair->engine, NULL);
        cf_str tools = cf_engine_chat_template(pair->engine, "tool_use");
        if (tools.p != NULL) {
            CF_TRY(cf_template_compile(&half->for_tools, tools, NULL, NULL, NULL, err));
        }
        own = own.p != NULL ? own : tools;
        if (own.p == NULL) {
            return cf_fail(err, CF_ENOTFOUND, "the model has no template");
        }
        cf_buf_add(&half->source, own.p, own.n);
        CF_TRY(cf_buf_check(&half->source, err));
    } else {
        CF_TRY(cf_open_template_text(&half->source, name, err));
        CF_TRY(cf_open_template_tokens(&half->tokens, name, err));
    }
    cf_status st = finish_half(half, pair->tok, false, err);
    return st != CF_OK ? cf_fail_in(err, st, name) : st;
}

cf_status cf_diff_pair_open(cf_diff_pair *pair, const cf_open_options *o, bool has_weights,
                            const char *a, const char *b, cf_error *err)
{
    memset(pair, 0, sizeof *pair);
    if (o->model != NULL && !cf_server_is_address(o->model)) {
        CF_TRY(cf_open_engine(&pair->engine, o, !has_weights, err));
        pair->tok = cf_engine_tokenizer(pair->engine);
    }
    CF_TRY(open_half(&pair->half[0], pair, o, a, err));
    return open_half(&pair->half[1], pair, o, b, err);
}

cf_status cf_diff_pair_of(cf_diff_pair *pair, const cf_tokenizer *tok, cf_str a, cf_str b,
                          cf_error *err)
{
    const cf_str sources[2] = {a, b};
    memset(pair, 0, sizeof *pair);
    pair->tok = tok;
    for (int i = 0; i < 2; i++) {
        cf_diff_half *half = &pair->half[i];
        cf_buf_add(&half->source, sources[i].p, sources[i].n);
        CF_TRY(cf_buf_check(&half->source, err));
        CF_TRY(finish_half(half, tok, sources[i].n == 0, err));
    }
    return CF_OK;
}

void cf_diff_pair_see(cf_diff_pair *pair, cf_media_cache *media)
{
    pair->half[0].media = pair->half[1].media = media;
}

void cf_diff_pair_close(cf_diff_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        cf_backend_free(pair->half[i].backend);
        cf_template_free(pair->half[i].tpl);
        cf_template_free(pair->half[i].for_tools);
        cf_buf_deinit(&pair->half[i].source);
        json_decref(pair->half[i].tokens);
    }
    cf_engine_close(pair->engine);
    memset(pair, 0, sizeof *pair);
}

cf_str cf_diff_pair_source(const cf_diff_pair *pair, int i)
{
    const cf_buf *source = &pair->half[i].source;
    return cf_buf_str(source);
}

/* ---- rendering ---------------------------------------------------------- */

static cf_status without_memory(const cf_diff_renders *r, cf_error *err)
{
    for (int i = 0; i < 2; i++) {
        if (r->status[i] == CF_ENOMEM) {
            return cf_fail(err, CF_ENOMEM, "%s", r->err[i].text);
        }
    }
    return CF_OK;
}

static bool has_blocks(const cf_prompt *p)
{
    for (size_t i = 0; i < p->n_spans; i++) {
        if (p->spans[i].media.n > 0) {
            return true;
        }
    }
    return false;
}

/* Renders a context that has pictures or sounds, as blocks.  False: it has
 * none, or the template no place for them. */
static bool see_context(const cf_diff_half *half, const cf_prompt_renderer *r, const json_t *values,
                        cf_arena *arena, cf_prompt *out)
{
    cf_error ignored;
    return half->media != NULL && values != NULL &&
           cf_prompt_render_media(out, half->media, r, values, arena, &ignored) == CF_OK &&
           has_blocks(out);
}

/* A context as both readers have it. */
typedef struct contexts {
    cf_str text;
    cf_context *exact; /* numbers of any size, and what JSON of messages has not */
    json_t *values;    /* NULL: plain JSON cannot hold it */
} contexts;

static cf_status render_context(const cf_diff_pair *pair, const cf_diff_half *half,
                                const contexts *c, cf_arena *arena, cf_prompt *out, cf_error *err)
{
    if (half->is_server) {
        return cf_server_prompt(half->backend, c->text, NULL, arena, out, NULL, err);
    }
    const cf_template *tpl = template_for(half, cf_context_text_has(c->text, "tools"));
    const cf_prompt_renderer shaped = cf_renderer_template(tpl);
    const cf_prompt_renderer plain = cf_renderer_template_as_is(tpl);
    const cf_prompt_renderer *r = pair->as_is || c->values == NULL ? &plain : &shaped;
    if (see_context(half, r, c->values, arena, out)) {
        return CF_OK;
    }
    if (r == &shaped) {
        return r->render(r->ud, c->values, arena, out, err);
    }
    cf_render render;
    CF_TRY(cf_template_render(tpl, c->exact, NULL, arena, &render, err));
    *out = render.prompt;
    return CF_OK;
}

/* Reads the context with the special tokens of a side, and renders it. */
static cf_status render_one(const cf_diff_pair *pair, int i, cf_str context, cf_diff_renders *out,
                            cf_arena *arena, cf_error *err)
{
    const cf_diff_half *half = &pair->half[i];
    contexts c = {.text = context};
    cf_buf full = CF_BUF_INIT;
    cf_error ignored;
    cf_status st = cf_context_text_special(&full, context, half->tokens, pair->tok, err);
    CF_THEN(st, cf_context_read(&c.exact, cf_buf_str(&full), arena, err));
    if (st == CF_OK && cf_json_read(&c.values, cf_buf_cstr(&full), full.n, &ignored) == CF_ENOMEM) {
        st = cf_oom(err);
    }
    if (st == CF_OK) {
        out->status[i] = render_context(pair, half, &c, arena, &out->prompt[i], &out->err[i]);
    }
    json_decref(c.values);
    cf_buf_deinit(&full);
    return st;
}

cf_status cf_diff_pair_context(const cf_diff_pair *pair, cf_str context, cf_diff_renders *out,
                               cf_arena *arena, cf_error *err)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 2; i++) {
        CF_TRY(render_one(pair, i, context, out, arena, err));
    }
    return without_memory(out, err);
}

static cf_turn_options options_of(const cf_diff_pair *pair, const cf_send *send)
{
    cf_turn_options o = {.extra_context = NULL};
    if (send != NULL && send->options != NULL) {
        o = *send->options;
    }
    o.chat.as_is = o.chat.as_is || pair->as_is;
    return o;
}

cf_status cf_diff_pair_saved(const cf_diff_pair *pair, cf_conversation *conv, cf_diff_renders *out,
                             cf_arena *arena, cf_error *err)
{
    const cf_turn_options options = options_of(pair, NULL);
    const cf_send send = {.options = &options};
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 2; i++) {
        cf_conversation_set_roles(conv, &pair->half[i].roles);
        out->status[i] = cf_conversation_preview(conv, pair->half[i].backend, &send, arena,
                                                 &out->prompt[i], NULL, &out->err[i]);
    }
    return without_memory(out, err);
}

cf_status cf_diff_pair_one(const cf_diff_pair *pair, int i, cf_conversation *conv,
                           const cf_send *send, cf_diff_renders *out, cf_arena *arena,
                           cf_error *err)
{
    const cf_turn_options options = options_of(pair, send);
    cf_send what = {.message = NULL};
    if (send != NULL) {
        what = *send;
    }
    what.options = &options;
    cf_conversation_set_roles(conv, &pair->half[i].roles);
    out->status[i] = cf_conversation_preview(conv, pair->half[i].backend, &what, arena,
                                             &out->prompt[i], NULL, &out->err[i]);
    return out->status[i] == CF_ENOMEM ? cf_fail(err, CF_ENOMEM, "%s", out->err[i].text) : CF_OK;
}

/* The tokens of a block's words as one, whose id differs where the words do. */
static cf_token_span block_token(const cf_prompt *p, const cf_prompt_span *s)
{
    uint64_t key = 14695981039346656037U; /* FNV-1a */
    for (uint32_t i = 0; i < s->len; i++) {
        key = (key ^ (unsigned char)p->text.p[s->off + i]) * 1099511628211U;
    }
    return (cf_token_span){cf_token_of_row(key), s->off, s->len};
}

static void fold_blocks(cf_token_list *list, const cf_prompt *p, cf_token_span *out)
{
    size_t n = 0;
    const cf_prompt_span *in = NULL;
    for (size_t i = 0; i < list->n; i++) {
        const cf_prompt_span *s = cf_prompt_span_at(p, list->v[i].off);
        if (s == NULL || s->media.n == 0) {
            out[n++] = list->v[i];
        } else if (s != in) {
            out[n++] = block_token(p, s);
        }
        in = s;
    }
    *list = (cf_token_list){out, n};
}

cf_status cf_diff_pair_tokens(const cf_diff_pair *pair, const cf_prompt *prompt, cf_token_list *out,
                              cf_arena *arena, cf_error *err)
{
    CF_TRY(cf_prompt_tokenise(out, prompt, cf_str_make(NULL, 0), pair->tok, arena, err));
    if (pair->half[0].media != NULL) {
        cf_token_span *v = cf_arena_calloc(arena, out->n + 1, sizeof *v);
        if (v == NULL) {
            return cf_oom_for(err, "the prompt's tokens");
        }
        fold_blocks(out, prompt, v);
    }
    return CF_OK;
}

cf_status cf_diff_pair_by_tokens(const cf_diff_pair *pair, cf_diff *out, const cf_diff_renders *r,
                                 cf_arena *arena, cf_error *err)
{
    cf_token_list a, b;
    CF_TRY(cf_diff_pair_tokens(pair, &r->prompt[0], &a, arena, err));
    CF_TRY(cf_diff_pair_tokens(pair, &r->prompt[1], &b, arena, err));
    return cf_diff_tokens(out, &r->prompt[0], &a, &r->prompt[1], &b, arena, err);
}

bool cf_diff_renders_fail_alike(const cf_diff_renders *r)
{
    return r->status[0] != CF_OK && r->status[1] != CF_OK &&
           strcmp(r->err[0].text, r->err[1].text) == 0;
}
