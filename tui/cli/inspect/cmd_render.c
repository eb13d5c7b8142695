/*
 * cmd_render.c - confab render: renders a template over a context, to exact
 * bytes.
 */
#include <string.h>
#include <unistd.h>

#include "core/api/backend.h"
#include "core/api/conversation.h"
#include "core/api/message_form.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "templates/chat_template.h"
#include "templates/open.h"
#include "templates/template.h"
#include "tui/cli/answers/loss_lines.h"
#include "tui/cli/inspect/render_ledger.h"
#include "tui/cli/inspect/render_mask.h"
#include "tui/cli/inspect/render_server.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/render_media.h"
#include "tui/lab/prompt/context_text.h"
#include "tui/lab/prompt/ledger.h"
#include "tui/lab/prompt/server_prompt.h"
#include "tui/sys/out.h"

typedef struct render_job {
    bool as_is;
    cf_cli *cli;
    cf_render_media media;
    const cf_tokenizer *tok;
    json_t *tokens;   /* special tokens of the template's file; NULL: none */
    cf_template *tpl; /* of -t or the model; NULL: lines bring their own */
    cf_template_options options;
    const char *from;              /* of the template, for messages */
    cf_template_error compile_why; /* --batch: -t does not compile */
    cf_error compile_err;
    cf_status compile_status;
    const char *batch;   /* --batch */
    uint32_t bench;      /* --bench: renders of each context */
    uint64_t bench_us;   /* time of them all */
    uint64_t bench_n;    /* number of them all */
    uint64_t bench_best; /* ns: sum of each context's fastest render */
    uint64_t bench_contexts;
    bool spans, ids, mask, ledger, continue_final, keep_newline, no_trim, no_lstrip;
    bool shape;    /* --shape */
    size_t n_line; /* of --batch, for messages */
} render_job;

/* The template of -t or of the model, if any. */
static cf_status open_template(render_job *job, cf_template_error *why, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st =
        cf_open_template_source(&text, &job->from, &job->cli->open, job->cli->opened.engine, err);
    if (st == CF_OK && job->cli->open.template_name != NULL) {
        st = cf_open_template_tokens(&job->tokens, job->cli->open.template_name, err);
    }
    if (st == CF_OK && text.n + (size_t)(job->cli->open.template_name != NULL) > 0) {
        cf_str source = cf_buf_str(&text);
        st = cf_template_compile(&job->cli->opened.tpl, source, &job->options, &job->cli->arena,
                                 why, err);
        if (st != CF_OK && why->line != 0) {
            cf_buf caret = CF_BUF_INIT;
            cf_template_caret(&caret, source, why);
            cf_out(stderr, cf_buf_str(&caret), CF_OUT_TEXT);
            cf_buf_deinit(&caret);
        }
        if (st != CF_OK) {
            job->compile_status = st;
        }
    }
    cf_buf_deinit(&text);
    return st;
}

