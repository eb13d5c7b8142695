/*
 * channels.c - holds the delimiters of thinking and splits a reply along them.
 *
 * Always true of a split:
 *   1. held is empty or begins with bytes that may become a delimiter.
 *   2. Inside a channel only that channel's end is looked for.
 */
#include "core/tools/channels.h"

#include <string.h>

enum { SLICE_MAX = 4096 }; /* bytes that move when a delimiter before them is dropped */

#define STR(text)                \
    {                            \
        (text), sizeof(text) - 1 \
    }
#define THINKING(start, end, at_start)                              \
    {                                                               \
        STR("thinking"), STR(start), STR(end), (at_start), 0, false \
    }

const cf_channel cf_channel__think[1] = {THINKING("<think>", "</think>", true)};
const cf_channel cf_channel__gemma4[1] = {THINKING("<|channel>thought\n", "<channel|>", false)};
const cf_channel cf_channel__mistral[1] = {THINKING("[THINK]", "[/THINK]", false)};
const cf_channel cf_channel__seed[1] = {THINKING("<seed:think>", "</seed:think>", true)};
const cf_channel cf_channel__harmony[1] = {
    THINKING("<|channel|>analysis<|message|>", "<|end|>", false)};
const cf_channel cf_channel__kimi_k3[1] = {
    THINKING("<|open|>think<|sep|>", "<|close|>think<|sep|>", true)};
const cf_channel cf_channel__cohere[1] = {THINKING("<|START_THINKING|>", "<|END_THINKING|>", true)};
const cf_channel cf_channel__hy3[2] = {THINKING("<think:opensource>", "</think:opensource>", true),
                                       THINKING("<think>", "</think>", true)};
const cf_channel cf_channel__granite[2] = {
    THINKING("<think>", "</think>", true),
    THINKING("Here is my thought process:", "Here is my response:", true)};
const cf_channel cf_channel__apriel[2] = {
    THINKING("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]", true),
    THINKING("<think>", "</think>", true)};
const cf_channel cf_channel__solar[1] = {THINKING("<|think|>", "<|end|>", true)};
const cf_channel cf_channel__inkling[1] = {
    THINKING("<|content_thinking|>", "<|end_message|>", false)};
const cf_channel cf_channel__k2_horizon[3] = {
    THINKING("<ifm|think>", "</ifm|think>", true),
    THINKING("<ifm|think_fast>", "</ifm|think_fast>", true),
    THINKING("<ifm|think_faster>", "</ifm|think_faster>", true)};
const cf_channel cf_channel__minimax_m3[1] = {THINKING("<mm:think>", "</mm:think>", true)};
const cf_channel cf_channel__solar2[1] = {THINKING("<|think:start|>", "<|think:end|>", true)};
const cf_channel cf_channel__longcat[1] = {THINKING("<longcat_think>", "</longcat_think>", true)};
const cf_channel cf_channel__kimi_k15[1] = {
    THINKING("\xE2\x97\x81think\xE2\x96\xB7", "\xE2\x97\x81/think\xE2\x96\xB7", true)};
