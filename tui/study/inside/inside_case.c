/*
 * inside_case.c - tokens, parts by position, and what is asked about.
 */
#include "tui/study/inside/inside_case.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "templates/prompt_part.h"

void cf_inside_case_init(cf_inside_case *c)
{
    *c = (cf_inside_case){.a = CF_TOKEN_NONE, .against = CF_TOKEN_NONE, .call_id = CF_TOKEN_NONE};
    cf_arena_init(&c->arena, 0);
    cf_study_case_init(&c->c);
}

void cf_inside_case_deinit(cf_inside_case *c)
{
    cf_study_case_deinit(&c->c);
    cf_arena_deinit(&c->arena);
    *c = (cf_inside_case){.ids = NULL};
}

void cf_inside_token_text(cf_buf *out, const cf_tokenizer *tok, cf_token id)
{
    cf_buf piece = CF_BUF_INIT;
    cf_tokenizer_piece(&piece, tok, id, true);
    cf_buf_addc(out, '\'');
    cf_safe_line(out, cf_buf_cstr(&piece), piece.n);
    cf_buf_addc(out, '\'');
    out->failed = out->failed || piece.failed;
    cf_buf_deinit(&piece);
}

/* ---- tools that could have been called ---------------------------------- */

/* The reply's text with another name at `off`, as tokens after nothing. */
static cf_status with_name(cf_inside_case *c, size_t off, size_t len, cf_str name,
                           cf_token_list *out, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_str reply = c->c.reply;
    cf_buf_add(&text, reply.p, off);
    cf_buf_add(&text, name.p, name.n);
    cf_buf_add(&text, reply.p + off + len, reply.n - off - len);
    char *copy = text.failed ? NULL : cf_arena_strndup(&c->arena, text.p, text.n);
    cf_str all = cf_str_make(copy, text.n);
    cf_buf_deinit(&text);
    return copy != NULL ? cf_tokenizer_encode(out, c->engine.tok, all, true, false, &c->arena, err)
                        : cf_oom_for(err, "the tools");
}

/* Fills `t` where the reply's own tokens lead to the place of the choice. */
static bool compare(const cf_inside_case *c, const cf_token_list *own, const cf_token_list *other,
                    cf_inside_tool *t)
{
    size_t k = 0;
    while (k < own->n && k < other->n && own->v[k].id == other->v[k].id) {
        k++;
    }
    if (k >= own->n || k >= other->n || c->n_prompt + k >= c->n || c->n_prompt + k == 0) {
        return false;
    }
    for (size_t i = 0; i <= k; i++) {
        if (c->ids[c->n_prompt + i] != own->v[i].id) {
            return false;
        }
    }
    t->at = (uint32_t)(c->n_prompt + k - 1);
    t->id = other->v[k].id;
    t->called_id = own->v[k].id;
    return true;
}

/* The first token of the called name that another call would not have: the place
 * of the tool that is called.  Without another one, that of byte `off`. */
static void place_called(cf_inside_case *c, size_t off)
{
    cf_inside_tool *called = NULL;
    uint32_t first = UINT32_MAX;
    for (size_t i = 0; i < c->n_tool; i++) {
        called = c->tool[i].is_called ? &c->tool[i] : called;
        if (!c->tool[i].is_called && c->tool[i].at < first) {
            first = c->tool[i].at;
        }
    }
    for (size_t i = 0; first == UINT32_MAX && c->n_prompt > 0 && i < c->n_reply; i++) {
        bool is_it = i + 1 == c->n_reply || c->reply[i + 1].off > off;
        first = is_it ? (uint32_t)(c->n_prompt + i - 1) : first;
    }
    if (called != NULL && first != UINT32_MAX) {
        called->at = c->at = first;
        called->id = called->called_id = c->ids[first + 1];
    }
}

