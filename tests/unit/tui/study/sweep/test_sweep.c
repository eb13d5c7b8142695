/*
 * test_sweep.c - plans, cells of the bundled model and of servers that fail
 * now and then, resumption, comparisons.
 */
#include "tests/support/t.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/api/bundled.h"
#include "core/base/alloc.h"
#include "tests/support/listener.h"
#include "tests/support/plan_file.h"
#include "tests/support/store_dir.h"
#include "tui/study/sweep/sweep_output.h"

/* ---- plans -------------------------------------------------------------- */

static void write_prompts(const char *name, size_t n)
{
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(&b, "{\"name\":\"q%zu\",\"prompt\":\"question %zu\"}\n", i, i);
    }
    store_dir_put_text(name, cf_buf_cstr(&b));
    cf_buf_deinit(&b);
}

static void read_plan(cf_sweep_plan *plan, const char *text)
{
    cf_plan_read(plan, "plan.txt", text);
}

static void refuses(const char *text, const char *want)
{
    cf_plan_refused("bad.txt", text, want);
}

static void test_plan__lines(void **state)
{
    (void)state;
    cf_sweep_plan p;
    write_prompts("p.jsonl", 3);
    read_plan(&p, "# comment\n\n  prompts p.jsonl\nsystem none\n"
                  "system brief Be brief.  Always.\ntemplate chatml\n"
                  "model http://a http://b\nmodel script:x y.json\n"
                  "sampler greedy tokens=9\n"
                  "sampler hot temperature=0.5 top-k=7 seed=3 tokens=4\n"
                  "check a contains x y\ncheck b regex ^a{3}$\n"
                  "check c schema {\"type\":\"object\"}\ncheck d calls-valid\n"
                  "check e likelihood >=-0.5 Paris\n"
                  "check f judge http://j Is it kind?\n");
    assert_int_equal(p.n_item, 3);
    T_TEXT(p.item[2].name.p, p.item[2].name.n, "q2");
    assert_int_equal(p.n_system, 2);
    assert_int_equal(p.system[0].text.n, 0);
    T_TEXT(p.system[1].text.p, p.system[1].text.n, "Be brief.  Always.");
    assert_true(p.model[0].is_server);
    assert_int_equal(p.model[0].n_address, 2);
    assert_false(p.model[1].is_server);
    assert_string_equal(p.model[1].address[0], "script:x y.json");
    assert_int_equal(p.sampler[0].chat.max_tokens, 9);
    assert_int_equal(p.sampler[1].chat.sampling.top_k, 7);
    assert_int_equal(p.sampler[1].chat.sampling.seed, 3);
    T_TEXT(p.sampler[1].name.p, p.sampler[1].name.n, "hot");
    assert_int_equal(p.n_check, 6);
    assert_int_equal(p.check[4].kind, CF_CHECK_LIKELIHOOD);
    assert_true(p.check[4].least == -0.5);
    assert_int_equal(p.check[5].kind, CF_CHECK_JUDGE);
    cf_sweep_plan_deinit(&p);
}

/* Files of other systems: a byte order mark, line ends of two bytes, tabs. */
static void test_plan__other_line_ends(void **state)
{
    (void)state;
    cf_sweep_plan p;
    store_dir_put_text("mark.jsonl", "\xEF\xBB\xBF{\"prompt\":\"a\"}\r\n\r\n"
                                     "{\"prompt\":\"b\"}\r\n");
    read_plan(&p, "\xEF\xBB\xBFprompts\tmark.jsonl\r\n\r\n"
                  "\tcheck\ta\tcontains\tx\ty\r\n");
    assert_int_equal(p.n_item, 2);
    assert_int_equal(p.n_check, 1);
    T_TEXT(p.check[0].value.p, p.check[0].value.n, "x\ty");
    cf_sweep_plan_deinit(&p);
}

