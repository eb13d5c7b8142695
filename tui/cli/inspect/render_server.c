/*
 * render_server.c - asks a server for its prompt, and prints it.
 */
#include "tui/cli/inspect/render_server.h"

#include "core/base/os.h"
#include "core/json/json_writer.h"
#include "tui/lab/prompt/server_prompt.h"
#include "tui/sys/out.h"

typedef struct server_render {
    cf_cli *cli;
    cf_opened opened;
    cf_backend_info info;
    cf_arena arena;
    cf_prompt prompt;
    cf_token_list tokens;
    bool with_ids;
} server_render;

static cf_status ask(server_render *s, cf_str context, cf_error *err)
{
    cf_backend *b = s->opened.backend;
    CF_TRY(cf_backend_ask(b, cf_cli_cancel(), err));
    s->info = cf_backend_get_info(b);
    if (s->with_ids && !s->info.asks_tokens) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the server does not show its tokens; -m FILE.gguf "
                       "counts them here");
    }
    bool with_tokens = s->info.asks_tokens && (s->with_ids || s->cli->is_json);
    return cf_server_prompt(b, context, cf_cli_cancel(), &s->arena, &s->prompt,
                            with_tokens ? &s->tokens : NULL, err);
}

static void write_json(server_render *s, cf_buf *out)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "server", s->info.server);
    cf_jw_uint(&w, "n_ctx", s->info.n_ctx);
    cf_jw_bool(&w, "ours", s->info.prompt_is_ours);
    cf_jw_str(&w, "output", s->prompt.text);
    if (s->info.asks_tokens) {
        cf_jw_array(&w, "tokens");
        for (size_t i = 0; i < s->tokens.n; i++) {
            const cf_token_span *t = &s->tokens.v[i];
            cf_jw_object(&w, NULL);
            cf_jw_int(&w, "id", t->id);
            cf_jw_bytes(&w, "text", cf_str_make(s->prompt.text.p + t->off, t->len));
            cf_jw_end(&w);
        }
        cf_jw_end(&w);
    }
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
}

static int print(server_render *s)
{
    cf_buf out = CF_BUF_INIT;
    if (s->cli->is_json) {
        write_json(s, &out);
    } else if (s->with_ids) {
        for (size_t i = 0; i < s->tokens.n; i++) {
            cf_buf_addf(&out, "%s%d", i > 0 ? "," : "", (int)s->tokens.v[i].id);
        }
        cf_buf_addc(&out, '\n');
    } else {
        cf_buf_add(&out, s->prompt.text.p, s->prompt.text.n);
    }
    int status = cf_cli_print_as(s->cli, &out, s->cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
    cf_buf_deinit(&out);
    if (s->info.prompt_is_ours) {
        cf_note("ours, not the server's: rendered with %s",
                s->cli->open.template_name != NULL ? s->cli->open.template_name : "a template");
    }
    return status;
}

int cf_render_server(cf_cli *cli, const char *path, bool with_ids)
{
    server_render s = {.cli = cli, .with_ids = with_ids};
    cf_buf text = CF_BUF_INIT;
    cf_error err = {0};
    cf_arena_init(&s.arena, 0);
    cf_status st = CF_OK;
    if (path != NULL) {
        st = cf_os_read_file(&text, path, CF_JSON_FILE_MAX, &err);
    } else {
        cf_buf_adds(&text, "{\"messages\":[]}");
    }
    CF_THEN(st, cf_open_backend(&s.opened, &cli->open, NULL, &err));
    CF_THEN(st, ask(&s, cf_buf_str(&text), &err));
    int status = st == CF_OK ? print(&s) : cf_cli_fail(cli, &err);
    cf_opened_close(&s.opened);
    cf_arena_deinit(&s.arena);
    cf_buf_deinit(&text);
    return status;
}
