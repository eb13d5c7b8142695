/*
 * served.c - a tiny model behind the server's own handler.
 */
#include "tests/support/served.h"

#include <string.h>

#include "core/base/os.h"
#include "core/json/json.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/tiny_vision.h"

void served_open_apis(served *f, unsigned apis)
{
    cf_error err;
    const cf_serve_options so = {.opened = &f->opened, .model = "tiny", .n_slots = 3, .apis = apis};
    T_OK(cf_serve_new(&f->serve, &so, &err), err);
    const cf_http_handler handler = cf_serve_handler(f->serve);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    T_OK(cf_http_server_new(&f->server, &any, &handler, &err), err);
    f->url = cf_http_server_url(f->server);
}

void served_open(served *f)
{
    served_open_apis(f, 0);
}

void served_seeing(served *f)
{
    const cf_tiny_options tiny = {.arch = "gemma3", .seed = 5, .n_ctx = 1024};
    char model[300], mmproj[300];
    size_t n;
    cf_error err;
    snprintf(model, sizeof model, "%s", store_dir_file("sees.gguf"));
    snprintf(mmproj, sizeof mmproj, "%s", store_dir_file("projector.gguf"));
    void *bytes = cf_tiny_gguf(&tiny, &n);
    T_OK(cf_os_write_file(model, bytes, n, 0600, &err), err);
    cf_tiny_free(bytes);
    cf_tiny_buf file = cf_tiny_vision("gemma3", CF_TINY_VISION_TENSORS, 2, 64);
    T_OK(cf_os_write_file(mmproj, file.p, file.n, 0600, &err), err);
    cf_tiny_free(file.p);
    memset(f, 0, sizeof *f);
    const cf_open_options o = {
        .model = model, .mmproj = mmproj, .template_name = "gemma3", .n_threads = 1};
    T_OK(cf_open_backend(&f->opened, &o, NULL, &err), err);
    served_open(f);
}

static void open_tiny(served *f, const char *arch, uint32_t pooling, bool drafts)
{
    static const char tpl[] = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
                              "<|assistant|>";
    const cf_tiny_options tiny = {
        .arch = arch, .n_ctx = 2048, .pooling = pooling, .chat_template = tpl};
    const char *path = store_dir_file("tiny.gguf");
    size_t n;
    cf_error err;
    void *bytes = cf_tiny_gguf(&tiny, &n);
    T_OK(cf_os_write_file(path, bytes, n, 0600, &err), err);
    cf_tiny_free(bytes);
    memset(f, 0, sizeof *f);
    const cf_open_options o = {
        .model = path, .draft_model = drafts ? path : NULL, .n_threads = 1, .allows_encoder = true};
    T_OK(cf_open_backend(&f->opened, &o, "hermes", &err), err);
    served_open(f);
}

void served_with(served *f, const char *arch, uint32_t pooling)
{
    open_tiny(f, arch, pooling, false);
}

void served_drafting(served *f, const char *arch)
{
    open_tiny(f, arch, 0, true);
}

void served_setup(served *f, const char *arch)
{
    served_with(f, arch, 0);
}

void served_teardown(served *f)
{
    cf_http_server_free(f->server, 1000);
    cf_serve_free(f->serve);
    cf_opened_close(&f->opened);
}

void served_describe(cf_buf *out, const cf_buf *answer, cf_api api)
{
    cf_wire_reader r;
    cf_error err;
    cf_wire_reader_init(&r, api);
    T_OK(cf_wire_reader_feed(&r, cf_buf_str(answer), &err), err);
    T_OK(cf_wire_reader_finish(&r, &err), err);
    assert_true(r.is_ended);
    assert_string_equal(r.error, "");
    cf_buf_reset(out);
    for (size_t i = 0; i < r.reply.n_choices; i++) {
        json_t *m = cf_wire_reply_message(&r.reply, i);
        cf_json_write(out, m);
        cf_buf_addf(out, "%s;", r.reply.choice[i].end);
        json_decref(m);
    }
    cf_buf_addf(out, "%d/%d", (int)r.reply.usage.n_prompt, (int)r.reply.usage.n_reply);
    cf_wire_reader_deinit(&r);
}
