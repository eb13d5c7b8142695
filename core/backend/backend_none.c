/*
 * backend_none.c - works without a model: prompts are rendered, saved
 * conversations can be read, and a send fails with a hint at the options that
 * open one.
 */
#include "core/backend/backend_impl.h"
#include "core/base/alloc.h"

typedef struct none {
    cf_backend base;
    cf_prompt_renderer renderer;
    const cf_tokenizer *tok; /* NULL: no vocabulary */
} none;

static cf_backend_info get_info(const cf_backend *b)
{
    (void)b;
    return (cf_backend_info){
        .kind = "none",
        .name = cf_str_from("no model"),
        .shows_prompt = true,
        .cannot = "no model: start with -m FILE.gguf or an address",
    };
}

static void free_none(cf_backend *b)
{
    cf_free(b);
}

static cf_status stream(cf_backend *b, cf_chat__run *run, cf_error *err)
{
    (void)b;
    cf_fail(err, CF_ENOTFOUND,
            "there is no model to answer: start with -m FILE.gguf, "
            "-m http://SERVER or -m script:FILE");
    return cf_chat__fault(run, CF_FAULT_MODEL_NOT_FOUND, CF_ENOTFOUND);
}

static cf_status render(cf_backend *b, const cf_chat_request *request, cf_arena *arena,
                        cf_prompt *out, cf_error *err)
{
    const none *n = (const none *)b;
    json_t *context = cf_chat__context(request);
    if (context == NULL) {
        return cf_oom_for(err, "the context");
    }
    cf_status st = n->tok != NULL ? cf_prompt_add_special(context, n->tok, err) : CF_OK;
    CF_THEN(st, cf_chat__render(&n->renderer, request, context, arena, out, err));
    json_decref(context);
    return st;
}

static cf_status clone(cf_backend **out, const cf_backend *b, cf_error *err)
{
    return cf_backend_none_new(out, ((const none *)b)->renderer, ((const none *)b)->tok, err);
}

static const cf_backend__ops none_ops = {
    .info = get_info,
    .free = free_none,
    .stream = stream,
    .render = render,
    .clone = clone,
};

cf_status cf_backend_none_new(cf_backend **out, cf_prompt_renderer renderer,
                              const cf_tokenizer *tok, cf_error *err)
{
    none *n = cf_calloc(1, sizeof *n);
    if (n == NULL) {
        return cf_oom(err);
    }
    n->base.ops = &none_ops;
    n->renderer = renderer.render != NULL ? renderer : cf_renderer_plain();
    n->tok = tok;
    *out = &n->base;
    return CF_OK;
}
