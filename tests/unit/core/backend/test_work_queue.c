/* Many jobs over several places: each ends once, whatever goes wrong. */
#include "core/api/work_queue.h"
#include "tests/support/t.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/os.h"

enum { JOBS_MAX = 300 };

typedef struct scene {
    pthread_mutex_t lock;
    cf_str keys[JOBS_MAX];
    char key_text[JOBS_MAX][32];
    size_t n;
    /* What tries do. */
    unsigned n_fail_first; /* tries of each job that fail before one works */
    unsigned retry_after_s;
    cf_work_again again;
    unsigned dead_places; /* a bit each: they do not answer */
    size_t stop_at;       /* tries; then the run is cancelled.  0: never */
    cf_cancel cancel;
    /* What happened. */
    unsigned n_tries[JOBS_MAX], n_ends[JOBS_MAX];
    size_t n_at_place[8];
    unsigned refusing_places; /* one bit each: "not now", always */
    size_t n_done, n_failed, n_resumed, n_all_tries;
    char last_error[CF_ERROR_TEXT_MAX];
    char path[64];
} scene;

static void init(scene *s, size_t n)
{
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        snprintf(s->key_text[i], sizeof s->key_text[i], "job %zu", i);
        s->keys[i] = cf_str_from(s->key_text[i]);
    }
}

static cf_status one_try(void *ud, cf_work_try *t, cf_error *err)
{
    scene *s = ud;
    pthread_mutex_lock(&s->lock);
    unsigned before = s->n_tries[t->job]++;
    s->n_all_tries++;
    s->n_at_place[t->place]++;
    bool stops = s->stop_at != 0 && s->n_all_tries >= s->stop_at;
    pthread_mutex_unlock(&s->lock);
    if (stops) {
        atomic_store(&s->cancel, true);
        return cf_fail(err, CF_ECANCELLED, "stopped");
    }
    if ((s->dead_places >> t->place & 1U) != 0) {
        t->again = CF_WORK_LOST;
        return cf_fail(err, CF_EIO, "place %zu does not answer", t->place);
    }
    if ((s->refusing_places >> t->place & 1U) != 0) {
        t->again = CF_WORK_RETRY;
        return cf_fail(err, CF_EBUSY, "place %zu is broken", t->place);
    }
    if (before < s->n_fail_first) {
        t->again = s->again;
        t->retry_after_s = s->retry_after_s;
        return cf_fail(err, CF_EBUSY, "not yet");
    }
    cf_buf_addf(t->result, "{ \"of\": %zu,\n\"text\": \"\xc3\xa4\" }", t->job);
    return CF_OK;
}

static cf_status one_end(void *ud, const cf_work_end *end, cf_error *err)
{
    scene *s = ud;
    char want[64];
    (void)err;
    s->n_ends[end->job]++;
    if (end->status == CF_OK) {
        snprintf(want, sizeof want, "\"text\":\"\xc3\xa4\"}");
        assert_non_null(strstr(end->result.p, want));
        assert_null(memchr(end->result.p, '\n', end->result.n));
        s->n_done++;
        s->n_resumed += end->is_resumed;
    } else {
        s->n_failed++;
        snprintf(s->last_error, sizeof s->last_error, "%s", end->err->text);
    }
    return CF_OK;
}

static cf_status go(scene *s, const cf_work_options *o)
{
    cf_error err;
    return cf_work_run(o, s->keys, s->n, one_try, one_end, s, &err);
}

static void each_ended_once(const scene *s)
{
    for (size_t i = 0; i < s->n; i++) {
        assert_int_equal(s->n_ends[i], 1);
    }
}

static void test_work_queue__spreads_jobs_and_ends_each_once(void **state)
{
    (void)state;
    scene s;
    init(&s, JOBS_MAX);
    cf_work_options o = {.n_places = 3, .n_workers = 7};
    assert_int_equal(go(&s, &o), CF_OK);
    each_ended_once(&s);
    assert_int_equal(s.n_done, JOBS_MAX);
    assert_int_equal(s.n_all_tries, JOBS_MAX);
}

static void test_work_queue__retries_up_to_the_limit(void **state)
{
    (void)state;
    scene s;
    init(&s, 20);
    s.n_fail_first = 2;
    s.again = CF_WORK_RETRY;
    cf_work_options o = {.n_workers = 4, .backoff_ms = 1};
    assert_int_equal(go(&s, &o), CF_OK);
    each_ended_once(&s);
    assert_int_equal(s.n_done, 20);
    assert_int_equal(s.n_all_tries, 60);
    init(&s, 20);
    s.n_fail_first = 2;
    s.again = CF_WORK_RETRY;
    o.n_tries = 2;
    assert_int_equal(go(&s, &o), CF_OK);
    assert_int_equal(s.n_failed, 20);
    assert_string_equal(s.last_error, "not yet");
    init(&s, 20);
    s.n_fail_first = 1;
    s.again = CF_WORK_NEVER;
    assert_int_equal(go(&s, &o), CF_OK);
    assert_int_equal(s.n_all_tries, 20);
}

static void test_work_queue__other_places_take_over(void **state)
{
    (void)state;
    scene s;
    init(&s, 40);
    s.dead_places = 1;
    cf_work_options o = {.n_places = 2, .n_workers = 4, .backoff_ms = 1};
    assert_int_equal(go(&s, &o), CF_OK);
    each_ended_once(&s);
    assert_int_equal(s.n_done, 40);
    init(&s, 40); /* one worker at a time: it moves on */
    s.dead_places = 1;
    o.n_workers = 1;
    assert_int_equal(go(&s, &o), CF_OK);
    assert_int_equal(s.n_done, 40);
    assert_int_equal(s.n_at_place[0], 3);
}

