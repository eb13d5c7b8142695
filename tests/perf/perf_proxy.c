/*
 * perf_proxy.c - what the proxy adds to a direct connection, and whether it
 * grows:
 *
 *   requests   one after another, direct and through the proxy in turns
 *   chunks     of streams at a time: from the server's write to the client
 *   growth     resident memory over many requests, in steps of a tenth
 *   stored     from the end of an answer at the client until another
 *              connection reads the exchange from the database
 *
 * usage: perf_proxy [REQUESTS [STREAMS]]
 */
#define _DEFAULT_SOURCE 1
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/serve/proxy/proxy.h"

enum { CHUNKS = 40, CHUNK_US = 20000, BEHIND_MAX = 50 };

static const char whole[] = "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"yes\"},"
                            "\"finish_reason\":\"stop\"}]}";
static const char request[] =
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"no?\"}]}";
/* The same with a number, so that each begins a conversation. */
static const char numbered[] =
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"%zu\"}]}";

/* ---- a server ----------------------------------------------------------- */

/* Each chunk says when it was written. */
static ssize_t next_chunk(void *ud, char *to, size_t n)
{
    int *left = ud;
    if ((*left)-- == 0) {
        return 0;
    }
    (void)usleep(CHUNK_US);
    return snprintf(to, n, "data: %llu\n\n", (unsigned long long)cf_os_monotonic_us());
}

static void end_chunks(void *ud, bool is_sent)
{
    (void)is_sent;
    cf_free(ud);
}

static void on_fake(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    (void)ud;
    *a = (cf_http_answer){.status = 200, .body = {whole, sizeof whole - 1}};
    if (cf_str_is(r->path, "/stream")) {
        int *left = cf_calloc(1, sizeof *left);
        *left = CHUNKS;
        a->size = -1;
        a->read = next_chunk;
        a->done = end_chunks;
        a->ud = left;
    }
}

/* ---- clients ------------------------------------------------------------ */

typedef struct sample {
    uint64_t *us;
    size_t n, cap;
} sample;

static void add(sample *s, uint64_t us)
{
    if (cf_grow(&s->us, &s->cap, s->n + 1, sizeof *s->us)) {
        s->us[s->n++] = us;
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void report(const char *what, sample *s)
{
    qsort(s->us, s->n, sizeof *s->us, by_value);
    printf("%-28s n %6zu  p50 %6llu us  p99 %6llu us\n", what, s->n,
           (unsigned long long)s->us[s->n / 2], (unsigned long long)s->us[s->n * 99 / 100]);
}

static size_t drop(char *p, size_t size, size_t n, void *ud)
{
    (void)p;
    (void)ud;
    return size * n;
}

static CURL *client(const char *base, const char *path, char url[200])
{
    CURL *c = curl_easy_init();
    snprintf(url, 200, "%s%s", base, path);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, request);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, drop);
    return c;
}

static void ask(CURL *c, size_t i, sample *s)
{
    char body[120];
    snprintf(body, sizeof body, numbered, i);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
    uint64_t from = cf_os_monotonic_us();
    if (curl_easy_perform(c) != CURLE_OK) {
        fprintf(stderr, "a request failed\n");
        exit(1);
    }
    add(s, cf_os_monotonic_us() - from);
}

typedef struct streamer {
    const char *base;
    sample s;
    pthread_t thread;
} streamer;

static size_t on_chunk(char *p, size_t size, size_t n, void *ud)
{
    streamer *st = ud;
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(n < 60 ? n : 60), p);
    if (strncmp(text, "data: ", 6) == 0) {
        add(&st->s, cf_os_monotonic_us() - strtoull(text + 6, NULL, 10));
    }
    return size * n;
}

static void *stream_main(void *ud)
{
    streamer *st = ud;
    char url[200];
    CURL *c = client(st->base, "/stream", url);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_chunk);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, st);
    (void)curl_easy_perform(c);
    curl_easy_cleanup(c);
    return NULL;
}

