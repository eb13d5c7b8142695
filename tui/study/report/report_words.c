/*
 * report_words.c - the words and figures that every form of a report shows.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/study/report/report_impl.h"

/* ---- figures ------------------------------------------------------------ */

typedef struct figures {
    cf_report_figure *v;
    size_t n;
} figures;

static void put(figures *f, const char *name, const char *fmt, ...) CF_PRINTF(3, 4);
static void put(figures *f, const char *name, const char *fmt, ...)
{
    cf_report_figure *to = &f->v[f->n];
    va_list ap;
    if (f->n == CF_REPORT_FIGURES) {
        return;
    }
    to->name = name;
    va_start(ap, fmt);
    vsnprintf(to->value, sizeof to->value, fmt, ap);
    va_end(ap);
    f->n += to->value[0] != '\0';
}

static void put_str(figures *f, const char *name, cf_str s)
{
    put(f, name, "%.*s", (int)(s.n < 120 ? s.n : 120), s.n != 0 ? s.p : "");
}

static void put_model(figures *v, const cf_report_facts *f)
{
    char hash[65];
    cf_backend_info info = cf_backend_get_info(f->from.backend);
    put_str(v, "model", info.name);
    if (f->from.engine != NULL) {
        cf_engine_info e = cf_engine_get_info(f->from.engine);
        cf_engine_hash(f->from.engine, hash);
        put(v, "architecture", "%s, %s", e.arch, e.file_type);
        put(v, "model hash", "%.16s", hash);
    }
    put(v, "template", "%s", f->from.template_name);
    put(v, "tool calls", "%s", cf_tool_family_name(f->from.family));
}

static void put_run(figures *v, const cf_report_facts *f)
{
    const cf_store_run *r = f->stored.run;
    put_str(v, "written by", r->model);
    put_str(v, "engine", r->engine);
    put_str(v, "kernels", r->isa);
    if (r->n_threads > 0) {
        put(v, "threads", "%d%s%s", r->n_threads, r->arithmetic != CF_ARITHMETIC_16 ? ", " : "",
            r->arithmetic != CF_ARITHMETIC_16 ? cf_arithmetic_name(r->arithmetic) : "");
    }
    if (r->has_seed) {
        put(v, "seed", "%llu", (unsigned long long)r->seed);
    }
    put_str(v, "stopped by", r->stop_reason);
    put_str(v, "error", r->error);
    if (r->prefill_us > 0) {
        put(v, "prompt read in", "%.1f ms", (double)r->prefill_us / 1e3);
    }
    if (r->decode_us > 0 && r->n_reply > 0) {
        put(v, "written at", "%.1f tokens/s", (double)r->n_reply * 1e6 / (double)r->decode_us);
    }
    put_str(v, "constraint", r->constraint_spec);
}

/* Mean likelihood of the reply's tokens, as a perplexity. */
static void put_perplexity(figures *v, const cf_report_facts *f)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; f->reply != NULL && i < f->reply->n_token; i++) {
        const cf_chat_token *t = &f->reply->token[i];
        double p = t->draw != NULL ? (double)t->draw->chosen.p_raw : (double)t->p;
        if (!t->is_forced && p > 0) {
            sum -= log(p);
            n++;
        }
    }
    if (n > 0) {
        put(v, "perplexity", "%.3f", exp(sum / (double)n));
    }
}

size_t cf_report__figures(const cf_report_facts *f, cf_report_figure out[CF_REPORT_FIGURES])
{
    figures v = {.v = out};
    char when[25];
    if (!cf_uuid_is_nil(f->from.id)) {
        char id[CF_UUID_TEXT + 1];
        cf_uuid_format(id, f->from.id);
        put(&v, "conversation", "%s", id);
    }
    if (f->turn != NULL) {
        char id[CF_UUID_TEXT + 1];
        cf_uuid_format(id, f->turn->id);
        cf_os_format_time(when, f->turn->created_ms);
        put(&v, "reply", "%s", id);
        put(&v, "written", "%s", when);
        put(&v, "status", "%s", cf_turn_status_name(f->turn->status));
    }
    put_model(&v, f);
    if (f->has_run) {
        put_run(&v, f);
    }
    put_perplexity(&v, f);
    return v.n;
}

/* ---- texts -------------------------------------------------------------- */

void cf_report__message(cf_buf *out, const json_t *message)
{
    cf_str thinking = cf_json_get_str(message, "reasoning_content");
    if (thinking.n != 0) {
        cf_buf_adds(out, "[thinking]\n");
        cf_buf_add(out, thinking.p, thinking.n);
        cf_buf_adds(out, "\n[end of thinking]\n");
    }
    cf_lab_message_text(out, message);
}