/* Addresses of -m stand in for a line of models. */
static void test_plan__servers(void **state)
{
    (void)state;
    static const char *const names[] = {"http://a:1", "https://b:2", "c.gguf"};
    cf_sweep_plan p;
    cf_error err;
    write_prompts("p.jsonl", 1);
    read_plan(&p, "prompts p.jsonl\n");
    T_OK(cf_sweep_plan_servers(&p, names + 2, 1, &err), err);
    assert_int_equal(p.n_model, 0);
    T_FAILS(cf_sweep_plan_servers(&p, names, 3, &err), CF_EINVAL);
    assert_int_equal(p.n_model, 0);
    T_OK(cf_sweep_plan_servers(&p, names, 2, &err), err);
    assert_int_equal(p.n_model, 1);
    assert_int_equal(p.model[0].n_address, 2);
    assert_string_equal(p.model[0].address[1], "https://b:2");
    T_OK(cf_sweep_plan_servers(&p, names + 1, 1, &err), err);
    assert_int_equal(p.model[0].n_address, 2); /* the plan has its line */
    cf_sweep_plan_deinit(&p);
}

static void test_plan__errors_name_the_line(void **state)
{
    (void)state;
    write_prompts("p.jsonl", 1);
    store_dir_put_text("bad.jsonl", "{\"name\":\"a\",\"prompt\":\"b\"}\n{\"name\":1}\n");
    refuses("prompts p.jsonl\nfrobnicate x\n", "bad.txt:2: 'frobnicate'");
    refuses("prompts none.jsonl\n", "bad.txt:1:");
    refuses("\n\nprompts bad.jsonl\n", "bad.txt:3:");
    refuses("prompts bad.jsonl\n", "line 2");
    refuses("prompts p.jsonl\nsampler x=1\n", "bad.txt:2: a sampler has no");
    refuses("prompts p.jsonl\nsampler temperature=-4\n", "bad.txt:2:");
    refuses("prompts p.jsonl\nsampler hot repeat=0\n", "bad.txt:2: repeat: at least 1");
    refuses("prompts p.jsonl\nsampler hot repeat=1001\n", "bad.txt:2:");
    refuses("prompts p.jsonl\ncheck a regex (\n", "bad.txt:2:");
    refuses("prompts p.jsonl\ncheck a nonsense b\n", "bad.txt:2:");
    refuses("prompts p.jsonl\ncheck a command:true\n", "bad.txt:2:");
    refuses("prompts p.jsonl\ncheck a command true\n", "bad.txt:2:");
    refuses("prompts p.jsonl\ncheck a command true {name}\n", "bad.txt:2:");
    refuses("prompts p.jsonl\ncheck a not-command true {name}\n", "bad.txt:2:");
    refuses("prompts p.jsonl\ntemplate modell\n", "bad.txt:2: 'modell' is neither");
    refuses("prompts p.jsonl\nsystem\n", "bad.txt:2: system NAME");
    refuses("conversations tag:x\n", "bad.txt:1: the history is not open");
    refuses("# nothing\n", "no prompts");
}

/* ---- the bundled model -------------------------------------------------- */

static bool has_bundled(void)
{
    const void *bytes;
    size_t n;
    return cf_bundled_model(&bytes, &n);
}

typedef struct told {
    size_t next, n_reused, stop_at;
    cf_buf replies;
    cf_cancel cancel;
} told;

static void on_cell(void *ud, const cf_sweep *s, size_t cell)
{
    told *t = ud;
    assert_int_equal(cell, t->next++); /* each once, in order */
    t->n_reused += s->cell[cell].is_reused;
    cf_sweep_reply(&s->cell[cell], &t->replies);
    cf_buf_addc(&t->replies, '\n');
}

