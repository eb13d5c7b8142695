/*
 * test_diff_jobs.c - the Diff view's work on the worker: both sides' replies,
 * likelihoods, the comparison of many conversations; and the view's model.
 *
 * A small random model and the reference kernels answer, so that scores can be
 * held against cf_backend_score().
 */
#include <math.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "templates/chat_template.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/tiny_lora.h"
#include "tui/lab/compare/diff_likely.h"
#include "tui/lab/compare/diff_model.h"
#include "tui/lab/compare/diff_run.h"
#include "tui/lab/compare/diff_survey.h"
#include "tui/lab/lab.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_adapters.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"

static const char template_b[] =
    "{%- for m in messages %}{{- '[' + m.role + '] ' + m.content + '\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '[assistant] ' }}"
    "{%- endif %}";

static const char broken[] = "{{- messages[0].content + 1 }}";

typedef struct desk {
    void *bytes;
    cf_engine *engine;
    cf_backend *backend;
    cf_store *store;
    cf_lab *lab;
    cf_diff_model m;
    char b[64], bad[64];
} desk;

static void write_template(char out[64], const char *name, const char *text)
{
    cf_error err;
    snprintf(out, 64, "%s", store_dir_file(name));
    T_OK(cf_os_write_file(out, text, strlen(text), 0600, &err), err);
}

static void open_engine(desk *d, cf_lab_engine *e)
{
    cf_error err;
    size_t n;
    const cf_engine_options o = {.n_threads = 1, .kernel_set = "ref"};
    const cf_core_options core = {.renderer = cf_renderer_plain()};
    d->bytes = cf_tiny_gguf(&(cf_tiny_options){.seed = 3}, &n);
    T_OK(cf_engine_open_memory(&d->engine, d->bytes, n, &o, &err), err);
    T_OK(cf_backend_core_new(&d->backend, d->engine, &core, &err), err);
    *e = (cf_lab_engine){.backend = d->backend,
                         .engine = d->engine,
                         .tokenizer = cf_engine_tokenizer(d->engine),
                         .template_name = "plain",
                         .sampling = {.temperature = 1, .seed = 11},
                         .has_sampling = true,
                         .max_tokens = 16};
}

static void open_script(desk *d, const char *text, cf_lab_engine *e)
{
    cf_error err;
    json_t *script;
    const cf_script_options o = {.renderer = cf_renderer_plain()};
    T_OK(cf_json_read(&script, text, strlen(text), &err), err);
    T_OK(cf_backend_script_new(&d->backend, script, &o, &err), err);
    json_decref(script);
    *e = (cf_lab_engine){.backend = d->backend, .template_name = "plain"};
}

/* With a script, or a small model when there is none. */
static void set_up(desk *d, const char *script)
{
    cf_error err;
    cf_lab_engine e;
    static int n_databases;
    char name[32];
    *d = (desk){.bytes = NULL};
    if (script != NULL) {
        open_script(d, script, &e);
    } else {
        open_engine(d, &e);
    }
    const cf_store_options flags = {.flags = CF_STORE_CREATE};
    snprintf(name, sizeof name, "%d.db", n_databases++);
    T_OK(cf_store_open(&d->store, store_dir_file(name), &flags, &err), err);
    T_OK(cf_lab_new(&d->lab, &e, d->store, &err), err);
    write_template(d->b, "b.jinja", template_b);
    write_template(d->bad, "bad.jinja", broken);
    cf_diff_model_init(&d->m, d->lab, d->store);
    d->m.is_swapped = true; /* here the template in use is A */
    T_OK(cf_diff_model_with(&d->m, d->b, &err), err);
}

static void tear_down(desk *d)
{
    cf_diff_model_deinit(&d->m);
    cf_lab_free(d->lab);
    cf_store_close(d->store);
    cf_backend_free(d->backend);
    cf_engine_close(d->engine);
    cf_tiny_free(d->bytes);
}

static void settle(desk *d, cf_status want)
{
    cf_error err;
    cf_lab_settle(d->lab, &err);
    assert_int_equal(err.code, want);
}

