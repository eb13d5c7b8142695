/*
 * test_walk.c - a random walk over the workbench: keys, texts, pastes,
 * resizes and worker events in any order.  Nothing may crash or leak, and
 * the grid must stay one that a terminal can show.
 *
 * CONFAB_WALK=N walks N steps in place of the short default, CONFAB_WALK_SEED
 * begins elsewhere.
 */
#include <stdlib.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "templates/builtin.h"
#include "templates/chat_template.h"
#include "tests/support/drive.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tui/app/app.h"
#include "tui/lab/lab.h"

enum { STEPS = 20000, MODEL_STEPS = 3000 };

static const char replies[] =
    "{\"replies\":["
    "{\"tokens\":[{\"text\":\"To\",\"p\":0.9,\"top\":[[\"To\",0.9],"
    "[\"A\",0.1]]},{\"text\":\"day\",\"p\":0.5}]},"
    "{\"text\":\"<think>why?</think>\\n<tool_call>\\n{\\\"name\\\":"
    "\\\"get_weather\\\",\\\"arguments\\\":{\\\"city\\\":\\\"Oslo\\\"}}\\n"
    "</tool_call>\",\"chunk\":4},"
    "{\"text\":\"<tool_call>\\n{\\\"name\\\":\\\"get_weather\\\","
    "\\\"arguments\\\":{\\\"city\\\":Oslo}}\\n</tool_call>\"},"
    "{\"text\":\"\\u001b[31m \\u009b2J \\u202e \\u65e5\\u672c e\\u0301 "
    "\\ud83d\\ude00 and words and words and words\",\"chunk\":2},"
    "{\"text\":\"slow\",\"chunk\":1,\"delay_ms\":2},"
    "{\"error\":\"rate_limit\"}]}";

static const char tools[] = "[{\"name\":\"get_weather\",\"parameters\":{\"type\":\"object\","
                            "\"properties\":{\"city\":{\"type\":\"string\"}},"
                            "\"required\":[\"city\"]}}]";

typedef struct walk {
    cf_rand rand;
    json_t *script, *tools;
    void *model; /* bytes; NULL: a script answers */
    cf_engine *engine;
    cf_template *tpl;
    cf_backend *backend;
    cf_store *store;
    cf_app app;
} walk;

/* A small random model: tokens, trees and constraints are real. */
static void open_model(walk *w, cf_str source)
{
    cf_error err;
    size_t n;
    const cf_engine_options one = {.n_threads = 1};
    cf_core_options core = {.renderer = cf_renderer_template(w->tpl), .family = CF_TOOLS_HERMES};
    core.channels = cf_channels_detect(source, &core.n_channels);
    w->model = cf_tiny_gguf(&(cf_tiny_options){.seed = 3, .n_layer = 1, .n_ctx = 2048}, &n);
    T_OK(cf_engine_open_memory(&w->engine, w->model, n, &one, &err), err);
    T_OK(cf_backend_core_new(&w->backend, w->engine, &core, &err), err);
}

static void open_script(walk *w, cf_str source)
{
    cf_error err;
    T_OK(cf_json_read(&w->script, replies, sizeof replies - 1, &err), err);
    cf_script_options options = {.family = CF_TOOLS_HERMES,
                                 .renderer = cf_renderer_template(w->tpl)};
    options.channels = cf_channels_detect(source, &options.n_channels);
    T_OK(cf_backend_script_new(&w->backend, w->script, &options, &err), err);
}

static void set_up(walk *w, bool has_model)
{
    cf_error err;
    T_OK(cf_json_read(&w->tools, tools, sizeof tools - 1, &err), err);
    cf_str source = cf_template_builtin("qwen3");
    T_OK(cf_template_compile(&w->tpl, source, NULL, NULL, NULL, &err), err);
    if (has_model) {
        open_model(w, source);
    } else {
        open_script(w, source);
    }
    cf_store_options flags = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&w->store, store_dir_file(has_model ? "model.db" : "walk.db"), &flags, &err),
         err);
    cf_lab_engine engine = {.backend = w->backend,
                            .engine = w->engine,
                            .tokenizer = has_model ? cf_engine_tokenizer(w->engine) : NULL,
                            .has_sampling = has_model,
                            .max_tokens = 12,
                            .template_name = "qwen3",
                            .template_source = source,
                            .tools = w->tools,
                            .family = CF_TOOLS_HERMES};
    T_OK(cf_app_init(&w->app, w->store, &err), err);
    w->app.is_restricted = true; /* a random line must not run or write */
    T_OK(cf_lab_new(&w->app.lab, &engine, w->store, &err), err);
}

static void tear_down(walk *w)
{
    cf_app_deinit(&w->app);
    cf_lab_free(w->app.lab);
    cf_store_close(w->store);
    cf_backend_free(w->backend);
    cf_engine_close(w->engine);
    cf_tiny_free(w->model);
    cf_template_free(w->tpl);
    json_decref(w->script);
    json_decref(w->tools);
}

