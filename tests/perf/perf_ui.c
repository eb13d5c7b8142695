/*
 * perf_ui.c - how fast the workbench is: `perf_ui [DATABASE]`.
 *
 * The app runs with the scripted engine and without a terminal: a frame is
 * drawn into the grid and sent nowhere.  DATABASE is opened for the start, and
 * made when it does not exist.  Takes some seconds, prints text.
 *
 * Keys come through a pipe from a thread of their own, each with the time it
 * was sent; the loop that takes them is the one of cf_app_run() without
 * curses: a key is drawn at once, events of the worker at most 30 times a
 * second.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/store.h"
#include "tui/app/app.h"
#include "tui/lab/talk/lab_send.h"

enum {
    N_KEYS = 400,
    N_FRAMES = 300,
    N_BUSY = 2,
    N_TOKENS = 200000,
    TURN_BYTES = 2000,
    FRAME_US = 33000,
    W = 120,
    H = 36
};

typedef struct spread {
    size_t n;
    double p50_ms, p99_ms, max_ms;
} spread;

typedef struct result {
    double start_ms; /* from nothing to the first drawn frame */
    /* From a key to its frame, while a reply streams and two threads are
     * busy. */
    spread key;
    /* A conversation of about this many tokens (four bytes each). */
    size_t n_tokens, n_turns;
    double first_frame_ms; /* everything is wrapped */
    spread frame, scroll;  /* nothing changed; another part is shown */
} result;

typedef struct desk {
    cf_backend *backend;
    cf_store *store;
    cf_app app;
    bool has_app;
} desk;