static void say(desk *d, const char *text)
{
    cf_error err;
    size_t n;
    const cf_turn *const *path = cf_lab_path(d->lab, &n);
    cf_uuid parent = n != 0 ? path[n - 1]->id : (cf_uuid){{0}};
    T_OK(cf_lab_send(d->lab, cf_str_from(text), parent, &err), err);
    settle(d, CF_OK);
}

/* ---- replies ------------------------------------------------------------ */

/* The side that prompts as the workbench does answers as the workbench did, byte by
 * byte; the other side draws with the same seed from its own prompt. */
static void test_run__repeats_the_reply(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_diff_run run = {.has = false};
    set_up(&d, NULL);
    say(&d, "How is it in Oslo?");
    T_OK(cf_diff_run_start(&run, &d.m, 0, &err), err);
    T_FAILS(cf_lab_send(d.lab, cf_str_from("x"), (cf_uuid){{0}}, &err), CF_EBUSY);
    settle(&d, CF_OK);
    size_t n;
    const cf_turn *const *path = cf_lab_path(d.lab, &n);
    assert_int_equal(n, 2); /* nothing was added */
    const cf_run_side *a = &run.side[0], *b = &run.side[1];
    assert_false(run.is_on);
    assert_true(a->is_done && b->is_done);
    assert_int_equal(a->status, CF_OK);
    assert_true(cf_str_eq(cf_buf_str(&a->reply.raw), path[1]->raw));
    assert_int_equal(run.n_path, 1);
    assert_int_equal(run.seed, 11);
    assert_true(run.by_token);
    assert_false(run.is_same);
    assert_int_equal(b->reply.n_token, 16);
    /* The mark is at the first token that differs. */
    for (size_t i = 0; i < run.n_same; i++) {
        assert_int_equal(a->reply.token[i].id, b->reply.token[i].id);
    }
    assert_int_not_equal(a->reply.token[run.n_same].id, b->reply.token[run.n_same].id);
    assert_int_equal(run.first[0].off, a->reply.token[run.n_same].raw_off);
    assert_int_equal(run.first[0].len, cf_reply_token_text(&a->reply, run.n_same).n);
    cf_diff_run_deinit(&run);
    tear_down(&d);
}

static void test_run__limit_and_sides(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_diff_run one = {.has = false}, two = {.has = false};
    set_up(&d, NULL);
    T_FAILS(cf_diff_run_start(&one, &d.m, 0, &err), CF_ENOTFOUND);
    say(&d, "How is it in Oslo?");
    T_OK(cf_diff_run_start(&one, &d.m, 5, &err), err);
    settle(&d, CF_OK);
    d.m.is_swapped = false;
    T_OK(cf_diff_run_start(&two, &d.m, 5, &err), err);
    settle(&d, CF_OK);
    for (int i = 0; i < 2; i++) { /* the order of the sides changes nothing */
        const cf_run_side *a = &one.side[i], *b = &two.side[1 - i];
        assert_int_equal(a->reply.n_token, 5);
        assert_int_equal(a->reply.stop.reason, CF_STOP_LENGTH);
        assert_true(cf_str_eq(cf_buf_str(&a->reply.raw), cf_buf_str(&b->reply.raw)));
    }
    assert_true(one.was_swapped && !two.was_swapped);
    cf_diff_run_deinit(&one);
    cf_diff_run_deinit(&two);
    tear_down(&d);
}

/* The side with an adapter of its own answers what the workbench answers with
 * that adapter; the other side is as it was.  No template needs to be
 * chosen. */