static cf_status list_tools(cf_inside_case *c, cf_str called, size_t off, cf_error *err)
{
    size_t n = json_array_size(c->c.tools);
    cf_token_list own, other;
    CF_TRY(with_name(c, off, called.n, called, &own, err));
    c->tool = cf_arena_calloc(&c->arena, n + 1, sizeof *c->tool);
    if (c->tool == NULL) {
        return cf_oom_for(err, "the tools");
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *f = json_object_get(json_array_get(c->c.tools, i), "function");
        cf_inside_tool t = {.name = cf_json_get_str(f, "name"), .index = i};
        t.is_called = cf_str_eq(t.name, called);
        if (!t.is_called) {
            CF_TRY(with_name(c, off, called.n, t.name, &other, err));
        }
        t.name_id = CF_TOKEN_NONE;
        if (t.is_called || compare(c, &own, &other, &t)) {
            c->tool[c->n_tool++] = t;
        }
    }
    c->line = c->ids;
    c->n_line = c->n;
    place_called(c, off);
    return CF_OK;
}

/* The call of a tool without arguments as its family writes it; no token: it
 * cannot. */
static cf_status encode_call(cf_inside_case *c, size_t i, cf_str *name, cf_token_list *out,
                             cf_error *err)
{
    const json_t *f = json_object_get(json_array_get(c->c.tools, i), "function");
    const cf_tool_call call = {.name = cf_json_get_str(f, "name"), .arguments = cf_str_from("{}")};
    cf_buf text = CF_BUF_INIT;
    cf_status st = CF_OK;
    *name = call.name;
    out->n = 0;
    if (call.name.n > 0 && cf_tool_format_calls(&text, c->engine.family, &call, 1, NULL) == CF_OK) {
        char *copy = cf_arena_strndup(&c->arena, cf_buf_cstr(&text), text.n);
        st = copy != NULL ? cf_tokenizer_encode(out, c->engine.tok, cf_str_make(copy, text.n), true,
                                                false, &c->arena, err)
                          : cf_oom_for(err, "the tools");
    }
    cf_buf_deinit(&text);
    return st;
}

/* What all calls begin with goes after the prompt; each tool has the token
 * after that. */
static cf_status make_line(cf_inside_case *c, const cf_token_list *call, cf_error *err)
{
    size_t n = call[0].n - 1;
    for (size_t i = 1; i < c->n_tool; i++) {
        size_t k = 0;
        while (k < n && k + 1 < call[i].n && call[i].v[k].id == call[0].v[k].id) {
            k++;
        }
        n = k;
    }
    c->line = cf_arena_calloc(&c->arena, c->n_prompt + n + 1, sizeof *c->line);
    if (c->line == NULL) {
        return cf_oom_for(err, "the tools");
    }
    memcpy(c->line, c->ids, c->n_prompt * sizeof *c->line);
    for (size_t k = 0; k < n; k++) {
        c->line[c->n_prompt + k] = call[0].v[k].id;
    }
    c->n_line = c->n_prompt + n;
    for (size_t i = 0; i < c->n_tool; i++) {
        c->tool[i].name_id = n > 0 ? call[i].v[n].id : CF_TOKEN_NONE;
    }
    return CF_OK;
}

/* A reply without a call: every tool begins with the mark of a call, at the
 * place where the reply began otherwise. */
static cf_status list_uncalled(cf_inside_case *c, cf_error *err)
{
    size_t n = json_array_size(c->c.tools);
    if (n == 0 || c->n_prompt == 0 || c->n_prompt >= c->n) {
        return CF_OK;
    }
    cf_token_list *call = cf_arena_calloc(&c->arena, n, sizeof *call);
    c->tool = cf_arena_calloc(&c->arena, n, sizeof *c->tool);
    if (c->tool == NULL || call == NULL) {
        return cf_oom_for(err, "the tools");
    }
    for (size_t i = 0; i < n; i++) {
        cf_token_list *one = &call[c->n_tool];
        cf_str name;
        CF_TRY(encode_call(c, i, &name, one, err));
        if (one->n > 0 && one->v[0].id != c->ids[c->n_prompt]) {
            c->tool[c->n_tool++] = (cf_inside_tool){.name = name,
                                                    .index = i,
                                                    .at = (uint32_t)c->n_prompt - 1,
                                                    .id = one->v[0].id,
                                                    .called_id = c->ids[c->n_prompt]};
        }
    }
    return c->n_tool > 0 ? make_line(c, call, err) : CF_OK;
}

