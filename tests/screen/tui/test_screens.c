/*
 * test_screens.c - the workbench as people see it: every script of this
 * folder, with the scripted engine, a fresh database, a frozen clock and
 * repeatable ids.
 *
 * NAME.script plays NAME.json, or engine.json when there is none.  With a
 * NAME.tools.json the model may call tools and is prompted with a template,
 * NAME.jinja or a bundled one; a file that holds "demo" stands for the tools
 * that come with confab, which run.  With a NAME.tiny a small random model
 * answers, computed the same on every machine.
 * first-start.script begins as a person's first start does, with examples.
 */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "templates/builtin.h"
#include "templates/chat_template.h"
#include "tests/support/fault.h"
#include "tests/support/screen.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tui/demo/demo_serve.h"
#include "tui/demo/examples.h"
#include "tui/lab/lab.h"

static const char folder[] = "tests/screen/tui";

typedef struct screen_fixture {
    char db[64];
    cf_backend *backend;
    cf_engine *model; /* NULL: a script answers */
    void *model_bytes;
    cf_template *tpl;
    cf_buf source; /* of NAME.jinja */
    json_t *tools;
    cf_store *store;
    cf_demo *demo;
    cf_app app;
} screen_fixture;

/* The path of a script's file with another ending; `or` when it is absent. */
static void beside(char out[512], const char *script, const char *ending,
                   const char * or)
{
    snprintf(out, 512, "%s/%.*s%s", folder, (int)(strchr(script, '.') - script),
             script, ending);
    if (access(out, R_OK) != 0) {
        snprintf(out, 512, "%s/%s", folder, or);
    }
}

static bool is_there(char path[512], const char *script, const char *ending)
{
    beside(path, script, ending, "");
    return path[strlen(path) - 1] != '/';
}

/* The template that the engine is prompted with. */
static void open_template(screen_fixture *f, const char *script,
                          cf_lab_engine *engine)
{
    cf_error err;
    char path[512];
    engine->template_name = "qwen3";
    engine->template_source = cf_template_builtin("qwen3");
    if (is_there(path, script, ".jinja")) {
        T_OK(cf_os_read_file(&f->source, path, 1 << 20, &err), err);
        engine->template_name = "own";
        engine->template_source = cf_buf_str(&f->source);
    }
    T_OK(cf_template_compile(&f->tpl, engine->template_source, NULL, NULL, NULL,
                             &err),
         err);
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

static void open_engine(screen_fixture *f, const char *script,
                        cf_lab_engine *engine)
{
    cf_error err;
    json_t *replies;
    char path[512];
    cf_script_options options = {0};
    *engine = (cf_lab_engine){.template_name = "plain"};
    if (is_there(path, script, ".tiny")) {
        open_model(f, engine);
        engine->backend = f->backend;
        return;
    }
    if (is_there(path, script, ".tools.json")) {
        T_OK(cf_json_read_file(&f->tools, path, &err), err);
        if (json_is_string(f->tools)) {
            json_decref(f->tools);
            f->tools = cf_demo_declarations();
            T_OK(cf_demo_new(&f->demo, NULL, true, &err), err);
        }
        open_template(f, script, engine);
        engine->tools = f->tools;
        engine->family = options.family = CF_TOOLS_HERMES;
        options.channels =
            cf_channels_detect(engine->template_source, &options.n_channels);
        options.renderer = cf_renderer_template(f->tpl);
    }
    beside(path, script, ".json", "engine.json");
    T_OK(cf_json_read_file(&replies, path, &err), err);
    T_OK(cf_backend_script_new(&f->backend, replies, &options, &err), err);
    engine->backend = f->backend;
    json_decref(replies);
}

/* `nth` script: a later millisecond, so that its ids begin anew. */
static void set_up(screen_fixture *f, const char *script, int nth)
{
    cf_error err;
    cf_lab_engine engine;
    char dir[] = "/tmp/cf_screens.XXXXXX";
    assert_non_null(mkdtemp(dir));
    snprintf(f->db, sizeof f->db, "%s/t.db", dir);
    cf_os_freeze_clock(INT64_C(1735787045000) + nth); /* 2025-01-02 */
    cf_os_seed_entropy(1);
    open_engine(f, script, &engine);
    cf_store_options options = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&f->store, f->db, &options, &err), err);
    T_OK(cf_app_init(&f->app, f->store, &err), err);
    T_OK(cf_lab_new(&f->app.lab, &engine, f->store, &err), err);
    f->app.demo = f->demo;
    cf_demo_switch(&f->app, true);
    if (strcmp(script, "first-start.script") == 0) {
        cf_uuid welcome;
        T_OK(cf_examples_make(f->store, &welcome, &err), err);
        T_OK(cf_examples_show(&f->app, welcome, &err), err);
    }
}

static void tear_down(screen_fixture *f)
{
    cf_app_deinit(&f->app);
    cf_lab_free(f->app.lab);
    cf_demo_free(f->demo);
    cf_store_close(f->store);
    cf_backend_free(f->backend);
    cf_engine_close(f->model);
    cf_tiny_free(f->model_bytes);
    cf_template_free(f->tpl);
    cf_buf_deinit(&f->source);
    json_decref(f->tools);
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < 3; i++) {
        char path[80];
        snprintf(path, sizeof path, "%s%s", f->db, suffixes[i]);
        unlink(path);
    }
    *strrchr(f->db, '/') = '\0';
    rmdir(f->db);
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
    } while (cf_lab_is_busy(app->lab) ||
             cf_lab_task_name(app->lab) != NULL); /* results go on */
}

static void test_screens__all_scripts(void **state)
{
    (void)state;
    struct dirent **names;
    int n = scandir(folder, &names, NULL, alphasort);
    int n_scripts = 0;
    assert_true(n > 0);
    setenv("TZ", "UTC", 1);
    setenv("VISUAL", "sh tests/screen/tui/editor.sh", 1);
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(names[i]->d_name, '.');
        if (dot != NULL && strcmp(dot, ".script") == 0) {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
            screen_fixture f = {0};
            set_up(&f, names[i]->d_name, n_scripts);
            cf_screen_run(&f.app, path, idle);
            tear_down(&f);
            n_scripts++;
        }
        free(names[i]);
    }
    free(names);
    assert_true(n_scripts > 0);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_screens__all_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