/* A place that refuses everything fails no job while others answer. */
static void test_work_queue__a_broken_place_fails_nothing(void **state)
{
    (void)state;
    for (unsigned n_workers = 1; n_workers <= 6; n_workers++) {
        scene s;
        init(&s, 40);
        s.refusing_places = 1;
        cf_work_options o = {.n_places = 3, .n_workers = n_workers, .backoff_ms = 1};
        assert_int_equal(go(&s, &o), CF_OK);
        each_ended_once(&s);
        assert_int_equal(s.n_done, 40);
        init(&s, 5); /* all of them: each job ends as failed */
        s.refusing_places = 7;
        assert_int_equal(go(&s, &o), CF_OK);
        each_ended_once(&s);
        assert_int_equal(s.n_failed, 5);
    }
}

static void test_work_queue__no_place_is_left(void **state)
{
    (void)state;
    scene s;
    init(&s, 40);
    s.dead_places = 3;
    cf_work_options o = {.n_places = 2, .n_workers = 2, .backoff_ms = 1};
    assert_int_equal(go(&s, &o), CF_OK);
    each_ended_once(&s);
    assert_int_equal(s.n_failed, 40);
    assert_non_null(strstr(s.last_error, "does not answer"));
    init(&s, 2); /* a pause that nobody would wait for */
    s.n_fail_first = 100;
    s.again = CF_WORK_RETRY;
    s.retry_after_s = CF_WORK_WAIT_MAX_S + 1;
    assert_int_equal(go(&s, &o), CF_OK);
    assert_int_equal(s.n_failed, 2);
}

static void test_work_queue__equal_keys_are_one_job(void **state)
{
    (void)state;
    scene s;
    init(&s, 30);
    for (size_t i = 10; i < 30; i++) {
        s.keys[i] = s.keys[i % 10];
    }
    cf_work_options o = {.n_workers = 3};
    assert_int_equal(go(&s, &o), CF_OK);
    each_ended_once(&s);
    assert_int_equal(s.n_all_tries, 10);
}

/* ---- the journal -------------------------------------------------------- */

static void make_path(scene *s)
{
    snprintf(s->path, sizeof s->path, "/tmp/test_work_XXXXXX");
    int fd = mkstemp(s->path);
    assert_true(fd >= 0);
    close(fd);
}

static void append(const char *path, const char *text)
{
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_work_queue__resumes_after_a_stop(void **state)
{
    (void)state;
    scene s, again;
    init(&s, 100);
    make_path(&s);
    s.stop_at = 30;
    cf_work_options o = {.n_workers = 3, .journal = s.path, .cancel = &s.cancel};
    assert_int_equal(go(&s, &o), CF_ECANCELLED);
    assert_int_equal(s.n_done, 29);
    append(s.path, "{\"key\":\"job 99\",\"res"); /* a crash while writing */
    init(&again, 100);
    o.cancel = NULL;
    assert_int_equal(go(&again, &o), CF_OK);
    each_ended_once(&again);
    assert_int_equal(again.n_resumed, s.n_done);
    assert_int_equal(again.n_all_tries, 100 - s.n_done);
    init(&again, 100); /* all of it is there now */
    assert_int_equal(go(&again, &o), CF_OK);
    assert_int_equal(again.n_all_tries, 0);
    assert_int_equal(again.n_resumed, 100);
    unlink(s.path);
}

static void test_work_queue__refuses_what_is_not_a_journal(void **state)
{
    (void)state;
    scene s;
    init(&s, 3);
    make_path(&s);
    append(s.path, "{\"key\":\"a\",\"result\":1}\nhello\n");
    cf_work_options o = {.journal = s.path};
    cf_error err;
    assert_int_equal(cf_work_run(&o, s.keys, s.n, one_try, one_end, &s, &err), CF_EFORMAT);
    assert_non_null(strstr(err.text, "line 2"));
    assert_int_equal(s.n_all_tries, 0);
    unlink(s.path);
}

static void test_work_queue__one_program_at_a_time(void **state)
{
    (void)state;
    scene s;
    init(&s, 3);
    make_path(&s);
    int ready[2], over[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(over), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(s.path, O_RDWR);
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        char c = fcntl(fd, F_SETLK, &all) == 0 ? 'y' : 'n';
        close(over[1]);
        if (write(ready[1], &c, 1) == 1 && read(over[0], &c, 1) < 0) {
            _exit(1);
        }
        _exit(0);
    }
    char c = '\0';
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(c, 'y');
    cf_work_options o = {.journal = s.path};
    assert_int_equal(go(&s, &o), CF_EBUSY);
    close(over[1]);
    waitpid(child, NULL, 0);
    close(over[0]);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(go(&s, &o), CF_OK);
    unlink(s.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_queue__spreads_jobs_and_ends_each_once),
        cmocka_unit_test(test_work_queue__retries_up_to_the_limit),
        cmocka_unit_test(test_work_queue__other_places_take_over),
        cmocka_unit_test(test_work_queue__a_broken_place_fails_nothing),
        cmocka_unit_test(test_work_queue__no_place_is_left),
        cmocka_unit_test(test_work_queue__equal_keys_are_one_job),
        cmocka_unit_test(test_work_queue__resumes_after_a_stop),
        cmocka_unit_test(test_work_queue__refuses_what_is_not_a_journal),
        cmocka_unit_test(test_work_queue__one_program_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