static uint64_t now(void)
{
    return cf_os_monotonic_us();
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static spread times_of(double *ms, size_t n)
{
    if (n == 0) {
        return (spread){0};
    }
    qsort(ms, n, sizeof *ms, by_value);
    return (spread){n, ms[n / 2], ms[(n - 1) * 99 / 100], ms[n - 1]};
}

/* ---- a workbench -------------------------------------------------------- */

/* A reply that streams longer than the measurement takes. */
static json_t *long_story(void)
{
    cf_buf text = CF_BUF_INIT;
    for (int i = 0; i < 40000; i++) {
        cf_buf_addf(&text, "%s%s", i % 7 == 0 ? "streaming" : "word", i % 60 == 59 ? "\n\n" : " ");
    }
    json_t *story = json_pack("{s:[{s:s%,s:i,s:i}]}", "replies", "text", cf_buf_cstr(&text), text.n,
                              "chunk", 5, "delay_ms", 1);
    cf_buf_deinit(&text);
    return story;
}

static cf_status open_desk(desk *d, const char *db, cf_error *err)
{
    *d = (desk){0};
    json_t *story = long_story();
    if (story == NULL) {
        return cf_oom(err);
    }
    const cf_script_options none = {0};
    cf_status st = cf_backend_script_new(&d->backend, story, &none, err);
    json_decref(story);
    CF_TRY(st);
    if (db != NULL) {
        const cf_store_options options = {.flags = CF_STORE_CREATE};
        CF_TRY(cf_store_open(&d->store, db, &options, err));
    }
    CF_TRY(cf_app_init(&d->app, d->store, err));
    d->has_app = true;
    const cf_lab_engine e = {.backend = d->backend, .template_name = "plain"};
    CF_TRY(cf_lab_new(&d->app.lab, &e, d->store, err));
    return cf_grid_resize(&d->app.grid, W, H, err);
}

static void close_desk(desk *d)
{
    if (d->has_app) {
        cf_app_deinit(&d->app);
    }
    cf_lab_free(d->app.lab);
    cf_store_close(d->store);
    cf_backend_free(d->backend);
}

static void press(cf_app *app, cf_key key)
{
    cf_app_event(app, &(cf_event){.kind = CF_EVENT_KEY, .key = key});
}

/* ---- keys while a reply streams ----------------------------------------- */

typedef struct load {
    atomic_bool is_over;
    int keys; /* the end to write to */
} load;

static void *be_busy(void *arg)
{
    const load *l = arg;
    volatile double x = 1;
    while (!atomic_load_explicit(&l->is_over, memory_order_relaxed)) {
        for (int i = 0; i < 10000; i++) {
            x = x * 1.0000001 + 1e-9;
        }
    }
    return NULL;
}

/* A key every 5 to 14 ms, with the time it is sent. */
static void *type_keys(void *arg)
{
    const load *l = arg;
    for (int i = 0; i < N_KEYS; i++) {
        const struct timespec pause = {0, (5 + i * 7 % 10) * 1000000L};
        nanosleep(&pause, NULL);
        uint64_t at = now();
        if (write(l->keys, &at, sizeof at) != (ssize_t)sizeof at) {
            break;
        }
    }
    return NULL;
}

static void take_keys(cf_app *app, int keys, int wake, double *ms, size_t *n)
{
    uint64_t last_frame = 0;
    while (*n < N_KEYS) {
        struct pollfd p[2] = {{keys, POLLIN, 0}, {wake, POLLIN, 0}};
        uint64_t due = last_frame + FRAME_US, t = now();
        int wait = !app->is_dirty ? 1000 : t < due ? (int)(due - t) / 1000 : 0;
        if (poll(p, 2, wait) < 0) {
            return;
        }
        uint64_t sent = 0;
        if ((p[0].revents & POLLIN) != 0 &&
            read(keys, &sent, sizeof sent) == (ssize_t)sizeof sent) {
            press(app, (cf_key)('a' + (int)(*n % 26)));
        }
        if ((p[1].revents & POLLIN) != 0) {
            char drain[256];
            while (read(wake, drain, sizeof drain) > 0) {
            }
            cf_app_event(app, &(cf_event){.kind = CF_EVENT_WAKE});
        }
        if (sent != 0 || (app->is_dirty && now() >= due)) {
            cf_app_draw(app);
            last_frame = now();
        }
        if (sent != 0) {
            ms[(*n)++] = (double)(last_frame - sent) * 1e-3;
        }
    }
}

static cf_status open_pipe(int ends[2], cf_error *err)
{
    if (pipe(ends) != 0) {
        ends[0] = ends[1] = -1;
        return cf_fail(err, CF_EIO, "the system gives no pipe");
    }
    return CF_OK;
}

static cf_status run_load(desk *d, int keys[2], int wake[2], result *out, cf_error *err)
{
    load l = {.keys = keys[1]};
    pthread_t threads[N_BUSY + 1];
    size_t n_threads = 0, n = 0;
    double *ms = cf_calloc(N_KEYS, sizeof *ms);
    if (ms == NULL) {
        return cf_oom(err);
    }
    fcntl(wake[0], F_SETFL, O_NONBLOCK);
    fcntl(wake[1], F_SETFL, O_NONBLOCK);
    atomic_init(&l.is_over, false);
    cf_lab_wake_with(d->app.lab, wake[1]);
    cf_status st = cf_lab_send(d->app.lab, cf_str_from("Tell a story."), (cf_uuid){{0}}, err);
    press(&d->app, 'i');
    bool has_all = st == CF_OK;
    for (int i = 0; has_all && i <= N_BUSY; i++) {
        has_all =
            pthread_create(&threads[n_threads], NULL, i < N_BUSY ? be_busy : type_keys, &l) == 0;
        n_threads += has_all;
    }
    if (has_all) {
        take_keys(&d->app, keys[0], wake[0], ms, &n);
    } else if (st == CF_OK) {
        st = cf_fail(err, CF_EIO, "the system gives no thread");
    }
    atomic_store(&l.is_over, true);
    for (size_t i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
    }
    cf_lab_stop(d->app.lab);
    cf_lab_wake_with(d->app.lab, -1);
    out->key = times_of(ms, n);
    cf_free(ms);
    return st;
}

static cf_status measure_keys(result *out, cf_error *err)
{
    desk d;
    int keys[2] = {-1, -1}, wake[2] = {-1, -1};
    cf_status st = open_desk(&d, NULL, err);
    CF_THEN(st, open_pipe(keys, err));
    CF_THEN(st, open_pipe(wake, err));
    CF_THEN(st, run_load(&d, keys, wake, out, err));
    close_desk(&d);
    for (int i = 0; i < 2; i++) {
        if (keys[i] >= 0) {
            close(keys[i]);
        }
        if (wake[i] >= 0) {
            close(wake[i]);
        }
    }
    return st;
}

/* ---- a long transcript -------------------------------------------------- */

static json_t *long_talk(size_t n_turns)
{
    json_t *messages = json_array();
    for (size_t i = 0; messages != NULL && i < n_turns; i++) {
        cf_buf text = CF_BUF_INIT;
        for (size_t k = 0; text.n < TURN_BYTES; k++) {
            cf_buf_addf(&text, "word%zu%s", (i * 31 + k * 17) % 997, k % 40 == 39 ? "\n" : " ");
        }
        json_array_append_new(messages,
                              json_pack("{s:s,s:s%}", "role", i % 2 == 0 ? "user" : "assistant",
                                        "content", cf_buf_cstr(&text), text.n));
        cf_buf_deinit(&text);
    }
    return messages;
}

static double draw(cf_app *app)
{
    uint64_t t = now();
    cf_app_draw(app);
    return (double)(now() - t) * 1e-3;
}

static cf_status measure_frames(result *out, cf_error *err)
{
    desk d;
    double ms[N_FRAMES];
    out->n_tokens = N_TOKENS;
    out->n_turns = (size_t)N_TOKENS * 4 / TURN_BYTES;
    json_t *talk = long_talk(out->n_turns);
    cf_status st = open_desk(&d, NULL, err);
    if (st == CF_OK && talk == NULL) {
        st = cf_oom(err);
    }
    if (st == CF_OK) {
        st = cf_lab_add(d.app.lab, talk, (cf_uuid){{0}}, false, err);
    }
    json_decref(talk);
    if (st == CF_OK) {
        out->first_frame_ms = draw(&d.app);
        for (size_t i = 0; i < N_FRAMES; i++) {
            ms[i] = draw(&d.app);
        }
        out->frame = times_of(ms, N_FRAMES);
        for (size_t i = 0; i < N_FRAMES; i++) {
            uint64_t t = now();
            press(&d.app, 'k');
            cf_app_draw(&d.app);
            ms[i] = (double)(now() - t) * 1e-3;
        }
        out->scroll = times_of(ms, N_FRAMES);
    }
    close_desk(&d);
    return st;
}

static cf_status measure(result *out, const char *db, cf_error *err)
{
    desk d;
    *out = (result){0};
    uint64_t t = now();
    cf_status st = open_desk(&d, db, err);
    if (st == CF_OK) {
        cf_app_draw(&d.app);
        out->start_ms = (double)(now() - t) * 1e-3;
    }
    close_desk(&d);
    CF_TRY(st);
    CF_TRY(measure_frames(out, err));
    return measure_keys(out, err);
}

static void print(const char *what, const spread *t)
{
    printf("%-28s %7zu  %9.3f  %9.3f  %9.3f\n", what, t->n, t->p50_ms, t->p99_ms, t->max_ms);
}

int main(int argc, char **argv)
{
    result r;
    cf_error err;
    if (measure(&r, argc > 1 ? argv[1] : NULL, &err) != CF_OK) {
        fprintf(stderr, "perf_ui: %s\n", err.text);
        return 4;
    }
    printf("start to the first frame     %.1f ms\n"
           "first frame, %zu tokens  %.1f ms (%zu turns)\n"
           "milliseconds                       n     median        p99"
           "        max\n",
           r.start_ms, r.n_tokens, r.first_frame_ms, r.n_turns);
    print("key to frame, streaming", &r.key);
    print("frame, long transcript", &r.frame);
    print("key and frame, long one", &r.scroll);
    return 0;
}
