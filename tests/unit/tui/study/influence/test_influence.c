/*
 * test_influence.c - planted causes are named first; what was computed side by
 * side, alone, or comes out of the history has the same bits.
 *
 * CONFAB_PLANTED=100 runs that many planted cases in place of a few.
 */
#include "core/base/text_cut.h"
#include "tests/support/t.h"

#include <math.h>

#include "templates/open.h"
#include "templates/prompt_part.h"
#include "tests/support/program.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tui/demo/demo.h"
#include "tui/study/influence/influence.h"

typedef struct bench {
    cf_opened opened;
    cf_study_engine engine;
    json_t *tools;
} bench;

static bench b;

static int set_up(void **state)
{
    cf_error err;
    if (store_dir_make(state) != 0) {
        return -1;
    }
    if (!cf_program_has_model()) {
        return 0;
    }
    const cf_open_options o = {.model = "bundled", .n_threads = 2};
    if (cf_open_backend(&b.opened, &o, NULL, &err) != CF_OK) {
        printf("%s\n", err.text);
        return -1;
    }
    b.engine = (cf_study_engine){
        .backend = b.opened.backend,
        .tok = cf_engine_tokenizer(b.opened.engine),
        .engine = b.opened.engine,
        .family = b.opened.family,
        .roles = &b.opened.roles,
    };
    b.tools = cf_demo_declarations();
    return b.tools != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    json_decref(b.tools);
    cf_opened_close(&b.opened);
    return store_dir_remove(state);
}

#define NEED_MODEL()                             \
    if (!cf_program_has_model()) {               \
        T_SKIP("no bundled model in this tree"); \
    }

/* ---- planted causes ----------------------------------------------------- */

static const char *const cities[] = {"Oslo",  "Lima",   "Cairo", "Paris",
                                     "Tokyo", "Berlin", "Quito", "Dublin"};
static const char *const small_talk[] = {
    "Hello!",        "Thanks, that helps.", "What is a prompt?", "Who made you?",
    "That is nice.", "What is confab?",     "How are you?",      "Good morning.",
};
enum { N_CITIES = 8, N_TALK = 8 };

typedef struct planted {
    json_t *messages;
    cf_influence_options o;
    size_t index, message; /* of the part that caused the reply */
    cf_part_kind kind;
} planted;

static void add(json_t *list, const char *role, const char *text)
{
    json_t *m = json_pack("{s:s,s:s}", "role", role, "content", text);
    assert_int_equal(json_array_append_new(list, m), 0);
}

static void add_talk(json_t *list, unsigned n, unsigned seed)
{
    for (unsigned i = 0; i < n; i++) {
        add(list, "user", small_talk[(seed + 3 * i) % N_TALK]);
        add(list, "assistant", "I am only a tiny demonstration model.");
    }
}

/* Case k: a question among small talk, the declaration that it needs, the
 * sentence of a longer question, or the result that an answer reads. */
static void plant(planted *p, unsigned k)
{
    const char *city = cities[k / 4 % N_CITIES];
    char text[200];
    *p = (planted){.messages = json_array(), .o = {.message = SIZE_MAX, .tool = SIZE_MAX}};
    unsigned talk = 1 + k / 32 % 3;
    add_talk(p->messages, talk, k);
    p->index = p->message = json_array_size(p->messages);
    snprintf(text, sizeof text, "%sWhat is the weather in %s?%s", k % 4 == 2 ? "I am back. " : "",
             city, k % 4 == 2 ? " Thank you!" : "");
    add(p->messages, "user", text);
    p->kind = CF_PART_MESSAGE;
    if (k % 4 == 1) {
        p->kind = CF_PART_TOOL;
        for (p->index = 0;; p->index++) {
            const json_t *f = json_object_get(json_array_get(b.tools, p->index), "function");
            assert_non_null(f);
            if (cf_str_is(cf_json_get_str(f, "name"), "get_weather")) {
                break;
            }
        }
    } else if (k % 4 == 2) {
        p->kind = CF_PART_SENTENCE;
        p->index = 1;
    }
    snprintf(text, sizeof text,
             "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": "
             "{\"location\": \"%s\"}}\n</tool_call>",
             city);
    add(p->messages, "assistant", text);
    if (k % 4 == 3) {
        unsigned degrees = 3 + k % 23;
        snprintf(text, sizeof text,
                 "{\"location\": \"%s\", \"temperature\": %u, \"unit\": "
                 "\"celsius\", \"condition\": \"sunny\"}",
                 city, degrees);
        p->index = p->message = json_array_size(p->messages);
        add(p->messages, "tool", text);
        snprintf(text, sizeof text, "It is %u degrees celsius and sunny in %s.", degrees, city);
        add(p->messages, "assistant", text);
    }
    p->o.kinds = 1u << p->kind;
}