/* Runs a plan; the caller deinitialises the sweep. */
static void run_plan(cf_sweep *s, const cf_sweep_plan *plan, cf_store *store, uint32_t jobs,
                     told *t)
{
    cf_error err;
    const cf_sweep_options o = {
        .open = {.n_threads = 1}, .store = store, .jobs = jobs, .fn = on_cell, .ud = t};
    T_OK(cf_sweep_init(s, plan, &o, &err), err);
    T_OK(cf_sweep_run(s, &err), err);
    assert_int_equal(t->next, s->n);
}

static cf_store *open_store(const char *name)
{
    cf_error err;
    cf_store *store;
    const cf_store_options o = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&store, store_dir_file(name), &o, &err), err);
    return store;
}

static void test_sweep__prompts_by_templates(void **state)
{
    (void)state;
    if (!has_bundled()) {
        T_SKIP("no bundled model in this build");
    }
    cf_sweep_plan plan;
    cf_sweep one, many, again;
    told a = {.next = 0}, b = {.next = 0}, c = {.next = 0};
    store_dir_put_text("some.jsonl", "{\"name\":\"joke\",\"prompt\":\"Tell me a joke\"}\n"
                                     "{\"name\":\"what\",\"prompt\":\"What is confab?\"}\n"
                                     "{\"name\":\"twin\",\"prompt\":\"Tell me a joke\"}\n");
    read_plan(&plan, "prompts some.jsonl\ntemplate chatml\ntemplate zephyr\n"
                     "sampler greedy tokens=12\ncheck jokes contains joke\n"
                     "check long regex .{20}\n");
    cf_store *store = open_store("local.db");
    run_plan(&one, &plan, NULL, 1, &a);
    run_plan(&many, &plan, store, 8, &b);
    run_plan(&again, &plan, store, 8, &c);
    assert_int_equal(one.n, 6);
    assert_int_equal(one.n_failed, 0);
    /* Several in one pass, one alone, and out of the history: the same. */
    assert_string_equal(cf_buf_cstr(&a.replies), cf_buf_cstr(&b.replies));
    assert_string_equal(cf_buf_cstr(&a.replies), cf_buf_cstr(&c.replies));
    assert_int_equal(b.n_reused, 2); /* the twins */
    assert_int_equal(c.n_reused, 6);
    assert_true(one.cell[0].answer[0].passes);
    assert_false(one.cell[1].answer[0].passes);
    cf_sweep_deinit(&one);
    cf_sweep_deinit(&many);
    cf_sweep_deinit(&again);
    cf_store_close(store);
    cf_buf_deinit(&a.replies);
    cf_buf_deinit(&b.replies);
    cf_buf_deinit(&c.replies);
    cf_sweep_plan_deinit(&plan);
}

/* "model" is the model's own template, beside another and without any. */
static void test_sweep__the_models_own_template(void **state)
{
    (void)state;
    if (!has_bundled()) {
        T_SKIP("no bundled model in this build");
    }
    cf_sweep_plan plan;
    cf_sweep s;
    told with = {.next = 0}, without = {.next = 0};
    write_prompts("p.jsonl", 1);
    read_plan(&plan, "prompts p.jsonl\ntemplate zephyr\ntemplate model\nsampler greedy tokens=9\n");
    run_plan(&s, &plan, NULL, 1, &with);
    assert_int_equal(s.n_failed, 0);
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
    read_plan(&plan, "prompts p.jsonl\nsampler greedy tokens=9\n");
    run_plan(&s, &plan, NULL, 1, &without);
    /* A reply may have lines, so the second one is found from the end. */
    assert_true(with.replies.n > without.replies.n);
    const char *second = cf_buf_cstr(&with.replies) + (with.replies.n - without.replies.n);
    assert_int_equal(second[-1], '\n');
    assert_string_equal(second, cf_buf_cstr(&without.replies));
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
    cf_buf_deinit(&with.replies);
    cf_buf_deinit(&without.replies);
}

