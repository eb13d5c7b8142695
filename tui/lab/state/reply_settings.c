/*
 * reply_settings.c - the table, and values as text.
 */
#include "tui/lab/state/reply_settings.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/reply_options.h"
#include "core/base/os.h"

typedef enum kind { F32, U32, SEED, BOOL, THINKING, BUDGET, EXTRA } kind;

typedef struct setting {
    const char *name;
    kind kind;
    bool is_sampling; /* the engine's own sampler no longer does */
    size_t offset;    /* in cf_reply_settings */
    uint32_t max;     /* of a U32 */
    const char *help;
} setting;

#define AT(field)      offsetof(cf_reply_settings, field)
#define SAMPLER(field) true, AT(chat.sampling.field)
#define OTHER(field)   false, AT(field)

static const setting table[] = {
    {"temperature", F32, SAMPLER(temperature), 0, "divides logits; 0 takes the best"},
    {"top_k", U32, SAMPLER(top_k), UINT32_MAX, "keeps the k best; 0 is off"},
    {"top_p", F32, SAMPLER(top_p), 0, "keeps the best up to a sum of p; 0 and 1 are off"},
    {"min_p", F32, SAMPLER(min_p), 0, "keeps what has this times the best probability; 0 is off"},
    {"repetition_penalty", F32, SAMPLER(repetition_penalty), 0,
     "divides logits of seen tokens; 0 and 1 are off"},
    {"presence_penalty", F32, SAMPLER(presence_penalty), 0,
     "is subtracted from logits of seen tokens"},
    {"frequency_penalty", F32, SAMPLER(frequency_penalty), 0,
     "is subtracted for every time a token was seen"},
    {"penalty_window", U32, SAMPLER(penalty_window), UINT32_MAX,
     "tokens that penalties look back; 0 is all"},
    {"no_repeat_ngram", U32, SAMPLER(no_repeat_ngram), UINT32_MAX,
     "never completes a run of n tokens again; 0 is off"},
    {"no_repeat_window", U32, SAMPLER(no_repeat_window), UINT32_MAX,
     "tokens looked back for such runs; 0 is all"},
    {"seed", SEED, SAMPLER(seed), 0, "of the draws; 'random' makes a new one"},
    {"max_tokens", U32, OTHER(chat.max_tokens), UINT32_MAX,
     "longest reply; 0 is until the model ends"},
    {"enable_thinking", THINKING, OTHER(chat.thinking), 0,
     "asks the template for thinking: default, on or off"},
    {"thinking_budget", BUDGET, OTHER(chat.thinking_budget), INT32_MAX,
     "tokens of thinking at most; 'off' for no limit"},
    {"as_is", BOOL, OTHER(chat.as_is), 0,
     "gives the template messages and tools unchanged; nothing is added"},
    {"extra", EXTRA, OTHER(extra), 0,
     "arguments for servers: KEY=JSON adds one, KEY= removes it, off all"},
    {"trace", BOOL, OTHER(trace), 0, "keep the candidates of each token"},
    {"trace_top", U32, OTHER(trace_top), CF_TRACE_TOP_MAX, "how many candidates are kept"},
    {"draft", U32, OTHER(draft), CF_DRAFT_MAX,
     "tokens guessed ahead and checked together; 0 is none"},
    {"stop_on_loop", BOOL, OTHER(chat.stops_on_loop), 0,
     "ends a reply that repeats itself or cannot end, which is said anyway"},
    {NULL, U32, false, 0, 0, NULL},
};

_Static_assert(sizeof table / sizeof table[0] == CF_REPLY_SETTINGS,
               "a place for the origin of each");

void cf_reply_settings_init(cf_reply_settings *s)
{
    memset(s, 0, sizeof *s);
    s->trace = true;
    s->trace_top = 10;
    s->draft = CF_DRAFT_DEFAULT;
    for (size_t i = 0; i < CF_REPLY_SETTINGS; i++) {
        s->origin[i] = "default";
    }
}

const char *cf_reply_setting_name(size_t i)
{
    return i < CF_REPLY_SETTINGS ? table[i].name : NULL;
}

size_t cf_reply_setting_find(const char *name, size_t n)
{
    for (size_t i = 0; table[i].name != NULL; i++) {
        const char *is = table[i].name;
        size_t k = 0;
        while (k < n && (is[k] == name[k] || (is[k] == '_' && name[k] == '-'))) {
            k++;
        }
        if (k == n && is[k] == '\0') {
            return i;
        }
    }
    return CF_REPLY_SETTINGS;
}

/* ---- values ------------------------------------------------------------- */

/* Fields by their place; the kind of the row says which type is there. */
static float *f32_at(cf_reply_settings *s, const setting *row)
{
    return (float *)(void *)((char *)s + row->offset);
}

static uint32_t *u32_at(cf_reply_settings *s, const setting *row)
{
    return (uint32_t *)(void *)((char *)s + row->offset);
}

static bool *bool_at(cf_reply_settings *s, const setting *row)
{
    return (bool *)(void *)((char *)s + row->offset);
}

