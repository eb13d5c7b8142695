/*
 * cmd_influence.c - confab influence: which parts of a prompt a stored reply
 * depends on.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_recorded.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/progress.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/study/influence/influence.h"

typedef struct asked {
    const char *by, *turn, *span, *argument, *change, *with, *positions, *part;
    const char *family;
    bool tokens;
} asked;

typedef struct command {
    cf_cli *cli;
    asked a;
    cf_study_engine engine;
    cf_study_case c, other;
    cf_study_scorer scorer;
    cf_influence_options o;
    cf_influence result;
    cf_progress progress;
    size_t only; /* the row that --part names; SIZE_MAX: all */
} command;

/* ---- options ------------------------------------------------------------ */

/* "message:3", "sentence:0:2": a kind, and where it is. */
static cf_status read_part(command *c, cf_error *err)
{
    const char *text = c->a.part;
    size_t n = strcspn(text, ":");
    cf_part_kind kind;
    char *end = NULL;
    if (text[n] != ':' || !cf_part_kind_parse(&kind, cf_str_make(text, n))) {
        return cf_fail(err, CF_EINVAL, "--part takes KIND:INDEX or KIND:MESSAGE:INDEX");
    }
    unsigned long first = strtoul(text + n + 1, &end, 10);
    bool is_in_message = kind == CF_PART_SENTENCE || kind == CF_PART_WORD;
    c->only = first;
    if (is_in_message && *end == ':') {
        c->o.message = first;
        c->only = strtoul(end + 1, &end, 10);
    } else if (is_in_message) {
        c->o.message = 0;
    }
    if (end == text + n + 1 || *end != '\0') {
        return cf_fail(err, CF_EINVAL, "--part: '%.40s' has no number", text);
    }
    c->o.kinds = 1u << kind;
    return CF_OK;
}

static cf_status read_span(command *c, cf_error *err)
{
    char *end = NULL;
    const char *text = c->a.span;
    unsigned long long from = strtoull(text, &end, 10), to = 0;
    bool ok = end != text && strncmp(end, "..", 2) == 0;
    if (ok) {
        const char *second = end + 2;
        to = strtoull(second, &end, 10);
        ok = end != second && *end == '\0';
    }
    c->o.has_span = true;
    c->o.span_from = (size_t)from;
    c->o.span_to = (size_t)to;
    return ok ? CF_OK : cf_fail(err, CF_EINVAL, "--span takes bytes of the reply, as in 10..25");
}

static cf_status read_change(command *c, cf_error *err)
{
    static const char *const names[] = {"leave-out", "neutral", "look", "swap"};
    const char *name = c->a.change != NULL ? c->a.change : c->a.with != NULL ? "swap" : "leave-out";
    const char *positions = c->a.positions != NULL ? c->a.positions : "close";
    int i = 0;
    while (i < 4 && strcmp(name, names[i]) != 0) {
        i++;
    }
    if (i == 4) {
        return cf_fail(err, CF_EINVAL, "--change takes leave-out, neutral, look or swap");
    }
    c->o.change = (cf_part_change)i;
    if ((c->o.change == CF_CHANGE_SWAP) != (c->a.with != NULL)) {
        return cf_fail(err, CF_EINVAL, "--change swap and --with UUID belong together");
    }
    if (strcmp(positions, "close") != 0 && strcmp(positions, "keep") != 0) {
        return cf_fail(err, CF_EINVAL, "--positions takes close or keep");
    }
    c->o.keeps_positions = strcmp(positions, "keep") == 0;
    return CF_OK;
}

static cf_status read_options(command *c, cf_error *err)
{
    c->o.message = c->o.tool = c->only = SIZE_MAX;
    CF_TRY(cf_part_kinds_read(&c->o.kinds, c->a.by != NULL ? c->a.by : "", "--by", err));
    CF_TRY(read_change(c, err));
    if (c->a.part != NULL) {
        c->o.has_no_groups = true;
        CF_TRY(read_part(c, err));
    }
    return c->a.span != NULL ? read_span(c, err) : CF_OK;
}

