/*
 * diff_all.c - one conversation after the other, a line each.
 *
 * Without likelihoods a line is printed as soon as it is made.  With them the
 * lines wait, without their ends, until the queue reports their sums.
 */
#include "tui/cli/inspect/diff_all.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/progress.h"
#include "tui/lab/compare/diff_queue.h"
#include "tui/lab/talk/saved.h"
#include "tui/sys/out.h"

/* A line that waits for its sums. */
typedef struct waiting {
    char *begin, *end; /* around the sums; owned */
    bool differs;
} waiting;

typedef struct job {
    cf_diff_all *all;
    cf_store *store;
    cf_diff_queue *queue; /* NULL: no likelihoods */
    cf_progress progress;
    cf_score_sum sum;
    size_t n_written[2];
    double *gap; /* [n_gap] of a conversation with replies: b's nats a token less a's */
    size_t n_gap, cap_gap;
    bool is_cut;      /* memory ran out for one */
    waiting *waiting; /* [n_waiting] rows of the queue */
    size_t n_waiting, cap_waiting;
    cf_arena arena; /* of one conversation */
    cf_buf out;
} job;

static bool is_json(const job *j)
{
    return j->all->cli->is_json;
}

static void print(job *j)
{
    cf_out(stdout, cf_buf_str(&j->out), is_json(j) ? CF_OUT_JSON : CF_OUT_TEXT);
    fflush(stdout);
    cf_buf_reset(&j->out);
}

/* ---- one line ----------------------------------------------------------- */

/* "text -3 +2 ~1 (line 12)" or its members in JSON. */
static void add_counts(job *j, const cf_diff *d, const char *what, const char *unit, uint32_t base)
{
    size_t i = 0;
    while (i < d->n_rows && d->rows[i].kind == CF_DIFF_KEPT) {
        i++;
    }
    if (is_json(j)) {
        cf_buf_addf(&j->out,
                    ",\"%s\":{\"equal\":%s,\"removed\":%zu,\"added\":%zu,"
                    "\"changed\":%zu,\"same_start\":%zu}",
                    what, cf_diff_is_equal(d) ? "true" : "false", d->n_of[CF_DIFF_REMOVED],
                    d->n_of[CF_DIFF_ADDED], d->n_of[CF_DIFF_CHANGED], i);
    } else {
        cf_buf_addf(&j->out, "  %s -%zu +%zu ~%zu (%s %zu)", what, d->n_of[CF_DIFF_REMOVED],
                    d->n_of[CF_DIFF_ADDED], d->n_of[CF_DIFF_CHANGED], unit, i + base);
    }
}

void cf_diff_all_errors(cf_buf *out, const cf_diff_renders *r)
{
    for (int i = 0; i < 2; i++) {
        if (r->status[i] != CF_OK) {
            cf_buf_addf(out, ",\"error_%c\":", 'a' + i);
            cf_json_write_str(out, cf_str_from(r->err[i].text));
        }
    }
}

static void add_errors(job *j, const cf_diff_renders *r)
{
    if (is_json(j)) {
        cf_diff_all_errors(&j->out, r);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (r->status[i] != CF_OK) {
            cf_buf_addf(&j->out, "  %c: %s", 'a' + i, r->err[i].text);
        }
    }
}

/* The line up to the sums; *differs is whether it is to be listed for its
 * prompts. */
static cf_status begin_line(job *j, const cf_store_conv *conv, const cf_diff_renders *r,
                            bool *differs, cf_error *err)
{
    const cf_diff_pair *pair = j->all->pair;
    cf_diff text = {.n_rows = 0}, tokens = {.n_rows = 0};
    char id[CF_UUID_TEXT + 1];
    const bool failed = r->status[0] != CF_OK || r->status[1] != CF_OK;
    const bool has_tokens = !failed && pair->tok != NULL;
    if (!failed) {
        CF_TRY(cf_diff_prompts(&text, &r->prompt[0], &r->prompt[1], &j->arena, err));
    }
    if (has_tokens) {
        CF_TRY(cf_diff_pair_by_tokens(pair, &tokens, r, &j->arena, err));
    }
    *differs = failed ? !cf_diff_renders_fail_alike(r)
                      : !cf_diff_is_equal(&text) || !cf_diff_is_equal(&tokens);
    cf_uuid_format(id, conv->id);
    cf_buf_addf(&j->out, is_json(j) ? "{\"conversation\":\"%s\"" : "%s", id);
    if (failed) {
        add_errors(j, r);
    } else {
        add_counts(j, &text, "text", "line", 1);
    }
    if (has_tokens) {
        add_counts(j, &tokens, "tokens", "token", 0);
    }
    return cf_buf_check(&j->out, err);
}