static void test_run__adapters(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    size_t n;
    cf_diff_run run = {.has = false};
    char file[64], spec[80];
    set_up(&d, NULL);
    snprintf(file, sizeof file, "%s", store_dir_file("side.gguf"));
    snprintf(spec, sizeof spec, "%s=0.5", file);
    cf_tiny_lora_write(file, "llama", 1);
    say(&d, "How is it in Oslo?");
    const cf_turn *const *path = cf_lab_path(d.lab, &n);
    cf_buf plain = CF_BUF_INIT;
    cf_buf_add(&plain, path[1]->raw.p, path[1]->raw.n);
    cf_diff_model_deinit(&d.m);
    cf_diff_model_init(&d.m, d.lab, d.store);
    T_FAILS(cf_diff_model_lora(&d.m, "none/here.gguf", &err), CF_ENOTFOUND);
    T_OK(cf_diff_model_lora(&d.m, spec, &err), err);
    assert_string_equal(cf_diff_model_lora_label(&d.m, 0), "side.gguf x 0.5");
    assert_string_equal(cf_diff_model_lora_label(&d.m, 1), "");
    T_OK(cf_diff_run_start(&run, &d.m, 0, &err), err);
    settle(&d, CF_OK);
    cf_str a = cf_buf_str(&run.side[0].reply.raw);
    assert_true(cf_str_eq(cf_buf_str(&run.side[1].reply.raw), cf_buf_str(&plain)));
    assert_false(cf_str_eq(a, cf_buf_str(&plain)));
    T_OK(cf_lab_set_adapters(d.lab, spec, &err), err);
    T_OK(cf_diff_model_lora(&d.m, "off", &err), err);
    cf_diff_run in_use = {.has = false};
    T_OK(cf_diff_run_start(&in_use, &d.m, 0, &err), err);
    settle(&d, CF_OK);
    assert_true(cf_str_eq(cf_buf_str(&in_use.side[0].reply.raw), cf_buf_str(&plain)));
    assert_true(cf_str_eq(cf_buf_str(&in_use.side[1].reply.raw), a));
    cf_diff_run_deinit(&in_use);
    T_OK(cf_lab_retry(d.lab, path[1]->id, &err), err);
    settle(&d, CF_OK);
    path = cf_lab_path(d.lab, &n);
    const cf_reply *r = cf_lab_reply(d.lab, path[1]->id);
    assert_non_null(r);
    assert_non_null(strstr(cf_buf_cstr(&r->adapters), "side.gguf x 0.5"));
    cf_diff_run_deinit(&run);
    cf_buf_deinit(&plain);
    tear_down(&d);
}

/* A template that fails leaves the other side to answer. */
static void test_run__one_side_fails(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_diff_run run = {.has = false};
    set_up(&d, NULL);
    say(&d, "How is it in Oslo?");
    T_OK(cf_diff_model_with(&d.m, d.bad, &err), err);
    T_OK(cf_diff_run_start(&run, &d.m, 4, &err), err);
    settle(&d, CF_OK);
    assert_int_equal(run.side[0].status, CF_OK);
    assert_int_equal(run.side[0].reply.n_token, 4);
    assert_int_not_equal(run.side[1].status, CF_OK);
    assert_true(run.side[1].err.text[0] != '\0');
    cf_diff_run_deinit(&run);
    tear_down(&d);
}

static const char story[] =
    "{\"replies\":[{\"text\":\"It rains.\"},"
    "{\"tokens\":[{\"text\":\"It\"},{\"text\":\" is\"},{\"text\":\" dry\"}]},"
    "{\"tokens\":[{\"text\":\"It\"},{\"text\":\" is\"},{\"text\":\" wet\"},"
    "{\"text\":\".\"}]},"
    "{\"text\":\"h\\u00e9llo\"},{\"text\":\"h\\u00eallo\"},"
    "{\"text\":\"slow\",\"chunk\":1,\"delay_ms\":20000}]}";

static void test_run__scripted_replies_part(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_diff_run run = {.has = false};
    set_up(&d, story);
    say(&d, "How is it?");
    T_OK(cf_diff_run_start(&run, &d.m, 0, &err), err);
    settle(&d, CF_OK);
    assert_true(run.by_token);
    assert_int_equal(run.n_same, 2);
    assert_true(cf_str_is(cf_reply_token_text(&run.side[0].reply, 2), " dry"));
    assert_true(cf_str_is(cf_reply_token_text(&run.side[1].reply, 2), " wet"));
    assert_int_equal(run.first[1].off, 5);
    assert_int_equal(run.first[1].len, 4);
    cf_diff_run_deinit(&run);
    tear_down(&d);
}

