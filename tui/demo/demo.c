/*
 * demo.c - the table of tools, and those that need no table of their own:
 * weather, time, arithmetic, timers.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "tui/demo/demo_calc.h"
#include "tui/demo/demo_impl.h"
#include "tui/demo/demo_places.h"
#include "tui/demo/demo_zone.h"

enum { MINUTES_MAX = 1440 };

extern const unsigned char cf_embed_tui_demo_tools_json[];
extern const size_t cf_embed_tui_demo_tools_json_size;

json_t *cf_demo__error(const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        text[0] = '\0';
    }
    size_t len = strlen(text);
    len -= cf_utf8_incomplete_tail(text, len);
    return json_pack("{s:s%}", "error", text, len);
}

json_t *cf_demo__with(const char *key, json_t *v)
{
    json_t *out = json_object();
    if (json_object_set_new(out, key, v) != 0) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* ---- tools -------------------------------------------------------------- */

static json_t *weather(cf_demo *demo, cf_uuid here, const json_t *arguments)
{
    (void)demo;
    (void)here;
    cf_str location = cf_json_get_str(arguments, "location");
    cf_str unit = cf_json_get_str(arguments, "unit");
    const cf_place *place = cf_place_find(location);
    size_t n_places;
    cf_places(&n_places);
    bool is_celsius = unit.n == 0 || unit.p[0] == 'c' || unit.p[0] == 'C';
    if (!is_celsius && unit.p[0] != 'f' && unit.p[0] != 'F') {
        return cf_demo__error("unit is celsius or fahrenheit");
    }
    if (place == NULL) {
        return cf_demo__error("no weather for '%.*s': the bundled table has "
                              "%zu cities",
                              (int)(location.n < 64 ? location.n : 64),
                              location.n != 0 ? location.p : "", n_places);
    }
    cf_weather w = cf_place_weather(place, cf_os_now_ms());
    long degrees = is_celsius ? w.celsius : lround(w.celsius * 9.0 / 5 + 32);
    return json_pack("{s:s%,s:I,s:s,s:s,s:s}", "location", location.p, location.n, "temperature",
                     (json_int_t)degrees, "unit", is_celsius ? "celsius" : "fahrenheit",
                     "condition", w.condition, "source", "bundled table");
}

static json_t *time_of_day(cf_demo *demo, cf_uuid here, const json_t *arguments)
{
    (void)demo;
    (void)here;
    cf_str zone = cf_json_get_str(arguments, "timezone");
    int64_t now = cf_os_now_ms() / 1000;
    int32_t offset;
    cf_error err;
    if (cf_zone_find(&offset, zone, now, &err) != CF_OK) {
        return cf_demo__error("%s", err.text);
    }
    char text[8];
    int minutes = (int)((now + offset) % 86400 / 60);
    snprintf(text, sizeof text, "%02d:%02d", minutes / 60, minutes % 60);
    return json_pack("{s:s%,s:s}", "timezone", zone.p, zone.n, "time", text);
}

static json_t *calculate(cf_demo *demo, cf_uuid here, const json_t *arguments)
{
    (void)demo;
    (void)here;
    cf_calc_value v;
    cf_error err;
    if (cf_calc(&v, cf_json_get_str(arguments, "expression"), &err) != CF_OK) {
        return cf_demo__error("%s", err.text);
    }
    return cf_demo__with("result", cf_calc_json(&v));
}

/* A whole number of minutes; 0 for anything else. */
static int minutes_of(const json_t *v)
{
    double d = json_is_number(v) ? json_number_value(v) : 0;
    return d >= 1 && d <= MINUTES_MAX && d == floor(d) ? (int)d : 0;
}

static json_t *set_timer(cf_demo *demo, cf_uuid here, const json_t *arguments)
{
    (void)here;
    int minutes = minutes_of(json_object_get(arguments, "minutes"));
    cf_str label = cf_json_get_str(arguments, "label");
    cf_demo_timer *t = NULL;
    if (!demo->rings) {
        return cf_demo__error("timers ring in the workbench only");
    }
    for (int i = 0; t == NULL && i < CF_DEMO_TIMERS; i++) {
        t = demo->timer[i].id == 0 ? &demo->timer[i] : NULL;
    }
    if (minutes == 0 || t == NULL) {
        return minutes == 0 ? cf_demo__error("minutes is a whole number from 1 to %d", MINUTES_MAX)
                            : cf_demo__error("%d timers run already", CF_DEMO_TIMERS);
    }
    json_t *out = json_pack("{s:I,s:i,s:s}", "timer_id", (json_int_t)demo->n_started + 1, "minutes",
                            minutes, "status", "started");
    if (out == NULL) {
        return NULL;
    }
    size_t n = label.n < sizeof t->label ? label.n : sizeof t->label - 1;
    n -= n < label.n ? cf_utf8_incomplete_tail(label.p, n) : 0;
    *t = (cf_demo_timer){.id = ++demo->n_started,
                         .minutes = minutes,
                         .due_us = cf_os_monotonic_us() + (uint64_t)minutes * 60000000};
    for (size_t i = 0; i < n; i++) { /* it goes into one line */
        t->label[i] = label.p[i];
        if ((unsigned char)label.p[i] < ' ') {
            t->label[i] = ' ';
        }
    }
    return out;
}