static void streams(const char *what, const char *base, size_t n)
{
    streamer *v = cf_calloc(n, sizeof *v);
    sample all = {0};
    cf_error err;
    for (size_t i = 0; i < n; i++) {
        v[i].base = base;
        if (cf_os_thread(&v[i].thread, stream_main, &v[i], &err) != CF_OK) {
            exit(1);
        }
    }
    for (size_t i = 0; i < n; i++) {
        pthread_join(v[i].thread, NULL);
        for (size_t k = 0; k < v[i].s.n; k++) {
            add(&all, v[i].s.us[k]);
        }
        cf_free(v[i].s.us);
    }
    report(what, &all);
    cf_free(all.us);
    cf_free(v);
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f != NULL) {
        if (fscanf(f, "%*d %ld", &pages) != 1) {
            pages = 0;
        }
        fclose(f);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

enum { STORED_ASKS = 100 };

/* The newest exchange that has ended, as another program sees it. */
static bool newest(cf_store *reader, cf_uuid *id)
{
    const cf_exchange *rows;
    size_t n = 0;
    cf_arena arena;
    cf_error err;
    const cf_exchange_query q = {.limit = 1, .has_ended = true};
    cf_arena_init(&arena, 0);
    bool ok = cf_store_exchanges(reader, &q, &arena, &rows, &n, &err) == CF_OK;
    if (ok && n > 0) {
        *id = rows[0].id;
    }
    cf_arena_deinit(&arena);
    return ok && n > 0;
}

static void stored(const char *db, CURL *c, size_t from)
{
    cf_store *reader;
    cf_error err;
    sample s = {0}, ignored = {0};
    cf_uuid before, now;
    const cf_store_options o = {.flags = CF_STORE_READ_ONLY};
    if (cf_store_open(&reader, db, &o, &err) != CF_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (size_t i = 0; i < STORED_ASKS && newest(reader, &before); i++) {
        ask(c, from + i, &ignored);
        uint64_t end = cf_os_monotonic_us();
        now = before;
        while (cf_uuid_eq(now, before) && newest(reader, &now)) {
            (void)usleep(500);
        }
        add(&s, cf_os_monotonic_us() - end);
    }
    report("stored after its end", &s);
    printf("%-28s %llu us\n", "stored at the latest", (unsigned long long)s.us[s.n - 1]);
    cf_free(s.us);
    cf_free(ignored.us);
    cf_store_close(reader);
}

static void on_stored(void *ud, const cf_exchange *x)
{
    (void)x;
    atomic_fetch_add((atomic_size_t *)ud, 1);
}

int main(int argc, char **argv)
{
    atomic_size_t n_stored = 0;
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 3000;
    size_t n_streams = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
    char dir[] = "/tmp/perf-proxy-XXXXXX", db[64], url1[200], url2[200];
    cf_error err = {0};
    cf_store *store = NULL;
    cf_recorder *recorder = NULL;
    cf_proxy proxy;
    cf_http_server *fake = NULL, *server = NULL;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (mkdtemp(dir) == NULL) {
        return 1;
    }
    snprintf(db, sizeof db, "%s/p.db", dir);
    const cf_store_options so = {.flags = CF_STORE_CREATE};
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler fake_handler = {.answer = on_fake};
    cf_status st = cf_store_open(&store, db, &so, &err);
    const cf_recorder_options ro = {.store = store, .stored = on_stored, .ud = &n_stored};
    CF_THEN(st, cf_recorder_new(&recorder, &ro, &err));
    CF_THEN(st, cf_http_server_new(&fake, &any, &fake_handler, &err));
    if (st == CF_OK) {
        const cf_upstream up = {.url = cf_http_server_url(fake)};
        st = cf_proxy_init(&proxy, &up, recorder, &err);
    }
    const cf_http_handler handler = cf_proxy_handler(&proxy);
    CF_THEN(st, cf_http_server_new(&server, &any, &handler, &err));
    if (st != CF_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    sample direct = {0}, through = {0};
    CURL *a = client(cf_http_server_url(fake), "/v1/chat/completions", url1);
    CURL *b = client(cf_http_server_url(server), "/v1/chat/completions", url2);
    long at_half = 0;
    for (size_t i = 0; i < n; i++) {
        ask(a, i, &direct);
        ask(b, i, &through);
        at_half = i == n / 2 ? resident_kib() : at_half;
        while (atomic_load(&n_stored) + BEHIND_MAX < i) {
            (void)usleep(1000); /* growth, and not a queue, is measured */
        }
        if (n >= 10 && (i + 1) % (n / 10) == 0) {
            printf("resident after %6zu requests  %ld KiB\n", i + 1, resident_kib());
        }
    }
    report("request, direct", &direct);
    report("request, through the proxy", &through);
    long at_end = resident_kib();
    uint64_t drain = cf_os_monotonic_us();
    while (atomic_load(&n_stored) < n) {
        (void)usleep(1000);
    }
    printf("resident: %ld KiB after half of them, %ld KiB at the end, %ld KiB "
           "when all are stored, %llu ms later\n",
           at_half, at_end, resident_kib(),
           (unsigned long long)(cf_os_monotonic_us() - drain) / 1000);
    stored(db, b, n);
    streams("chunk, direct", cf_http_server_url(fake), n_streams);
    streams("chunk, through the proxy", cf_http_server_url(server), n_streams);
    curl_easy_cleanup(a);
    curl_easy_cleanup(b);
    cf_http_server_free(server, 0);
    cf_http_server_free(fake, 0);
    cf_recorder_free(recorder);
    cf_proxy_deinit(&proxy);
    cf_store_close(store);
    cf_free(direct.us);
    cf_free(through.us);
    return 0;
}
