/*
 * uuid.c - version 7 with a counter in the random part.
 *
 * The 74 bits after the time are random at the first UUID of a millisecond
 * and then count upwards by a random step, so values made in one millisecond
 * keep their order and stay hard to guess.
 */
#include "core/base/uuid.h"

#include <pthread.h>
#include <string.h>

#include "core/base/os.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_ms;
static uint16_t last_hi; /* 12 bits: rand_a */
static uint64_t last_lo; /* 62 bits: rand_b */

#define LO_MASK (UINT64_MAX >> 2)

static void next_random(uint64_t now)
{
    struct {
        uint64_t lo;
        uint32_t step;
        uint16_t hi;
    } r;
    cf_os_entropy(&r, sizeof r);
    if (now > last_ms) {
        last_ms = now;
        last_hi = r.hi & 0x7FF; /* top bit clear: room to count */
        last_lo = r.lo & LO_MASK;
        return;
    }
    uint64_t lo = last_lo + 1 + r.step;
    if (lo > LO_MASK) {
        last_hi++;
        if (last_hi > 0xFFF) {
            last_hi = 0;
            last_ms++;
        }
    }
    last_lo = lo & LO_MASK;
}

cf_uuid cf_uuid_new(void)
{
    cf_uuid id;
    pthread_mutex_lock(&lock);
    next_random((uint64_t)cf_os_now_ms());
    uint64_t top = last_ms << 16 | 0x7000 | last_hi;
    uint64_t low = UINT64_C(1) << 63 | last_lo;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 8; i++) {
        id.b[i] = (uint8_t)(top >> (56 - 8 * i));
        id.b[8 + i] = (uint8_t)(low >> (56 - 8 * i));
    }
    return id;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

static bool is_dash_place(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

bool cf_uuid_parse(cf_uuid *out, const char *text, size_t n)
{
    cf_uuid id = {{0}};
    if (n != CF_UUID_TEXT) {
        return false;
    }
    size_t digit = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_dash_place(i)) {
            if (text[i] != '-') {
                return false;
            }
            continue;
        }
        int v = hex_value(text[i]);
        if (v < 0) {
            return false;
        }
        id.b[digit / 2] = (uint8_t)(id.b[digit / 2] << 4 | v);
        digit++;
    }
    *out = id;
    return true;
}

void cf_uuid_format(char out[CF_UUID_TEXT + 1], cf_uuid id)
{
    static const char hex[] = "0123456789abcdef";
    size_t digit = 0;
    for (size_t i = 0; i < CF_UUID_TEXT; i++) {
        if (is_dash_place(i)) {
            out[i] = '-';
            continue;
        }
        uint8_t v = id.b[digit / 2];
        out[i] = hex[digit % 2 == 0 ? v >> 4 : v & 15];
        digit++;
    }
    out[CF_UUID_TEXT] = '\0';
}

bool cf_uuid_eq(cf_uuid a, cf_uuid b)
{
    return memcmp(a.b, b.b, sizeof a.b) == 0;
}

bool cf_uuid_is_nil(cf_uuid id)
{
    static const cf_uuid nil;
    return cf_uuid_eq(id, nil);
}