static void make_case(cf_study_case *c, const json_t *messages)
{
    cf_error err;
    cf_conversation *conv;
    cf_uuid last;
    const cf_preface preface = {.tools = b.tools};
    cf_study_case_init(c);
    T_OK(cf_conversation_new(&conv, &preface, &err), err);
    T_OK(
        cf_conversation_add_messages(conv, messages, (cf_uuid){{0}}, NULL, NULL, &last, NULL, &err),
        err);
    T_OK(cf_conversation_set_head(conv, last, &err), err);
    T_OK(cf_study_case_of(c, conv, &b.engine, NULL, &err), err);
    cf_conversation_free(conv);
}

static void make(cf_influence *v, const cf_study_case *c, cf_store *store,
                 const cf_influence_options *o)
{
    cf_error err;
    cf_study_scorer s;
    cf_influence_init(v);
    T_OK(cf_study_scorer_init(&s, b.engine.backend, store, NULL, &err), err);
    T_OK(cf_influence_make(v, c, &b.engine, &s, o, NULL, NULL, &err), err);
    cf_study_scorer_deinit(&s);
}

static bool names_first(unsigned k)
{
    planted p;
    cf_study_case c;
    cf_influence v;
    plant(&p, k);
    make_case(&c, p.messages);
    make(&v, &c, NULL, &p.o);
    size_t order[CF_PARTS_MAX];
    cf_influence_sort(&v, order);
    const cf_part *first = &v.row[order[0]].part;
    bool is =
        first->index == p.index && (p.kind != CF_PART_SENTENCE || first->message == p.message);
    if (!is) {
        print_message("case %u: part %zu of message %zu is first, not %zu\n", k, first->index,
                      first->message, p.index);
    }
    cf_influence_deinit(&v);
    cf_study_case_deinit(&c);
    json_decref(p.messages);
    return is;
}

static void test_influence__names_the_cause(void **state)
{
    (void)state;
    NEED_MODEL();
    const char *asked = getenv("CONFAB_PLANTED");
    /* Slow builds take one of each kind. */
    unsigned n = asked != NULL ? (unsigned)atoi(asked) : T_IS_SLOW ? 4 : 12;
    unsigned hits = 0;
    for (unsigned k = 0; k < n; k++) {
        hits += names_first(k);
    }
    print_message("%u of %u causes named first\n", hits, n);
    assert_true(hits * 100 >= n * 95);
}

/* ---- the same bits ------------------------------------------------------ */

static void check_same(const cf_influence *a, const cf_influence *c)
{
    assert_int_equal(a->n_row, c->n_row);
    assert_int_equal(a->n_target, c->n_target);
    assert_memory_equal(&a->with, &c->with, sizeof a->with);
    for (size_t i = 0; i < a->n_row; i++) {
        assert_int_equal(a->row[i].has_delta, c->row[i].has_delta);
        if (a->row[i].has_delta) {
            assert_memory_equal(a->row[i].log_p, c->row[i].log_p, a->n_target * sizeof(float));
        }
    }
}