static bool is_one_of(const char *value, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(value, *words) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_yes(const char *value)
{
    static const char *const words[] = {"on", "yes", "true", "1", NULL};
    return is_one_of(value, words);
}

static bool is_no(const char *value)
{
    static const char *const words[] = {"off", "no", "false", "0", NULL};
    return is_one_of(value, words);
}

static cf_status set_f32(float *to, const setting *row, const char *value, cf_error *err)
{
    char *end;
    float v = strtof(value, &end);
    if (end == value || *end != '\0' || !isfinite(v)) {
        return cf_fail(err, CF_EINVAL, "%s is a number, not '%.40s'", row->name, value);
    }
    *to = v;
    return CF_OK;
}

/* Digits alone, at most `max`. */
static bool read_u64(uint64_t *to, const char *value, uint64_t max)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 || v > max) {
        return false;
    }
    *to = v;
    return true;
}

static cf_status set_seed(cf_reply_settings *s, const char *value, cf_error *err)
{
    uint64_t v;
    if (strcmp(value, "random") == 0) {
        uint32_t fresh; /* short enough to be typed again */
        cf_os_entropy(&fresh, sizeof fresh);
        v = fresh;
    } else if (!read_u64(&v, value, UINT64_MAX)) {
        return cf_fail(err, CF_EINVAL, "seed is a whole number or 'random', not '%.40s'", value);
    }
    s->chat.sampling.seed = v;
    return CF_OK;
}

static cf_status set_thinking(cf_reply_settings *s, const char *value, cf_error *err)
{
    if (strcmp(value, "default") != 0 && !is_yes(value) && !is_no(value)) {
        return cf_fail(err, CF_EINVAL, "enable_thinking is default, on or off, not '%.40s'", value);
    }
    s->chat.thinking = is_yes(value)  ? CF_THINKING_ON
                       : is_no(value) ? CF_THINKING_OFF
                                      : CF_THINKING_DEFAULT;
    return CF_OK;
}

static cf_status set_budget(cf_reply_settings *s, const char *value, cf_error *err)
{
    uint64_t v = 0;
    bool is_off = strcmp(value, "off") == 0;
    if (!is_off && !read_u64(&v, value, INT32_MAX)) {
        return cf_fail(err, CF_EINVAL,
                       "thinking_budget is a whole number or 'off', not "
                       "'%.40s'",
                       value);
    }
    s->chat.has_thinking_budget = !is_off;
    s->chat.thinking_budget = (int32_t)v;
    return CF_OK;
}

cf_status cf_extra_put(json_t *all, const char *text, cf_error *err)
{
    size_t n = strcspn(text, "=");
    json_t *key = json_stringn(text, n);
    bool ok = key != NULL && text[n] == '=' && n > 0;
    if (ok && text[n + 1] == '\0') {
        (void)json_object_del(all, json_string_value(key));
    } else if (ok) {
        json_t *v = json_loads(text + n + 1, JSON_DECODE_ANY, NULL);
        v = v != NULL ? v : json_string(text + n + 1);
        ok = v != NULL && json_object_set_new(all, json_string_value(key), v) == 0;
    }
    json_decref(key);
    return ok ? CF_OK : cf_fail(err, CF_EINVAL, "'%.80s' is not of the form KEY=JSON", text);
}

/* "off" removes all arguments, an object replaces them. */
static cf_status set_extra(cf_reply_settings *s, const char *value, cf_error *err)
{
    json_t *all = s->extra[0] != '\0' ? json_loads(s->extra, 0, NULL) : json_object();
    cf_buf out = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (strcmp(value, "off") == 0) {
        json_object_clear(all);
    } else if (value[0] == '{') {
        json_decref(all);
        all = NULL;
        st = cf_json_read(&all, value, strlen(value), err);
    } else {
        st = cf_extra_put(all, value, err);
    }
    cf_json_write(&out, all);
    if (st == CF_OK && (out.failed || out.n >= CF_EXTRA_MAX)) {
        st = cf_fail(err, CF_ELIMIT, "the arguments for servers are longer than %d bytes",
                     CF_EXTRA_MAX - 1);
    }
    if (st == CF_OK) {
        bool is_empty = json_object_size(all) == 0;
        memcpy(s->extra, is_empty ? "" : cf_buf_cstr(&out), is_empty ? 1 : out.n + 1);
    }
    cf_buf_deinit(&out);
    json_decref(all);
    return st;
}

static cf_status set_value(cf_reply_settings *s, const setting *row, const char *value,
                           cf_error *err)
{
    switch (row->kind) {
    case F32:
        return set_f32(f32_at(s, row), row, value, err);
    case U32:
        return cf_option_read_u32(u32_at(s, row), row->name, value, (uint32_t)row->max, err);
    case SEED:
        return set_seed(s, value, err);
    case THINKING:
        return set_thinking(s, value, err);
    case BUDGET:
        return set_budget(s, value, err);
    case EXTRA:
        return set_extra(s, value, err);
    case BOOL:
        break;
    }
    if (!is_yes(value) && !is_no(value)) {
        return cf_fail(err, CF_EINVAL, "%s is on or off, not '%.40s'", row->name, value);
    }
    *bool_at(s, row) = is_yes(value);
    return CF_OK;
}