void cf_report__title(cf_buf *out, const cf_report_facts *f)
{
    enum { TITLE_MAX = 90 };
    cf_buf text = CF_BUF_INIT;
    char line[TITLE_MAX + 1];
    cf_buf_add(&text, f->from.title.p, f->from.title.n);
    for (size_t i = 0; i < f->n_path && text.n == 0; i++) {
        if (cf_str_is(cf_json_get_str(f->path[i]->message, "role"), "user")) {
            cf_report__message(&text, f->path[i]->message);
        }
    }
    size_t n = cf_utf8_copy(line, sizeof line, cf_buf_str(&text));
    const char *end = memchr(line, '\n', n);
    n = end != NULL ? (size_t)(end - line) : n;
    cf_buf_add(out, line, n);
    cf_buf_adds(out, n < text.n ? "\xe2\x80\xa6" : "");
    cf_buf_adds(out, text.n == 0 ? "A conversation" : "");
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
}

static const char *role_of(const cf_report_facts *f, size_t message)
{
    cf_str role = {NULL, 0};
    if (message < f->n_message) {
        role = cf_json_get_str(f->message[message].message, "role");
    }
    return role.n != 0 ? role.p : "?";
}

void cf_report__part_title(cf_buf *out, const cf_report_facts *f, int32_t message)
{
    switch (message) {
    case CF_PART_HEAD:
        cf_buf_adds(out, "before the first message");
        break;
    case CF_PART_GENERATION:
        cf_buf_adds(out, "asks for the reply");
        break;
    case CF_PART_TOOLS:
        cf_buf_adds(out, "tool declarations");
        break;
    default:
        cf_buf_addf(out, "%d %s", (int)message + 1,
                    role_of(f, message >= 0 ? (size_t)message : SIZE_MAX));
        break;
    }
}

/* ---- tokens of the prompt ----------------------------------------------- */

static void put_span(cf_buf *out, const cf_report_facts *f, const cf_prompt_span *s)
{
    switch (s->source) {
    case CF_SPAN_MESSAGE:
        cf_buf_addf(out, "message %u (%s)", (unsigned)s->index + 1, role_of(f, s->index));
        break;
    case CF_SPAN_TOOL:
        cf_buf_addf(out, "tool %u", (unsigned)s->index + 1);
        break;
    case CF_SPAN_TEMPLATE:
    case CF_SPAN_VARIABLE:
    case CF_SPAN_COMPUTED:
        cf_buf_adds(out, cf_span_source_name(s->source));
        break;
    }
    if (s->path.n > 0) {
        cf_buf_addc(out, ' ');
        cf_buf_add(out, s->path.p, s->path.n);
    }
    if (s->line > 0) {
        cf_buf_addf(out, ", by template line %u:%u", (unsigned)s->line, (unsigned)s->col);
    }
}

void cf_report__origin(cf_buf *out, const cf_report_facts *f, size_t i)
{
    enum { SPANS_MAX = 4 };
    const cf_prompt_model *m = &f->prompt;
    size_t end = (size_t)m->ids[i].off + m->ids[i].len;
    size_t n = 0;
    for (size_t k = m->token[i].span; k < m->prompt.n_spans; k++) {
        const cf_prompt_span *s = &m->prompt.spans[k];
        if (n > 0 && (s->off >= end || n == SPANS_MAX)) {
            break;
        }
        cf_buf_adds(out, n > 0 ? "\n" : "");
        put_span(out, f, s);
        n++;
    }
}

static void quote(cf_buf *out, cf_str text)
{
    cf_buf_addc(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\n') {
            cf_buf_adds(out, "\xe2\x86\xb5"); /* U+21B5, return */
        } else {
            cf_buf_addc(out, text.p[i]);
        }
    }
    cf_buf_addc(out, '"');
}

void cf_report__prompt_tip(cf_buf *out, const cf_report_facts *f, size_t i)
{
    static const char *const reuse[] = {[CF_REUSE_KEPT] = "in the cache",
                                        [CF_REUSE_NEW] = "computed",
                                        [CF_REUSE_BREAK] =
                                            "the first token that differs from the cache"};
    const cf_prompt_model *m = &f->prompt;
    cf_buf_addf(out, "token %zu, id %d%s  ", i, (int)m->ids[i].id,
                m->token[i].is_special ? ", special" : "");
    quote(out, cf_prompt_model_text(m, i));
    cf_buf_addc(out, '\n');
    cf_report__origin(out, f, i);
    if (f->cache != CF_REPORT_CACHE_NONE) {
        cf_buf_addf(out, "\n%s", reuse[m->token[i].reuse]);
    }
}