static void test_sweep__a_template_that_fails(void **state)
{
    (void)state;
    if (!has_bundled()) {
        T_SKIP("no bundled model in this build");
    }
    cf_sweep_plan plan;
    cf_sweep s;
    told t = {.next = 0};
    write_prompts("p.jsonl", 2);
    store_dir_put_text("bad.jinja", "{% for %}");
    read_plan(&plan, "prompts p.jsonl\ntemplate bad.jinja\ntemplate chatml\n"
                     "sampler greedy tokens=2\n");
    run_plan(&s, &plan, NULL, 4, &t);
    assert_int_equal(s.n_failed, 2);
    assert_non_null(s.cell[0].error);
    assert_null(s.cell[2].error);
    cf_sweep_deinit(&s);
    cf_buf_deinit(&t.replies);
    cf_sweep_plan_deinit(&plan);
}

/* ---- servers ------------------------------------------------------------ */

enum { SERVERS = 3 };

typedef struct server {
    int fd;
    unsigned short port;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t closed;
    size_t n_open; /* connections, under `lock` */
    atomic_size_t n_asked, n_answered, n_refused;
    size_t fails_each; /* 0: never */
    bool is_broken;    /* every answer is an error of its own */
} server;

static atomic_int under_way, peak;

typedef struct connection {
    server *s;
    int fd;
} connection;

static void say(int fd, const char *head, const char *body)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                     "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                     head, strlen(body), body);
    (void)send(fd, text, (size_t)n, MSG_NOSIGNAL);
}

static void *answer(void *arg)
{
    connection *c = arg;
    server *s = c->s;
    char *text = malloc(1 << 16);
    if (text != NULL && cf_listen_request(c->fd, text, 1 << 16) != NULL) {
        if (strncmp(text, "GET", 3) == 0) {
            say(c->fd, "200 OK", "{\"data\":[{\"id\":\"m\"}]}");
        } else {
            int now = atomic_fetch_add(&under_way, 1) + 1;
            int most = atomic_load(&peak);
            while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
            }
            size_t k = atomic_fetch_add(&s->n_asked, 1) + 1;
            atomic_fetch_sub(&under_way, 1);
            if (s->is_broken) {
                say(c->fd, "400 Bad Request", "{\"error\":{\"message\":\"no such thing\"}}");
            } else if (s->fails_each > 0 && k % s->fails_each == 0) {
                atomic_fetch_add(&s->n_refused, 1);
                say(c->fd, k % 2 == 0 ? "503 Busy\r\nRetry-After: 0" : "429 Slow\r\nRetry-After: 0",
                    "{\"error\":{\"message\":\"busy\"}}");
            } else {
                atomic_fetch_add(&s->n_answered, 1);
                say(c->fd, "200 OK",
                    "{\"choices\":[{\"index\":0,\"message\":{\"role\":"
                    "\"assistant\",\"content\":\"well\"},\"finish_reason\":"
                    "\"stop\"}]}");
            }
        }
    }
    free(text);
    close(c->fd);
    free(c);
    pthread_mutex_lock(&s->lock);
    s->n_open--;
    pthread_cond_signal(&s->closed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void *accept_all(void *arg)
{
    server *s = arg;
    int fd;
    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        pthread_t thread;
        connection *c = malloc(sizeof *c);
        *c = (connection){s, fd};
        pthread_mutex_lock(&s->lock);
        s->n_open++;
        pthread_mutex_unlock(&s->lock);
        if (pthread_create(&thread, NULL, answer, c) == 0) {
            pthread_detach(thread);
        } else {
            answer(c);
        }
    }
    return NULL;
}

static server *start_server(size_t fails_each)
{
    server *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->fails_each = fails_each;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->closed, NULL);
    s->fd = cf_listen(&s->port);
    assert_int_equal(pthread_create(&s->thread, NULL, accept_all, s), 0);
    return s;
}

static void stop_server(server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&s->lock);
    while (s->n_open > 0) {
        pthread_cond_wait(&s->closed, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->closed);
    close(s->fd);
    free(s);
}