/* The name of the reply's first call, and the byte of the reply it is at.  A reply
 * that begins with the mark of a call is one, whether it can be read or not. */
static cf_status find_call(cf_inside_case *c, cf_error *err)
{
    cf_influence_target *v;
    size_t n;
    CF_TRY(cf_influence_targets(&c->c, c->engine.family, &c->arena, &v, &n, err));
    bool has_call = n > 0 || (c->n_reply > 0 && c->reply[0].id == c->call_id);
    size_t from = n > 0 ? v[0].from : 0, to = n > 0 ? v[0].to : c->c.reply.n;
    for (size_t i = 0; has_call && i < json_array_size(c->c.tools); i++) {
        const json_t *f = json_object_get(json_array_get(c->c.tools, i), "function");
        cf_str name = cf_json_get_str(f, "name");
        for (size_t off = from; name.n > 0 && off + name.n < to; off++) {
            char after = c->c.reply.p[off + name.n];
            bool is_whole =
                !(after == '_' || (after >= 'a' && after <= 'z') || (after >= '0' && after <= '9'));
            if (memcmp(c->c.reply.p + off, name.p, name.n) == 0 && is_whole) {
                return list_tools(c, name, off, err);
            }
        }
    }
    return has_call ? CF_OK : list_uncalled(c, err);
}

/* ---- making a case ------------------------------------------------------ */

static cf_status check_prompt(const cf_inside_case *c, cf_error *err)
{
    for (size_t i = 0; i < c->prompt.n_spans; i++) {
        if (c->prompt.spans[i].media.n > 0) {
            return cf_fail(err, CF_EUNSUPPORTED,
                           "looking into prompts with pictures or sounds is not supported");
        }
    }
    return CF_OK;
}

static cf_status check_length(const cf_inside_case *c, cf_error *err)
{
    size_t n_ctx = cf_session_n_ctx(c->session);
    if (c->n == 0) {
        return cf_fail(err, CF_EINVAL, "the prompt has no token");
    }
    return c->n <= n_ctx
               ? CF_OK
               : cf_fail(err, CF_ELIMIT, "%zu tokens, and the context has %zu", c->n, n_ctx);
}

cf_status cf_inside_case_ids(cf_inside_case *c, const cf_token *ids, size_t n, cf_error *err)
{
    c->ids = cf_arena_calloc(&c->arena, n + 1, sizeof *c->ids);
    if (c->ids == NULL) {
        return cf_oom_for(err, "the ids");
    }
    memcpy(c->ids, ids, n * sizeof *ids);
    c->n = c->n_prompt = n;
    CF_TRY(check_length(c, err));
    c->at = (uint32_t)n - 1;
    return CF_OK;
}

cf_status cf_inside_case_make(cf_inside_case *c, cf_error *err)
{
    const cf_part_context context = cf_study_context_of(&c->c);
    CF_TRY(cf_part_context_render(c->engine.backend, &context, NULL, &c->arena, &c->prompt, err));
    CF_TRY(check_prompt(c, err));
    CF_TRY(cf_study_reply_tokens(&c->c, &c->engine, &c->prompt, &c->tokens, &c->reply, &c->n_reply,
                                 &c->arena, err));
    c->n_prompt = c->tokens.n;
    c->n = c->n_prompt + c->n_reply;
    c->ids = cf_arena_calloc(&c->arena, c->n + 1, sizeof *c->ids);
    if (c->ids == NULL) {
        return cf_oom_for(err, "the ids");
    }
    for (size_t i = 0; i < c->n; i++) {
        c->ids[i] = i < c->n_prompt ? c->tokens.v[i].id : c->reply[i - c->n_prompt].id;
    }
    CF_TRY(check_length(c, err));
    c->at = (uint32_t)(c->n_prompt > 0 ? c->n_prompt - 1 : 0);
    if (json_array_size(c->c.tools) > 0) {
        cf_token_list call;
        cf_str name;
        CF_TRY(encode_call(c, 0, &name, &call, err));
        c->call_id = call.n > 0 ? call.v[0].id : CF_TOKEN_NONE;
    }
    return c->c.reply.n > 0 ? find_call(c, err) : CF_OK;
}