/* The bit of cf_chat_options.asked for a setting of the sampler. */
static uint32_t option_bit(const char *name)
{
    for (int i = 0; i < CF_OPTION_N; i++) {
        if (strcmp(cf_options[i].name, name) == 0) {
            return UINT32_C(1) << i;
        }
    }
    return 0;
}

cf_status cf_reply_settings_set(cf_reply_settings *s, size_t i, const char *value,
                                const char *origin, cf_error *err)
{
    cf_reply_settings next = *s;
    const setting *row = &table[i];
    CF_TRY(set_value(&next, row, value, err));
    if (row->is_sampling) {
        next.chat.has_sampling = true;
        next.chat.has_asked = true;
        next.chat.asked |= option_bit(row->name);
    }
    if (cf_chat_options_check(&next.chat, err) != CF_OK) {
        if (err != NULL) {
            size_t n = strlen(err->text);
            snprintf(err->text + n, sizeof err->text - n, ", not '%.40s'", value);
        }
        return CF_EINVAL;
    }
    next.origin[i] = origin;
    *s = next;
    return CF_OK;
}

static const char given[] = "command line";

void cf_reply_settings_fix(cf_reply_settings *s, const char *name)
{
    size_t i = cf_reply_setting_find(name, strlen(name));
    if (i < CF_REPLY_SETTINGS) {
        s->origin[i] = given;
    }
}

bool cf_reply_settings_is_default(const cf_reply_settings *s, const char *name)
{
    size_t i = cf_reply_setting_find(name, strlen(name));
    return i < CF_REPLY_SETTINGS && strcmp(s->origin[i], "default") == 0;
}

bool cf_reply_settings_is_fixed(const cf_reply_settings *s, size_t i)
{
    return s->origin[i] == given;
}

/* ---- telling ------------------------------------------------------------ */

static void put_value(cf_buf *out, const cf_reply_settings *s, const setting *row)
{
    static const char *const thinking[] = {"default", "on", "off"};
    cf_reply_settings copy = *s;
    switch (row->kind) {
    case F32:
        cf_buf_addf(out, "%g", (double)*f32_at(&copy, row));
        break;
    case U32:
        cf_buf_addf(out, "%u", (unsigned)*u32_at(&copy, row));
        break;
    case SEED:
        cf_buf_addf(out, "%llu", (unsigned long long)s->chat.sampling.seed);
        break;
    case EXTRA:
        cf_buf_adds(out, s->extra[0] != '\0' ? s->extra : "off");
        break;
    case BOOL:
        cf_buf_adds(out, *bool_at(&copy, row) ? "on" : "off");
        break;
    case THINKING:
        cf_buf_adds(out, thinking[s->chat.thinking]);
        break;
    case BUDGET:
        if (s->chat.has_thinking_budget) {
            cf_buf_addf(out, "%d", (int)s->chat.thinking_budget);
        } else {
            cf_buf_adds(out, "off");
        }
        break;
    }
}

void cf_reply_settings_show(const cf_reply_settings *s, size_t i, cf_buf *out)
{
    const setting *row = &table[i];
    cf_buf_addf(out, "%s=", row->name);
    if (row->is_sampling && !s->chat.has_sampling) {
        cf_buf_adds(out, "(as the engine does)");
    } else {
        put_value(out, s, row);
    }
    cf_buf_addf(out, "  (%s)  %s", s->origin[i], row->help);
}

void cf_reply_sampler_line(const cf_sampling *o, bool has_sampling, cf_buf *out)
{
    if (!has_sampling) {
        cf_buf_adds(out, "as the engine does");
    } else if (o->temperature == 0 || o->top_k == 1) {
        cf_buf_adds(out, "greedy");
    } else {
        cf_buf_addf(out, "T %g", (double)o->temperature);
        if (o->top_k != 0) {
            cf_buf_addf(out, " k %u", (unsigned)o->top_k);
        }
        if (o->top_p > 0 && o->top_p < 1) {
            cf_buf_addf(out, " p %g", (double)o->top_p);
        }
        if (o->min_p > 0) {
            cf_buf_addf(out, " min %g", (double)o->min_p);
        }
        cf_buf_addf(out, " seed %llu", (unsigned long long)o->seed);
    }
    if (has_sampling &&
        (o->repetition_penalty > 1 || o->presence_penalty != 0 || o->frequency_penalty != 0)) {
        cf_buf_adds(out, " pen");
    }
}

void cf_reply_settings_line(const cf_reply_settings *s, cf_buf *out)
{
    cf_reply_sampler_line(&s->chat.sampling, s->chat.has_sampling, out);
    if (s->chat.max_tokens != 0) {
        cf_buf_addf(out, " n %u", (unsigned)s->chat.max_tokens);
    }
    if (s->chat.thinking != CF_THINKING_DEFAULT) {
        cf_buf_adds(out, s->chat.thinking == CF_THINKING_ON ? " think on" : " think off");
    }
    if (s->chat.has_thinking_budget) {
        cf_buf_addf(out, " budget %d", (int)s->chat.thinking_budget);
    }
}