static void test_sweep__a_thousand_requests(void **state)
{
    (void)state;
    enum { PROMPTS = 334, JOBS = 6 };
    server *v[SERVERS];
    cf_buf text = CF_BUF_INIT;
    cf_sweep_plan plan;
    cf_sweep s;
    told t = {.next = 0};
    write_prompts("many.jsonl", PROMPTS);
    cf_buf_adds(&text, "prompts many.jsonl\ncheck well equals well\n");
    for (size_t i = 0; i < SERVERS; i++) {
        v[i] = start_server(i == 1 ? 9 : 0);
        cf_buf_addf(&text, "model http://127.0.0.1:%u\n", v[i]->port);
    }
    read_plan(&plan, cf_buf_cstr(&text));
    atomic_store(&peak, 0);
    cf_store *store = open_store("servers.db");
    run_plan(&s, &plan, store, JOBS, &t);
    assert_int_equal(s.n, PROMPTS * SERVERS);
    assert_int_equal(s.n_failed, 0);
    assert_int_equal(t.n_reused, 0);
    assert_int_equal(cf_sweep_n_unpassed(&s), 0);
    assert_in_range(atomic_load(&peak), 1, JOBS);
    for (size_t i = 0; i < SERVERS; i++) {
        assert_int_equal(atomic_load(&v[i]->n_answered), PROMPTS);
    }
    assert_true(atomic_load(&v[1]->n_refused) > 20);
    cf_sweep_deinit(&s);

    /* Once more: nothing is asked. */
    told again = {.next = 0};
    run_plan(&s, &plan, store, JOBS, &again);
    assert_int_equal(again.n_reused, s.n);
    assert_int_equal(atomic_load(&v[0]->n_answered), PROMPTS);
    cf_sweep_deinit(&s);
    cf_store_close(store);
    for (size_t i = 0; i < SERVERS; i++) {
        stop_server(v[i]);
    }
    cf_sweep_plan_deinit(&plan);
    cf_buf_deinit(&text);
    cf_buf_deinit(&t.replies);
    cf_buf_deinit(&again.replies);
}

/* The program is gone in the middle of a sweep, without a word. */
static void end_here(void *ud, size_t n_done, size_t n)
{
    (void)ud;
    (void)n;
    if (n_done == 25) {
        _exit(7);
    }
}

static void test_sweep__resumed_after_a_kill(void **state)
{
    (void)state;
    enum { PROMPTS = 60 };
    server *v = start_server(0);
    char text[160];
    cf_sweep_plan plan;
    cf_error err;
    write_prompts("killed.jsonl", PROMPTS);
    snprintf(text, sizeof text, "prompts killed.jsonl\nmodel http://127.0.0.1:%u\n", v->port);
    read_plan(&plan, text);
    cf_store_close(open_store("killed.db"));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        cf_sweep s;
        cf_sweep_options o = {.store = open_store("killed.db"), .jobs = 3, .progress = end_here};
        if (cf_sweep_init(&s, &plan, &o, &err) == CF_OK) {
            cf_ignore(cf_sweep_run(&s, &err));
        }
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    cf_sweep s;
    told t = {.next = 0};
    cf_store *store = open_store("killed.db");
    run_plan(&s, &plan, store, 3, &t);
    assert_in_range(t.n_reused, 25, PROMPTS);
    assert_int_equal(s.n_failed, 0);
    /* What was under way when it ended is asked once more. */
    assert_in_range(atomic_load(&v->n_answered), PROMPTS, PROMPTS + 3);
    cf_sweep_deinit(&s);
    cf_store_close(store);
    stop_server(v);
    cf_sweep_plan_deinit(&plan);
    cf_buf_deinit(&t.replies);
}