/* Only behind <|eom|> a message begins; it may begin another one, too. */
const cf_channel cf_channel__muse[2] = {
    {STR("thinking"), STR("to=self<|message|>"), STR("<|eom|>"), true, 0, true},
    {STR("thinking"), STR("<|eom|><|start|>assistant to=self<|message|>"), STR("<|eom|>"), false, 7,
     true}};
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
        size_t n;
    } signs[] = {
        {"<|channel>", cf_channel__gemma4, 1},
        {"<|channel|>", cf_channel__harmony, 1},
        {"[THINK]", cf_channel__mistral, 1},
        {"<seed:think>", cf_channel__seed, 1},
        {"<|START_THINKING|>", cf_channel__cohere, 1},
        {"think:opensource>", cf_channel__hy3, 2},
        {"[BEGIN FINAL RESPONSE]", cf_channel__apriel, 2},
        {"<|tool_call:begin|>", cf_channel__solar, 1},
        {"<|content_thinking|>", cf_channel__inkling, 1},
        {"<ifm|think", cf_channel__k2_horizon, 3},
        {"<|think:start|>", cf_channel__solar2, 1},
        {"<atem:function_calls>", cf_channel__muse, 2},
        {"<mm:think>", cf_channel__minimax_m3, 1},
        {"<longcat_think>", cf_channel__longcat, 1},
        {"\xE2\x97\x81think\xE2\x96\xB7", cf_channel__kimi_k15, 1},
        {"<|inner_prefix|>", cf_channel__apertus, 1},
        {"<|open|>", cf_channel__kimi_k3, 1},
        {"<think>", cf_channel__think, 1},
        {"</think>", cf_channel__think, 1},
    };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (has(chat_template, signs[i].mark)) {
            *n = signs[i].n > 0 ? signs[i].n : 1;
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

bool cf_channel_split_is_in(const cf_channel_split *s, size_t i)
{
    return s->open < s->n && i < s->n && cf_str_eq(s->channels[s->open].name, s->channels[i].name);
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

/* Holds the end of the prompt that begins a delimiter of no open channel. */
static void hold_lead(cf_channel_split *s, cf_str prompt)
{
    for (size_t i = 0; s->open == s->n && i < s->n; i++) {
        cf_str start = s->channels[i].start;
        size_t n = start.n - 1 < prompt.n ? start.n - 1 : prompt.n;
        while (n > s->lead && memcmp(prompt.p + prompt.n - n, start.p, n) != 0) {
            n--;
        }
        s->lead = n > s->lead ? n : s->lead;
    }
    if (s->lead > 0) {
        cf_buf_add(&s->held, prompt.p + prompt.n - s->lead, s->lead);
    }
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
            s->has_thought = true;
            best = start;
        }
    }
    hold_lead(s, prompt);
}

/* What is found in the bytes that are held. */
typedef enum found {
    FOUND_NOTHING, /* *off bytes can belong to no delimiter */
    FOUND_START,   /* of channel *c, at *off */
    FOUND_END,     /* of the open channel */
    FOUND_AGAIN,   /* a delimiter that belongs to nothing */
    FOUND_STOP     /* a mark that may end the open channel */
} found;

/* Whether `text` begins at held[i]: 1 whole, -1 as far as there are bytes. */
static int begins(cf_str held, size_t i, cf_str text)
{
    size_t n = held.n - i < text.n ? held.n - i : text.n;
    return memcmp(held.p + i, text.p, n) != 0 ? 0 : n == text.n ? 1 : -1;
}

static found find_in_channel(const cf_channel_split *s, cf_str held, size_t i, bool is_blank,
                             size_t *len, bool *may_be)
{
    const cf_channel *c = &s->channels[s->open];
    int is_end = begins(held, i, c->end);
    int is_again = is_blank ? begins(held, i, c->start) : 0;
    *may_be = is_end != 0 || is_again != 0;
    if (is_end > 0 || is_again > 0) {
        *len = is_end > 0 ? c->end.n : c->start.n;
        return is_end > 0 ? FOUND_END : FOUND_AGAIN;
    }
    for (size_t k = 0; !s->waits && k < s->n_stop; k++) {
        int is_stop = begins(held, i, s->stop[k]);
        if (is_stop > 0 && !*may_be) {
            return FOUND_STOP;
        }
        *may_be = *may_be || is_stop != 0;
    }
    return FOUND_NOTHING;
}

static found find_in_content(const cf_channel_split *s, cf_str held, size_t i, bool is_blank,
                             size_t *channel, size_t *len, bool *may_be)
{
    *may_be = false;
    for (size_t c = 0; c < s->n; c++) {
        int is_start =
            is_blank || !s->channels[c].at_start ? begins(held, i, s->channels[c].start) : 0;
        bool may_end = is_blank && s->channels[c].at_start && !s->channels[c].keeps_end;
        int is_end = may_end ? begins(held, i, s->channels[c].end) : 0;
        *may_be = *may_be || is_start != 0 || is_end != 0;
        if (is_start > 0 || is_end > 0) {
            *channel = c;
            *len = is_start > 0 ? s->channels[c].start.n : s->channels[c].end.n;
            return is_start > 0 ? FOUND_START : FOUND_AGAIN;
        }
    }
    return FOUND_NOTHING;
}

