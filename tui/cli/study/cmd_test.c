/*
 * cmd_test.c - confab test: runs tests of prompts and replies that are written
 * as plain text.
 */
#include <string.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "tui/cli/answers/diff_text.h"
#include "tui/cli/shell/cli.h"
#include "tui/study/ask/prompt_test.h"
#include "tui/sys/color.h"
#include "tui/sys/out.h"

typedef struct job {
    cf_cli *cli;
    bool updates, is_color;
    const char *path;
    cf_buf out;
    cf_buf fresh;  /* --update: the file as it is to be */
    size_t copied; /* of the file's bytes, into `fresh` */
    const cf_prompt_tests *tests;
    const cf_prompt_test *test;
    cf_jw w;
    size_t n_failed_here; /* checks of this test */
    size_t n_passed, n_failed, n_updated;
} job;

/* ---- text --------------------------------------------------------------- */

static void put_color(job *j, const char *color)
{
    cf_buf_adds(&j->out, j->is_color ? color : "");
}

/* The difference between the block and the prompt. */
static void put_difference(job *j, cf_str want, cf_str have)
{
    cf_arena arena;
    cf_diff d;
    cf_error ignored;
    const cf_diff_style style = {.is_color = j->is_color, .is_safe = true, .n_context = 2};
    cf_arena_init(&arena, 0);
    if (cf_diff_texts(&d, want, have, &arena, &ignored) == CF_OK) {
        cf_diff_print(&j->out, &d, &style);
    }
    cf_arena_deinit(&arena);
}

static void put_place(job *j, uint32_t line)
{
    cf_safe_line(&j->out, j->path, strlen(j->path));
    cf_buf_addf(&j->out, ":%u: ", (unsigned)line);
}

static void text_check(job *j, const cf_prompt_check *c, cf_str why, cf_str prompt)
{
    put_place(j, c->line);
    put_color(j, CF_OUT_RED);
    cf_buf_adds(&j->out, "failed");
    put_color(j, CF_OUT_PLAIN);
    cf_buf_adds(&j->out, ": ");
    cf_safe_line(&j->out, c->words.p, c->words.n);
    cf_buf_adds(&j->out, "\n    ");
    cf_safe_line(&j->out, why.p, why.n);
    cf_buf_addc(&j->out, '\n');
    if (c->kind == CF_CHECK_IS) {
        put_difference(j, c->text, prompt);
    }
}

static void text_test(job *j)
{
    bool ok = j->n_failed_here == 0;
    put_place(j, j->test->line);
    put_color(j, ok ? CF_OUT_GREEN : CF_OUT_RED);
    cf_buf_adds(&j->out, ok ? "ok" : "FAILED");
    put_color(j, CF_OUT_PLAIN);
    cf_buf_addc(&j->out, ' ');
    cf_safe_line(&j->out, j->test->name.p, j->test->name.n);
    cf_buf_addc(&j->out, '\n');
}

/* ---- --update ----------------------------------------------------------- */

/* Puts the prompt in the place of the check's block. */
static void update(job *j, const cf_prompt_check *c, cf_str prompt)
{
    const cf_buf *source = &j->tests->source;
    cf_buf_add(&j->fresh, source->p + j->copied, c->block - j->copied);
    if (j->fresh.n > 0 && j->fresh.p[j->fresh.n - 1] != '\n') {
        cf_buf_addc(&j->fresh, '\n'); /* the file ended there */
    }
    for (size_t at = 0; at <= prompt.n;) {
        const char *p = prompt.p + at;
        const char *nl = memchr(p, '\n', prompt.n - at);
        size_t n = nl != NULL ? (size_t)(nl - p) : prompt.n - at;
        cf_buf_adds(&j->fresh, n > 0 ? "| " : "|");
        cf_buf_add(&j->fresh, p, n);
        cf_buf_addc(&j->fresh, '\n');
        at += n + 1;
    }
    j->copied = c->block_end;
    j->n_updated++;
}

static cf_status write_update(job *j, cf_error *err)
{
    const cf_buf *source = &j->tests->source;
    if (j->copied == 0) {
        return CF_OK;
    }
    cf_buf_add(&j->fresh, source->p + j->copied, source->n - j->copied);
    CF_TRY(cf_buf_check(&j->fresh, err));
    return cf_os_write_file(j->path, j->fresh.p, j->fresh.n, 0644, err);
}

/* ---- one test ----------------------------------------------------------- */

static void on_check(void *ud, const cf_prompt_check *c, bool ok, cf_str why, cf_str prompt)
{
    job *j = ud;
    if (!ok && j->updates && c->kind == CF_CHECK_IS && prompt.p != NULL) {
        update(j, c, prompt);
        ok = true;
    }
    j->n_failed_here += !ok;
    if (j->cli->is_json) {
        cf_jw_object(&j->w, NULL);
        cf_jw_uint(&j->w, "line", c->line);
        cf_jw_str(&j->w, "check", c->words);
        cf_jw_bool(&j->w, "ok", ok);
        if (!ok) {
            cf_jw_str(&j->w, "why", why);
        }
        cf_jw_end(&j->w);
    } else if (!ok) {
        text_check(j, c, why, prompt);
    }
}

