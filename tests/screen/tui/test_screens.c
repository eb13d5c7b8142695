/*
 * test_screens.c - the workbench as people see it: one test for each script
 * tests/screen/NAME/script, with the scripted engine, a fresh database, a
 * frozen clock and repeatable ids.
 *
 * The engine answers from NAME/engine.json, or tests/screen/engine.json where
 * the folder has none.  With NAME/tools.json the model may call tools and is
 * prompted with a template, NAME/template.jinja or a built-in one; a tools.json
 * that holds "demo" stands for the demonstration tools, which run.  With
 * NAME/tiny a small random model answers, computed the same on every machine;
 * with NAME/media one that reads pictures does, by the template gemma3, and
 * with NAME/sound one that hears, by gemma4.
 * With NAME/bundled the model in the program does, where it has one, with the
 * tools of NAME/tools.json.
 * NAME/editor is the editor there, in place of tests/screen/editor.sh.
 * Lines "shell" find the history in $HISTORY.
 * first-start begins as a first start of the program does, with examples.
 */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* nftw */
#endif
#include <assert.h>
#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/api/bundled.h"
#include "core/base/os.h"
#include "storage/traffic.h"
#include "templates/builtin.h"
#include "templates/chat_template.h"
#include "tests/support/fault.h"
#include "tests/support/screen.h"
#include "tests/support/t.h"
#include "tests/support/tiny_audio.h"
#include "tests/support/tiny_vision.h"
#include "tui/app/workbench.h"
#include "tui/demo/demo_serve.h"
#include "tui/demo/examples.h"
#include "tui/lab/lab.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/tools/tool_servers.h"

static const char folder[] = "tests/screen";

enum { SCRIPTS_MAX = 128 };

typedef struct screen_fixture {
    char db[64], state[64];
    cf_lab_engine engine;
    cf_backend *backend;
    cf_engine *model; /* NULL: a script answers */
    void *model_bytes;
    cf_media *media; /* NULL: it reads none */
    cf_media_cache *media_cache;
    cf_template *tpl;
    cf_buf source; /* of NAME.jinja */
    json_t *tools;
    cf_store *store;
    cf_demo *demo;
    cf_app app;
} screen_fixture;

/* The path of a script's file; false when it has none of that name. */
static bool find_file(char path[512], const char *script, const char *name)
{
    snprintf(path, 512, "%s/%s/%s", folder, script, name);
    return access(path, R_OK) == 0;
}

/* The template that the engine is prompted with. */
static void open_template(screen_fixture *f, const char *script, cf_lab_engine *engine)
{
    cf_error err;
    char path[512];
    engine->template_name = "qwen3";
    engine->template_source = cf_template_builtin("qwen3");
    if (find_file(path, script, "template.jinja")) {
        T_OK(cf_os_read_file(&f->source, path, 1 << 20, &err), err);
        engine->template_name = "own";
        engine->template_source = cf_buf_str(&f->source);
    }
    T_OK(cf_template_compile(&f->tpl, engine->template_source, NULL, NULL, NULL, &err), err);
}

static void open_model(screen_fixture *f, cf_lab_engine *engine)
{
    cf_error err;
    size_t n;
    const cf_engine_options o = {.n_threads = 1, .kernel_set = "ref"};
    const cf_core_options core = {.renderer = cf_renderer_plain()};
    f->model_bytes = cf_tiny_gguf(&(cf_tiny_options){.seed = 3}, &n);
    T_OK(cf_engine_open_memory(&f->model, f->model_bytes, n, &o, &err), err);
    T_OK(cf_backend_core_new(&f->backend, f->model, &core, &err), err);
    engine->engine = f->model;
    engine->tokenizer = cf_engine_tokenizer(f->model);
    engine->sampling = (cf_sampling){.temperature = 1, .seed = 11};
    engine->has_sampling = true;
    engine->max_tokens = 24;
}

