/*
 * cli_recorded.c - adapters and arithmetic out of the history as options.
 */
#include "tui/cli/shell/cli_recorded.h"

#include "tui/lab/prompt/server_prompt.h"
#include "tui/lab/reply/recorded.h"
#include "tui/study/ask/asker.h"
#include "tui/study/ask/study_case.h"

const char **cf_cli_adapter_names(const json_t *stored, cf_arena *arena)
{
    size_t n = json_array_size(stored);
    const char **v = cf_arena_calloc(arena, n + 1, sizeof *v);
    for (size_t i = 0; v != NULL && i < n; i++) {
        const json_t *one = json_array_get(stored, i);
        cf_str path = cf_json_get_str(one, "path");
        cf_buf name = CF_BUF_INIT;
        cf_buf_add(&name, path.p, path.n);
        json_int_t last = json_integer_value(json_object_get(one, "last"));
        cf_buf_addf(&name, "=%.9g", json_number_value(json_object_get(one, "scale")));
        if (last != 0) {
            cf_buf_addf(&name, ":%lld-%lld",
                        (long long)json_integer_value(json_object_get(one, "first")),
                        (long long)last);
        }
        v[i] = cf_arena_strndup(arena, cf_buf_cstr(&name), name.n);
        v = name.failed || v[i] == NULL ? NULL : v;
        cf_buf_deinit(&name);
    }
    return v;
}

cf_status cf_cli_take_steering(cf_open_options *o, cf_str stored, cf_arena *arena, cf_error *err)
{
    json_t *list = NULL;
    if (stored.n == 0 || o->n_steer != 0) {
        return CF_OK;
    }
    CF_TRY(cf_json_read(&list, stored.p, stored.n, err));
    o->steer = cf_cli_adapter_names(list, arena);
    o->n_steer = json_array_size(list);
    json_decref(list);
    return o->steer != NULL ? CF_OK : cf_oom_for(err, "the steering");
}

/* Adds what the run says of its template, adapters, steering, weights and cache. */
static cf_status take_run(cf_open_options *o, const cf_recorded *was, cf_arena *arena,
                          cf_error *err)
{
    const cf_run_options *options = &was->options;
    json_t *stored = NULL;
    o->template_text = was->template_source;
    if (o->load_as == NULL && options->load_as.n != 0) {
        o->load_as = options->load_as.p;
    }
    o->cache = o->cache != CF_CACHE_DEFAULT ? o->cache : options->cache;
    CF_TRY(cf_cli_take_steering(o, options->steering, arena, err));
    if (options->adapters.n == 0 || o->n_lora != 0) {
        return CF_OK;
    }
    CF_TRY(cf_json_read(&stored, options->adapters.p, options->adapters.n, err));
    o->lora = cf_cli_adapter_names(stored, arena);
    o->n_lora = json_array_size(stored);
    json_decref(stored);
    return o->lora != NULL ? CF_OK : cf_oom_for(err, "the adapters");
}

cf_status cf_cli_open_recorded(cf_opened *out, const cf_cli *cli, cf_store *store, const char *uuid,
                               const char *turn, const char *family, cf_arena *arena, cf_error *err)
{
    cf_open_options o = cli->open;
    cf_store_turn was = {.run = NULL};
    cf_error why = {0};
    const char *model = cf_open_model(&o);
    bool is_here = model == NULL || !cf_server_is_address(model);
    cf_status st = CF_ENOTFOUND;
    if (is_here && store != NULL && uuid != NULL) {
        st = cf_study_case_turn(&was, store, uuid, turn, arena, &why);
    }
    if (st == CF_OK && was.run != NULL) {
        if (was.run->isa.n != 0 && !cf_cli_has_arithmetic(cli)) {
            o.arithmetic = was.run->arithmetic;
        }
        cf_recorded recorded;
        CF_TRY(cf_recorded_read(&recorded, store, was.run, arena, err));
        st = take_run(&o, &recorded, arena, err);
        cf_recorded_deinit(&recorded);
        CF_TRY(st);
    }
    if (cf_open_is_plugin(model)) { /* of the recorded reply, it can keep none of these */
        o.arithmetic = cli->open.arithmetic;
        o.load_as = cli->open.load_as;
        o.lora = cli->open.lora;
        o.n_lora = cli->open.n_lora;
    }
    st = cf_open_backend(out, &o, family, err);
    if (st != CF_OK && st != CF_ENOMEM && o.n_lora > cli->open.n_lora) {
        cf_note("the reply was written with an adapter, and this model is "
                "asked without it: %s",
                err->text);
        o.lora = NULL;
        o.n_lora = 0;
        st = cf_open_backend(out, &o, family, err);
    }
    return st;
}

cf_status cf_cli_predicate(cf_predicate **out, const char *text, bool is_approved, cf_error *err)
{
    cf_predicate *p;
    CF_TRY(cf_predicate_read(&p, cf_str_from(text), err));
    if ((cf_predicate_needs(p) & CF_SEE_COMMAND) != 0 && !is_approved) {
        cf_predicate_free(p);
        return cf_fail(err, CF_EINVAL, "command: runs a program many times; --yes allows it");
    }
    *out = p;
    return CF_OK;
}

const char *cf_cli_wrong_repeat(uint32_t repeat, uint32_t at_least)
{
    return repeat > CF_ASKER_REPEATS_MAX          ? "--repeat: at most 1000"
           : at_least > (repeat > 0 ? repeat : 1) ? "--at-least: more than --repeat"
                                                  : NULL;
}