/* ---- tokens of the reply ------------------------------------------------ */

double cf_report__p(const cf_report_facts *f, size_t i)
{
    const cf_chat_token *t = &f->reply->token[i];
    return t->draw != NULL ? (double)t->draw->chosen.p_raw : (double)t->p;
}

bool cf_report__candidate(const cf_report_facts *f, size_t i, size_t k, cf_buf *text, double *p,
                          bool *is_chosen)
{
    const cf_chat_token *t = &f->reply->token[i];
    if (t->draw != NULL && k < t->draw->n_top) {
        const cf_candidate *c = &t->draw->top[k];
        if (f->from.tokenizer != NULL) {
            cf_tokenizer_piece(text, f->from.tokenizer, c->id, true);
        } else {
            cf_buf_addf(text, "#%d", (int)c->id);
        }
        *p = (double)c->p_raw;
        *is_chosen = c->id == t->id;
        return true;
    }
    if (t->draw == NULL && k < t->n_top) {
        cf_buf_add(text, t->top[k].text.p, t->top[k].text.n);
        *p = (double)t->top[k].p;
        *is_chosen = cf_str_eq(t->top[k].text, cf_reply_token_text(f->reply, i));
        return true;
    }
    return false;
}

void cf_report__reply_tip(cf_buf *out, const cf_report_facts *f, size_t i)
{
    enum { ALTERNATIVES = 8 };
    const cf_chat_token *t = &f->reply->token[i];
    double p = cf_report__p(f, i);
    cf_buf_addf(out, "token %zu", i);
    if (t->id != CF_TOKEN_NONE) {
        cf_buf_addf(out, ", id %d", (int)t->id);
    }
    cf_buf_adds(out, "  ");
    quote(out, cf_reply_token_text(f->reply, i));
    if (t->is_forced) {
        cf_buf_adds(out, "\ngiven, not drawn");
    } else if (p >= 0) {
        cf_buf_addf(out, "\np %.4f", p);
        if (t->draw != NULL) {
            cf_buf_addf(out, ", rank %u, entropy %.2f bits", (unsigned)t->draw->chosen.rank,
                        (double)t->draw->entropy_bits);
        }
    }
    bool is_chosen;
    cf_buf text = CF_BUF_INIT;
    for (size_t k = 0; k < ALTERNATIVES && cf_report__candidate(f, i, k, &text, &p, &is_chosen);
         k++) {
        cf_buf_addf(out, "\n%s %.4f  ", is_chosen ? "\xe2\x96\xb8" : " ", p);
        quote(out, cf_buf_str(&text));
        cf_buf_reset(&text);
    }
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
}

size_t cf_report__worst(const cf_report_facts *f, size_t *out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; f->reply != NULL && i < f->reply->n_token; i++) {
        double p = cf_report__p(f, i);
        if (f->reply->token[i].is_forced || p < 0 || p > 0.9) {
            continue;
        }
        if (n < max) {
            out[n++] = i;
            continue;
        }
        size_t best = 0;
        for (size_t k = 1; k < n; k++) {
            best = cf_report__p(f, out[k]) > cf_report__p(f, out[best]) ? k : best;
        }
        if (p < cf_report__p(f, out[best])) {
            memmove(out + best, out + best + 1, (n - best - 1) * sizeof *out);
            out[n - 1] = i;
        }
    }
    return n;
}

/* ---- calls -------------------------------------------------------------- */

const char *cf_report__outcome(cf_outcome outcome)
{
    static const char *const names[] = {[CF_OUTCOME_NONE] = "none",
                                        [CF_OUTCOME_OK] = "ok",
                                        [CF_OUTCOME_FAIL] = "failed",
                                        [CF_OUTCOME_WAITS] = "waiting"};
    return names[outcome];
}

