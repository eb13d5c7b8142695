/*
 * renderer_plain.c - renders without a template: "role: text" on each line, and
 * "assistant:" where the reply comes.
 */
#include <string.h>

#include "core/api/renderer.h"
#include "core/base/buf.h"

typedef struct plain {
    cf_buf text;
    cf_prompt_span *spans;
    size_t n, cap;
    cf_arena *arena;
} plain;

static void add(plain *p, cf_str s, cf_span_source source, size_t index, const char *path)
{
    if (s.n == 0) {
        return;
    }
    if (p->n == p->cap) {
        size_t cap = p->cap == 0 ? 16 : p->cap * 2;
        cf_prompt_span *v = cf_arena_alloc(p->arena, cap * sizeof *v);
        if (v == NULL) {
            return; /* the arena remembers */
        }
        if (p->n > 0) {
            memcpy(v, p->spans, p->n * sizeof *v);
        }
        p->spans = v;
        p->cap = cap;
    }
    p->spans[p->n++] = (cf_prompt_span){
        .off = (uint32_t)p->text.n,
        .len = (uint32_t)s.n,
        .source = source,
        .index = (uint32_t)index,
        .is_copy = source == CF_SPAN_MESSAGE,
        .line = 1,
        .col = 1,
        .path = cf_str_from(path),
    };
    cf_buf_add(&p->text, s.p, s.n);
}

static void add_literal(plain *p, const char *text)
{
    add(p, cf_str_from(text), CF_SPAN_TEMPLATE, 0, "");
}

/* A string, or the text parts of a list. */
static void add_content(plain *p, const json_t *content, size_t index)
{
    if (json_is_string(content)) {
        add(p, cf_str_make(json_string_value(content), json_string_length(content)),
            CF_SPAN_MESSAGE, index, ".content");
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        add(p, cf_json_get_str(json_array_get(content, i), "text"), CF_SPAN_MESSAGE, index,
            ".content[].text");
    }
}

static cf_status render(const void *ud, const json_t *context, cf_arena *arena, cf_prompt *out,
                        cf_error *err)
{
    (void)ud;
    plain p = {.arena = arena};
    const json_t *messages = json_object_get(context, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *m = json_array_get(messages, i);
        cf_str role = cf_json_get_str(m, "role");
        add(&p, role.n > 0 ? role : cf_str_from("user"),
            role.n > 0 ? CF_SPAN_MESSAGE : CF_SPAN_TEMPLATE, i, role.n > 0 ? ".role" : "");
        add_literal(&p, ": ");
        add_content(&p, json_object_get(m, "content"), i);
        add_literal(&p, "\n");
    }
    if (json_is_true(json_object_get(context, "add_generation_prompt"))) {
        add_literal(&p, "assistant:");
    }
    cf_status st = CF_OK;
    char *text = NULL;
    if (p.text.n > UINT32_MAX) {
        st = cf_fail(err, CF_ELIMIT, "a prompt of 4 GiB or more");
    } else {
        text = cf_arena_strndup(arena, cf_buf_cstr(&p.text), p.text.n);
        if (text == NULL || p.text.failed || arena->failed) {
            st = cf_oom_for(err, "the prompt");
        }
    }
    if (st == CF_OK) {
        *out = (cf_prompt){.text = cf_str_make(text, p.text.n), .spans = p.spans, .n_spans = p.n};
    }
    cf_buf_deinit(&p.text);
    return st;
}

cf_prompt_renderer cf_renderer_plain(void)
{
    return (cf_prompt_renderer){.render = render};
}

const char *cf_cause_kind_name(cf_cause_kind kind)
{
    static const char *const names[] = {[CF_CAUSE_IF] = "if",
                                        [CF_CAUSE_CHOICE] = "choice",
                                        [CF_CAUSE_FILTER] = "filter",
                                        [CF_CAUSE_ROUND] = "round"};
    return names[kind];
}

void cf_prompt_cause_text(cf_buf *out, const cf_prompt_cause *cause)
{
    bool is_round = cause->kind == CF_CAUSE_ROUND;
    if (is_round && cause->is_true) {
        cf_buf_addf(out, "for item %u of `", (unsigned)cause->round);
    } else {
        cf_buf_adds(out, "because `");
    }
    cf_buf_add(out, cause->test.p, cause->test.n);
    cf_buf_addf(out, "`%s (line %u)",
                is_round         ? cause->is_true ? "" : " has no further item"
                : cause->is_true ? " is true"
                                 : " is false",
                (unsigned)cause->line);
}

const char *cf_span_source_name(cf_span_source source)
{
    switch (source) {
    case CF_SPAN_TEMPLATE:
        return "template";
    case CF_SPAN_MESSAGE:
        return "message";
    case CF_SPAN_TOOL:
        return "tool";
    case CF_SPAN_VARIABLE:
        return "variable";
    case CF_SPAN_COMPUTED:
        break;
    }
    return "computed";
}