cf_status cf_inside_case_load(cf_inside_case *c, cf_store *store, const char *uuid,
                              const char *turn, cf_error *err)
{
    CF_TRY(cf_study_case_load(&c->c, store, &c->engine, uuid, turn, err));
    return cf_inside_case_make(c, err);
}

cf_status cf_inside_case_read(cf_inside_case *c, const char *path, cf_error *err)
{
    json_t *v = NULL;
    CF_TRY(cf_json_read_file(&v, path, err));
    json_t *messages = json_object_get(v, "messages"), *tools = json_object_get(v, "tools");
    if (!json_is_array(messages)) {
        json_decref(v);
        return cf_fail(err, CF_EFORMAT, "%s: not a context: it has no list of messages", path);
    }
    c->c.messages = json_incref(messages);
    c->c.tools = json_is_array(tools) ? json_incref(tools) : NULL;
    json_object_del(v, "messages");
    json_object_del(v, "tools");
    c->c.extra = v;
    c->c.reply = cf_str_make("", 0);
    return cf_inside_case_make(c, err);
}

/* ---- parts -------------------------------------------------------------- */

/* The positions as ranges. */
static bool make_ranges(cf_inside_case *c, cf_inside_part *p)
{
    p->range = cf_arena_calloc(&c->arena, p->n + 1, sizeof *p->range);
    for (size_t i = 0; p->range != NULL && i < p->n; i++) {
        if (p->n_range > 0 && p->range[p->n_range - 1].end == p->pos[i]) {
            p->range[p->n_range - 1].end++;
        } else {
            p->range[p->n_range++] = (cf_position_range){p->pos[i], p->pos[i] + 1};
        }
    }
    return p->range != NULL;
}

/* Where the prompt shows the text of a declaration's field: after its name. */
static cf_position_range field_of(const cf_inside_case *c, const cf_part *p)
{
    const cf_part whole = {.kind = CF_PART_TOOL, .index = p->index};
    const char *key = memchr(p->path.p, '.', p->path.n);
    size_t from = 0, to = 0, at = 0;
    for (size_t i = 0; i < c->tokens.n; i++) {
        const cf_token_span *t = &c->tokens.v[i];
        if (t->len > 0 && cf_parts_has_byte(&c->prompt, &whole, t->off)) {
            from = to == 0 ? t->off : from;
            to = t->off + t->len;
        }
    }
    cf_str in = cf_str_make(c->prompt.text.p + from, to - from);
    if (key != NULL && cf_str_find(in, cf_str_from(key + 1), &at)) {
        in = cf_str_make(in.p + at, in.n - at);
        from += at;
    }
    bool is_there = p->text.n > 0 && cf_str_find(in, p->text, &at);
    return is_there ? (cf_position_range){(uint32_t)(from + at), (uint32_t)(from + at + p->text.n)}
                    : (cf_position_range){0, 0};
}

static cf_status place(cf_inside_case *c, const cf_part *part, cf_inside_part *out, cf_error *err)
{
    cf_buf label = CF_BUF_INIT;
    *out = (cf_inside_part){.part = *part};
    cf_part_label(part, &c->c, &label);
    char *copy = label.failed ? NULL : cf_arena_strndup(&c->arena, label.p, label.n);
    out->label = cf_str_make(copy, label.n);
    cf_buf_deinit(&label);
    out->pos = cf_arena_calloc(&c->arena, c->n_prompt + 1, sizeof *out->pos);
    if (copy == NULL || out->pos == NULL) {
        return cf_oom_for(err, "the parts");
    }
    bool is_field = part->kind == CF_PART_FIELD;
    cf_position_range field = is_field ? field_of(c, part) : (cf_position_range){0, 0};
    for (size_t i = 0; i < c->tokens.n; i++) {
        const cf_token_span *t = &c->tokens.v[i];
        bool is_in = is_field ? t->off + t->len > field.first && t->off < field.end
                              : cf_parts_has_byte(&c->prompt, part, t->off);
        if (t->len > 0 && is_in) {
            out->pos[out->n++] = (uint32_t)i;
        }
    }
    return make_ranges(c, out) ? CF_OK : cf_oom_for(err, "the parts");
}

