/*
 * cmd_render.c - confab render: a template over a context, to exact bytes.
 */
#include <string.h>

#include "core/base/os.h"
#include "templates/template.h"
#include "tui/cli/cli.h"

typedef struct render_job {
    const cf_cli *cli;
    cf_template *tpl; /* of -t; NULL: each line brings its own */
    cf_template_options options;
    cf_arena arena;
    const char *path;              /* of the template, for messages */
    cf_template_error compile_why; /* --batch: -t does not compile */
    cf_error compile_err;
    cf_status compile_status;
    const char *batch;   /* --batch */
    uint32_t bench;      /* --bench: renders of each context */
    uint64_t bench_us;   /* time of them all */
    uint64_t bench_n;    /* number of them all */
    uint64_t bench_best; /* ns: sum of each context's fastest render */
    uint64_t bench_contexts;
    bool spans, continue_final, keep_newline, no_trim, no_lstrip;
} render_job;

static cf_status compile_file(render_job *job, cf_template_error *why,
                              cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&text, job->path, SIZE_MAX, err);
    if (st == CF_OK) {
        cf_str source = cf_str_make(cf_buf_cstr(&text), text.n);
        st = cf_template_compile(&job->tpl, source, &job->options, &job->arena,
                                 why, err);
        if (st != CF_OK && why->line != 0) {
            cf_buf caret = CF_BUF_INIT;
            cf_template_caret(&caret, source, why);
            fprintf(stderr, "%s", cf_buf_cstr(&caret));
            cf_buf_deinit(&caret);
        }
    }
    cf_buf_deinit(&text);
    return st;
}

static json_t *text_json(cf_str s)
{
    return json_stringn(s.p != NULL ? s.p : "", s.n);
}