static void test_sweep__other_errors_are_the_cells(void **state)
{
    (void)state;
    server *good = start_server(0), *bad = start_server(0);
    char text[200];
    cf_sweep_plan plan;
    cf_sweep s;
    cf_sweep_versus *versus;
    cf_error err;
    size_t n;
    told t = {.next = 0};
    bad->is_broken = true;
    write_prompts("few.jsonl", 4);
    snprintf(text, sizeof text,
             "prompts few.jsonl\nmodel http://127.0.0.1:%u\n"
             "model http://127.0.0.1:%u\ncheck well equals well\n",
             good->port, bad->port);
    read_plan(&plan, text);
    run_plan(&s, &plan, NULL, 2, &t);
    assert_int_equal(s.n_failed, 4);
    assert_non_null(strstr(s.cell[4].error, "no such thing"));
    T_OK(cf_sweep_compare(&s, &versus, &n, &err), err);
    assert_int_equal(n, 1);
    assert_int_equal(versus[0].missing, 4);
    cf_free(versus);
    cf_sweep_deinit(&s);
    stop_server(good);
    stop_server(bad);
    cf_sweep_plan_deinit(&plan);
    cf_buf_deinit(&t.replies);
}

/* ---- comparisons -------------------------------------------------------- */

/* Cells with planted results: B is better on 31, worse on 4, the same on
 * 265. */
static void test_compare__planted(void **state)
{
    (void)state;
    enum { PROMPTS = 300 };
    cf_sweep_plan plan;
    cf_sweep s;
    cf_sweep_versus *v;
    cf_error err;
    size_t n;
    cf_buf line = CF_BUF_INIT;
    write_prompts("planted.jsonl", PROMPTS);
    read_plan(&plan, "prompts planted.jsonl\nsystem A\nsystem B b\n"
                     "check x contains x\n");
    const cf_sweep_options o = {.jobs = 1};
    T_OK(cf_sweep_init(&s, &plan, &o, &err), err);
    assert_int_equal(s.n, 2 * PROMPTS);
    for (size_t i = 0; i < s.n; i++) {
        size_t k = i % PROMPTS;
        bool passes = k < 31 ? i >= PROMPTS : k < 35 ? i < PROMPTS : true;
        s.cell[i].result = json_pack("{s:{s:s}}", "message", "content", "r");
        s.cell[i].answer[0] = (cf_sweep_answer){.is_known = true, .passes = passes};
    }
    T_OK(cf_sweep_compare(&s, &v, &n, &err), err);
    assert_int_equal(n, 1);
    assert_int_equal(v[0].found.better, 31);
    assert_int_equal(v[0].found.worse, 4);
    assert_int_equal(v[0].found.same, 265);
    assert_int_equal(v[0].differ, 0);
    assert_true(v[0].is_clear && v[0].found.p < 0.001);
    assert_int_equal(v[0].needed, 0);
    assert_true(v[0].found.mean > 0.0899 && v[0].found.mean < 0.0901);
    /* 0.09 -+ t(0.975, 299) s / sqrt(300), with s = sqrt((35 - 300 * 0.09^2) / 299):
     * 1.967930 * 0.330046 / 17.320508, and 1/300 for continuity. */
    assert_true(fabs(v[0].found.low - (0.09 - 0.040833)) < 1e-5);
    assert_true(fabs(v[0].found.high - (0.09 + 0.040833)) < 1e-5);
    cf_sweep_put_versus(&line, &v[0]);
    assert_non_null(strstr(cf_buf_cstr(&line), "better on 31, worse on 4, the same on 265"));
    cf_free(v);
    cf_buf_deinit(&line);
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
}

/* Ten seeds of six prompts are six prompts: one that is worse whatever the seed
 * is one sign, the samplers make no comparison, and one answer that is not known
 * takes its pair away. */