cf_status cf_inside_case_parts(cf_inside_case *c, uint32_t kinds, cf_error *err)
{
    const cf_part_context context = cf_study_context_of(&c->c);
    const cf_part_choice all = {kinds, SIZE_MAX, SIZE_MAX};
    cf_part_list list = {.v = NULL};
    cf_status st = cf_parts_add(&list, &all, &context, &c->prompt, &c->arena, err);
    c->n_part = 0;
    c->part = cf_arena_calloc(&c->arena, list.n + 1, sizeof *c->part);
    CF_THEN(st, c->part != NULL ? CF_OK : cf_oom_for(err, "the parts"));
    for (size_t i = 0; st == CF_OK && i < list.n; i++) {
        st = place(c, &list.v[i], &c->part[c->n_part], err);
        c->n_part += st == CF_OK && c->part[c->n_part].n > 0;
    }
    cf_free(list.v);
    return st;
}

/* "FROM-TO" */
static bool read_range(const char *text, cf_position_range *out)
{
    char *end = NULL;
    unsigned long long from = strtoull(text, &end, 10), to = 0;
    bool ok = end != text && *end == '-';
    if (ok) {
        const char *second = end + 1;
        to = strtoull(second, &end, 10);
        ok = end != second && *end == '\0' && from <= to && to < UINT32_MAX;
    }
    *out = (cf_position_range){ok ? (uint32_t)from : 0, ok ? (uint32_t)to + 1 : 0};
    return ok;
}

/* Whether `name` names the part: a message's number, a tool's name. */
static bool is_named(const cf_inside_case *c, const cf_part *p, const char *name)
{
    char *end = NULL;
    unsigned long long n = strtoull(name, &end, 10);
    const json_t *tool = json_array_get(c->c.tools, p->index);
    if (p->kind == CF_PART_TOOL) {
        cf_str s = cf_json_get_str(json_object_get(tool, "function"), "name");
        return cf_str_is(s, name);
    }
    return p->kind == CF_PART_MESSAGE && end != name && *end == '\0' && n == p->index;
}

cf_status cf_inside_case_find(cf_inside_case *c, const char *name, cf_position_range **out,
                              size_t *n, cf_error *err)
{
    cf_position_range range;
    cf_inside_part *was = c->part;
    size_t n_was = c->n_part;
    if (read_range(name, &range)) {
        *out = cf_arena_calloc(&c->arena, 1, sizeof **out);
        *n = 1;
        if (*out == NULL) {
            return cf_oom_for(err, "the parts");
        }
        **out = range;
        return range.end <= c->n
                   ? CF_OK
                   : cf_fail(err, CF_EINVAL, "positions %s: there are %zu", name, c->n);
    }
    *n = 0;
    cf_status st = cf_inside_case_parts(c, 1u << CF_PART_MESSAGE | 1u << CF_PART_TOOL, err);
    for (size_t i = 0; st == CF_OK && i < c->n_part; i++) {
        if (is_named(c, &c->part[i].part, name)) {
            *out = c->part[i].range;
            *n = c->part[i].n_range;
        }
    }
    c->part = was;
    c->n_part = n_was;
    return st != CF_OK || *n > 0
               ? st
               : cf_fail(err, CF_ENOTFOUND,
                         "no part '%.60s': a message's number from 0, a tool's name, or "
                         "positions FROM-TO",
                         name);
}

/* ---- what is asked ------------------------------------------------------ */

cf_status cf_inside_case_set_at(cf_inside_case *c, size_t at, cf_error *err)
{
    if (at >= c->n) {
        return cf_fail(err, CF_EINVAL, "position %zu of %zu", at, c->n);
    }
    c->at = (uint32_t)at;
    return CF_OK;
}

