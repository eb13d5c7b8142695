/*
 * tool_validate.c - checks a call against its declaration.
 *
 * Everything is reported, in this order: the function's name; names of
 * arguments; required arguments that are missing; then type and value of
 * each argument, going inside objects and arrays.  What a schema means is
 * known to core/schema alone, which constraints are made from too.
 */
#include "core/schema/validate.h"

#include <string.h>

#include "core/tools/tool_rules.h"

void cf_tool__finding_add(cf_tool__findings *f, const cf_tool_finding *finding)
{
    if (f->n == f->cap) {
        size_t cap = f->cap == 0 ? 8 : f->cap * 2;
        cf_tool_finding *v = cf_arena_alloc(f->arena, cap * sizeof *v);
        if (v == NULL) {
            return; /* the arena remembers */
        }
        if (f->n > 0) {
            memcpy(v, f->v, f->n * sizeof *v);
        }
        f->v = v;
        f->cap = cap;
    }
    f->v[f->n++] = *finding;
}

/* One call being checked. */
typedef struct check {
    const cf_tool_call *call;
    size_t index;
    cf_tool__findings *out;
} check;

static cf_str copy(cf_arena *arena, cf_str text)
{
    char *p = cf_arena_strndup(arena, text.n > 0 ? text.p : "", text.n);
    return cf_str_make(p, p != NULL ? text.n : 0);
}

/* At the bytes of the value that `path` names, else at the whole call. */
static void add(const check *c, cf_tool_status status, cf_str path, cf_str text)
{
    cf_tool_finding f = {.status = status,
                         .call = c->index,
                         .off = c->call->off,
                         .len = c->call->len,
                         .path = copy(c->out->arena, path),
                         .text = copy(c->out->arena, text)};
    for (size_t i = 0; i < c->call->n_spans; i++) {
        if (cf_str_eq(c->call->spans[i].path, path)) {
            f.off = c->call->spans[i].off;
            f.len = c->call->spans[i].len;
            break;
        }
    }
    if (f.path.p != NULL && f.text.p != NULL) {
        cf_tool__finding_add(c->out, &f);
    }
}

static void on_flaw(void *ud, const cf_flaw *flaw)
{
    static const cf_tool_status statuses[] = {[CF_FLAW_NAME] = CF_TOOL_INVALID_PARAMETER_NAME,
                                              [CF_FLAW_MISSING] =
                                                  CF_TOOL_MISSING_REQUIRED_PARAMETER,
                                              [CF_FLAW_TYPE] = CF_TOOL_INVALID_PARAMETER_TYPE,
                                              [CF_FLAW_VALUE] = CF_TOOL_INVALID_PARAMETER_VALUE};
    /* Models know the properties of the arguments as parameters. */
    cf_str text = flaw->kind == CF_FLAW_NAME      ? cf_str_from("no parameter has this name")
                  : flaw->kind == CF_FLAW_MISSING ? cf_str_from("this parameter is required")
                                                  : flaw->text;
    add(ud, statuses[flaw->kind], flaw->path, text);
}

/* A schema that cannot be read adds no further findings. */
static void check_arguments(check *c, const cf_tool *tool)
{
    const cf_validate_options options = {.is_tool = true, .null_is_absent = true};
    cf_error ignored;
    cf_validator *v = NULL;
    json_t *schema = cf_tool__closed(tool->parameters, true);
    bool is_valid;
    cf_status st = schema != NULL ? cf_validator_new(&v, schema, &options, &ignored) : CF_ENOMEM;
    CF_THEN(st, cf_validator_run(v, c->call->json, on_flaw, c, &is_valid, &ignored));
    if (st == CF_ENOMEM) {
        c->out->arena->failed = true;
    }
    cf_validator_free(v);
    json_decref(schema);
}

void cf_tool__validate(const cf_tool_call *call, size_t index, const cf_tool_set *tools,
                       cf_tool__findings *out)
{
    check c = {.call = call, .index = index, .out = out};
    const cf_tool *tool = cf_tool_set_find(tools, call->name);
    if (tool != NULL) {
        check_arguments(&c, tool);
        return;
    }
    size_t before = out->n;
    add(&c, CF_TOOL_INVALID_FUNCTION_NAME, cf_str_make("", 0),
        cf_str_from("no tool has this name"));
    if (out->n > before) {
        out->v[before].off = call->name_off;
        out->v[before].len = call->name_len;
    }
}