/* A model with a projector, each pair of numbers the same everywhere. */
static void open_media(screen_fixture *f, cf_lab_engine *engine, const cf_tiny_options *tiny,
                       cf_tiny_buf file, const char *template_name)
{
    cf_error err;
    size_t n;
    const cf_engine_options o = {.n_threads = 1, .kernel_set = "ref"};
    f->model_bytes = cf_tiny_gguf(tiny, &n);
    T_OK(cf_engine_open_memory(&f->model, f->model_bytes, n, &o, &err), err);
    char path[] = "/tmp/cf_screens.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file.p, file.n), file.n);
    close(fd);
    T_OK(cf_media_open(&f->media, f->model, path, &err), err);
    unlink(path);
    cf_tiny_free(file.p);
    T_OK(cf_media_cache_new(&f->media_cache, f->media, 1 << 20, &err), err);
    engine->template_name = template_name;
    engine->template_source = cf_template_builtin(template_name);
    T_OK(cf_template_compile(&f->tpl, engine->template_source, NULL, NULL, NULL, &err), err);
    const cf_core_options core = {.renderer = cf_renderer_template(f->tpl),
                                  .media = f->media_cache};
    T_OK(cf_backend_core_new(&f->backend, f->model, &core, &err), err);
    engine->engine = f->model;
    engine->tokenizer = cf_engine_tokenizer(f->model);
    engine->sampling = (cf_sampling){.temperature = 1, .seed = 11};
    engine->has_sampling = true;
    engine->max_tokens = 6;
}

static void open_seeing(screen_fixture *f, cf_lab_engine *engine)
{
    const cf_tiny_options tiny = {.arch = "gemma3", .seed = 5, .n_ctx = 1024};
    open_media(f, engine, &tiny, cf_tiny_vision("gemma3", CF_TINY_VISION_TENSORS, 2, 64), "gemma3");
}

static void open_hearing(screen_fixture *f, cf_lab_engine *engine)
{
    const cf_tiny_options tiny = {.n_embd = 8, .seed = 5, .n_ctx = 1024};
    open_media(f, engine, &tiny, cf_tiny_audio("gemma4a", NULL), "gemma4");
}

/* Every set of kernels but "ref" computes its bits. */
static void open_bundled(screen_fixture *f, const char *script, cf_lab_engine *engine)
{
    cf_error err;
    char path[512];
    const void *bytes;
    size_t n;
    const cf_engine_options o = {.n_threads = 1};
    cf_core_options with = {.family = CF_TOOLS_HERMES};
    assert_true(cf_bundled_model(&bytes, &n));
    T_OK(cf_engine_open_memory(&f->model, bytes, n, &o, &err), err);
    engine->template_name = "model";
    engine->template_source = cf_engine_chat_template(f->model, NULL);
    T_OK(cf_template_compile(&f->tpl, engine->template_source, NULL, NULL, NULL, &err), err);
    with.renderer = cf_renderer_template(f->tpl);
    engine->family = CF_TOOLS_HERMES;
    T_OK(cf_backend_core_new(&f->backend, f->model, &with, &err), err);
    assert_true(find_file(path, script, "tools.json"));
    T_OK(cf_json_read_file(&f->tools, path, &err), err);
    engine->tools = f->tools;
    engine->engine = f->model;
    engine->tokenizer = cf_engine_tokenizer(f->model);
    engine->sampling = (cf_sampling){.temperature = 0};
    engine->has_sampling = true;
    engine->max_tokens = 32;
}