/* ---- output ------------------------------------------------------------- */

/* The bytes of the reply that a token of the target writes. */
static cf_str target_text(const command *c, const cf_influence_token *t)
{
    cf_str all = c->c.reply;
    size_t from = t->off < all.n ? t->off : all.n;
    size_t n = t->len < all.n - from ? t->len : all.n - from;
    return cf_str_make(all.p + from, n);
}

static void put_tokens(const command *c, const cf_influence_row *row, cf_jw *w)
{
    cf_jw_array(w, "tokens");
    for (size_t i = 0; i < c->result.n_target; i++) {
        const cf_influence_token *t = &c->result.target[i];
        cf_jw_object(w, NULL);
        if (t->id != CF_TOKEN_NONE) {
            cf_jw_int(w, "id", t->id);
        } else {
            cf_jw_null(w, "id");
        }
        cf_jw_bytes(w, "text", target_text(c, t));
        cf_jw_uint(w, "off", t->off);
        cf_jw_double(w, "delta", (double)row->log_p[i] - (double)t->log_p);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

static void put_part(const command *c, const cf_part *p, cf_jw *w)
{
    cf_buf label = CF_BUF_INIT;
    cf_jw_text(w, "part", cf_part_kind_name(p->kind));
    cf_part_write(p, w);
    cf_part_label(p, &c->c, &label);
    cf_jw_buf(w, "label", &label);
    cf_jw_bytes(w, "text", p->text);
    cf_buf_deinit(&label);
}

static void put_decision(cf_jw *w, bool decides, cf_str would_say)
{
    cf_jw_bool(w, "decides", decides);
    if (would_say.p != NULL) {
        cf_jw_bytes(w, "would_say", would_say);
    } else {
        cf_jw_null(w, "would_say");
    }
}

static cf_status put_json(const command *c, const cf_influence_row *row, bool is_first, cf_buf *out,
                          cf_error *err)
{
    const cf_part *p = &row->part;
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    if (is_first) {
        cf_jw_text(&w, "prompt", cf_prompt_match_name(c->result.match));
        if (c->result.is_constrained) {
            cf_jw_uint(&w, "forced", c->result.n_forced);
        }
    }
    put_part(c, p, &w);
    if (row->has_delta) {
        cf_jw_double(&w, "delta", row->delta);
        cf_jw_double(&w, "with", c->result.with);
        cf_jw_double(&w, "without", row->without);
        if (c->scorer.server == NULL && c->o.budget == 0) {
            cf_jw_uint(&w, "removed", row->n_tokens);
        }
    } else {
        cf_jw_null(&w, "delta");
        cf_jw_text(&w, "error", row->why);
    }
    if (row->is_emptied) {
        cf_jw_bool(&w, "emptied", true);
    }
    if (c->o.instead != NULL) {
        put_decision(&w, row->decides, row->would_say);
    }
    if (row->has_delta && c->a.tokens) {
        put_tokens(c, row, &w);
    }
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    return cf_jw_finish(&w, err);
}

/* Parts that are left out together. */
static cf_status put_group_json(const command *c, const cf_influence_group *g, cf_buf *out,
                                cf_error *err)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_array(&w, "group");
    for (size_t i = 0; i < g->of.n; i++) {
        cf_jw_object(&w, NULL);
        put_part(c, &c->result.row[g->of.row[i]].part, &w);
        cf_jw_end(&w);
    }
    cf_jw_end(&w);
    cf_jw_double(&w, "delta", g->of.delta);
    cf_jw_text(&w, "kind", cf_part_group_name(g->of.kind));
    if (g->of.kind == CF_GROUP_SOME) {
        cf_jw_uint(&w, "need", g->of.need);
    }
    if (c->o.instead != NULL) {
        put_decision(&w, g->decides, g->would_say);
    }
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    return cf_jw_finish(&w, err);
}

/* Its beginning, on one line. */
static void put_start(cf_buf *out, cf_str text)
{
    enum { SHOWN = 60 };
    size_t n = text.n < SHOWN ? text.n : SHOWN;
    while (n > 0 && n < text.n && ((unsigned char)text.p[n] & 0xC0) == 0x80) {
        n--;
    }
    cf_safe_line(out, text.p, n);
    cf_buf_adds(out, n < text.n ? "..." : "");
}

/* "decides", and the other reply. */
static void put_said(cf_buf *out, bool decides, cf_str would_say)
{
    if (!decides) {
        return;
    }
    cf_buf_adds(out, "  <- decides");
    if (would_say.p != NULL) {
        cf_buf_adds(out, "; would say ");
        put_start(out, would_say);
    }
}

static void put_text_row(const command *c, const cf_influence_row *row, cf_buf *out)
{
    if (row->has_delta) {
        bool is_small = fabs(row->delta) < 0.005; /* no "-0.00" */
        cf_buf_addf(out, is_small ? "%9.2f  " : "%+9.2f  ", is_small ? 0 : row->delta);
    } else {
        cf_buf_adds(out, "        ?  ");
    }
    cf_buf label = CF_BUF_INIT, safe = CF_BUF_INIT;
    cf_part_label(&row->part, &c->c, &label);
    cf_safe_line(&safe, cf_buf_cstr(&label), label.n);
    cf_buf_addf(out, "%-26s  ", cf_buf_cstr(&safe));
    if (row->part.kind != CF_PART_TOOL) {
        put_start(out, row->part.text);
    }
    cf_buf_adds(out, row->is_emptied ? "  (its content only)" : "");
    put_said(out, row->decides, row->would_say);
    if (!row->has_delta) {
        cf_buf_adds(out, "  ");
        cf_buf_adds(out, row->why);
    }
    cf_buf_addc(out, '\n');
    cf_buf_deinit(&label);
    cf_buf_deinit(&safe);
    if (!row->has_delta || !c->a.tokens) {
        return;
    }
    for (size_t i = 0; i < c->result.n_target; i++) {
        const cf_influence_token *t = &c->result.target[i];
        cf_str piece = target_text(c, t);
        cf_buf_addf(out, "             %+8.3f  '", (double)row->log_p[i] - (double)t->log_p);
        cf_safe_line(out, piece.p, piece.n);
        cf_buf_adds(out, "'\n");
    }
}

static void put_group_text(const command *c, const cf_influence_group *g, cf_buf *out)
{
    cf_buf_addf(out, "%+9.2f  ", g->of.delta);
    cf_buf label = CF_BUF_INIT;
    cf_influence_group_label(&c->result, g, &c->c, &label);
    cf_safe_line(out, cf_buf_cstr(&label), label.n);
    cf_buf_deinit(&label);
    put_said(out, g->decides, g->would_say);
    cf_buf_addc(out, '\n');
}

static cf_status put_groups(const command *c, cf_buf *out, cf_error *err)
{
    const cf_influence *v = &c->result;
    cf_status st = CF_OK;
    if (v->n_group > 0 && !c->cli->is_json) {
        cf_buf_adds(out, "together:\n");
    }
    for (size_t i = 0; st == CF_OK && i < v->n_group; i++) {
        if (c->cli->is_json) {
            st = put_group_json(c, &v->group[i], out, err);
        } else {
            put_group_text(c, &v->group[i], out);
        }
    }
    return st;
}

/* How far a fit can be trusted. */
static cf_status put_error(const command *c, cf_buf *out, cf_error *err)
{
    const cf_influence *v = &c->result;
    cf_jw w;
    if (!c->cli->is_json) {
        cf_buf_addf(out, "fitted to %zu random ablations; ", v->n_pass - 1);
        if (v->has_lds) {
            cf_buf_addf(out, "rank correlation on those that the fit has not seen: %.2f\n", v->lds);
        } else {
            cf_buf_adds(out, "too few to measure its error\n");
        }
        return CF_OK;
    }
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    if (v->has_lds) {
        cf_jw_double(&w, "lds", v->lds);
    } else {
        cf_jw_null(&w, "lds");
    }
    cf_jw_uint(&w, "passes", v->n_pass - 1);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    return cf_jw_finish(&w, err);
}

static void put_quoted(cf_buf *out, cf_str text)
{
    cf_buf_addc(out, '"');
    put_start(out, text);
    cf_buf_addc(out, '"');
}

/* What the numbers below are of. */
static void put_head(const command *c, cf_buf *out)
{
    const cf_influence *v = &c->result;
    if (v->instead.n == 0) {
        cf_buf_addf(out, "log-likelihood of the %zu tokens: %.2f nats", v->n_target, v->with);
        cf_buf_addf(out, ", %.2f a token", v->with / (double)v->n_target);
    } else {
        put_quoted(out, v->target_text);
        cf_buf_adds(out, " rather than ");
        put_quoted(out, v->instead);
        cf_buf_addf(out, ": %.1f %% (log-odds %+.2f)", 100 / (1 + exp(-v->with)), v->with);
    }
    if (v->is_constrained) {
        cf_buf_addf(out, ", under the constraint of the run, %zu forced", v->n_forced);
    }
    cf_buf_addf(out, "; without each part it changes by\n");
}

static cf_status put(const command *c, cf_buf *out, cf_error *err)
{
    const cf_influence *v = &c->result;
    size_t *order = cf_calloc(v->n_row + 1, sizeof *order);
    if (order == NULL) {
        return cf_oom(err);
    }
    cf_influence_sort(v, order);
    if (!c->cli->is_json) {
        cf_buf_add(out, v->match_why.p, v->match_why.n);
        cf_buf_adds(out, v->match_why.n > 0 ? "\n" : "");
        put_head(c, out);
    }
    cf_status st = CF_OK;
    size_t n = 0;
    for (size_t i = 0; st == CF_OK && i < v->n_row; i++) {
        const cf_influence_row *row = &v->row[order[i]];
        if (c->only != SIZE_MAX && row->part.index != c->only) {
            continue;
        }
        n++;
        if (c->cli->is_json) {
            st = put_json(c, row, n == 1, out, err);
        } else {
            put_text_row(c, row, out);
        }
    }
    cf_free(order);
    if (st == CF_OK && n == 0) {
        st = cf_fail(err, CF_ENOTFOUND, "the prompt has no such part");
    }
    CF_THEN(st, put_groups(c, out, err));
    if (c->o.budget > 0) {
        CF_THEN(st, put_error(c, out, err));
    }
    return st;
}

/* ---- the command -------------------------------------------------------- */

static void show_progress(void *ud, size_t n_done, size_t n_all)
{
    cf_progress_show(ud, n_done, n_all);
}

static cf_status open_all(command *c, const char *uuid, cf_error *err)
{
    CF_TRY(read_options(c, err));
    CF_TRY(cf_cli_open_store(&c->cli->store, c->cli, 0, err));
    CF_TRY(cf_cli_open_recorded(&c->cli->opened, c->cli, c->cli->store, uuid, c->a.turn,
                                c->a.family, &c->c.arena, err));
    c->engine = cf_study_engine_of(&c->cli->opened);
    c->engine.roles = &c->cli->opened.roles;
    c->engine.template_source = cf_buf_str(&c->cli->opened.source);
    CF_TRY(cf_study_scorer_init(&c->scorer, c->cli->opened.backend, c->cli->store, cf_cli_cancel(),
                                err));
    CF_TRY(cf_study_case_load(&c->c, c->cli->store, &c->engine, uuid, c->a.turn, err));
    if (c->a.with != NULL) {
        CF_TRY(cf_study_case_whole(&c->other, c->cli->store, &c->engine, c->a.with, err));
        c->o.other = &c->other;
    }
    if (c->a.argument != NULL) {
        c->o.has_span = true;
        CF_TRY(cf_influence_argument(&c->c, &c->engine, c->a.argument, &c->o.span_from,
                                     &c->o.span_to, err));
    }
    return CF_OK;
}

static cf_status make(command *c, const char *uuid, cf_error *err)
{
    CF_TRY(open_all(c, uuid, err));
    cf_progress_start(&c->progress, "scoring");
    cf_progress_show(&c->progress, 0, 0); /* the first pass may take long */
    cf_status st = cf_influence_make(&c->result, &c->c, &c->engine, &c->scorer, &c->o,
                                     show_progress, &c->progress, err);
    cf_progress_end(&c->progress);
    CF_THEN(st, put(c, &c->cli->out, err));
    return st;
}

static const cf_opt_row options[] = {
    {"--by", 0, CF_OPT_STR, offsetof(command, a.by), "KIND",
     "kinds of parts, separated by commas: message, tool, sentence, word, "
     "field, template (default: message,tool)",
     0},
    {"--turn", 0, CF_OPT_STR, offsetof(command, a.turn), "TURN",
     "the reply: its UUID, or its message's number from 0 (default: the "
     "last assistant message)",
     0},
    {"--span", 0, CF_OPT_STR, offsetof(command, a.span), "A..B", "only these bytes of the reply",
     0},
    {"--argument", 0, CF_OPT_STR, offsetof(command, a.argument), "CALL.PATH",
     "only this argument of a call, such as 0.city", 0},
    {"--change", 0, CF_OPT_STR, offsetof(command, a.change), "HOW",
     "leave-out (default); neutral: replace with neutral text of the same "
     "length; look: hide it from the reply; swap: replace with the same part of --with",
     0},
    {"--with", 0, CF_OPT_STR, offsetof(command, a.with), "UUID",
     "the conversation to swap parts with", 0},
    {"--positions", 0, CF_OPT_STR, offsetof(command, a.positions), "HOW",
     "positions of the tokens after a removed part: close (default) or keep", 0},
    {"--part", 0, CF_OPT_STR, offsetof(command, a.part), "KIND:N",
     "only this part, counted from 0; for a sentence or word KIND:MESSAGE:N", 0},
    {"--end", 0, CF_OPT_FLAG, offsetof(command, o.asks_end), NULL,
     "ask why the reply ended where it did", 0},
    {"--instead", 0, CF_OPT_STR, offsetof(command, o.instead), "TEXT",
     "ask why the reply, --span or --argument is not this text; "
     "end: why it did not end there; \"no call\": why it called at all",
     0},
    {"--budget", 0, CF_OPT_U32, offsetof(command, o.budget), "N",
     "leave out parts at random in N passes, and fit; without --by from messages down to words", 0},
    {"--tokens", 0, CF_OPT_FLAG, offsetof(command, a.tokens), NULL,
     "show where in the reply each part matters, token by token", 0},
    CF_ROW_FAMILY(offsetof(command, a.family)),
    CF_OPT_ROWS_END,
};

static int run_influence(cf_cli *cli, void *state)
{
    command *c = state;
    cf_error err;
    c->cli = cli;
    if (c->a.span != NULL && c->a.argument != NULL) {
        return cf_cli_usage(cli, "--span and --argument exclude each other");
    }
    if (c->o.budget > 0 && c->a.tokens) {
        return cf_cli_usage(cli, "--budget and --tokens exclude each other");
    }
    cf_study_case_init(&c->c);
    cf_study_case_init(&c->other);
    cf_influence_init(&c->result);
    cf_status st = make(c, cli->args[0], &err);
    int status = cf_cli_end(cli, st, &err);
    if (st == CF_OK && c->result.has_failed_store) {
        cf_note("confab influence: the scores could not be kept");
    }
    cf_influence_deinit(&c->result);
    cf_study_case_deinit(&c->other);
    cf_study_case_deinit(&c->c);
    cf_study_scorer_deinit(&c->scorer);
    return status;
}

const cf_cli_command cf_cmd_influence = {
    .name = "influence",
    .arguments = "UUID",
    .summary = "show which parts of a prompt a stored reply depends on",
    .options = options,
    .state_bytes = sizeof(command),
    .n_min = 1,
    .n_max = 1,
    .want = "takes the UUID of a conversation or turn",
    .run = run_influence,
};
