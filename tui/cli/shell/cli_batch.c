/*
 * cli_batch.c - runs the items of a --batch file.
 */
#include <string.h>

#include "core/base/os.h"
#include "tui/cli/shell/cli.h"
#include "tui/lab/prompt/context_text.h"
#include "tui/sys/out.h"

/* Bytes of a --batch file. */
#define BATCH_MAX ((size_t)2 << 30)

/* Begins an answer: '{' and the item's name when it has one. */
static void begin_answer(cf_buf *out, const json_t *name)
{
    cf_buf_reset(out);
    cf_buf_addc(out, '{');
    if (name != NULL) {
        cf_buf_adds(out, "\"name\":");
        cf_json_write(out, name);
    }
}

/* Who answers the lines: `text`, or `raw` with the value of `member`. */
typedef struct batch_fn {
    cf_cli_item_fn text;
    cf_cli_raw_fn raw;
    const char *member;
    void *ud;
} batch_fn;

static cf_status read_line(const batch_fn *fn, cf_str line, json_t **in, cf_str *value,
                           cf_error *err)
{
    if (fn->raw == NULL) {
        return cf_json_read(in, line.p, line.n, err);
    }
    cf_buf rest = CF_BUF_INIT;
    cf_status st = cf_context_text_cut(line, fn->member, value, &rest, err);
    CF_THEN(st, cf_json_read(in, rest.p, rest.n, err));
    cf_buf_deinit(&rest);
    return st;
}

/* Answers one line of a batch; only running out of memory ends the batch. */
static cf_status batch_line(const batch_fn *fn, cf_str line, cf_buf *out, cf_error *err)
{
    json_t *in = NULL;
    cf_buf members = CF_BUF_INIT;
    cf_error why = {0};
    cf_str value = cf_str_make(NULL, 0);
    cf_status st = read_line(fn, line, &in, &value, &why);
    if (st == CF_OK && !json_is_object(in)) {
        st = cf_fail(&why, CF_EFORMAT, "not a JSON object");
    }
    const json_t *name = json_object_get(in, "name");
    begin_answer(out, name);
    CF_THEN(st, fn->raw != NULL ? fn->raw(fn->ud, in, value, &members, &why)
                                : fn->text(fn->ud, in, &members, &why));
    if (st != CF_OK && st != CF_ENOMEM) {
        cf_buf_reset(&members);
        cf_buf_adds(&members, "\"error\":{\"message\":");
        cf_json_write_str(&members, cf_str_from(why.text));
        cf_buf_addc(&members, '}');
        st = CF_OK;
    }
    if (st == CF_OK) {
        cf_buf_adds(out, name != NULL && members.n > 0 ? "," : "");
        cf_buf_add(out, members.p, members.n);
        cf_buf_adds(out, "}\n");
        out->failed = out->failed || members.failed;
        st = cf_buf_check(out, &why);
    }
    json_decref(in);
    cf_buf_deinit(&members);
    if (st != CF_OK && err != NULL) {
        *err = why;
    }
    return st;
}

static int run_batch(const cf_cli *cli, const char *path, const batch_fn *fn)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    cf_status st = cf_os_read_file(&text, path, BATCH_MAX, &err);
    for (size_t at = 0; st == CF_OK && at < text.n;) {
        const char *line = text.p + at;
        const char *end = memchr(line, '\n', text.n - at);
        size_t n = end != NULL ? (size_t)(end - line) : text.n - at;
        at += n + 1;
        if (n == 0) {
            continue;
        }
        st = batch_line(fn, cf_str_make(line, n), &out, &err);
        if (st == CF_OK) {
            cf_out(stdout, cf_buf_str(&out), CF_OUT_JSON);
        }
    }
    cf_buf_deinit(&text);
    cf_buf_deinit(&out);
    return st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
}

int cf_cli_batch(const cf_cli *cli, const char *path, cf_cli_item_fn item, void *ud)
{
    return run_batch(cli, path, &(const batch_fn){.text = item, .ud = ud});
}

int cf_cli_batch_raw(const cf_cli *cli, const char *path, const char *member, cf_cli_raw_fn item,
                     void *ud)
{
    const batch_fn fn = {.raw = item, .member = member, .ud = ud};
    return run_batch(cli, path, &fn);
}

void cf_cli_put_members(cf_buf *members, const cf_buf *object)
{
    if (object->n > 2) {
        cf_buf_add(members, object->p + 1, object->n - 2);
    }
    members->failed = members->failed || object->failed;
}