/* Everything that a key of some view is made of, and what people type. */
static cf_key any_key(walk *w)
{
    static const cf_key named[] = {
        CF_KEY_ESC,       CF_KEY_ESC,        CF_KEY_ENTER,     CF_KEY_ENTER,
        CF_KEY_TAB,       CF_KEY_BACK_TAB,   CF_KEY_UP,        CF_KEY_DOWN,
        CF_KEY_LEFT,      CF_KEY_RIGHT,      CF_KEY_HOME,      CF_KEY_END,
        CF_KEY_PAGE_UP,   CF_KEY_PAGE_DOWN,  CF_KEY_BACKSPACE, CF_KEY_DELETE,
        CF_KEY_MOUSE_UP,  CF_KEY_MOUSE_DOWN, CF_KEY_F1,        CF_KEY_NEWLINE,
        CF_KEY_ALT | 'b', CF_KEY_ALT | 'd',  0x65E5,           0x301,
        0x202E,           0x1F600,
    };
    size_t r = cf_rand_below(&w->rand, 10);
    if (r < 3) {
        return named[cf_rand_below(&w->rand, sizeof named / sizeof named[0])];
    }
    if (r < 4) { /* control keys; ^Z and ^C do nothing without a terminal */
        return (cf_key)(1 + cf_rand_below(&w->rand, 26));
    }
    return (cf_key)(' ' + cf_rand_below(&w->rand, 95));
}

/* Whole gestures, so that the walk comes far and not only about. */
static void gesture(walk *w)
{
    static const char *const keys[] = {
        "1iHello<Enter>",
        "1GrF",
        "1ggeAgain<Enter>",
        "1]",
        "1[",
        "2Gwb]d",
        "3lluu<Tab>j<Enter>",
        "3llx",
        "3x<Tab><Tab>jl<Enter>",
        "3l:tree 8 64<Enter>",
        "3l<Tab>jooo",
        "3smepeep",
        "3[]yi",
        ":constrain json<Enter>",
        ":constrain tools<Enter>",
        ":constrain choice a|b<Enter>",
        ":constrain regex [a-c]{2,9}x<Enter>",
        ":constrain off<Enter>",
        ":set temperature=1<Enter>",
        ":set top_k=3<Enter>",
        ":set enable_thinking=off<Enter>",
        ":set thinking_budget=2<Enter>",
        ":set max_tokens=9<Enter>",
        ":set notrace<Enter>",
        ":set trace<Enter>",
        "gsq",
        "gC<Tab>t<Tab><Esc>",
        "4I{\"t\":1}<Enter>",
        "4m{\"t\":2}<Enter>",
        "4gg<Tab><Enter>JJK",
        "4F",
        "4R",
        "4:exec true<Enter>!y",
        "4:exec echo '{}'<Enter>a!",
        "4!n",
        "4xcJJ<Tab>x",
        "4eabc<Enter><Esc>",
        "4:edit {\"city\":\"B\"}<Enter>",
        "4pP",
        "4]ePM",
        "4:tools off<Enter>",
        "2L]e]e<Enter>q",
        "2Vjj<Enter><Esc><Tab>",
        "2jjj<Enter>]e[eq",
        "7L]e<Enter>",
        "5:with chatml<Enter>]c[c=w",
        "5:with model<Enter>G/a<Enter>n",
        "5t",
        "5S<Tab>j<Enter>",
        "5R",
        "5:run 3<Enter>",
        "5L",
        "5gLpj",
        "5pp<Tab>O",
        "5u=",
        "6<Space><Space>=",
        "6*=",
        "6M=",
        "6B=",
        "6I<Esc>X<Esc>",
        "6:import /dev/null openai<Enter>",
        "6AjB5m",
        "5cG",
        "6/Hello<Enter>j<Enter>",
        "6c",
        "6TTag<Enter>",
        "6ddu",
        "7jju",
        "7<Tab>GO",
        ":template model<Enter>",
        ":template chatml<Enter>",
        ":set line-graphics=ascii<Enter>",
        ":set a11y=on<Enter>",
        ":set a11y=off<Enter>",
        ":var x=[1,2]<Enter>",
        "?Gq",
        "@q",
        ":<Tab>x<Esc>",
        ":set <Tab>m<Tab><Tab><Esc>",
        ":w /<Tab><Esc>",
        ":@echo %(turn)<Enter>",
        ":!echo %(prompt)<Enter>",
        "1Xx.md<Enter>",
        "6Ix.json<Enter>",
        "g@Gq",
        "1yyi<C-y><Esc>",
        "1atests/fuzz/corpus/picture/rgb.png<Enter>What?<Enter>",
        "1atests/fuzz/corpus/picture/progressive.jpg<Enter><Esc>",
        ":attach tests/screen/images/cut.png<Enter>Cut<Enter>",
        ":detach<Enter>",
        "1vjjjky",
        "1ggvG:w x<Enter>",
        "1vkk<C-d><C-u>gi",
        "1f,",
        ":<Up><Up><Enter>",
    };
    const char *text = keys[cf_rand_below(&w->rand, sizeof keys / sizeof keys[0])];
    cf_app_event(&w->app, &(cf_event){.kind = CF_EVENT_KEY, .key = CF_KEY_ESC});
    cf_drive_press(&w->app, text);
}