static json_t *confab_help(cf_demo *demo, cf_uuid here, const json_t *arguments)
{
    (void)here;
    const char *question = json_string_value(json_object_get(arguments, "question"));
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    json_t *out;
    bool is_asked = question != NULL && question[strspn(question, " ")] != '\0'; /* not all rows */
    if (!is_asked || demo->help == NULL) {
        return cf_demo__error(is_asked ? "there is no help here" : "question is a text with words");
    }
    cf_status st = demo->help(demo->help_ud, question, &text, &err);
    if (st == CF_OK) {
        cf_str rows = cf_str_trim(cf_buf_str(&text));
        out = json_stringn(rows.p, rows.n);
    } else {
        out = cf_demo__error("%s", err.text);
    }
    cf_buf_deinit(&text);
    return out;
}

/* ---- the table ---------------------------------------------------------- */

typedef struct tool {
    const char *name; /* as in tools.json */
    json_t *(*run)(cf_demo *demo, cf_uuid here, const json_t *arguments);
} tool;

static const tool tools[] = {
    {"get_weather", weather},
    {"get_time", time_of_day},
    {"calculate", calculate},
    {"set_timer", set_timer},
    {"convert_currency", cf_demo__currency},
    {"search_notes", cf_demo__notes},
    {"send_message", cf_demo__message},
    {"get_stock_price", cf_demo__stock},
    {"confab_help", confab_help}, /* cf_demo_declare_help() */
};

enum { N_TOOLS = sizeof tools / sizeof tools[0] };

static const tool *find(cf_str name)
{
    for (size_t i = 0; i < N_TOOLS; i++) {
        if (cf_str_is(name, tools[i].name)) {
            return &tools[i];
        }
    }
    return NULL;
}

bool cf_demo_has(cf_str name)
{
    return find(name) != NULL;
}

json_t *cf_demo_declarations(void)
{
    json_t *list = NULL;
    cf_status st = cf_json_read(&list, (const char *)cf_embed_tui_demo_tools_json,
                                cf_embed_tui_demo_tools_json_size, NULL);
    return st == CF_OK ? list : NULL;
}

cf_status cf_demo_declare_help(json_t *declarations, cf_error *err)
{
    json_t *own =
        json_pack("{s:s, s:{s:s, s:s, s:{s:s, s:{s:{s:s, s:s}}, s:[s]}}}", "type", "function",
                  "function", "name", "confab_help", "description",
                  "Finds keys, commands, options and settings of confab", "parameters", "type",
                  "object", "properties", "question", "type", "string", "description",
                  "What the user asks about confab", "required", "question");
    return json_array_append_new(declarations, own) == 0 ? CF_OK : cf_oom(err);
}

void cf_demo_set_help(cf_demo *demo, cf_demo_help_fn fn, void *ud)
{
    demo->help = fn;
    demo->help_ud = ud;
}

/* ---- life --------------------------------------------------------------- */

cf_status cf_demo_new(cf_demo **out, cf_store *store, bool rings, cf_error *err)
{
    cf_demo *demo = cf_calloc(1, sizeof *demo);
    if (demo == NULL) {
        return cf_oom_for(err, "the tools");
    }
    demo->store = store;
    demo->rings = rings;
    *out = demo;
    return CF_OK;
}

void cf_demo_free(cf_demo *demo)
{
    cf_free(demo);
}

cf_status cf_demo_run(cf_demo *demo, cf_uuid here, cf_str name, const json_t *arguments,
                      json_t **result, cf_error *err)
{
    const tool *t = find(name);
    if (t == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "'%.*s' is not a tool that runs here",
                       (int)(name.n < 80 ? name.n : 80), name.p);
    }
    *result = t->run(demo, here, arguments);
    return *result != NULL ? CF_OK : cf_oom_for(err, "a result");
}

/* ---- timers ------------------------------------------------------------- */

int cf_demo_wait_ms(const cf_demo *demo)
{
    uint64_t now = cf_os_monotonic_us(), next = UINT64_MAX;
    for (int i = 0; i < CF_DEMO_TIMERS; i++) {
        const cf_demo_timer *t = &demo->timer[i];
        if (t->id != 0 && t->due_us < next) {
            next = t->due_us;
        }
    }
    return next == UINT64_MAX ? -1 : next <= now ? 0 : (int)((next - now + 999) / 1000);
}

bool cf_demo_ring(cf_demo *demo, cf_buf *line)
{
    uint64_t now = cf_os_monotonic_us();
    for (int i = 0; i < CF_DEMO_TIMERS; i++) {
        cf_demo_timer *t = &demo->timer[i];
        if (t->id != 0 && t->due_us <= now) {
            cf_buf_addf(line, "timer %u rings: %s%s%d minute%s are over", (unsigned)t->id, t->label,
                        t->label[0] != '\0' ? ", " : "", t->minutes, t->minutes == 1 ? "" : "s");
            t->id = 0;
            return true;
        }
    }
    return false;
}
