/*
 * influence_target.c - the parts of a reply that can be asked about: its calls
 * and their arguments.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/study/influence/influence.h"

typedef struct listing {
    cf_arena *arena;
    cf_influence_target *v;
    size_t n, cap;
} listing;

static cf_status add(listing *l, size_t call, cf_str path, size_t off, size_t len, cf_error *err)
{
    cf_buf name = CF_BUF_INIT;
    cf_buf_addf(&name, "%zu", call);
    cf_buf_adds(&name, path.n > 0 ? "." : "");
    cf_buf_add(&name, path.p, path.n);
    char *copy = name.failed ? NULL : cf_arena_strndup(l->arena, name.p, name.n);
    size_t n = name.n;
    cf_buf_deinit(&name);
    if (copy == NULL || !cf_grow(&l->v, &l->cap, l->n + 1, sizeof *l->v)) {
        return cf_oom_for(err, "the arguments");
    }
    l->v[l->n++] = (cf_influence_target){cf_str_make(copy, n), off, off + len};
    return CF_OK;
}

static cf_status add_calls(listing *l, const cf_tool_parse *parse, cf_error *err)
{
    for (size_t i = 0; i < parse->n_calls; i++) {
        const cf_tool_call *c = &parse->calls[i];
        CF_TRY(add(l, i, cf_str_make("", 0), c->off, c->len, err));
        for (size_t k = 0; k < c->n_spans; k++) {
            cf_str path = c->spans[k].path;
            if (path.n > 0) {
                CF_TRY(add(l, i, path, c->spans[k].off, c->spans[k].len, err));
            }
        }
    }
    return CF_OK;
}

cf_status cf_influence_targets(const cf_study_case *c, cf_tool_family family, cf_arena *arena,
                               cf_influence_target **out, size_t *n, cf_error *err)
{
    listing l = {.arena = arena};
    cf_tool_set *tools = NULL;
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *parse = NULL;
    cf_status st = CF_OK;
    if (c->tools != NULL) {
        st = cf_tool_set_new(&tools, c->tools, err);
    }
    CF_THEN(st, cf_tool_parser_new(&parser, family, tools, NULL, NULL, err));
    CF_THEN(st, cf_tool_parser_feed(parser, c->reply.p, c->reply.n, err));
    CF_THEN(st, cf_tool_parser_finish(parser, &parse, err));
    CF_THEN(st, add_calls(&l, parse, err));
    cf_tool_parser_free(parser);
    cf_tool_set_free(tools);
    *n = 0;
    *out = cf_arena_calloc(arena, l.n + 1, sizeof **out);
    if (st == CF_OK && *out == NULL) {
        st = cf_oom_for(err, "the arguments");
    }
    if (st == CF_OK && l.n > 0) {
        memcpy(*out, l.v, l.n * sizeof *l.v);
        *n = l.n;
    }
    cf_free(l.v);
    return st;
}

cf_status cf_influence_argument(const cf_study_case *c, const cf_study_engine *engine,
                                const char *name, size_t *from, size_t *to, cf_error *err)
{
    cf_influence_target *v;
    size_t n, digits = strspn(name, "0123456789");
    if (digits == 0 || (name[digits] != '\0' && name[digits] != '.')) {
        return cf_fail(err, CF_EINVAL, "an argument is CALL or CALL.PATH, as in 0.city");
    }
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_status st = cf_influence_targets(c, engine->family, &arena, &v, &n, err);
    size_t i = 0;
    while (st == CF_OK && i < n && !cf_str_is(v[i].name, name)) {
        i++;
    }
    if (st == CF_OK && i < n) {
        *from = v[i].from;
        *to = v[i].to;
    } else if (st == CF_OK) {
        st = cf_fail(err, CF_ENOTFOUND, "no argument '%.60s' in the calls of the reply", name);
    }
    cf_arena_deinit(&arena);
    return st;
}