static void open_engine(screen_fixture *f, const char *script, cf_lab_engine *engine)
{
    cf_error err;
    json_t *replies;
    char path[512];
    cf_script_options options = {0};
    *engine = (cf_lab_engine){.template_name = "plain"};
    if (find_file(path, script, "tiny")) {
        open_model(f, engine);
        engine->backend = f->backend;
        return;
    }
    if (find_file(path, script, "bundled")) {
        open_bundled(f, script, engine);
        engine->backend = f->backend;
        return;
    }
    if (find_file(path, script, "media")) {
        open_seeing(f, engine);
        engine->backend = f->backend;
        return;
    }
    if (find_file(path, script, "sound")) {
        open_hearing(f, engine);
        engine->backend = f->backend;
        return;
    }
    if (find_file(path, script, "tools.json")) {
        T_OK(cf_json_read_file(&f->tools, path, &err), err);
        if (json_is_string(f->tools)) {
            json_decref(f->tools);
            f->tools = cf_demo_declarations();
            T_OK(cf_demo_new(&f->demo, NULL, true, &err), err);
        }
        open_template(f, script, engine);
        engine->tools = f->tools;
        engine->family = options.family = CF_TOOLS_HERMES;
        options.channels = cf_channels_detect(engine->template_source, &options.n_channels);
        options.renderer = cf_renderer_template(f->tpl);
    }
    if (!find_file(path, script, "engine.json")) {
        snprintf(path, sizeof path, "%s/engine.json", folder);
    }
    T_OK(cf_json_read_file(&replies, path, &err), err);
    T_OK(cf_backend_script_new(&f->backend, replies, &options, &err), err);
    engine->backend = f->backend;
    json_decref(replies);
}

/* Two exchanges, one of them with a finding. */
static void put_exchanges(cf_store *store)
{
    cf_error err;
    const cf_store_turn turn = {.id = cf_uuid_new(),
                                .message = cf_str_from("{\"role\":\"user\",\"content\":\"hi\"}"),
                                .status = CF_TURN_OK,
                                .fork_token = -1};
    const cf_store_tree tree = {
        .conv = {.id = cf_uuid_new(), .head = turn.id}, .turns = &turn, .n = 1};
    cf_exchange x = cf_exchange_none();
    x.id = cf_uuid_new();
    x.conversation = tree.conv.id;
    x.turn = turn.id;
    x.started_ms = cf_os_now_ms();
    x.client = cf_str_from("agent/1.0 \033[2J");
    x.method = cf_str_from("POST");
    x.path = cf_str_from("/v1/chat/completions");
    x.model = cf_str_from("qwen3");
    x.status = 200;
    x.n_messages = 12;
    x.n_prompt = 16387;
    x.n_cached = 0;
    x.first_us = 812000;
    x.end = cf_str_from("stop");
    x.findings = cf_str_from("[{\"kind\":\"cut\",\"text\":\"the server read "
                             "16387 of 160689 tokens\"}]");
    T_OK(cf_store_put_exchange(store, &x, &tree, NULL, 0, &err), err);
    cf_exchange other = cf_exchange_none();
    other.id = cf_uuid_new();
    other.started_ms = x.started_ms + 1000;
    other.method = cf_str_from("GET");
    other.path = cf_str_from("/v1/models");
    T_OK(cf_store_put_exchange(store, &other, NULL, NULL, 0, &err), err);
}