cf_status cf_inside_case_set_byte(cf_inside_case *c, size_t off, cf_error *err)
{
    size_t i = 0;
    while (i + 1 < c->n_reply && c->reply[i + 1].off <= off) {
        i++;
    }
    if (c->n_prompt + i == 0) {
        return cf_fail(err, CF_EINVAL, "nothing is before the first token");
    }
    return cf_inside_case_set_at(c, c->n_prompt + i - 1, err);
}

/* The best token at `at` other than `but`. */
static cf_status find_best(cf_inside_case *c, cf_token but, cf_token *out, cf_error *err)
{
    size_t n = cf_tokenizer_n_vocab(c->engine.tok);
    float *logits = cf_calloc(n, sizeof *logits);
    const cf_inside_ask ask = cf_inside_case_ask(c, NULL);
    cf_status st = logits != NULL ? cf_inside_run(c->session, &ask, logits, err)
                                  : cf_oom_for(err, "the logits");
    *out = but == 0 ? 1 : 0;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        if ((cf_token)i != but && logits[i] > logits[*out]) {
            *out = (cf_token)i;
        }
    }
    cf_free(logits);
    return st;
}

/* A text as tokens that follow others. */
static cf_status tokenise(cf_inside_case *c, const char *text, cf_token_list *out, cf_error *err)
{
    CF_TRY(cf_tokenizer_encode(out, c->engine.tok, cf_str_from(text), true, false, &c->arena, err));
    return out->n > 0 ? CF_OK : cf_fail(err, CF_EINVAL, "the text to look for is empty");
}

/* Tokens that both texts begin with go into the timeline, in place of what is
 * there: positions of parts stay where they are. */
static cf_status insert(cf_inside_case *c, const cf_token_list *text, size_t n, cf_error *err)
{
    cf_token *ids = cf_arena_calloc(&c->arena, c->n + n + 1, sizeof *ids);
    if (ids == NULL) {
        return cf_oom_for(err, "the ids");
    }
    memcpy(ids, c->ids, c->n * sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        ids[c->at + 1 + i] = text->v[i].id;
    }
    c->ids = ids;
    c->at += (uint32_t)n;
    c->n = c->at + (size_t)1 > c->n ? c->at + (size_t)1 : c->n;
    return check_length(c, err);
}

static cf_status choose_two(cf_inside_case *c, const char *a, const char *against, cf_error *err)
{
    cf_token_list x, y;
    size_t k = 0;
    CF_TRY(tokenise(c, a, &x, err));
    CF_TRY(tokenise(c, against, &y, err));
    while (k < x.n && k < y.n && x.v[k].id == y.v[k].id) {
        k++;
    }
    if (k == x.n || k == y.n) {
        return cf_fail(err, CF_EINVAL, "'%.40s' and '%.40s' do not differ", a, against);
    }
    if (k > 0) {
        CF_TRY(insert(c, &x, k, err));
    }
    c->a = x.v[k].id;
    c->against = y.v[k].id;
    return CF_OK;
}

cf_status cf_inside_case_compare(cf_inside_case *c, cf_token a, cf_token against, cf_error *err)
{
    c->a = a;
    c->against = against;
    if (a == CF_TOKEN_NONE && c->at + (size_t)1 < c->n) {
        c->a = c->ids[c->at + 1];
    } else if (a == CF_TOKEN_NONE) {
        CF_TRY(find_best(c, CF_TOKEN_NONE, &c->a, err));
    }
    if (against == CF_TOKEN_NONE) {
        CF_TRY(find_best(c, c->a, &c->against, err));
    }
    return c->against != c->a ? CF_OK : cf_fail(err, CF_EINVAL, "both sides are the same token");
}

cf_status cf_inside_case_choose(cf_inside_case *c, const char *a, const char *against,
                                cf_error *err)
{
    cf_token_list one;
    cf_token id = CF_TOKEN_NONE, other = CF_TOKEN_NONE;
    if (a != NULL && against != NULL) {
        return choose_two(c, a, against, err);
    }
    if (a != NULL || against != NULL) {
        CF_TRY(tokenise(c, a != NULL ? a : against, &one, err));
        id = a != NULL ? one.v[0].id : id;
        other = against != NULL ? one.v[0].id : other;
    }
    return cf_inside_case_compare(c, id, other, err);
}
