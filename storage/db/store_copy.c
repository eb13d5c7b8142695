/*
 * store_copy.c - deep copies of the inputs of kept writes.
 */
#include <string.h>

#include "storage/db/store_int.h"

cf_str cf_copy__str(cf_arena *a, cf_str s)
{
    if (s.p == NULL) {
        return s;
    }
    const char *p = cf_arena_strndup(a, s.p, s.n);
    return cf_str_make(p, p != NULL ? s.n : 0);
}

static void *copy_array(cf_arena *a, const void *v, size_t n, size_t size)
{
    if (n == 0) {
        return NULL;
    }
    void *p = cf_arena_calloc(a, n, size);
    if (p != NULL) {
        memcpy(p, v, n * size);
    }
    return p;
}

static cf_str *copy_strs(cf_arena *a, const cf_str *v, size_t n)
{
    cf_str *out = copy_array(a, v, n, sizeof *v);
    for (size_t i = 0; out != NULL && i < n; i++) {
        out[i] = cf_copy__str(a, v[i]);
    }
    return out;
}

cf_store_run *cf_copy__run(cf_arena *a, const cf_store_run *run)
{
    if (run == NULL) {
        return NULL;
    }
    cf_store_run *r = copy_array(a, run, 1, sizeof *run);
    if (r == NULL) {
        return NULL;
    }
    cf_str *const texts[] = {
        &r->engine,      &r->model,       &r->model_hash,      &r->template_hash,
        &r->vars,        &r->options,     &r->constraint_spec, &r->isa,
        &r->prompt_hash, &r->stop_reason, &r->error,           &r->raw,
        &r->trace};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i] = cf_copy__str(a, *texts[i]);
    }
    r->tools = copy_strs(a, run->tools, run->n_tools);
    r->prompt_ids = copy_array(a, run->prompt_ids, run->n_prompt_ids, sizeof *run->prompt_ids);
    r->reply_ids = copy_array(a, run->reply_ids, run->n_reply_ids, sizeof *run->reply_ids);
    r->chunks = copy_array(a, run->chunks, run->n_chunks, sizeof *run->chunks);
    r->token_us = copy_array(a, run->token_us, run->n_token_us, sizeof *run->token_us);
    return r;
}

cf_store_call *cf_copy__calls(cf_arena *a, const cf_store_call *v, size_t n)
{
    cf_store_call *out = copy_array(a, v, n, sizeof *v);
    for (size_t i = 0; out != NULL && i < n; i++) {
        cf_store_call *c = &out[i];
        cf_str *const texts[] = {&c->call_id,  &c->name,        &c->arguments, &c->status,
                                 &c->findings, &c->parse_error, &c->state,     &c->result};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            *texts[k] = cf_copy__str(a, *texts[k]);
        }
    }
    return out;
}

cf_store_turn *cf_copy__turn(cf_arena *a, const cf_store_turn *turn)
{
    cf_store_turn *t = copy_array(a, turn, 1, sizeof *turn);
    if (t == NULL) {
        return NULL;
    }
    t->message = cf_copy__str(a, turn->message);
    t->note = cf_copy__str(a, turn->note);
    t->source = cf_copy__str(a, turn->source);
    t->forced_ids = copy_array(a, turn->forced_ids, turn->n_forced, sizeof *turn->forced_ids);
    t->run = cf_copy__run(a, turn->run);
    t->calls = cf_copy__calls(a, turn->calls, turn->n_calls);
    return t;
}

cf_store_conv *cf_copy__conv(cf_arena *a, const cf_store_conv *conv)
{
    cf_store_conv *c = copy_array(a, conv, 1, sizeof *conv);
    if (c == NULL) {
        return NULL;
    }
    c->title = cf_copy__str(a, conv->title);
    c->preface = cf_copy__str(a, conv->preface);
    c->source = cf_copy__str(a, conv->source);
    c->tags = copy_strs(a, conv->tags, conv->n_tags);
    return c;
}
