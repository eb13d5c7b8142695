/*
 * channels.c - holds the delimiters of thinking and splits a reply along them.
 *
 * Always true of a split:
 *   1. held is empty or begins with bytes that may become a delimiter.
 *   2. Inside a channel only that channel's end is looked for.
 */
#include "core/tools/channels.h"

#include <string.h>

#define STR(text)                \
    {                            \
        (text), sizeof(text) - 1 \
    }
#define THINKING(start, end, at_start)                    \
    {                                                     \
        STR("thinking"), STR(start), STR(end), (at_start) \
    }

const cf_channel cf_channel__think[1] = {THINKING("<think>", "</think>", true)};
const cf_channel cf_channel__gemma4[1] = {THINKING("<|channel>thought\n", "<channel|>", false)};
const cf_channel cf_channel__mistral[1] = {THINKING("[THINK]", "[/THINK]", true)};
const cf_channel cf_channel__seed[1] = {THINKING("<seed:think>", "</seed:think>", true)};
const cf_channel cf_channel__harmony[1] = {
    THINKING("<|channel|>analysis<|message|>", "<|end|>", false)};
const cf_channel cf_channel__kimi_k3[1] = {
    THINKING("<|open|>think<|sep|>", "<|close|>think<|sep|>", true)};
const cf_channel cf_channel__cohere[1] = {THINKING("<|START_THINKING|>", "<|END_THINKING|>", true)};
const cf_channel cf_channel__hy3[1] = {THINKING("<think:opensource>", "</think:opensource>", true)};
const cf_channel cf_channel__solar[1] = {THINKING("<|think|>", "<|end|>", true)};
const cf_channel cf_channel__solar2[1] = {THINKING("<|think:start|>", "<|think:end|>", true)};
const cf_channel cf_channel__longcat[1] = {THINKING("<longcat_think>", "</longcat_think>", true)};
const cf_channel cf_channel__kimi_k15[1] = {
    THINKING("\xE2\x97\x81think\xE2\x96\xB7", "\xE2\x97\x81/think\xE2\x96\xB7", true)};
const cf_channel cf_channel__apertus[1] = {THINKING("<|inner_prefix|>", "<|inner_suffix|>", false)};

static bool has(cf_str text, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (text.p[i] == what[0] && memcmp(text.p + i, what, n) == 0) {
            return true;
        }
    }
    return false;
}

const cf_channel *cf_channels_detect(cf_str chat_template, size_t *n)
{
    /* The most specific delimiters come first. */
    static const struct {
        const char *mark;
        const cf_channel *channels;
    } signs[] = {
        {"<|channel>", cf_channel__gemma4},
        {"<|channel|>", cf_channel__harmony},
        {"[THINK]", cf_channel__mistral},
        {"<seed:think>", cf_channel__seed},
        {"<|START_THINKING|>", cf_channel__cohere},
        {"think:opensource>", cf_channel__hy3},
        {"<|tool_call:begin|>", cf_channel__solar},
        {"<|think:start|>", cf_channel__solar2},
        {"<longcat_think>", cf_channel__longcat},
        {"\xE2\x97\x81think\xE2\x96\xB7", cf_channel__kimi_k15},
        {"<|inner_prefix|>", cf_channel__apertus},
        {"<|open|>", cf_channel__kimi_k3},
        {"<think>", cf_channel__think},
        {"</think>", cf_channel__think},
    };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (has(chat_template, signs[i].mark)) {
            *n = 1;
            return signs[i].channels;
        }
    }
    *n = 0;
    return NULL;
}

/* ---- splitting ---------------------------------------------------------- */

void cf_channel_split_init(cf_channel_split *s, const cf_channel *channels, size_t n,
                           cf_channel_fn fn, void *ud)
{
    memset(s, 0, sizeof *s);
    s->channels = channels;
    s->n = n;
    s->open = n;
    s->fn = fn;
    s->ud = ud;
}

void cf_channel_split_deinit(cf_channel_split *s)
{
    cf_buf_deinit(&s->held);
}

/* Offset of the last `what` in text, or SIZE_MAX. */
static size_t find_last(cf_str text, cf_str what)
{
    for (size_t i = text.n >= what.n ? text.n - what.n + 1 : 0; i-- > 0;) {
        if (memcmp(text.p + i, what.p, what.n) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

void cf_channel_split_prompt(cf_channel_split *s, cf_str prompt)
{
    size_t best = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t start = find_last(prompt, s->channels[i].start);
        size_t end = find_last(prompt, s->channels[i].end);
        if (start != SIZE_MAX && (end == SIZE_MAX || end < start) &&
            (s->open == s->n || start > best)) {
            s->open = i;
            best = start;
        }
    }
}

/* Finds the first complete delimiter in the held bytes and returns its channel, or n.
 * *off is the number of bytes before it, or of those that cannot be part of one. */
static size_t find_delimiter(const cf_channel_split *s, size_t *off)
{
    cf_str held = cf_buf_str(&s->held);
    bool is_open = s->open < s->n;
    bool is_blank = !s->has_begun;
    for (size_t i = 0; i < held.n; i++) {
        size_t first = is_open ? s->open : 0;
        size_t last = is_open ? s->open + 1 : s->n;
        for (size_t c = first; c < last; c++) {
            cf_str d = is_open ? s->channels[c].end : s->channels[c].start;
            size_t n = held.n - i < d.n ? held.n - i : d.n;
            bool may = is_open || is_blank || !s->channels[c].at_start;
            if (may && memcmp(held.p + i, d.p, n) == 0) {
                *off = i;
                return n == d.n ? c : s->n;
            }
        }
        is_blank = is_blank && strchr(" \t\r\n", held.p[i]) != NULL;
    }
    *off = held.n;
    return s->n;
}

static void drop_held(cf_channel_split *s, size_t n)
{
    if (n > 0 && !s->held.failed) {
        memmove(s->held.p, s->held.p + n, s->held.n - n + 1);
        s->held.n -= n;
    }
}

static cf_status pass(cf_channel_split *s, size_t n, cf_error *err)
{
    cf_str text = cf_str_make(cf_buf_cstr(&s->held), n);
    for (size_t i = 0; s->open == s->n && !s->has_begun && i < n; i++) {
        s->has_begun = strchr(" \t\r\n", text.p[i]) == NULL;
    }
    cf_status st = n > 0 ? s->fn(s->ud, s->open, text, err) : CF_OK;
    drop_held(s, n);
    return st;
}

/* Splits the held bytes; with `is_final` none are kept back. */
static cf_status split(cf_channel_split *s, bool is_final, cf_error *err)
{
    CF_TRY(cf_buf_check(&s->held, err));
    while (s->held.n > 0) {
        size_t off;
        size_t c = find_delimiter(s, &off);
        CF_TRY(pass(s, off, err));
        if (c == s->n) {
            return is_final ? pass(s, s->held.n, err) : CF_OK;
        }
        bool opens = s->open == s->n;
        cf_str d = opens ? s->channels[c].start : s->channels[c].end;
        if (opens && s->may_open != NULL && !s->may_open(s->ud)) {
            CF_TRY(pass(s, d.n, err));
            continue;
        }
        drop_held(s, d.n);
        s->open = opens ? c : s->n;
    }
    return CF_OK;
}

cf_status cf_channel_split_add(cf_channel_split *s, cf_str text, cf_error *err)
{
    cf_buf_add(&s->held, text.p, text.n);
    s->total += text.n;
    return split(s, false, err);
}

cf_status cf_channel_split_finish(cf_channel_split *s, cf_error *err)
{
    return split(s, true, err);
}