static void end_line(job *j, const cf_store_conv *conv)
{
    cf_str title = conv->title.n > 0 ? conv->title : conv->preview;
    if (is_json(j)) {
        cf_buf_addc(&j->out, ',');
        cf_json_text_bytes(&j->out, "title", title);
        cf_buf_adds(&j->out, "}\n");
    } else {
        cf_buf_adds(&j->out, "  ");
        cf_cli_put_line(&j->out, title);
        cf_buf_addc(&j->out, '\n');
    }
}

/* ---- likelihoods -------------------------------------------------------- */

static void add_side(job *j, char side, const cf_score_sum *sum)
{
    int i = side - 'a';
    cf_buf_addf(&j->out, ",\"%c\":{\"tokens\":%zu,\"log_p\":", side, sum->n[i]);
    cf_json_write_double(&j->out, sum->sum[i]);
    cf_buf_adds(&j->out, ",\"nats\":");
    cf_json_write_double(&j->out, cf_score_mean(sum->sum[i], sum->n[i]));
    cf_buf_addc(&j->out, '}');
}

/* "1.234 -> 1.456 nats a token", or its members in JSON. */
static void add_sums(job *j, const cf_score_sum *sum)
{
    if (is_json(j)) {
        cf_buf_addf(&j->out, ",\"likelihood\":{\"replies\":%zu,\"left_out\":%zu", sum->n_replies,
                    sum->n_left_out);
        add_side(j, 'a', sum);
        add_side(j, 'b', sum);
        cf_buf_addc(&j->out, '}');
        return;
    }
    if (sum->n_replies > 0) {
        cf_buf_addf(&j->out, "  %.3f -> %.3f nats a token", cf_score_mean(sum->sum[0], sum->n[0]),
                    cf_score_mean(sum->sum[1], sum->n[1]));
    }
    if (sum->n_left_out > 0) {
        cf_buf_addf(&j->out, "  %zu left out", sum->n_left_out);
    }
}