/* A talk of two requests: the second lost the cache, and the recorder knows why. */
static void put_cache_loss(cf_store *store)
{
    static const char *const messages[] = {"{\"role\":\"system\",\"content\":\"It is 10:00.\"}",
                                           "{\"role\":\"user\",\"content\":\"Where is Oslo?\"}",
                                           "{\"role\":\"assistant\",\"content\":\"In Norway.\"}",
                                           "{\"role\":\"system\",\"content\":\"It is 10:01.\"}",
                                           "{\"role\":\"user\",\"content\":\"Where is Oslo?\"}",
                                           "{\"role\":\"assistant\",\"content\":\"In Norway.\"}",
                                           "{\"role\":\"user\",\"content\":\"And Rome?\"}",
                                           "{\"role\":\"assistant\",\"content\":\"In Italy.\"}"};
    static const int parents[] = {-1, 0, 1, -1, 3, 4, 5, 6};
    cf_store_turn turns[8];
    cf_error err;
    for (size_t i = 0; i < 8; i++) {
        turns[i] = (cf_store_turn){.id = cf_uuid_new(),
                                   .message = cf_str_from(messages[i]),
                                   .status = CF_TURN_OK,
                                   .fork_token = -1,
                                   .created_ms = cf_os_now_ms()};
        if (parents[i] >= 0) {
            turns[i].parent = turns[parents[i]].id;
        }
    }
    const cf_store_tree tree = {.conv = {.id = cf_uuid_new(),
                                         .title = cf_str_from("Where is Oslo?"),
                                         .head = turns[7].id,
                                         .created_ms = cf_os_now_ms()},
                                .turns = turns,
                                .n = 8};
    for (int i = 0; i < 2; i++) {
        cf_exchange x = cf_exchange_none();
        x.id = cf_uuid_new();
        x.conversation = tree.conv.id;
        x.turn = turns[i == 0 ? 2 : 7].id;
        x.started_ms = cf_os_now_ms() + i * 60000;
        x.total_us = 1500000;
        x.method = cf_str_from("POST");
        x.path = cf_str_from("/v1/chat/completions");
        x.model = cf_str_from("qwen3");
        x.status = 200;
        x.n_prompt = 6000 + 100 * i;
        x.n_cached = i == 0 ? 5000 : 0;
        x.n_reply = 4;
        x.findings = cf_str_from(
            i == 0 ? "[]"
                   : "[{\"kind\":\"cache-lost\",\"message\":0,\"before\":5000,\"now\":0,"
                     "\"text\":\"kept tokens fell from 5000 to 0, because message 1 changed\"}]");
        T_OK(cf_store_put_exchange(store, &x, i == 0 ? &tree : NULL, NULL, 0, &err), err);
    }
}

static int remove_one(const char *path, const struct stat *sb, int kind, struct FTW *ftw)
{
    (void)sb;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void open_app(screen_fixture *f)
{
    cf_error err;
    cf_store_options options = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&f->store, f->db, &options, &err), err);
    T_OK(cf_app_init(&f->app, f->store, &err), err);
    T_OK(cf_lab_new(&f->app.lab, &f->engine, f->store, &err), err);
    f->app.demo = f->demo;
    f->app.state_folder = f->state;
}

/* `nth` script: a later millisecond, so that its ids start again. */
static void set_up(screen_fixture *f, const char *script, int nth)
{
    cf_error err;
    char dir[] = "/tmp/cf_screens.XXXXXX";
    assert_non_null(mkdtemp(dir));
    snprintf(f->db, sizeof f->db, "%s/t.db", dir);
    snprintf(f->state, sizeof f->state, "%s", dir);
    setenv("HISTORY", f->db, 1);                      /* for lines of other programs */
    cf_os_freeze_clock(INT64_C(1735787045000) + nth); /* 2025-01-02 */
    cf_os_seed_entropy(1);
    open_engine(f, script, &f->engine);
    open_app(f);
    cf_demo_switch(f->demo, true);
    if (strcmp(script, "traffic") == 0) {
        put_exchanges(f->store);
    }
    if (strcmp(script, "agents") == 0) {
        setenv("HOME", "tests/screen/agents/home", 1);
        put_cache_loss(f->store);
    }
    if (strcmp(script, "first-start") == 0) {
        cf_uuid welcome;
        T_OK(cf_examples_make(f->store, f->engine.tools, &welcome, &err), err);
        T_OK(cf_workbench_welcome(&f->app, welcome, &err), err);
    }
}