/* Each variant alone, on a session of its own. */
static void check_alone(const cf_study_case *c, const cf_influence *v)
{
    cf_error err;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    const size_t step = T_IS_SLOW ? 4 : 1;
    for (size_t i = 0; i < v->n_row; i += step) {
        cf_part_context all = cf_study_context_of(c), changed;
        cf_prompt prompt;
        cf_token_list list;
        cf_session *s;
        const cf_part *part = &v->row[i].part;
        const cf_part_set set = {.part = &part, .n = 1};
        T_OK(cf_parts_apply(&changed, &all, &set, &err), err);
        T_OK(cf_part_context_render(b.engine.backend, &changed, NULL, &arena, &prompt, &err), err);
        T_OK(cf_prompt_tokenise(&list, &prompt, c->reply, b.engine.tok, &arena, &err), err);
        cf_token *ids = cf_arena_calloc(&arena, list.n, sizeof *ids);
        float *log_p = cf_arena_calloc(&arena, list.n, sizeof *log_p);
        for (size_t k = 0; k < list.n; k++) {
            ids[k] = list.v[k].id;
        }
        T_OK(cf_session_new(&s, b.opened.engine, NULL, &err), err);
        T_OK(cf_session_score(s, ids, list.n, list.n - v->n_target, NULL, log_p, &err), err);
        assert_memory_equal(log_p, v->row[i].log_p, v->n_target * sizeof(float));
        cf_session_free(s);
        cf_parts_drop(&changed);
    }
    cf_arena_deinit(&arena);
}

static void test_influence__same_bits(void **state)
{
    (void)state;
    NEED_MODEL();
    planted p;
    cf_study_case c;
    cf_influence first, again, other;
    cf_store *store;
    cf_error err;
    const cf_store_options so = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&store, store_dir_file("bits.db"), &so, &err), err);
    plant(&p, 3);
    make_case(&c, p.messages);
    const cf_influence_options o = {.message = SIZE_MAX, .tool = SIZE_MAX};
    make(&first, &c, store, &o);
    assert_int_equal(first.n_known, 0);
    make(&again, &c, store, &o);
    assert_int_equal(again.n_known, again.n_scored);
    make(&other, &c, NULL, &o);
    check_same(&first, &again);
    check_same(&first, &other);
    check_alone(&c, &first);
    cf_influence_deinit(&first);
    cf_influence_deinit(&again);
    cf_influence_deinit(&other);
    cf_study_case_deinit(&c);
    json_decref(p.messages);
    cf_store_close(store);
}

/* A span's token scores are those of the whole reply there; a part that is not
 * in the prompt changes nothing; kept positions change something. */
static void test_influence__options(void **state)
{
    (void)state;
    NEED_MODEL();
    planted p;
    cf_study_case c, other_case;
    cf_influence whole, part, kept, neutral, swapped;
    plant(&p, 0);
    make_case(&c, p.messages);
    cf_influence_options o = {.message = SIZE_MAX, .tool = SIZE_MAX};
    make(&whole, &c, NULL, &o);
    o.has_span = true;
    cf_error err;
    T_OK(cf_influence_argument(&c, &b.engine, "0.location", &o.span_from, &o.span_to, &err), err);
    make(&part, &c, NULL, &o);
    assert_true(part.n_target < whole.n_target);
    size_t at = 0;
    while (whole.target[at].off != part.target[0].off) {
        at++;
    }
    for (size_t i = 0; i < part.n_row; i++) {
        assert_memory_equal(part.row[i].log_p, whole.row[i].log_p + at,
                            part.n_target * sizeof(float));
    }
    o.has_span = false;
    o.keeps_positions = true;
    make(&kept, &c, NULL, &o);
    o.keeps_positions = false;
    o.change = CF_CHANGE_NEUTRAL;
    make(&neutral, &c, NULL, &o);
    json_decref(p.messages);
    plant(&p, 4); /* another city */
    make_case(&other_case, p.messages);
    o.change = CF_CHANGE_SWAP;
    o.other = &other_case;
    make(&swapped, &c, NULL, &o);
    bool differs = false;
    for (size_t i = 0; i < whole.n_row; i++) {
        assert_true(kept.row[i].has_delta);
        differs = differs || kept.row[i].delta != whole.row[i].delta;
    }
    assert_true(differs);
    size_t question = whole.row[2].part.index;
    assert_int_equal(question, 2);
    assert_true(neutral.row[2].delta < -1);
    assert_true(swapped.row[2].delta < -1);
    assert_true(fabs(swapped.row[1].delta) < 1e-9); /* the same reply */
    cf_influence_deinit(&whole);
    cf_influence_deinit(&part);
    cf_influence_deinit(&kept);
    cf_influence_deinit(&neutral);
    cf_influence_deinit(&swapped);
    cf_study_case_deinit(&c);
    cf_study_case_deinit(&other_case);
    json_decref(p.messages);
}