static void add_why(job *j, const cf_diff_queue_row *r)
{
    if (r->why == NULL) {
        return;
    }
    if (is_json(j)) {
        cf_buf_addf(&j->out, ",\"unanswered\":%zu,\"why\":", r->n_failed);
        cf_json_write_str(&j->out, cf_str_from(r->why));
    } else {
        cf_buf_adds(&j->out, ": ");
        cf_cli_put_line(&j->out, cf_str_from(r->why));
    }
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Of the sorted gaps; n > 0. */
static double median_of(const double *v, size_t n)
{
    return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Which side wrote the replies, which one gives more conversations the higher
 * likelihood, and the median of the differences: a text favours the prompt that
 * it was written after, and a sum the long replies. */
static void add_spread(job *j)
{
    size_t wins[2] = {0, 0}, other = j->sum.n_replies - j->n_written[0] - j->n_written[1];
    for (size_t i = 0; i < j->n_gap; i++) {
        wins[0] += j->gap[i] > 0;
        wins[1] += j->gap[i] < 0;
    }
    if (j->n_gap == 0) {
        return;
    }
    size_t same = j->n_gap - wins[0] - wins[1];
    qsort(j->gap, j->n_gap, sizeof *j->gap, by_value);
    double median = median_of(j->gap, j->n_gap);
    if (is_json(j)) {
        cf_buf_addf(&j->out,
                    ",\"written\":{\"a\":%zu,\"b\":%zu,\"other\":%zu},\"wins\":{\"a\":%zu,"
                    "\"b\":%zu,\"same\":%zu},\"median\":",
                    j->n_written[0], j->n_written[1], other, wins[0], wins[1], same);
        cf_json_write_double(&j->out, median);
        return;
    }
    cf_buf_addf(&j->out,
                "\nreplies written with a: %zu, with b: %zu, with another or unknown: %zu; a text "
                "favours the template that it was written with"
                "\nconversations that a finds likelier: %zu, b: %zu, the same: %zu; median of b - "
                "a: %+.3f nats a token",
                j->n_written[0], j->n_written[1], other, wins[0], wins[1], same, median);
}

/* Keeps the difference of one conversation. */
static void add_gap(job *j, const cf_score_sum *s)
{
    if (s->n_replies == 0 || s->n[0] == 0 || s->n[1] == 0) {
        return;
    }
    if (!cf_grow(&j->gap, &j->cap_gap, j->n_gap + 1, sizeof *j->gap)) {
        j->is_cut = true;
        return;
    }
    j->gap[j->n_gap++] = cf_score_mean(s->sum[1], s->n[1]) - cf_score_mean(s->sum[0], s->n[0]);
}

/* The queue's report of one conversation. */
static void on_row(void *ud, size_t row, const cf_diff_queue_row *r)
{
    job *j = ud;
    const waiting *w = &j->waiting[row];
    j->all->n_unanswered += r->n_failed;
    j->sum.n_replies += r->sum.n_replies;
    j->sum.n_left_out += r->sum.n_left_out;
    for (int i = 0; i < 2; i++) {
        j->sum.n[i] += r->sum.n[i];
        j->sum.sum[i] += r->sum.sum[i];
        j->n_written[i] += r->n_written[i];
    }
    add_gap(j, &r->sum);
    if (w->differs || r->sum.n_replies + r->sum.n_left_out > 0) {
        cf_progress_end(&j->progress);
        cf_buf_adds(&j->out, w->begin);
        add_sums(j, &r->sum);
        add_why(j, r);
        cf_buf_adds(&j->out, w->end);
        print(j);
    }
}

static void on_progress(void *ud, size_t n_done, size_t n)
{
    job *j = ud;
    if (!j->all->cli->is_quiet) {
        cf_progress_show(&j->progress, n_done, n);
    }
}

/* Puts the line that is begun aside. */
static cf_status wait_line(job *j, const cf_store_conv *conv, bool differs, cf_error *err)
{
    if (!cf_grow(&j->waiting, &j->cap_waiting, j->n_waiting + 1, sizeof *j->waiting)) {
        return cf_oom_for(err, "the lines");
    }
    waiting *w = &j->waiting[j->n_waiting++];
    *w = (waiting){.begin = cf_strdup(cf_buf_cstr(&j->out)), .differs = differs};
    cf_buf_reset(&j->out);
    end_line(j, conv);
    w->end = cf_strdup(cf_buf_cstr(&j->out));
    cf_buf_reset(&j->out);
    return w->begin != NULL && w->end != NULL ? CF_OK : cf_oom_for(err, "the lines");
}

/* ---- one conversation --------------------------------------------------- */

static cf_status one_line(job *j, const cf_store_conv *conv, cf_conversation *c,
                          const cf_diff_renders *r, cf_error *err)
{
    bool differs = false;
    CF_TRY(begin_line(j, conv, r, &differs, err));
    j->all->n_done++;
    j->all->n_differ += differs;
    j->all->n_failed += r->status[0] != CF_OK || r->status[1] != CF_OK;
    if (j->queue != NULL) {
        cf_uuid head = conv->head;
        CF_TRY(wait_line(j, conv, differs, err));
        return cf_diff_queue_add(j->queue, j->all->pair, conv->id, head, c, err);
    }
    if (differs) {
        end_line(j, conv);
        print(j);
    }
    cf_buf_reset(&j->out);
    return CF_OK;
}

static cf_status one_saved(job *j, const cf_store_conv *conv, cf_error *err)
{
    const cf_saved_choice choice = {.conversation = conv->id, .has_raw = j->queue != NULL};
    cf_conversation *c = NULL;
    cf_store_conv about = {.n_turns = 0};
    cf_diff_renders r;
    cf_arena_reset(&j->arena);
    if (conv->n_turns == 0) {
        return CF_OK;
    }
    cf_status st = cf_saved_load(&c, &about, j->store, &choice, &j->arena, err);
    CF_THEN(st, cf_diff_pair_saved(j->all->pair, c, &r, &j->arena, err));
    if (st == CF_OK) {
        about.title = conv->title;
        about.preview = conv->preview;
        st = one_line(j, &about, c, &r, err);
    }
    cf_conversation_free(c);
    return st;
}

/* A page at a time, so that no list of all conversations is in memory. */
static cf_status one_place(job *j, cf_store_place place, cf_error *err)
{
    cf_arena rows;
    cf_arena_init(&rows, 0);
    cf_store_query q = {.place = place, .sort = CF_SORT_CREATED, .limit = 200};
    cf_status st = CF_OK;
    for (size_t n = q.limit; st == CF_OK && n == q.limit; q.offset += n) {
        const cf_store_conv *v;
        cf_arena_reset(&rows);
        st = cf_store_list(j->store, &q, &rows, &v, &n, err);
        for (size_t i = 0; st == CF_OK && i < n; i++) {
            st = atomic_load_explicit(cf_cli_cancel(), memory_order_relaxed)
                     ? cf_fail(err, CF_ECANCELLED, "interrupted")
                     : one_saved(j, &v[i], err);
        }
    }
    cf_arena_deinit(&rows);
    return st;
}

/* ---- all ---------------------------------------------------------------- */

static void last_line(job *j)
{
    const cf_diff_all *a = j->all;
    if (is_json(j)) {
        cf_buf_addf(&j->out, "{\"conversations\":%zu,\"differ\":%zu,\"failed\":%zu", a->n_done,
                    a->n_differ, a->n_failed);
    } else {
        cf_buf_addf(&j->out, "%zu of %zu saved conversations differ", a->n_differ, a->n_done);
    }
    if (j->queue != NULL) {
        add_sums(j, &j->sum);
        add_spread(j);
    }
    cf_buf_adds(&j->out, is_json(j) ? "}\n" : "\n");
    print(j);
}

static cf_status open_queue(job *j, cf_error *err)
{
    const cf_cli *cli = j->all->cli;
    const cf_diff_queue_options o = {.open = cli->open,
                                     .models = cli->model.v,
                                     .n_models = cli->model.n,
                                     .a = j->all->a,
                                     .b = j->all->b,
                                     .as_is = j->all->pair->as_is,
                                     .store = j->store,
                                     .jobs = j->all->jobs,
                                     .cancel = cf_cli_cancel()};
    return cf_diff_queue_new(&j->queue, &o, err);
}

static cf_status run_queue(job *j, cf_error *err)
{
    const cf_diff_queue_calls calls = {on_row, on_progress, j};
    const char *why;
    cf_progress_start(&j->progress, "replies");
    cf_status st = cf_diff_queue_run(j->queue, &calls, err);
    cf_progress_end(&j->progress);
    size_t n = cf_diff_queue_unsaved(j->queue, &why);
    if (n > 0) {
        cf_note("confab diff: %zu likelihoods are not saved: %s", n, why);
        j->all->is_unsaved = true;
    }
    return st;
}

cf_status cf_diff_all_run(cf_diff_all *all, cf_error *err)
{
    job j = {.all = all};
    cf_arena_init(&j.arena, 0);
    cf_status st =
        cf_cli_open_store(&j.store, all->cli, all->has_likelihood ? 0 : CF_STORE_READ_ONLY, err);
    if (st == CF_OK && all->has_likelihood) {
        st = open_queue(&j, err);
    }
    CF_THEN(st, one_place(&j, CF_PLACE_LIVE, err));
    CF_THEN(st, one_place(&j, CF_PLACE_ARCHIVED, err));
    if (st == CF_OK && j.queue != NULL) {
        st = run_queue(&j, err);
    }
    if (st == CF_OK && j.is_cut) {
        st = cf_oom_for(err, "the conversations");
    }
    if (st == CF_OK) {
        last_line(&j);
    }
    cf_diff_queue_free(j.queue);
    cf_store_close(j.store);
    for (size_t i = 0; i < j.n_waiting; i++) {
        cf_free(j.waiting[i].begin);
        cf_free(j.waiting[i].end);
    }
    cf_free(j.waiting);
    cf_free(j.gap);
    cf_buf_deinit(&j.out);
    cf_arena_deinit(&j.arena);
    return st;
}
