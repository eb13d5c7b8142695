/*
 * record_decode.c - undoes the Content-Encoding of a body, for reading; what
 * is passed on and kept stays as it came.
 */
#include <zlib.h>

#include "core/base/alloc.h"
#include "tui/serve/record/record_impl.h"

/* Values of JSON take a hundred times their bytes in memory: what is packed denser
 * than text is refused. */
enum { DECODED_MAX = 64 << 20, PLAIN_MAX = 1 << 20, RATIO_MAX = 100, STEP = 64 << 10 };

static voidpf zalloc(voidpf ud, uInt n, uInt size)
{
    (void)ud;
    return cf_calloc(n, size);
}

static void zfree(voidpf ud, voidpf p)
{
    (void)ud;
    cf_free(p);
}

/* Inflates until the input ends; what broke off gives what it has, unless it must
 * be whole. */
static cf_status inflate_all(z_stream *z, cf_buf *room, bool must_be_whole, cf_error *err)
{
    const size_t n = z->avail_in;
    for (;;) {
        char *to = cf_buf_reserve(room, STEP);
        if (to == NULL) {
            return cf_oom(err);
        }
        z->next_out = (Bytef *)to;
        z->avail_out = STEP;
        int rc = inflate(z, Z_SYNC_FLUSH);
        room->n += STEP - z->avail_out;
        const bool is_end = rc == Z_STREAM_END && (z->avail_in == 0 || !must_be_whole);
        const bool is_cut =
            rc == Z_BUF_ERROR || (rc == Z_OK && z->avail_in == 0 && z->avail_out != 0);
        if (is_end || (is_cut && !must_be_whole)) {
            return CF_OK;
        }
        if (rc == Z_STREAM_END) { /* another member follows */
            rc = inflateReset(z);
        }
        if (rc != Z_OK || is_cut) {
            return cf_fail(err, CF_EFORMAT, "the body's gzip is %s",
                           is_cut ? "cut short" : "damaged");
        }
        if (room->n > PLAIN_MAX && room->n / RATIO_MAX > n - z->avail_in) {
            return cf_fail(err, CF_ELIMIT, "a body that expands to over %d times its size",
                           RATIO_MAX);
        }
        if (room->n > DECODED_MAX) {
            return cf_fail(err, CF_ELIMIT, "a body of more than %d MiB", DECODED_MAX >> 20);
        }
    }
}

cf_status cf_record__decode(cf_str *out, cf_buf *room, cf_str encoding, cf_str in,
                            bool must_be_whole, cf_error *err)
{
    *out = in;
    if (encoding.n == 0 || in.n == 0 || cf_http_name_is(encoding, "identity")) {
        return CF_OK;
    }
    if (!cf_http_name_is(encoding, "gzip") && !cf_http_name_is(encoding, "x-gzip") &&
        !cf_http_name_is(encoding, "deflate")) {
        return cf_fail(err, CF_EUNSUPPORTED, "the body is encoded as %.*s, which is not read",
                       (int)(encoding.n < 40 ? encoding.n : 40), encoding.p);
    }
    union {
        const char *in;
        Bytef *z;
    } from = {in.p};
    z_stream z = {.zalloc = zalloc, .zfree = zfree, .next_in = from.z, .avail_in = (uInt)in.n};
    if (inflateInit2(&z, 32 + MAX_WBITS) != Z_OK) { /* gzip or zlib */
        return cf_oom(err);
    }
    cf_status st = inflate_all(&z, room, must_be_whole, err);
    (void)inflateEnd(&z);
    *out = cf_buf_str(room);
    return st;
}