/* Without tokens replies part at a whole character. */
static void test_run__parts_between_characters(void **state)
{
    (void)state;
    cf_diff_run run = {.has = true};
    cf_buf_adds(&run.side[0].reply.raw, "h\xC3\xA9llo");
    cf_buf_adds(&run.side[1].reply.raw, "h\xC3\xAAllo");
    cf_diff_run_compare(&run);
    assert_false(run.by_token);
    assert_false(run.is_same);
    assert_int_equal(run.first[0].off, 1);
    assert_int_equal(run.first[0].len, 2);
    cf_buf_reset(&run.side[1].reply.raw);
    cf_diff_run_compare(&run);
    assert_int_equal(run.first[1].off, 0);
    assert_int_equal(run.first[1].len, 0);
    cf_buf_adds(&run.side[1].reply.raw, "h\xC3\xA9llo");
    cf_diff_run_compare(&run);
    assert_true(run.is_same);
    cf_diff_run_deinit(&run);
}

/* Stopping, and taking everything down, in the middle of a slow reply. */
static void test_run__is_stopped(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_diff_run run = {.has = false};
    set_up(&d, "{\"replies\":[{\"text\":\"ab\"},"
               "{\"text\":\"slow\",\"chunk\":1,\"delay_ms\":9000}]}");
    say(&d, "How is it?");
    T_OK(cf_diff_run_start(&run, &d.m, 0, &err), err);
    while (!run.side[0].is_begun) {
        cf_lab_poll(d.lab, &err);
    }
    cf_lab_stop(d.lab);
    settle(&d, CF_OK);
    assert_false(run.is_on);
    assert_int_equal(run.side[0].status, CF_ECANCELLED);
    assert_int_equal(run.side[1].status, CF_ECANCELLED);
    T_OK(cf_diff_run_start(&run, &d.m, 0, &err), err);
    cf_diff_run_deinit(&run); /* while it runs */
    assert_null(cf_lab_task_name(d.lab));
    T_OK(cf_lab_send(d.lab, cf_str_from("And now?"), (cf_uuid){{0}}, &err), err);
    cf_lab_stop(d.lab); /* the reply is the slow one again */
    settle(&d, CF_OK);
    tear_down(&d);
}

/* ---- likelihood --------------------------------------------------------- */

/* Sum and count of a reply after a prompt, the plain way. */
static void slow_score(desk *d, const char *prompt, cf_str reply, double *sum, size_t *n)
{
    cf_error err;
    cf_arena arena;
    cf_score s;
    cf_arena_init(&arena, 0);
    T_OK(cf_backend_score(d->backend, cf_str_from(prompt), reply, NULL, &arena, &s, &err), err);
    *sum = s.sum;
    *n = s.n;
    cf_arena_deinit(&arena);
}

static void check_score(desk *d, const cf_reply_score *v, cf_str reply, const char *a,
                        const char *b)
{
    const char *prompt[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        double sum;
        size_t n;
        slow_score(d, prompt[i], reply, &sum, &n);
        assert_true(v->has[i]);
        assert_int_equal(v->n[i], n);
        assert_true(fabs(v->sum[i] - sum) < 1e-3);
    }
}

static void test_likely__is_the_score_of_each_side(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_likely l = {.has = false};
    set_up(&d, NULL);
    say(&d, "How is it in Oslo?");
    T_OK(cf_likely_start(&l, &d.m, &err), err);
    settle(&d, CF_OK);
    size_t n;
    const cf_turn *const *path = cf_lab_path(d.lab, &n);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.v[0].place[0], 1);
    check_score(&d, &l.v[0], path[1]->raw,
                "user: How is it in Oslo?\nassistant:", "[user] How is it in Oslo?\n[assistant] ");
    assert_int_equal(l.sum.n_replies, 1);
    assert_true(fabs(l.sum.sum[1] - l.v[0].sum[1]) < 1e-9);
    /* Two templates that are one: computed once. */
    T_OK(cf_diff_model_with(&d.m, "model", &err), err);
    T_OK(cf_likely_start(&l, &d.m, &err), err);
    settle(&d, CF_OK);
    assert_true(l.v[0].is_once);
    assert_true(l.v[0].sum[0] >= l.v[0].sum[1] && l.v[0].sum[0] <= l.v[0].sum[1]);
    cf_likely_deinit(&l);
    tear_down(&d);
}

static void test_likely__needs_a_model(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_likely l = {.has = false};
    set_up(&d, story);
    say(&d, "How is it?");
    T_FAILS(cf_likely_start(&l, &d.m, &err), CF_EUNSUPPORTED);
    assert_false(l.has);
    cf_likely_deinit(&l);
    tear_down(&d);
}