static cf_status run_test(job *j, cf_error *err)
{
    j->n_failed_here = 0;
    cf_buf_reset(&j->out);
    if (j->cli->is_json) {
        cf_jw_init(&j->w, &j->out);
        cf_jw_object(&j->w, NULL);
        cf_jw_text(&j->w, "file", j->path);
        cf_jw_uint(&j->w, "line", j->test->line);
        cf_jw_str(&j->w, "test", j->test->name);
        cf_jw_array(&j->w, "checks");
    }
    cf_error why;
    cf_open_options open = j->cli->open;
    const char *model = j->test->model;
    if (model != NULL) {
        CF_TRY(cf_trust_check(&j->cli->trust, j->path, model, err));
        open.key = cf_trust_key(&j->cli->trust, model);
    }
    cf_status st = cf_prompt_test_run(j->test, &open, cf_cli_cancel(), on_check, j, &why);
    if (st == CF_ENOMEM || st == CF_ECANCELLED) {
        *err = why;
        return st;
    }
    j->n_failed_here += st != CF_OK;
    if (j->cli->is_json) {
        cf_jw_end(&j->w);
        cf_jw_text(&j->w, "error", st != CF_OK ? why.text : NULL);
        cf_jw_bool(&j->w, "ok", j->n_failed_here == 0);
        cf_jw_end(&j->w);
        cf_buf_addc(&j->out, '\n');
    } else {
        if (st != CF_OK) {
            put_place(j, j->test->line);
            cf_safe_line(&j->out, why.text, strlen(why.text));
            cf_buf_addc(&j->out, '\n');
        }
        text_test(j);
    }
    j->n_passed += j->n_failed_here == 0;
    j->n_failed += j->n_failed_here != 0;
    return cf_buf_check(&j->out, err);
}

static cf_status run_file(job *j, const char *path, int *status, cf_error *err)
{
    cf_prompt_tests tests;
    j->path = path;
    j->tests = &tests;
    j->copied = 0;
    cf_buf_reset(&j->fresh);
    cf_status st = cf_prompt_tests_read(&tests, path, err);
    for (size_t i = 0; st == CF_OK && *status == CF_EXIT_OK && i < tests.n; i++) {
        j->test = &tests.v[i];
        st = run_test(j, err);
        if (st == CF_OK) {
            *status = cf_cli_print_as(j->cli, &j->out,
                                      j->cli->is_json ? CF_OUT_JSON
                                      : j->is_color   ? CF_OUT_STYLED
                                                      : CF_OUT_TEXT);
        }
    }
    CF_THEN(st, write_update(j, err));
    cf_prompt_tests_deinit(&tests);
    return st;
}

static int summary(job *j)
{
    cf_buf_reset(&j->out);
    if (!j->cli->is_json) {
        cf_buf_addf(&j->out, "%zu passed, %zu failed", j->n_passed, j->n_failed);
        if (j->n_updated > 0) {
            cf_buf_addf(&j->out, ", %zu updated", j->n_updated);
        }
        cf_buf_addc(&j->out, '\n');
    }
    int status = cf_cli_print_as(j->cli, &j->out, CF_OUT_TEXT);
    return status != CF_EXIT_OK ? status : j->n_failed > 0 ? CF_EXIT_FINDING : CF_EXIT_OK;
}

static const cf_opt_row options[] = {
    {"--update", 0, CF_OPT_FLAG, offsetof(job, updates), NULL,
     "replace the blocks of \"prompt is\" with the actual prompts", 0},
    CF_OPT_ROWS_END,
};

static int run_tests(cf_cli *cli, void *state)
{
    job *j = state;
    j->cli = cli;
    j->is_color = cf_color_wanted(cli->color, isatty(STDOUT_FILENO) != 0);
    int status = CF_EXIT_OK;
    cf_error err;
    cf_status st = CF_OK;
    for (int i = 0; st == CF_OK && status == CF_EXIT_OK && i < cli->n_args; i++) {
        st = run_file(j, cli->args[i], &status, &err);
    }
    status = st != CF_OK ? cf_cli_fail(cli, &err) : status != CF_EXIT_OK ? status : summary(j);
    cf_buf_deinit(&j->out);
    cf_buf_deinit(&j->fresh);
    return status;
}

const cf_cli_command cf_cmd_test = {
    .name = "test",
    .arguments = "FILE ...",
    .summary = "run tests of prompts and replies",
    .options = options,
    .state_bytes = sizeof(job),
    .n_min = 1,
    .n_max = CF_ARGS_ANY,
    .want = "needs a test file",
    .run = run_tests,
};
