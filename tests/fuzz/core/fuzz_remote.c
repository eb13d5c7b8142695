/*
 * fuzz_remote.c - any bytes as the answer of a server: server-sent events and
 * the deltas in them.  In pieces of any size it gives the same events.
 *
 * Byte 0 is the size of the pieces.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend/remote.h"
#include "core/base/safe_text.h"
#include "core/net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_event(const cf_chat_event *ev, void *ud)
{
    cf_buf *log = ud;
    cf_buf_addf(log, "%d:", (int)ev->kind);
    cf_buf_add(log, ev->text.p, ev->text.n);
    if (ev->call != NULL) {
        cf_buf_add(log, ev->call->name.p, ev->call->name.n);
        cf_buf_add(log, ev->call->arguments.p, ev->call->arguments.n);
    }
}

/* Reads the answer in pieces of `step` bytes. */
static void answer(cf_buf *log, const char *p, size_t n, size_t step)
{
    cf_error err = {0};
    cf_sse sse;
    cf_chat_response out;
    const cf_chat_request request = {.messages = NULL};
    const cf_channel_set think = cf_tool_family_channels(CF_TOOLS_GENERIC);
    cf_chat_response_init(&out);
    cf_chat__run run = {.request = &request, .fn = on_event, .ud = log, .out = &out};
    cf_remote__answer a;
    cf_remote__answer_init(&a, &run);
    cf_sse_init(&sse);
    cf_status st = cf_chat__reply_init(&a.reply, &run, CF_TOOLS_NONE, think.v, think.n, &err);
    for (size_t at = 0; st == CF_OK && at < n; at += step) {
        st = cf_sse_feed(&sse, p + at, n - at < step ? n - at : step, cf_remote__event, &a, &err);
    }
    if (st == CF_OK) {
        st = cf_remote__finish(&a, &err);
    }
    if (st != CF_OK && err.text[0] == '\0') {
        abort();
    }
    cf_buf_addf(log, "|%d %s", (int)st, st != CF_OK ? err.text : "");
    cf_json_write(log, out.message);
    cf_remote__answer_deinit(&a);
    cf_sse_deinit(&sse);
    cf_chat_response_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 50000) {
        return 0;
    }
    const char *p = (const char *)data + 1;
    size_t n = size - 1;
    cf_buf whole = CF_BUF_INIT, pieces = CF_BUF_INIT;
    answer(&whole, p, n, n > 0 ? n : 1);
    answer(&pieces, p, n, data[0] % 64 + 1u);
    if (!cf_str_eq(cf_buf_str(&whole), cf_buf_str(&pieces))) {
        abort();
    }
    cf_buf_deinit(&whole);
    cf_buf_deinit(&pieces);
    return 0;
}