/* A reply whose prompt is longer than the context is left out, and says so. */
static void test_likely__leaves_out_what_does_not_fit(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_likely l = {.has = false};
    set_up(&d, NULL);
    json_t *talk = json_array();
    cf_buf text = CF_BUF_INIT;
    for (int i = 0; i < 700; i++) {
        cf_buf_adds(&text, "q ");
    }
    json_array_append_new(talk,
                          json_pack("{s:s,s:s}", "role", "user", "content", cf_buf_cstr(&text)));
    json_array_append_new(talk, json_pack("{s:s,s:s}", "role", "assistant", "content", "yes"));
    cf_buf_deinit(&text);
    T_OK(cf_lab_add(d.lab, talk, (cf_uuid){{0}}, false, &err), err);
    json_decref(talk);
    T_OK(cf_likely_start(&l, &d.m, &err), err);
    settle(&d, CF_OK);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.sum.n_left_out, 1);
    assert_false(l.v[0].has[0]);
    assert_true(l.v[0].why[0] == 'A');
    cf_likely_deinit(&l);
    tear_down(&d);
}

/* ---- many conversations ------------------------------------------------- */

/* The survey and the view agree about a conversation. */
static void test_survey__agrees_with_the_one(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_likely l = {.has = false};
    cf_survey s = {.has = false};
    set_up(&d, NULL);
    say(&d, "How is it in Oslo?");
    say(&d, "And here?");
    cf_uuid id = cf_lab_conv_id(d.lab);
    T_OK(cf_store_flush(d.store, 2000, &err), err);
    T_OK(cf_likely_start(&l, &d.m, &err), err);
    settle(&d, CF_OK);
    const cf_survey_options o = {.level = CF_DIFF_LEVEL_TOKENS, .scores = true};
    T_OK(cf_survey_start(&s, &d.m, &o, &err), err);
    settle(&d, CF_OK);
    assert_int_equal(s.n_row, 1);
    assert_int_equal(s.n_differ, 1);
    assert_true(cf_uuid_eq(s.row[0].id, id));
    assert_string_equal(s.row[0].title, "How is it in Oslo?");
    assert_int_equal(s.row[0].score.n_replies, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(s.row[0].score.n[i], l.sum.n[i]);
        assert_true(fabs(s.row[0].score.sum[i] - l.sum.sum[i]) < 1e-3);
        assert_true(s.score.n[i] == s.row[0].score.n[i]);
    }
    d.m.level = CF_DIFF_LEVEL_TOKENS;
    cf_diff_model_update(&d.m);
    assert_true(d.m.has_diff);
    assert_int_equal(s.row[0].n_added, d.m.diff.n_of[CF_DIFF_ADDED]);
    assert_int_equal(s.row[0].n_removed, d.m.diff.n_of[CF_DIFF_REMOVED]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(s.row[0].n_tokens[i], d.m.tokens[i].n);
    }
    cf_survey_deinit(&s);
    cf_likely_deinit(&l);
    tear_down(&d);
}

/* Only the ones named; the template lines; the same template has no rows. */
static void test_survey__some_and_by_source(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_survey s = {.has = false};
    set_up(&d, story);
    say(&d, "One?");
    cf_uuid first = cf_lab_conv_id(d.lab);
    cf_lab_new_conv(d.lab);
    say(&d, "Two?");
    cf_survey_options o = {.level = CF_DIFF_LEVEL_SOURCE, .id = &first, .n_id = 1};
    T_OK(cf_survey_start(&s, &d.m, &o, &err), err);
    T_FAILS(cf_survey_start(&s, &d.m, &o, &err), CF_EBUSY);
    settle(&d, CF_OK);
    assert_int_equal(s.n_done, 1);
    assert_int_equal(s.n_row, 1);
    assert_true(cf_uuid_eq(s.row[0].id, first));
    assert_int_equal(s.row[0].n_line[1], 1);
    assert_int_equal(s.row[0].line[1][0], 1);
    o.n_id = 0;
    T_OK(cf_survey_start(&s, &d.m, &o, &err), err);
    settle(&d, CF_OK);
    assert_int_equal(s.n_done, 2);
    assert_int_equal(s.n_differ, 2);
    T_OK(cf_diff_model_with(&d.m, "model", &err), err);
    T_OK(cf_survey_start(&s, &d.m, &o, &err), err);
    settle(&d, CF_OK);
    assert_int_equal(s.n_differ, 0);
    assert_int_equal(s.n_row, 0);
    T_OK(cf_diff_model_with(&d.m, d.bad, &err), err);
    T_OK(cf_survey_start(&s, &d.m, &o, &err), err);
    settle(&d, CF_OK);
    assert_int_equal(s.n_differ, 2);
    assert_int_equal(s.n_failed, 2);
    assert_int_equal(s.row[0].failed, 2);
    cf_survey_deinit(&s);
    tear_down(&d);
}

