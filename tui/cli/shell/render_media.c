/*
 * render_media.c - renders again with the parts as templates expect them, and
 * puts the expansions in.
 */
#include "tui/cli/shell/render_media.h"

#include "tui/lab/prompt/context_text.h"
#include "tui/sys/out.h"

#include "templates/chat_template.h"

enum { CACHE_BYTES = 64 << 20 };

cf_status cf_render_media_open(cf_render_media *out, const cf_engine *engine,
                               const cf_open_options *o, cf_error *err)
{
    CF_TRY(cf_open_media(&out->projector, engine, o, err));
    return out->projector != NULL
               ? cf_media_cache_new(&out->cache, out->projector, CACHE_BYTES, err)
               : CF_OK;
}

void cf_render_media_close(cf_render_media *m)
{
    cf_media_cache_free(m->cache);
    cf_media_close(m->projector);
    *m = (cf_render_media){.cache = NULL};
}

static cf_status render_open_end(const void *ud, const json_t *context, cf_arena *arena,
                                 cf_prompt *out, cf_error *err)
{
    const cf_render_options o = {.continue_final_message = true};
    cf_context *values;
    cf_render r = {0};
    CF_TRY(cf_context_from_json(&values, context, arena, err));
    CF_TRY(cf_template_render(ud, values, &o, arena, &r, err));
    *out = r.prompt;
    return CF_OK;
}

static cf_prompt_renderer renderer_of(const cf_render_media_how *how)
{
    if (how->continue_final) {
        return (cf_prompt_renderer){.render = render_open_end, .ud = how->tpl};
    }
    return how->is_shaped ? cf_renderer_template(how->tpl) : cf_renderer_template_as_is(how->tpl);
}

cf_status cf_render_media_see(cf_media_prompt *out, const cf_render_media *m,
                              const cf_render_media_how *how, cf_str context, cf_arena *arena,
                              cf_error *err)
{
    cf_buf full = CF_BUF_INIT;
    json_t *values = NULL;
    *out = (cf_media_prompt){.n = 0};
    if (m->cache == NULL) {
        return CF_OK;
    }
    cf_status st = cf_context_text_special(&full, context, NULL, how->tok, err);
    CF_THEN(st, cf_json_read(&values, cf_buf_cstr(&full), full.n, err));
    cf_buf_deinit(&full);
    if (st != CF_OK) {
        /* Plain JSON cannot hold every context that templates can. */
        return st == CF_ENOMEM ? st : CF_OK;
    }
    const cf_prompt_renderer r = renderer_of(how);
    st = cf_prompt_expand_media(out, m->cache, &r, values, how->tok, arena, err);
    json_decref(values);
    return st;
}

void cf_render_media_note(const cf_media_prompt *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const cf_prompt_medium *v = &p->v[i];
        cf_note("[media] message %u.content[%u]: %.*s: %zu tokens", (unsigned)v->message + 1,
                (unsigned)v->part, (int)v->words.n, v->words.p, v->n_token);
    }
}

void cf_render_media_json(cf_jw *w, const cf_media_prompt *p)
{
    if (p->n == 0) {
        return;
    }
    cf_jw_array(w, "media");
    for (size_t i = 0; i < p->n; i++) {
        const cf_prompt_medium *v = &p->v[i];
        cf_jw_object(w, NULL);
        cf_jw_text(w, "kind", v->is_sound ? "audio" : "image");
        cf_jw_uint(w, "message", v->message);
        cf_jw_uint(w, "part", v->part);
        cf_jw_text(w, "hash", v->hash);
        cf_jw_uint(w, "tokens", v->n_token);
        cf_jw_uint(w, "rows", v->n_row);
        cf_jw_str(w, "what", v->words);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}
