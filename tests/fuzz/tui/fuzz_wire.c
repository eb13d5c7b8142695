/*
 * fuzz_wire.c - any bytes as a request and as an answer of every interface; an
 * answer in pieces gives what the whole one gives.
 *
 * Byte 0 chooses the interface, byte 1 the size of the pieces.
 */
#include <stdint.h>
#include <string.h>

#include "core/wire/wire.h"
#include "tui/serve/record/path_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_request(cf_api api, cf_str body)
{
    cf_wire_request r;
    cf_error err = {0};
    if (cf_wire_request_read(&r, api, body, &err) != CF_OK) {
        if (err.text[0] == '\0') {
            __builtin_trap();
        }
        return;
    }
    cf_path_key key;
    cf_path_key_init(&key, "");
    for (size_t i = 0; i < json_array_size(r.messages); i++) {
        const json_t *m = json_array_get(r.messages, i);
        if (cf_json_get_str(m, "role").p == NULL) {
            __builtin_trap();
        }
        cf_ignore(cf_path_key_add(&key, m, &err)); /* memory only */
    }
    cf_wire_request_deinit(&r);
}

static cf_status read_answer(cf_buf *out, cf_api api, cf_str body, size_t step)
{
    cf_wire_reader r;
    cf_error err = {0};
    cf_status st = CF_OK;
    cf_wire_reader_init(&r, api);
    for (size_t at = 0; st == CF_OK && at < body.n; at += step) {
        size_t n = body.n - at < step ? body.n - at : step;
        st = cf_wire_reader_feed(&r, cf_str_make(body.p + at, n), &err);
    }
    CF_THEN(st, cf_wire_reader_finish(&r, &err));
    for (size_t i = 0; i < r.reply.n_choices; i++) {
        json_t *m = cf_wire_reply_message(&r.reply, i);
        cf_json_write(out, m);
        json_decref(m);
    }
    cf_buf_addf(out, "%s%s%s%d", r.reply.id, r.reply.model, r.error, (int)st);
    cf_wire_reader_deinit(&r);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 100000) {
        return 0;
    }
    cf_api api = (cf_api)(data[0] % CF_API_N);
    cf_str body = {(const char *)data + 2, size - 2};
    cf_buf whole = CF_BUF_INIT, pieces = CF_BUF_INIT;
    if (api != CF_API_NONE) {
        try_request(api, body);
    }
    cf_status a = read_answer(&whole, api, body, body.n + 1);
    cf_status b = read_answer(&pieces, api, body, 1 + (size_t)data[1] % 7);
    if (a != b || !cf_str_eq(cf_buf_str(&whole), cf_buf_str(&pieces))) {
        __builtin_trap();
    }
    cf_buf_deinit(&whole);
    cf_buf_deinit(&pieces);
    return 0;
}