/* The first delimiter of what is held, *len bytes at *off. */
static found find_delimiter(const cf_channel_split *s, size_t *channel, size_t *off, size_t *len)
{
    cf_str held = cf_buf_str(&s->held);
    bool is_open = s->open < s->n;
    bool is_blank = is_open ? !s->has_thought && !s->waits : !s->has_begun;
    for (size_t i = s->waits ? s->looked : 0; i < held.n; i++) {
        bool may_be = false;
        found f = is_open ? find_in_channel(s, held, i, is_blank, len, &may_be)
                          : find_in_content(s, held, i, is_blank, channel, len, &may_be);
        if (f != FOUND_NOTHING || may_be) {
            *off = i;
            return f;
        }
        is_blank = is_blank && (i < s->lead || strchr(" \t\r\n", held.p[i]) != NULL);
    }
    *off = held.n;
    return FOUND_NOTHING;
}

static void drop_held(cf_channel_split *s, size_t n)
{
    if (n > 0 && !s->held.failed) {
        memmove(s->held.p, s->held.p + n, s->held.n - n + 1);
        s->held.n -= n;
        s->lead -= n < s->lead ? n : s->lead;
    }
}

/* The first channel of the name of `c`. */
static size_t named(const cf_channel_split *s, size_t c)
{
    size_t i = 0;
    while (i < c && c < s->n && !cf_str_eq(s->channels[i].name, s->channels[c].name)) {
        i++;
    }
    return c < s->n ? i : c;
}

static cf_status pass(cf_channel_split *s, size_t n, cf_error *err)
{
    size_t skip = n < s->lead ? n : s->lead; /* no part of the reply */
    drop_held(s, skip);
    n -= skip;
    cf_str text = cf_str_make(cf_buf_cstr(&s->held), n);
    bool *has = s->open == s->n ? &s->has_begun : &s->has_thought;
    for (size_t i = 0; !*has && i < n; i++) {
        *has = strchr(" \t\r\n", text.p[i]) == NULL;
    }
    cf_status st = n > 0 ? s->fn(s->ud, named(s, s->open), text, err) : CF_OK;
    drop_held(s, n);
    return st;
}

static void set_open(cf_channel_split *s, size_t channel)
{
    s->open = channel;
    s->has_thought = s->waits = false;
}

/* The bytes that are left at the end of the reply. */
static cf_status pass_rest(cf_channel_split *s, cf_error *err)
{
    if (s->waits) { /* the thinking ended at a call */
        set_open(s, s->n);
    }
    return pass(s, s->held.n, err);
}

/* Splits what is held; with `is_final` nothing stays. */
static cf_status split(cf_channel_split *s, bool is_final, cf_error *err)
{
    CF_TRY(cf_buf_check(&s->held, err));
    while (s->held.n > 0) {
        size_t off = 0, len = 0, c = s->n;
        found f = find_delimiter(s, &c, &off, &len);
        if (f == FOUND_NOTHING && s->waits) {
            s->looked = off;
            return is_final ? pass_rest(s, err) : CF_OK;
        }
        CF_TRY(pass(s, off, err));
        switch (f) {
        case FOUND_NOTHING:
            return is_final ? pass_rest(s, err) : CF_OK;
        case FOUND_STOP:
            s->waits = true;
            s->looked = 1;
            break;
        case FOUND_AGAIN:
            drop_held(s, len);
            break;
        case FOUND_END:
            drop_held(s, s->channels[s->open].keeps_end ? 0 : len);
            set_open(s, s->n);
            break;
        case FOUND_START:
            if (s->may_open != NULL && !s->may_open(s->ud)) {
                CF_TRY(pass(s, len, err));
            } else {
                CF_TRY(pass(s, s->channels[c].kept, err));
                drop_held(s, len - s->channels[c].kept);
                set_open(s, c);
            }
            break;
        }
    }
    return CF_OK;
}

cf_status cf_channel_split_add(cf_channel_split *s, cf_str text, cf_error *err)
{
    for (size_t n; text.n > 0; text = cf_str_make(text.p + n, text.n - n)) {
        n = text.n < SLICE_MAX ? text.n : SLICE_MAX;
        cf_buf_add(&s->held, text.p, n);
        s->total += n;
        CF_TRY(split(s, false, err));
    }
    return CF_OK;
}

cf_status cf_channel_split_finish(cf_channel_split *s, cf_error *err)
{
    return split(s, true, err);
}