static void put_parsed(cf_buf *out, const cf_report_facts *f, const cf_call_row *row)
{
    const cf_tool_call *c = cf_tool_model_call(&f->calls, row);
    if (c == NULL) {
        cf_tool_model_failure(&f->calls, row, out);
        return;
    }
    cf_buf_add(out, c->name.p, c->name.n);
    cf_buf_addc(out, '\n');
    char *pretty = c->json != NULL ? json_dumps(c->json, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    if (pretty != NULL) {
        cf_buf_adds(out, pretty);
    } else {
        cf_buf_add(out, c->arguments.p, c->arguments.n);
        out->failed = out->failed || c->json != NULL;
    }
    cf_free(pretty);
}

static void put_valid(cf_buf *out, const cf_report_facts *f, const cf_call_row *row)
{
    const cf_tool_call *c = cf_tool_model_call(&f->calls, row);
    if (row->outcome[CF_STAGE_VALID] == CF_OUTCOME_NONE) {
        cf_buf_adds(out, c == NULL ? "not checked: it does not parse" : "no tools are declared");
        return;
    }
    cf_buf_addf(out, "%s\n", cf_tool_status_name(c->status));
    cf_tool_model_failure(&f->calls, row, out);
}

/* The bytes of the prompt that a turn contributes. */
static void put_back(cf_buf *out, const cf_report_facts *f, size_t turn)
{
    const cf_prompt *p = &f->prompt.prompt;
    for (size_t i = 0; f->has_prompt && i < p->n_spans; i++) {
        const cf_prompt_span *s = &p->spans[i];
        if (s->source == CF_SPAN_MESSAGE && s->index < f->n_message &&
            f->message[s->index].turn == f->path[turn]) {
            cf_buf_add(out, p->text.p + s->off, s->len);
        }
    }
    if (out->n == 0) {
        cf_buf_adds(out, "not in the prompt of this reply");
    }
}

void cf_report__stage(cf_buf *out, const cf_report_facts *f, const cf_call_row *row, cf_stage stage)
{
    const cf_call_reply *r = &f->calls.reply[row->reply];
    const cf_tool_segment *s = cf_tool_model_segment(&f->calls, row);
    switch (stage) {
    case CF_STAGE_RAW:
        if (r->is_rewritten) {
            cf_buf_adds(out, "the bytes were not kept\n");
        }
        cf_buf_add(out, cf_buf_cstr(&r->text) + s->off, s->len);
        break;
    case CF_STAGE_PARSED:
        put_parsed(out, f, row);
        break;
    case CF_STAGE_VALID:
        put_valid(out, f, row);
        break;
    case CF_STAGE_RUN:
        if (row->result != SIZE_MAX) {
            cf_report__message(out, f->path[row->result]->message);
        } else {
            cf_buf_adds(out, "no result");
        }
        break;
    case CF_STAGE_BACK:
    case CF_STAGE_COUNT:
        if (row->result != SIZE_MAX) {
            put_back(out, f, row->result);
        } else {
            cf_buf_adds(out, "nothing went back");
        }
        break;
    }
}

/* ---- influence ---------------------------------------------------------- */

size_t cf_report__influence(const cf_report_facts *f, size_t **order, double *most)
{
    const cf_influence *v = &f->influence;
    *most = 0;
    *order = f->has_influence ? cf_calloc(v->n_row + 1, sizeof **order) : NULL;
    if (*order == NULL) {
        return 0;
    }
    cf_influence_sort(v, *order);
    for (size_t i = 0; i < v->n_row; i++) {
        double d = v->row[i].has_delta ? fabs(v->row[i].delta) : 0;
        *most = d > *most ? d : *most;
    }
    return v->n_row < CF_REPORT_INFLUENCES ? v->n_row : CF_REPORT_INFLUENCES;
}

/* ---- parts -------------------------------------------------------------- */

static const char *const part_names[] = {[CF_REPORT_ALL] = "all",
                                         [CF_REPORT_CONVERSATION] = "conversation",
                                         [CF_REPORT_PROMPT] = "prompt",
                                         [CF_REPORT_REPLY] = "reply",
                                         [CF_REPORT_CALLS] = "calls",
                                         [CF_REPORT_DIFFERENCES] = "differences",
                                         [CF_REPORT_INFLUENCE] = "influence",
                                         [CF_REPORT_INSIDE] = "inside"};

enum { N_PARTS = sizeof part_names / sizeof part_names[0] };

bool cf_report_part_parse(cf_report_part *out, const char *name)
{
    for (size_t i = 0; i < N_PARTS; i++) {
        if (strcmp(name, part_names[i]) == 0) {
            *out = (cf_report_part)i;
            return true;
        }
    }
    return false;
}

const char *cf_report_part_name(cf_report_part part)
{
    return part_names[part];
}

void cf_report_part_names(cf_buf *out)
{
    for (size_t i = 0; i < N_PARTS; i++) {
        cf_buf_addf(out, "%s%s", i > 0 ? ", " : "", part_names[i]);
    }
}