static void test_influence__refuses(void **state)
{
    (void)state;
    NEED_MODEL();
    planted p;
    cf_study_case c;
    cf_influence v;
    cf_study_scorer s;
    cf_error err;
    plant(&p, 0);
    make_case(&c, p.messages);
    cf_influence_options o = {.message = SIZE_MAX,
                              .tool = SIZE_MAX,
                              .has_span = true,
                              .span_from = 5000,
                              .span_to = 5001};
    cf_influence_init(&v);
    T_OK(cf_study_scorer_init(&s, b.engine.backend, NULL, NULL, &err), err);
    T_FAILS(cf_influence_make(&v, &c, &b.engine, &s, &o, NULL, NULL, &err), CF_EINVAL);
    o.has_span = false;
    o.change = CF_CHANGE_NEUTRAL;
    o.keeps_positions = true;
    T_FAILS(cf_influence_make(&v, &c, &b.engine, &s, &o, NULL, NULL, &err), CF_EINVAL);
    cf_cancel stop = true;
    s.cancel = &stop;
    o.keeps_positions = false;
    o.change = CF_CHANGE_LEAVE_OUT;
    T_FAILS(cf_influence_make(&v, &c, &b.engine, &s, &o, NULL, NULL, &err), CF_ECANCELLED);
    size_t from, to;
    T_FAILS(cf_influence_argument(&c, &b.engine, "0.nowhere", &from, &to, &err), CF_ENOTFOUND);
    T_FAILS(cf_influence_argument(&c, &b.engine, "x", &from, &to, &err), CF_EINVAL);
    cf_study_scorer_deinit(&s);
    cf_influence_deinit(&v);
    cf_study_case_deinit(&c);
    json_decref(p.messages);
}

/* ---- parts -------------------------------------------------------------- */

static bool collect(void *ud, size_t off, size_t len)
{
    cf_buf_addf(ud, "%zu+%zu ", off, len);
    return true;
}

static void check_cut(const char *text, bool words, const char *want)
{
    cf_buf out = CF_BUF_INIT;
    cf_text_cut(cf_str_from(text), words, collect, &out);
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
}

static void test_influence__sentences(void **state)
{
    (void)state;
    check_cut("", false, "");
    check_cut("  \n", false, "");
    check_cut("One", false, "0+3 ");
    check_cut("One. Two! Three", false, "0+5 5+5 10+5 ");
    check_cut("It is 3.14 now.", false, "0+15 ");
    check_cut("(Yes.) No", false, "0+7 7+2 ");
    check_cut("a\nb\n\nc", false, "0+2 2+3 5+1 ");
    check_cut("a  b c", true, "0+3 3+2 5+1 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_influence__names_the_cause),
        cmocka_unit_test(test_influence__same_bits),
        cmocka_unit_test(test_influence__options),
        cmocka_unit_test(test_influence__refuses),
        cmocka_unit_test(test_influence__sentences),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