/* A conversation that is gone is reported and does not end the rest. */
static void test_survey__passes_over_what_is_gone(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_survey s = {.has = false};
    set_up(&d, story);
    say(&d, "One?");
    cf_uuid ids[2] = {{{1, 2, 3}}, cf_lab_conv_id(d.lab)};
    const cf_survey_options o = {.id = ids, .n_id = 2};
    T_OK(cf_survey_start(&s, &d.m, &o, &err), err);
    settle(&d, CF_OK);
    assert_int_equal(s.n_done, 2);
    assert_int_equal(s.n_failed, 1);
    assert_int_equal(s.n_differ, 1);
    cf_survey_deinit(&s);
    tear_down(&d);
}

static void test_survey__refuses(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_survey s = {.has = false};
    cf_diff_model bare;
    set_up(&d, story);
    const cf_survey_options scores = {.scores = true};
    const cf_survey_options plain = {.scores = false};
    T_FAILS(cf_survey_start(&s, &d.m, &scores, &err), CF_EUNSUPPORTED);
    cf_diff_model_init(&bare, d.lab, d.store);
    T_FAILS(cf_survey_start(&s, &bare, &plain, &err), CF_ENOTFOUND);
    bare.store = NULL;
    T_FAILS(cf_survey_start(&s, &bare, &plain, &err), CF_ENOTFOUND);
    assert_false(s.has);
    cf_diff_model_deinit(&bare);
    cf_survey_deinit(&s);
    tear_down(&d);
}

/* ---- ticks -------------------------------------------------------------- */

static void test_ticks__on_and_off(void **state)
{
    (void)state;
    desk d;
    size_t n;
    set_up(&d, story);
    for (uint8_t i = 1; i <= 40; i++) {
        assert_true(cf_lab_tick(d.lab, (cf_uuid){{i}}));
    }
    assert_true(cf_lab_tick(d.lab, (cf_uuid){{7}}));
    const cf_uuid *v = cf_lab_ticked(d.lab, &n);
    assert_int_equal(n, 39);
    assert_int_equal(v[6].b[0], 8); /* in the order they were ticked */
    assert_false(cf_lab_is_ticked(d.lab, (cf_uuid){{7}}));
    assert_true(cf_lab_is_ticked(d.lab, (cf_uuid){{40}}));
    cf_lab_untick_all(d.lab);
    cf_lab_ticked(d.lab, &n);
    assert_int_equal(n, 0);
    tear_down(&d);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run__repeats_the_reply),
        cmocka_unit_test(test_run__limit_and_sides),
        cmocka_unit_test(test_run__adapters),
        cmocka_unit_test(test_run__one_side_fails),
        cmocka_unit_test(test_run__scripted_replies_part),
        cmocka_unit_test(test_run__parts_between_characters),
        cmocka_unit_test(test_run__is_stopped),
        cmocka_unit_test(test_likely__is_the_score_of_each_side),
        cmocka_unit_test(test_likely__needs_a_model),
        cmocka_unit_test(test_likely__leaves_out_what_does_not_fit),
        cmocka_unit_test(test_survey__agrees_with_the_one),
        cmocka_unit_test(test_survey__some_and_by_source),
        cmocka_unit_test(test_survey__passes_over_what_is_gone),
        cmocka_unit_test(test_survey__refuses),
        cmocka_unit_test(test_ticks__on_and_off),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