static json_t *spans_json(const cf_prompt *p)
{
    json_t *all = json_array();
    for (size_t i = 0; i < p->n_spans; i++) {
        const cf_prompt_span *s = &p->spans[i];
        json_t *o = json_pack("{s:I,s:I,s:s,s:I,s:I}", "off",
                              (json_int_t)s->off, "len", (json_int_t)s->len,
                              "source", cf_span_source_name(s->source), "line",
                              (json_int_t)s->line, "col", (json_int_t)s->col);
        if (s->source == CF_SPAN_MESSAGE || s->source == CF_SPAN_TOOL) {
            json_object_set_new(o, "index", json_integer((json_int_t)s->index));
        }
        if (s->path.n != 0) {
            json_object_set_new(o, "path", text_json(s->path));
        }
        if (s->is_copy) {
            json_object_set_new(o, "src_off",
                                json_integer((json_int_t)s->src_off));
        }
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *error_json(const cf_template_error *why, const cf_error *err)
{
    json_t *o = json_object();
    cf_str message = why->message.n != 0 || why->is_raised
                         ? why->message
                         : cf_str_from(err->text);
    uint32_t line = why->line != 0 ? why->line : err->line;
    uint32_t col = why->line != 0 ? why->col : err->col;
    json_object_set_new(o, "message", text_json(message));
    json_object_set_new(o, "line", json_integer((json_int_t)line));
    json_object_set_new(o, "column", json_integer((json_int_t)col));
    return o;
}

static void put_result(const render_job *job, json_t *answer,
                       const cf_render *r)
{
    json_object_set_new(answer, "output", text_json(r->prompt.text));
    if (r->has_generation) {
        json_t *all = json_array();
        for (size_t i = 0; i < r->n_generation; i++) {
            json_array_append_new(
                all, json_pack("[I,I]", (json_int_t)r->generation[i].start,
                               (json_int_t)r->generation[i].end));
        }
        json_object_set_new(answer, "generation", all);
    }
    if (job->spans) {
        json_object_set_new(answer, "spans", spans_json(&r->prompt));
    }
}

/* Renders the same context again and again, and notes the times. */
static void bench(render_job *job, const cf_template *tpl,
                  const cf_context *context, const cf_render_options *options)
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
            if (cf_template_render(tpl, context, options, &arena, &r, &err) ==
                CF_ENOMEM) {
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

static cf_status render_item(void *ud, const json_t *item, json_t *answer,
                             cf_error *err)
{
    render_job *job = ud;
    cf_template *own = NULL;
    cf_context *context = NULL;
    cf_render r = {0};
    cf_template_error why = {0};
    cf_arena_reset(&job->arena);
    const cf_template *tpl = job->tpl;
    const json_t *source = json_object_get(item, "template");
    const json_t *values = json_object_get(item, "context");
    cf_status st = CF_OK;
    if (json_is_string(source)) {
        st = cf_template_compile(
            &own,
            cf_str_make(json_string_value(source), json_string_length(source)),
            &job->options, &job->arena, &why, err);
        tpl = own;
    } else if (job->compile_status != CF_OK) {
        st = job->compile_status;
        why = job->compile_why;
        *err = job->compile_err;
    } else if (tpl == NULL) {
        st = cf_fail(err, CF_EFORMAT, "the line has no template");
    }
    if (st == CF_OK) {
        json_t *empty = values == NULL ? json_object() : NULL;
        st = cf_context_from_json(&context, values != NULL ? values : empty,
                                  &job->arena, err);
        json_decref(empty);
    }
    if (st == CF_OK) {
        const cf_render_options options = {
            .continue_final_message =
                job->continue_final ||
                json_is_true(json_object_get(item, "continue_final_message"))};
        st = cf_template_render(tpl, context, &options, &job->arena, &r, err);
        why = r.error;
        if (st != CF_ENOMEM && job->bench != 0) {
            bench(job, tpl, context, &options);
        }
    }
    if (st == CF_OK) {
        put_result(job, answer, &r);
    } else if (st != CF_ENOMEM) {
        json_object_set_new(answer, "error", error_json(&why, err));
        st = CF_OK;
    }
    cf_template_free(own);
    return st;
}

/* One context, from a file (or an empty one without a file). */
static int render_file(render_job *job, const char *path)
{
    cf_buf text = CF_BUF_INIT;
    cf_context *context = NULL;
    cf_render r = {0};
    cf_error err = {0};
    cf_status st = CF_OK;
    if (path != NULL) {
        st = cf_os_read_file(&text, path, SIZE_MAX, &err);
    } else {
        cf_buf_adds(&text, "{}");
    }
    if (st == CF_OK) {
        st = cf_context_read(&context, cf_str_make(cf_buf_cstr(&text), text.n),
                             &job->arena, &err);
        if (st != CF_OK) {
            cf_fail_in(&err, st, path != NULL ? path : "context");
        }
    }
    if (st == CF_OK) {
        const cf_render_options options = {.continue_final_message =
                                               job->continue_final};
        st = cf_template_render(job->tpl, context, &options, &job->arena, &r,
                                &err);
        if (st != CF_OK && r.error.line != 0) {
            cf_buf caret = CF_BUF_INIT;
            cf_template_caret(&caret, cf_template_source(job->tpl), &r.error);
            fprintf(stderr, "%s", cf_buf_cstr(&caret));
            cf_buf_deinit(&caret);
        }
    }
    int status = CF_EXIT_OK;
    if (st != CF_OK) {
        status = cf_cli_fail(job->cli, &err);
    } else if (job->spans || job->cli->is_json) {
        json_t *answer = json_object();
        cf_buf out = CF_BUF_INIT;
        put_result(job, answer, &r);
        cf_json_write(&out, answer);
        printf("%s\n", cf_buf_cstr(&out));
        cf_buf_deinit(&out);
        json_decref(answer);
    } else {
        fwrite(r.prompt.text.p, 1, r.prompt.text.n, stdout);
    }
    cf_buf_deinit(&text);
    return status;
}

static int run_job(render_job *job, const char *context)
{
    cf_error err;
    cf_template_error why;
    job->options.keep_trailing_newline = job->keep_newline;
    job->options.no_trim_blocks = job->no_trim;
    job->options.no_lstrip_blocks = job->no_lstrip;
    bool has_template = job->path != NULL;
    cf_status st = has_template ? compile_file(job, &why, &err) : CF_OK;
    if (job->batch == NULL) {
        if (!has_template) {
            return cf_cli_usage(job->cli, "no template (-t)");
        }
        if (st != CF_OK) {
            cf_fail_in(&err, st, job->path);
            return cf_cli_fail(job->cli, &err);
        }
        return render_file(job, context);
    }
    if (st == CF_EIO || st == CF_ENOTFOUND || st == CF_ENOMEM) {
        return cf_cli_fail(job->cli, &err);
    }
    job->compile_status = st;
    if (st != CF_OK) {
        job->compile_why = why;
        job->compile_why.message = cf_str_from("");
        job->compile_err = err;
    }
    return cf_cli_batch(job->cli, job->batch, render_item, job);
}

int cf_cmd_render(cf_cli *cli, int argc, char **argv)
{
    render_job job = {.cli = cli};
    const cf_opt own[] = {
        {"--batch", 0, CF_OPT_STR, &job.batch, "FILE",
         "render each line's context (and template)", NULL},
        {"--spans", 0, CF_OPT_FLAG, &job.spans, NULL,
         "answer in JSON, with the origin of every byte", NULL},
        {"--continue-final-message", 0, CF_OPT_FLAG, &job.continue_final, NULL,
         "end inside the last message", NULL},
        {"--allow-mutation", 0, CF_OPT_FLAG, &job.options.allow_mutation, NULL,
         "let templates change lists and dicts", NULL},
        {"--no-trim-blocks", 0, CF_OPT_FLAG, &job.no_trim, NULL,
         "keep the line end after a block tag", NULL},
        {"--no-lstrip-blocks", 0, CF_OPT_FLAG, &job.no_lstrip, NULL,
         "keep blanks before a block tag", NULL},
        {"--keep-trailing-newline", 0, CF_OPT_FLAG, &job.keep_newline, NULL,
         "keep the template's last line end", NULL},
        {"--bench", 0, CF_OPT_U32, &job.bench, "N",
         "with --batch: render each context 8 N times and print the mean time",
         NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int n_rest;
    int done = cf_cli_options(cli, own, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    if (n_rest > 1) {
        return cf_cli_usage(cli, "one context at a time");
    }
    job.path = cli->template_;
    cf_arena_init(&job.arena, 0);
    int status = run_job(&job, n_rest == 1 ? argv[0] : NULL);
    if (job.bench_n != 0) {
        fprintf(stderr,
                "%llu contexts, %.3f us a render (mean), %.3f us (mean of "
                "each context's best)\n",
                (unsigned long long)job.bench_contexts,
                (double)job.bench_us / (double)job.bench_n,
                (double)job.bench_best / 1000.0 / (double)job.bench_contexts);
    }
    cf_template_free(job.tpl);
    cf_arena_deinit(&job.arena);
    return status;
}