/* The conditions under which a span was written, the innermost first. */
static void write_causes(cf_jw *w, const cf_prompt_cause *cause)
{
    if (cause == NULL) {
        return;
    }
    cf_jw_array(w, "because");
    for (; cause != NULL; cause = cause->outer) {
        cf_jw_object(w, NULL);
        cf_jw_text(w, "kind", cf_cause_kind_name(cause->kind));
        cf_jw_uint(w, "line", cause->line);
        cf_jw_uint(w, "column", cause->col);
        cf_jw_str(w, "test", cause->test);
        cf_jw_bool(w, "is", cause->is_true);
        if (cause->round != 0) {
            cf_jw_uint(w, "round", cause->round);
        }
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

static void write_spans(cf_jw *w, const cf_prompt *p)
{
    cf_jw_array(w, "spans");
    for (size_t i = 0; i < p->n_spans; i++) {
        const cf_prompt_span *s = &p->spans[i];
        cf_jw_object(w, NULL);
        cf_jw_uint(w, "off", s->off);
        cf_jw_uint(w, "len", s->len);
        cf_jw_text(w, "source", cf_span_source_name(s->source));
        cf_jw_uint(w, "line", s->line);
        cf_jw_uint(w, "column", s->col);
        if (s->source == CF_SPAN_MESSAGE || s->source == CF_SPAN_TOOL) {
            cf_jw_int(w, "index", (int64_t)s->index);
        }
        if (s->path.n != 0) {
            cf_jw_str(w, "path", s->path);
        }
        if (s->is_copy) {
            cf_jw_uint(w, "src_off", s->src_off);
        }
        write_causes(w, s->cause);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

/* How many spans from *p on one line of the template wrote of one message or tool; *path
 * is what they have in common. */
static size_t spans_alike(const cf_prompt_span *s, size_t n, cf_str *path)
{
    size_t k = 1;
    *path = s[0].path;
    while (k < n && s[k].source == s[0].source && s[k].line == s[0].line &&
           s[k].index == s[0].index) {
        path->n = cf_str_eq(*path, s[k].path) ? path->n : 0;
        k++;
    }
    return k;
}

/* A line for each origin, for people: the template's line, what it wrote, and the text. */
static void spans_text(cf_buf *out, const cf_prompt *p)
{
    size_t k;
    for (size_t i = 0; i < p->n_spans; i += k) {
        const cf_prompt_span *s = &p->spans[i];
        char from[48];
        cf_str path;
        k = spans_alike(s, p->n_spans - i, &path);
        const cf_prompt_span *last = &p->spans[i + k - 1];
        bool is_given = s->source == CF_SPAN_MESSAGE || s->source == CF_SPAN_TOOL;
        snprintf(from, sizeof from, is_given ? "%s %u%.*s" : "%s", cf_span_source_name(s->source),
                 (unsigned)s->index, (int)(path.n < 30 ? path.n : 30), path.p);
        cf_buf_addf(out, "%4u  %-20s ", (unsigned)s->line, from);
        cf_safe_line(out, p->text.p + s->off, (size_t)last->off + last->len - s->off);
        cf_buf_addc(out, '\n');
    }
}

static void write_error(cf_jw *w, const cf_template_error *why, const cf_error *err)
{
    bool has_own = why->message.n != 0 || why->is_raised;
    cf_jw_object(w, "error");
    cf_jw_str(w, "message", has_own ? why->message : cf_str_from(err->text));
    cf_jw_uint(w, "line", why->line != 0 ? why->line : err->line);
    cf_jw_uint(w, "column", why->line != 0 ? why->col : err->col);
    cf_jw_end(w);
}

static bool wants_tokens(const render_job *job)
{
    return job->ids || job->mask || job->ledger;
}

/* A context's prompt. */
typedef struct rendered {
    cf_render r;
    cf_media_prompt media; /* n 0: no pictures or sounds to be expanded */
    cf_token_list tokens;  /* where they are wanted */
    cf_str asks;           /* --mask: what asks for a reply */
} rendered;

/* Leaves the messages before the first reply: a template may ask for no other
 * one after a result. */
static void keep_question(json_t *messages)
{
    size_t n = 0;
    while (n < json_array_size(messages) &&
           cf_role_parse(cf_json_get_str(json_array_get(messages, n), "role")) !=
               CF_ROLE_ASSISTANT) {
        n++;
    }
    while (n > 0 && json_array_size(messages) > n) {
        (void)json_array_remove(messages, json_array_size(messages) - 1);
    }
}

/* What the template adds to ask for a reply, of a prompt that it renders with and
 * without; empty where that cannot be told. */
static cf_status find_asks(render_job *job, const cf_template *tpl, cf_str context, cf_str *out,
                           cf_error *err)
{
    cf_buf full = CF_BUF_INIT;
    json_t *values = NULL;
    cf_prompt p[2] = {{.n_spans = 0}, {.n_spans = 0}};
    cf_error why = {0};
    const cf_prompt_renderer r =
        job->shape ? cf_renderer_template(tpl) : cf_renderer_template_as_is(tpl);
    cf_status st = cf_context_text_special(&full, context, job->tokens, job->tok, &why);
    CF_THEN(st, cf_json_read(&values, cf_buf_cstr(&full), full.n, &why));
    keep_question(json_object_get(values, "messages"));
    for (int i = 0; st == CF_OK && i < 2; i++) {
        st = json_object_set_new(values, "add_generation_prompt", json_boolean(i)) == 0
                 ? r.render(r.ud, values, &job->cli->arena, &p[i], &why)
                 : cf_oom(&why);
    }
    json_decref(values);
    cf_buf_deinit(&full);
    const cf_str a = p[0].text, b = p[1].text;
    *out = cf_str_make(NULL, 0);
    if (st == CF_OK && a.n <= b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0)) {
        *out = cf_str_make(b.p + a.n, b.n - a.n);
    }
    return st == CF_ENOMEM ? cf_oom(err) : CF_OK;
}

/*
 * The tokens of the prompt, and what the projector makes of the context's
 * pictures and sounds.  A mask and a ledger are of the expanded prompt.  Where
 * only the template's text is wanted, media that cannot be read are a note.
 */
static cf_status finish(render_job *job, const cf_template *tpl, cf_str context,
                        bool continue_final, rendered *out, cf_error *err)
{
    const cf_render_media_how how = {tpl, job->tok, job->shape, continue_final};
    if (job->mask) {
        CF_TRY(find_asks(job, tpl, context, &out->asks, err));
    }
    cf_status st =
        cf_render_media_see(&out->media, &job->media, &how, context, &job->cli->arena, err);
    if (st != CF_OK && st != CF_ENOMEM && !wants_tokens(job)) {
        cf_note("[media] %s", err->text);
        st = CF_OK;
    }
    if (st != CF_OK || !wants_tokens(job)) {
        return st;
    }
    if (out->media.n == 0) {
        return cf_prompt_tokenise(&out->tokens, &out->r.prompt, cf_str_make("", 0), job->tok,
                                  &job->cli->arena, err);
    }
    out->tokens = out->media.tokens;
    if (job->mask || job->ledger) {
        out->r.prompt = out->media.prompt;
    }
    return CF_OK;
}

/* The prompt that is answered about. */
static const cf_prompt *shown(const render_job *job, const rendered *out)
{
    return wants_tokens(job) && out->media.n > 0 ? &out->media.prompt : &out->r.prompt;
}

static void write_ids(cf_jw *w, const cf_token_list *tokens)
{
    cf_jw_array(w, "ids");
    for (size_t i = 0; i < tokens->n; i++) {
        cf_token id = tokens->v[i].id;
        cf_jw_int(w, NULL, cf_token_is_row(id) ? 0 : id);
    }
    cf_jw_end(w);
}

static void write_pair(cf_jw *w, uint64_t from, uint64_t to)
{
    cf_jw_array(w, NULL);
    cf_jw_uint(w, NULL, from);
    cf_jw_uint(w, NULL, to);
    cf_jw_end(w);
}

/* The members of an answer, into an open object. */
static void write_result(const render_job *job, cf_jw *w, const rendered *out)
{
    const cf_render *r = &out->r;
    cf_jw_str(w, "output", r->prompt.text);
    if (r->has_generation) {
        cf_jw_array(w, "generation");
        for (size_t i = 0; i < r->n_generation; i++) {
            write_pair(w, r->generation[i].start, r->generation[i].end);
        }
        cf_jw_end(w);
    }
    if (job->spans) {
        write_spans(w, &r->prompt);
    }
    cf_render_media_json(w, &out->media);
    if (job->ids) {
        write_ids(w, &out->tokens);
    }
}

/* The members of an answer to --mask: text, spans, ids, mask. */
static cf_status write_mask(render_job *job, cf_jw *w, cf_str context, const rendered *out,
                            cf_error *err)
{
    json_t *values = NULL;
    cf_mask_spans spans = {NULL, 0};
    const cf_prompt *prompt = &out->r.prompt;
    cf_status st = cf_json_read(&values, context.p, context.n, err);
    const cf_mask_prompt what = {prompt, &out->tokens, job->tok, out->asks};
    CF_THEN(st, cf_render_mask_spans(&spans, &what, values, &job->cli->arena, err));
    json_decref(values);
    if (st != CF_OK) {
        return st;
    }
    cf_jw_str(w, "text", prompt->text);
    cf_jw_array(w, "spans");
    for (size_t i = 0; i < spans.n; i++) {
        write_pair(w, spans.v[i].from, spans.v[i].to);
    }
    cf_jw_end(w);
    cf_render_media_json(w, &out->media);
    write_ids(w, &out->tokens);
    cf_jw_array(w, "mask");
    for (size_t i = 0; i < out->tokens.n; i++) {
        cf_jw_int(w, NULL, cf_render_mask_has(&spans, &out->tokens.v[i]));
    }
    cf_jw_end(w);
    return CF_OK;
}

/* Renders the same context again and again, and notes the times. */
static void bench(render_job *job, const cf_template *tpl, const cf_context *context,
                  const cf_render_options *options)
{
    cf_arena arena;
    cf_arena_init(&arena, 0);
    uint64_t best = UINT64_MAX;
    enum { GROUP = 8 }; /* the clock counts microseconds */
    for (uint32_t i = 0; i < job->bench; i++) {
        uint64_t start = cf_os_monotonic_us();
        for (int k = 0; k < GROUP; k++) {
            cf_render r;
            cf_error err;
            cf_arena_reset(&arena);
            if (cf_template_render(tpl, context, options, &arena, &r, &err) == CF_ENOMEM) {
                break;
            }
        }
        uint64_t took = cf_os_monotonic_us() - start;
        job->bench_us += took;
        job->bench_n += GROUP;
        best = took * 1000 / GROUP < best ? took * 1000 / GROUP : best;
    }
    job->bench_best += best;
    job->bench_contexts++;
    cf_arena_deinit(&arena);
}

/* Reads a context exactly, with the special tokens of the model. */
static cf_status read_context(render_job *job, cf_str text, cf_context **out, cf_error *err)
{
    cf_buf full = CF_BUF_INIT;
    cf_status st = cf_context_text_special(&full, text, job->tokens, job->tok, err);
    CF_THEN(st, cf_context_read(out, cf_buf_str(&full), &job->cli->arena, err));
    cf_buf_deinit(&full);
    return st;
}

/* Renders a context whose messages and tools get the form that the template
 * reads, as for a send. */
static cf_status render_shaped(render_job *job, const cf_template *tpl, cf_str text, cf_prompt *out,
                               cf_error *err)
{
    cf_buf full = CF_BUF_INIT;
    json_t *values = NULL;
    const cf_prompt_renderer r = cf_renderer_template(tpl);
    cf_status st = cf_context_text_special(&full, text, job->tokens, job->tok, err);
    CF_THEN(st, cf_json_read(&values, cf_buf_cstr(&full), full.n, err));
    CF_THEN(st, r.render(r.ud, values, &job->cli->arena, out, err));
    json_decref(values);
    cf_buf_deinit(&full);
    return st;
}

/* On standard error, a line each: what of the context is not in the prompt.
 * The lines are a service: a context that plain JSON cannot hold, such as one
 * with huge integers, was rendered all the same. */
static void tell_losses(const render_job *job, const char *of, cf_str context,
                        const cf_prompt *prompt)
{
    json_t *values = NULL;
    cf_error ignored;
    cf_loss_lines lines = {.of = of, .as_json = job->cli->is_json};
    cf_status st = cf_json_read(&values, context.p, context.n, &ignored);
    json_t *messages =
        job->shape ? cf_context_messages(values) : json_incref(json_object_get(values, "messages"));
    if (st == CF_OK && cf_prompt_each_loss(prompt, messages, json_object_get(values, "tools"),
                                           cf_loss_note, &lines, &ignored) != CF_OK) {
        cf_note("[prompt] %s", ignored.text);
    }
    json_decref(messages);
    json_decref(values);
}

/* The same for a line of --batch, named by its id, else by its number. */
static void tell_item_losses(const render_job *job, const json_t *item, cf_str context,
                             const cf_prompt *prompt)
{
    cf_buf name = CF_BUF_INIT;
    cf_str id = cf_json_get_str(item, "id");
    const json_t *number = json_object_get(item, "id");
    if (id.n > 0) {
        cf_safe_line(&name, id.p, id.n);
    } else if (json_is_integer(number)) {
        cf_buf_addf(&name, "%lld", (long long)json_integer_value(number));
    } else {
        cf_buf_addf(&name, "line %zu", job->n_line);
    }
    tell_losses(job, cf_buf_cstr(&name), context, prompt);
    cf_buf_deinit(&name);
}

/* The source of another template than the common one: the line's own, the
 * model's that it names, or the model's for tools where there are some. */
static cf_status other_source(const render_job *job, const json_t *item, cf_str values, cf_str *out,
                              cf_error *err)
{
    const json_t *name = json_object_get(item, "template_name");
    *out = cf_json_get_str(item, "template");
    if (out->p != NULL || job->cli->opened.engine == NULL || job->cli->open.template_name != NULL) {
        return CF_OK;
    }
    if (!json_is_string(name)) {
        if (values.p != NULL && cf_context_text_has(values, "tools")) {
            *out = cf_engine_chat_template(job->cli->opened.engine, "tool_use");
        }
        return CF_OK;
    }
    *out = cf_engine_chat_template(job->cli->opened.engine, json_string_value(name));
    return out->p != NULL ? CF_OK
                          : cf_fail(err, CF_ENOTFOUND, "the model has no template called '%.60s'",
                                    json_string_value(name));
}

/* The template of a line: its own, else that of -t or the model. */
static cf_status template_of(render_job *job, const json_t *item, cf_str values, cf_template **own,
                             const cf_template **tpl, cf_template_error *why, cf_error *err)
{
    cf_str source;
    *tpl = job->cli->opened.tpl;
    CF_TRY(other_source(job, item, values, &source, err));
    if (source.p != NULL) {
        cf_status st = cf_template_compile(own, source, &job->options, &job->cli->arena, why, err);
        *tpl = *own;
        return st;
    }
    if (job->compile_status != CF_OK) {
        *why = job->compile_why;
        *err = job->compile_err;
        return job->compile_status;
    }
    return job->cli->opened.tpl != NULL ? CF_OK
                                        : cf_fail(err, CF_EFORMAT, "the line has no template");
}

static cf_status render_item(void *ud, const json_t *item, cf_str values, cf_buf *answer,
                             cf_error *err)
{
    render_job *job = ud;
    cf_template *own = NULL;
    const cf_template *tpl = NULL;
    cf_context *context = NULL;
    rendered out = {.media.n = 0};
    bool continue_final =
        job->continue_final || json_is_true(json_object_get(item, "continue_final_message"));
    cf_template_error why = {0};
    cf_arena_reset(&job->cli->arena);
    job->n_line++;
    cf_status st = template_of(job, item, values, &own, &tpl, &why, err);
    if (st == CF_OK && job->shape) {
        st = render_shaped(job, tpl, values.p != NULL ? values : cf_str_from("{}"), &out.r.prompt,
                           err);
    } else if (st == CF_OK) {
        st = read_context(job, values.p != NULL ? values : cf_str_from("{}"), &context, err);
    }
    if (st == CF_OK && !job->shape) {
        const cf_render_options options = {.continue_final_message = continue_final,
                                           .causes = job->bench == 0};
        st = cf_template_render(tpl, context, &options, &job->cli->arena, &out.r, err);
        why = out.r.error;
        if (st != CF_ENOMEM && job->bench != 0) {
            bench(job, tpl, context, &options);
        }
    }
    CF_THEN(st, finish(job, tpl, values.p != NULL ? values : cf_str_from("{}"), continue_final,
                       &out, err));
    if (st == CF_OK && values.p != NULL && job->bench == 0) {
        tell_item_losses(job, item, values, shown(job, &out));
    }
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    if (st == CF_OK && job->mask) {
        st = write_mask(job, &w, values.p != NULL ? values : cf_str_from("{}"), &out, err);
    } else if (st == CF_OK) {
        write_result(job, &w, &out);
    }
    if (st != CF_OK && st != CF_ENOMEM) {
        write_error(&w, &why, err);
        st = CF_OK;
    }
    cf_jw_end(&w);
    CF_THEN(st, cf_jw_finish(&w, err));
    if (st == CF_OK) {
        cf_cli_put_members(answer, &line);
    }
    cf_buf_deinit(&line);
    cf_template_free(own);
    return st;
}

static cf_status render_text(render_job *job, cf_str text, const char *name, rendered *out,
                             cf_error *err)
{
    cf_render *r = &out->r;
    cf_context *context = NULL;
    cf_status st = read_context(job, text, &context, err);
    if (st != CF_OK) {
        return cf_fail_in(err, st, name);
    }
    cf_template *own = NULL;
    const cf_template *tpl = NULL;
    cf_template_error why = {0};
    st = template_of(job, NULL, text, &own, &tpl, &why, err);
    if (st != CF_OK) {
        return cf_fail_in(err, st, "the model's template for tools");
    }
    const cf_render_options options = {.continue_final_message = job->continue_final,
                                       .causes = true};
    st = job->shape ? render_shaped(job, tpl, text, &r->prompt, err)
                    : cf_template_render(tpl, context, &options, &job->cli->arena, r, err);
    if (st != CF_OK && r->error.line != 0) {
        cf_buf caret = CF_BUF_INIT;
        cf_template_caret(&caret, cf_template_source(tpl), &r->error);
        cf_out(stderr, cf_buf_str(&caret), CF_OUT_TEXT);
        cf_buf_deinit(&caret);
    }
    CF_THEN(st, finish(job, tpl, text, job->continue_final, out, err));
    cf_template_free(own);
    return st;
}

/* --ledger, as a table or an object. */
static cf_status write_ledger(render_job *job, cf_buf *out, cf_str context, const rendered *from,
                              cf_error *err)
{
    const cf_token_list *tokens = &from->tokens;
    cf_ledger ledger;
    json_t *values = NULL;
    cf_str source = job->cli->opened.tpl != NULL ? cf_template_source(job->cli->opened.tpl)
                                                 : cf_str_make(NULL, 0);
    cf_status st = cf_json_read(&values, context.p, context.n, err);
    CF_THEN(st, cf_ledger_make(&ledger, &from->r.prompt, tokens->v, tokens->n,
                               json_object_get(values, "messages"),
                               json_object_get(values, "tools"), source, &job->cli->arena, err));
    if (st == CF_OK) {
        double speed = cf_ledger_speed(&job->cli->open, tokens->v, tokens->n);
        cf_jw w;
        cf_jw_init(&w, out);
        if (job->cli->is_json) {
            cf_jw_object(&w, NULL);
            cf_ledger_json(&w, &ledger, speed);
            cf_jw_end(&w);
            st = cf_jw_finish(&w, err);
            cf_buf_addc(out, '\n');
        } else {
            cf_ledger_text(out, &ledger, speed);
        }
    }
    json_decref(values);
    return st;
}

static int print_result(render_job *job, cf_str context, const rendered *from)
{
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    bool is_text =
        job->spans && !job->mask && !job->ids && !job->cli->is_json && isatty(STDOUT_FILENO) != 0;
    bool is_json = !is_text && (job->mask || job->spans || job->cli->is_json);
    if (is_text) {
        spans_text(&out, &from->r.prompt);
    } else if (job->ledger) {
        if (write_ledger(job, &out, context, from, &err) != CF_OK) {
            cf_buf_deinit(&out);
            return cf_cli_fail(job->cli, &err);
        }
    } else if (is_json) {
        cf_jw w;
        cf_status st = CF_OK;
        cf_jw_init(&w, &out);
        cf_jw_object(&w, NULL);
        if (job->mask) {
            st = write_mask(job, &w, context, from, &err);
        } else {
            write_result(job, &w, from);
        }
        cf_jw_end(&w);
        CF_THEN(st, cf_jw_finish(&w, &err));
        if (st != CF_OK) {
            cf_buf_deinit(&out);
            return cf_cli_fail(job->cli, &err);
        }
        cf_buf_addc(&out, '\n');
    } else if (job->ids) {
        for (size_t i = 0; i < from->tokens.n; i++) {
            cf_token id = from->tokens.v[i].id;
            cf_buf_addf(&out, "%s%d", i != 0 ? "," : "", cf_token_is_row(id) ? 0 : (int)id);
        }
        cf_buf_addc(&out, '\n');
    } else {
        cf_buf_add(&out, from->r.prompt.text.p, from->r.prompt.text.n);
    }
    int status = cf_cli_print_as(job->cli, &out, is_json ? CF_OUT_JSON : CF_OUT_TEXT);
    cf_buf_deinit(&out);
    return status;
}

/* One context, from a file (or an empty one without a file). */
static int render_file(render_job *job, const char *path)
{
    cf_buf text = CF_BUF_INIT;
    rendered out = {.media.n = 0};
    cf_error err = {0};
    cf_status st = CF_OK;
    if (path != NULL) {
        st = cf_os_read_file(&text, path, CF_JSON_FILE_MAX, &err);
    } else {
        cf_buf_adds(&text, "{}");
    }
    CF_THEN(st, render_text(job, cf_buf_str(&text), path != NULL ? path : "context", &out, &err));
    int status =
        st == CF_OK ? print_result(job, cf_buf_str(&text), &out) : cf_cli_fail(job->cli, &err);
    if (st == CF_OK) {
        tell_losses(job, NULL, cf_buf_str(&text), shown(job, &out));
        cf_render_media_note(&out.media);
    }
    cf_buf_deinit(&text);
    return status;
}

static int run_job(render_job *job, const char *context)
{
    cf_error err;
    cf_template_error why = {0};
    job->options.keep_trailing_newline = job->keep_newline;
    job->options.no_trim_blocks = job->no_trim;
    job->options.no_lstrip_blocks = job->no_lstrip;
    if (job->cli->open.model != NULL) {
        if (cf_open_engine(&job->cli->opened.engine, &job->cli->open, true, &err) != CF_OK) {
            return cf_cli_fail(job->cli, &err);
        }
        job->tok = cf_engine_tokenizer(job->cli->opened.engine);
        if (cf_render_media_open(&job->media, job->cli->opened.engine, &job->cli->open, &err) !=
            CF_OK) {
            return cf_cli_fail(job->cli, &err);
        }
        cf_cli_note_template(job->cli, job->cli->opened.engine);
    } else if (job->ids || job->mask || job->ledger) {
        return cf_cli_usage(job->cli, job->ids    ? "--ids needs a model (-m)"
                                      : job->mask ? "--mask needs a model (-m)"
                                                  : "--ledger needs a model "
                                                    "(-m)");
    }
    cf_status st = open_template(job, &why, &err);
    bool is_compile = job->compile_status != CF_OK;
    if (st != CF_OK && (!is_compile || job->batch == NULL || st == CF_ENOMEM)) {
        if (is_compile) {
            cf_fail_in(&err, st,
                       job->cli->open.template_name != NULL ? job->from : "the model's template");
        }
        return cf_cli_fail(job->cli, &err);
    }
    if (job->batch == NULL) {
        return job->cli->opened.tpl != NULL
                   ? render_file(job, context)
                   : cf_cli_usage(job->cli, job->cli->opened.engine != NULL
                                                ? "the model has no template: give one "
                                                  "with -t"
                                                : "no template (-t)");
    }
    if (st != CF_OK) {
        job->compile_why = why;
        job->compile_why.message = cf_str_from("");
        job->compile_err = err;
    }
    return cf_cli_batch_raw(job->cli, job->batch, "context", render_item, job);
}

static const cf_opt_row options[] = {
    {"--batch", 0, CF_OPT_STR, offsetof(render_job, batch), "FILE",
     "render the context (and template) of each line of a JSON Lines file", 0},
    {"--spans", 0, CF_OPT_FLAG, offsetof(render_job, spans), NULL,
     "print the origin of every byte: a line each on a terminal, else JSON", 0},
    {"--ids", 0, CF_OPT_FLAG, offsetof(render_job, ids), NULL,
     "print the token ids of the prompt (with -m)", 0},
    {"--mask", 0, CF_OPT_FLAG, offsetof(render_job, mask), NULL,
     "print JSON with the bytes and tokens that the assistant wrote (with -m)", 0},
    {"--ledger", 0, CF_OPT_FLAG, offsetof(render_job, ledger), NULL,
     "print the cost of each message, tool and template line in tokens, and in "
     "seconds on this machine (with -m)",
     0},
    {"--continue-final-message", 0, CF_OPT_FLAG, offsetof(render_job, continue_final), NULL,
     "leave the last message open", 0},
    {"--shape", 0, CF_OPT_FLAG, offsetof(render_job, shape), NULL,
     "first adapt messages and tools to what the template reads, as run and "
     "chat do",
     0},
    {"--as-is", 0, CF_OPT_FLAG, offsetof(render_job, as_is), NULL,
     "render messages and tools unchanged, the default", 0},
    {"--allow-mutation", 0, CF_OPT_FLAG, offsetof(render_job, options.allow_mutation), NULL,
     "let templates modify lists and dicts", 0},
    {"--no-trim-blocks", 0, CF_OPT_FLAG, offsetof(render_job, no_trim), NULL,
     "keep the newline after a block tag", 0},
    {"--no-lstrip-blocks", 0, CF_OPT_FLAG, offsetof(render_job, no_lstrip), NULL,
     "keep blanks before a block tag", 0},
    {"--keep-trailing-newline", 0, CF_OPT_FLAG, offsetof(render_job, keep_newline), NULL,
     "keep the template's final newline", 0},
    {"--bench", 0, CF_OPT_U32, offsetof(render_job, bench), "N",
     "with --batch: render each context 8 N times and print the mean time", 0},
    CF_OPT_ROWS_END,
};

static int run_render(cf_cli *cli, void *state)
{
    render_job *job = state;
    job->cli = cli;
    if (job->shape && (job->as_is || job->continue_final)) {
        return cf_cli_usage(cli, "--shape cannot be combined with --as-is or "
                                 "--continue-final-message");
    }
    if (cf_server_is_address(cli->open.model)) {
        return job->batch == NULL && !job->mask
                   ? cf_render_server(cli, cli->n_args == 1 ? cli->args[0] : NULL, job->ids)
                   : cf_cli_usage(
                         cli, "a server renders one context at a time, without --batch or --mask");
    }
    /* Only then: a model lends its bos_token to any template. */
    if (job->ledger && (job->batch != NULL || job->mask || job->ids || job->spans)) {
        return cf_cli_usage(cli,
                            "--ledger cannot be combined with --batch, --mask, --ids or --spans");
    }
    if (job->ids || job->mask || job->ledger ||
        (cli->open.template_name == NULL && job->batch == NULL)) {
        cf_open_want_model(&cli->open);
    }
    int status = run_job(job, cli->n_args == 1 ? cli->args[0] : NULL);
    if (job->bench_n != 0) {
        cf_note("%llu contexts, %.3f us a render (mean), %.3f us (mean of "
                "each context's best)",
                (unsigned long long)job->bench_contexts,
                (double)job->bench_us / (double)job->bench_n,
                (double)job->bench_best / 1000.0 / (double)job->bench_contexts);
    }
    cf_render_media_close(&job->media);
    json_decref(job->tokens);
    return status;
}

const cf_cli_command cf_cmd_render = {
    .name = "render",
    .arguments = "[CONTEXT.json]",
    .summary = "render a chat template to exact bytes",
    .options = options,
    .state_bytes = sizeof(render_job),
    .n_max = 1,
    .want = "takes one CONTEXT",
    .run = run_render,
};