static void paste(walk *w)
{
    char text[64];
    size_t n = (size_t)cf_rand_below(&w->rand, sizeof text);
    for (size_t i = 0; i < n; i++) {
        text[i] = (char)cf_rand_below(&w->rand, 256);
    }
    cf_app_event(&w->app, &(cf_event){.kind = CF_EVENT_PASTE, .paste = cf_str_make(text, n)});
}

static void resize(walk *w)
{
    static const int sizes[][2] = {{80, 24}, {120, 36}, {60, 16}, {200, 50}};
    cf_event e = {.kind = CF_EVENT_RESIZE};
    size_t r = cf_rand_below(&w->rand, 8);
    e.w = r < 4 ? sizes[r][0] : 1 + (int)cf_rand_below(&w->rand, 220);
    e.h = r < 4 ? sizes[r][1] : 1 + (int)cf_rand_below(&w->rand, 60);
    cf_app_event(&w->app, &e);
}

/* Cells that a terminal could not show: halves without their other half, glyphs
 * that are controls, a cursor outside. */
static void check_grid(const cf_grid *g)
{
    for (int y = 0; y < g->h; y++) {
        for (int x = 0; x < g->w; x++) {
            const cf_cell *c = &g->cell[(size_t)y * (size_t)g->w + (size_t)x];
            uint32_t cp = c->glyph.cp[0];
            if (c->glyph.width == 2) {
                assert_true(x + 1 < g->w);
                assert_int_equal(c[1].glyph.width, 0);
            }
            if (c->glyph.width == 0) {
                assert_true(x > 0);
                assert_int_equal(c[-1].glyph.width, 2);
                continue;
            }
            assert_true(cp >= ' ' && cp != 0x7F && !(cp >= 0x80 && cp < 0xA0));
            assert_false(cp >= 0x202A && cp <= 0x202E);
            assert_true((c->style & CF_STYLE_NAME_MASK) < CF_STYLE_COUNT);
        }
    }
    assert_true(g->cursor_x < g->w);
    assert_true(g->cursor_y < g->h);
}

static void step(walk *w)
{
    size_t r = cf_rand_below(&w->rand, 100);
    cf_error err;
    if (r < 70) {
        cf_key key = any_key(w);
        /* Editors take the screen; they have a test of their own. */
        bool edits =
            key == CF_CTRL('G') || key == CF_CTRL('E') ||
            (cf_app_view(&w->app) == CF_VIEW_TEMPLATES && (key == 'e' || key == CF_KEY_ENTER)) ||
            (key == 'E' && w->app.mode == CF_MODE_NORMAL);
        if (!edits) {
            cf_app_event(&w->app, &(cf_event){.kind = CF_EVENT_KEY, .key = key});
        }
    } else if (r < 82) {
        gesture(w);
    } else if (r < 86) {
        paste(w);
    } else if (r < 89) {
        resize(w);
    } else if (r < 90) {
        cf_lab_settle(w->app.lab, &err);
    } else if (r < 93) {
        cf_app_step(&w->app);
    } else {
        cf_app_event(&w->app, &(cf_event){.kind = CF_EVENT_WAKE});
    }
    w->app.is_done = false;
    if (w->app.is_dirty && r % 2 == 0) {
        cf_app_draw(&w->app);
        check_grid(&w->app.grid);
    }
}

static void enter_folder(void)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s", store_dir_file(""));
    assert_int_equal(chdir(folder), 0);
}

static void take_a_walk(bool has_model, long n_default)
{
    const char *n_text = getenv("CONFAB_WALK");
    const char *seed_text = getenv("CONFAB_WALK_SEED");
    long n = n_text != NULL ? strtol(n_text, NULL, 10) : n_default;
    uint64_t seed = seed_text != NULL ? strtoull(seed_text, NULL, 10) : 1;
    size_t before = cf_fault_live();
    static walk w;
    w.rand.s = seed;
    setenv("VISUAL", "true", 1);
    w.model = NULL;
    w.script = NULL;
    w.engine = NULL;
    set_up(&w, has_model);
    enter_folder(); /* what is exported by chance goes away with it */
    resize(&w);
    for (long i = 0; i < n; i++) {
        step(&w);
    }
    tear_down(&w);
    assert_int_equal(cf_fault_live(), before);
}

static void test_walk__nothing_breaks(void **state)
{
    (void)state;
    take_a_walk(false, STEPS);
}

static void test_walk__with_a_model(void **state)
{
    (void)state;
    take_a_walk(true, MODEL_STEPS);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk__nothing_breaks),
        cmocka_unit_test(test_walk__with_a_model),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