static void test_compare__prompts_and_not_cells(void **state)
{
    (void)state;
    enum { PROMPTS = 6, SEEDS = 10, CELLS = PROMPTS * SEEDS };
    cf_sweep_plan plan;
    cf_sweep s;
    cf_sweep_versus *v;
    cf_error err;
    size_t n;
    cf_buf out = CF_BUF_INIT;
    write_prompts("seeds.jsonl", PROMPTS);
    read_plan(&plan, "prompts seeds.jsonl\nsystem A\nsystem B b\n"
                     "sampler hot temperature=0.7 seed=5 repeat=10\ncheck x contains x\n");
    const cf_sweep_options o = {.jobs = 1};
    T_OK(cf_sweep_init(&s, &plan, &o, &err), err);
    assert_int_equal(s.n, 2 * CELLS);
    assert_int_equal(cf_sweep_chat_of(&s, &s.cell[0]).sampling.seed, 5);
    assert_int_equal(cf_sweep_chat_of(&s, &s.cell[2 * CELLS - 1]).sampling.seed, 14);
    for (size_t i = 0; i < s.n; i++) {
        bool passes = i < CELLS || s.cell[i].item != 3;
        s.cell[i].result = json_pack("{s:{s:s}}", "message", "content", "r");
        s.cell[i].answer[0] = (cf_sweep_answer){.is_known = true, .passes = passes};
    }
    s.cell[CELLS + 1].answer[0].is_known = false;
    T_OK(cf_sweep_compare(&s, &v, &n, &err), err);
    assert_int_equal(n, 1);
    assert_int_equal(v[0].found.n, PROMPTS);
    assert_int_equal(v[0].found.worse, 1);
    assert_int_equal(v[0].found.same, 5);
    assert_true(v[0].found.p == 1 && !v[0].found.has_interval && !v[0].is_clear);
    assert_int_equal(v[0].needed, 48); /* (2.80 * 0.408 / 0.167)^2 */
    cf_sweep_put_end(&out, &s, v, n);
    assert_non_null(strstr(cf_buf_cstr(&out), "\"prompts\":6,\"better\":0,\"worse\":1,"
                                              "\"same\":5,"));
    assert_non_null(strstr(cf_buf_cstr(&out), "\"low\":null,\"high\":null,\"p\":1.0,"
                                              "\"verdict\":\"open\""));
    cf_buf_reset(&out);
    cf_sweep_put_table(&out, &s, v, n);
    assert_non_null(strstr(cf_buf_cstr(&out), "5 of 6  x, 95% from 0.44 to 0.97"));
    cf_free(v);
    cf_buf_deinit(&out);
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
}

/* A cell as text: what was said, and a call a line. */
static void test_sweep__reply_with_calls(void **state)
{
    (void)state;
    json_t *result = json_pack("{s:{s:s,s:s,s:[{s:{s:s,s:{}}},{s:{s:s,s:{}}}]}}", "message", "role",
                               "assistant", "content", "Hm.", "tool_calls", "function", "name", "f",
                               "arguments", "function", "name", "g", "arguments");
    assert_non_null(result);
    const cf_sweep_cell c = {.result = result};
    cf_buf out = CF_BUF_INIT;
    cf_sweep_reply(&c, &out);
    assert_string_equal(cf_buf_cstr(&out), "Hm.\nf({})\ng({})");
    cf_buf_deinit(&out);
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweep__reply_with_calls),
        cmocka_unit_test(test_plan__lines),
        cmocka_unit_test(test_plan__other_line_ends),
        cmocka_unit_test(test_plan__servers),
        cmocka_unit_test(test_plan__errors_name_the_line),
        cmocka_unit_test(test_compare__planted),
        cmocka_unit_test(test_compare__prompts_and_not_cells),
        cmocka_unit_test(test_sweep__prompts_by_templates),
        cmocka_unit_test(test_sweep__the_models_own_template),
        cmocka_unit_test(test_sweep__a_template_that_fails),
        cmocka_unit_test(test_sweep__a_thousand_requests),
        cmocka_unit_test(test_sweep__resumed_after_a_kill),
        cmocka_unit_test(test_sweep__other_errors_are_the_cells),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