static void tear_down(screen_fixture *f)
{
    cf_app_deinit(&f->app);
    cf_lab_free(f->app.lab);
    cf_demo_free(f->demo);
    cf_store_close(f->store);
    cf_backend_free(f->backend);
    cf_media_cache_free(f->media_cache);
    cf_media_close(f->media);
    cf_engine_close(f->model);
    cf_tiny_free(f->model_bytes);
    cf_template_free(f->tpl);
    cf_buf_deinit(&f->source);
    json_decref(f->tools);
    (void)nftw(f->state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Another program over the same history, in a window of the same size. */
static void restart(cf_app *app)
{
    screen_fixture *f = (screen_fixture *)((char *)app - offsetof(screen_fixture, app));
    cf_event size = {.kind = CF_EVENT_RESIZE, .w = app->grid.w, .h = app->grid.h};
    cf_lab *lab = app->lab;
    cf_app_deinit(app);
    cf_lab_free(lab);
    cf_store_close(f->store);
    open_app(f);
    cf_app_event(app, &size);
}

/* Whether a tool server is on its way, which ends on a thread of its own. */
static bool is_starting(const cf_app *app)
{
    bool is = false;
    for (size_t i = 0; app->servers != NULL && i < cf_tool_servers_n(app->servers); i++) {
        is = is || cf_tool_servers_at(app->servers, i).state == CF_TOOL_SERVER_STARTING;
    }
    if (is) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return is;
}

static void idle(cf_app *app)
{
    cf_error err;
    do {
        cf_lab_settle(app->lab, &err);
        if (err.code != CF_OK) {
            cf_app_error(app, &err);
        }
        cf_app_draw(app); /* a frame may ask for more */
        while (cf_app_step(app)) {
        }
    } while (cf_lab_is_busy(app->lab) || cf_lab_task_name(app->lab) != NULL || /* results go on */
             is_starting(app));
    if (app->notice.while_busy) { /* it has ended */
        cf_app_event(app, &(cf_event){.kind = CF_EVENT_WAKE});
    }
}

typedef struct screen_case {
    char name[256]; /* the script's folder */
    int nth;
} screen_case;

static void test_screens__script(void **state)
{
    const screen_case *c = *state;
    char path[512];
    const void *bytes;
    size_t n_bytes;
    if (find_file(path, c->name, "bundled") && !cf_bundled_model(&bytes, &n_bytes)) {
        T_SKIP("no bundled model in this tree");
    }
    assert_true(find_file(path, c->name, "script"));
    screen_fixture f = {0};
    char editor[512];
    bool has_editor = find_file(editor, c->name, "editor");
    setenv("VISUAL", has_editor ? editor : "sh tests/screen/editor.sh", 1);
    set_up(&f, c->name, c->nth);
    const cf_screen_ops ops = {idle, restart};
    cf_screen_run(&f.app, path, &ops);
    tear_down(&f);
}

static bool is_script(const char *name)
{
    char path[512];
    return name[0] != '.' && find_file(path, name, "script");
}

/* The folders with a script, sorted; returns how many there are. */
static size_t find_scripts(screen_case cases[SCRIPTS_MAX])
{
    struct dirent **names;
    int n = scandir(folder, &names, NULL, alphasort);
    size_t n_cases = 0;
    for (int i = 0; i < n; i++) {
        if (is_script(names[i]->d_name)) {
            assert(n_cases < SCRIPTS_MAX);
            screen_case *c = &cases[n_cases];
            snprintf(c->name, sizeof c->name, "%s", names[i]->d_name);
            c->nth = (int)n_cases++;
        }
        free(names[i]);
    }
    free(names);
    return n_cases;
}

int main(void)
{
    static screen_case cases[SCRIPTS_MAX];
    static struct CMUnitTest tests[SCRIPTS_MAX];
    cf_fault_install();
    setenv("TZ", "UTC", 1);
    size_t n = find_scripts(cases);
    for (size_t i = 0; i < n; i++) {
        tests[i] = (struct CMUnitTest){cases[i].name, test_screens__script, NULL, NULL, &cases[i]};
    }
    return n == 0 ? 1 : _cmocka_run_group_tests("screens", tests, n, NULL, NULL);
}
