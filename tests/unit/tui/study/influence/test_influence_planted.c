/*
 * test_influence_planted.c - models whose weights are written down, so that
 * the cause of a reply is known: influence names it first.
 */
#include "tests/support/t.h"

#include "core/base/os.h"
#include "templates/open.h"
#include "tests/support/planted_gguf.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tui/study/influence/influence.h"

enum { CASES = 50, /* of each model */ SENTENCES = 4, TOOLS = 4, TURNS = 3 };

static const char tpl[] =
    "{% for t in tools %}({{ t.function.name }}: {{ t.function.description }})"
    "\n{% endfor %}{% for m in messages %}<{{ m.role }}>{{ m.content }}\n"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

typedef struct bench {
    cf_opened opened;
    cf_study_engine engine;
} bench;

static void open_planted(bench *b, cf_plant plant, uint64_t seed)
{
    char name[40];
    cf_error err;
    size_t n;
    void *file = cf_planted_gguf(plant, seed, tpl, &n);
    snprintf(name, sizeof name, "planted-%d.gguf", (int)plant);
    const char *path = store_dir_file(name);
    T_OK(cf_os_write_file(path, file, n, 0600, &err), err);
    cf_tiny_free(file);
    const cf_open_options o = {.model = path, .n_threads = 1};
    T_OK(cf_open_backend(&b->opened, &o, NULL, &err), err);
    b->engine = (cf_study_engine){
        .backend = b->opened.backend,
        .tok = cf_engine_tokenizer(b->opened.engine),
        .engine = b->opened.engine,
        .family = b->opened.family,
        .roles = &b->opened.roles,
    };
}

/* ---- a case ------------------------------------------------------------- */

typedef struct planted {
    json_t *messages, *tools;
    cf_part_kind kind; /* of the part that causes the reply */
    size_t index, message;
} planted;

/* Texts without the characters of causes. */
static const char *const plain[] = {
    "you are a kind helper",    "be short and clear",        "the sky is blue today",
    "we met in the garden",     "a list has many items",     "say it in plain words",
    "this one reads a file",    "that one sends a letter",   "it counts all the apples",
    "numbers are in the table", "the train leaves at night", "tea is better than coffee",
};

static const char *plain_text(unsigned k)
{
    return plain[k % (sizeof plain / sizeof plain[0])];
}

/* Sentences, the `at`-th of which has the cause. */
static json_t *text_of(unsigned k, size_t n, size_t at, const char *cause)
{
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(&b, i > 0 ? " " : "");
        cf_buf_adds(&b, plain_text(k + 5 * (unsigned)i));
        cf_buf_adds(&b, i == at ? " " : "");
        cf_buf_adds(&b, i == at ? cause : "");
        cf_buf_addc(&b, '.');
    }
    json_t *v = json_string(cf_buf_cstr(&b));
    cf_buf_deinit(&b);
    return v;
}

static void add(json_t *list, const char *role, json_t *content)
{
    json_t *m = json_pack("{s:s,s:o}", "role", role, "content", content);
    assert_int_equal(json_array_append_new(list, m), 0);
}

/* Of case k the cause is in a sentence of the system message, in a tool's
 * description, or in a message, and at another place each time; other causes
 * (which speak for other replies) are elsewhere. */
static void plant(planted *p, unsigned k, const char *cause, const char *other)
{
    *p = (planted){.messages = json_array(), .tools = json_array()};
    p->kind = k % 3 == 0 ? CF_PART_SENTENCE : k % 3 == 1 ? CF_PART_TOOL : CF_PART_MESSAGE;
    p->index = p->kind == CF_PART_SENTENCE ? k / 3 % SENTENCES
               : p->kind == CF_PART_TOOL   ? k / 3 % TOOLS
                                           : 1 + k / 3 % (2 * TURNS);
    p->message = p->kind == CF_PART_MESSAGE ? p->index : 0;
    bool is_sentence = p->kind == CF_PART_SENTENCE;
    add(p->messages, "system", text_of(k, SENTENCES, is_sentence ? p->index : SIZE_MAX, cause));
    for (size_t i = 1; i <= 2 * TURNS; i++) {
        bool is = p->kind == CF_PART_MESSAGE && i == p->index;
        bool has_other = !is && i % 3 == k % 3;
        add(p->messages, i % 2 == 1 ? "user" : "assistant",
            text_of(k + 7 * (unsigned)i, 2, is || has_other ? 1 : SIZE_MAX, is ? cause : other));
    }
    for (size_t i = 0; i < TOOLS; i++) {
        char name[8] = {'t', 'o', 'o', 'l', '_', (char)('a' + i), '\0'};
        bool is = p->kind == CF_PART_TOOL && i == p->index;
        json_t *text = text_of(k + 3 * (unsigned)i, 1, is ? 0 : SIZE_MAX, cause);
        json_t *t =
            json_pack("{s:s,s:{s:s,s:o,s:{s:s,s:{}}}}", "type", "function", "function", "name",
                      name, "description", text, "parameters", "type", "object", "properties");
        assert_int_equal(json_array_append_new(p->tools, t), 0);
    }
    add(p->messages, "user", json_string("what is it?"));
}

static void measure(const bench *b, planted *p, const char *reply, cf_study_case *c,
                    cf_influence *v)
{
    cf_error err;
    cf_conversation *conv;
    cf_study_scorer s;
    cf_uuid last;
    const cf_preface preface = {.tools = p->tools};
    add(p->messages, "assistant", json_string(reply));
    cf_study_case_init(c);
    T_OK(cf_conversation_new(&conv, &preface, &err), err);
    T_OK(cf_conversation_add_messages(conv, p->messages, (cf_uuid){{0}}, NULL, NULL, &last, NULL,
                                      &err),
         err);
    T_OK(cf_conversation_set_head(conv, last, &err), err);
    T_OK(cf_study_case_of(c, conv, &b->engine, NULL, &err), err);
    cf_conversation_free(conv);
    const cf_influence_options o = {.message = SIZE_MAX,
                                    .tool = SIZE_MAX,
                                    .kinds =
                                        p->kind == CF_PART_SENTENCE ? 1u << CF_PART_SENTENCE : 0};
    cf_influence_init(v);
    T_OK(cf_study_scorer_init(&s, b->engine.backend, NULL, NULL, &err), err);
    T_OK(cf_influence_make(v, c, &b->engine, &s, &o, NULL, NULL, &err), err);
    cf_study_scorer_deinit(&s);
}

static void release(planted *p, cf_study_case *c, cf_influence *v)
{
    cf_influence_deinit(v);
    cf_study_case_deinit(c);
    json_decref(p->messages);
    json_decref(p->tools);
}

/* A single cause is no group. */
static bool names_first(const bench *b, planted *p, const char *reply, unsigned k)
{
    cf_study_case c;
    cf_influence v;
    measure(b, p, reply, &c, &v);
    size_t *order = calloc(v.n_row, sizeof *order);
    cf_influence_sort(&v, order);
    const cf_influence_row *first = &v.row[order[0]];
    bool is = first->part.kind == p->kind && first->part.index == p->index &&
              first->part.message == p->message && first->delta < -1 && v.n_group == 0;
    if (!is) {
        cf_buf label = CF_BUF_INIT;
        cf_part_label(&first->part, &c, &label);
        print_message("case %u: %s is first with %.2f, and %zu groups\n", k, cf_buf_cstr(&label),
                      first->delta, v.n_group);
        cf_buf_deinit(&label);
        for (size_t i = 0; i < v.n_group; i++) {
            const cf_influence_group *g = &v.group[i];
            print_message("  %s %.2f:", cf_influence_kind_name(g->kind), g->delta);
            for (size_t m = 0; m < g->n; m++) {
                print_message(" %zu (%.2f)", g->row[m], v.row[g->row[m]].delta);
            }
            print_message("\n");
        }
    }
    free(order);
    release(p, &c, &v);
    return is;
}

/* The cause is in two messages, either of which suffices. */
static bool names_pair(const bench *b, const char *cause, const char *reply, unsigned k)
{
    planted p = {.messages = json_array(), .tools = json_array(), .kind = CF_PART_MESSAGE};
    cf_study_case c;
    cf_influence v;
    size_t one = 1 + k % 5, two = 1 + (one + k / 5 % 4) % 5;
    if (one == two) {
        two = 6;
    }
    for (size_t i = 0; i <= 6; i++) {
        bool is = i == one || i == two;
        add(p.messages,
            i == 0       ? "system"
            : i % 2 == 1 ? "user"
                         : "assistant",
            text_of(k + 7 * (unsigned)i, 2, is ? 1 : SIZE_MAX, cause));
    }
    add(p.messages, "user", json_string("what is it?"));
    measure(b, &p, reply, &c, &v);
    const cf_influence_group *g = &v.group[0];
    size_t low = one < two ? one : two, high = one < two ? two : one;
    bool is = v.n_group == 1 && g->kind == CF_GROUP_EITHER && g->n == 2 &&
              v.row[g->row[0]].part.index == low && v.row[g->row[1]].part.index == high;
    if (!is) {
        print_message("case %u: messages %zu and %zu: %zu groups\n", k, one, two, v.n_group);
        for (size_t i = 0; i < v.n_row; i++) {
            print_message("  %zu: %.2f\n", v.row[i].part.index, v.row[i].delta);
        }
    }
    release(&p, &c, &v);
    return is;
}

/* ---- the two models ----------------------------------------------------- */

/* "7#KQ": the reply that was heard before, and another with the same start. */
static void codes(unsigned k, char cause[8], char other[8])
{
    static const char digits[] = "0123456789";
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    cause[0] = digits[k % 10];
    cause[1] = capitals[(3 * k + 1) % 26];
    cause[2] = capitals[(5 * k + 4) % 26];
    cause[3] = digits[(k + 1 + k / 10) % 10];
    cause[4] = '\0';
    snprintf(other, 8, "%c%c%c", digits[(k + 5) % 10], capitals[(k + 2) % 26],
             digits[(k + 7) % 10]);
}

static void test_planted__copies(void **state)
{
    (void)state;
    bench b;
    unsigned hits = 0;
    open_planted(&b, CF_PLANT_COPY, 11);
    for (unsigned k = 0; k < CASES; k++) {
        planted p;
        char cause[8], other[8];
        codes(k, cause, other);
        plant(&p, k, cause, other);
        hits += names_first(&b, &p, cause, k);
    }
    cf_opened_close(&b.opened);
    print_message("%u of %u causes named first\n", hits, (unsigned)CASES);
    assert_true(hits >= 95 * CASES / 100);
}

static void test_planted__looks_up(void **state)
{
    (void)state;
    static const char from[] = CF_PLANT_TRIGGERS, to[] = CF_PLANT_ANSWERS;
    enum { N = sizeof from - 1 };
    bench b;
    unsigned hits = 0;
    open_planted(&b, CF_PLANT_LOOKUP, 12);
    for (unsigned k = 0; k < CASES; k++) {
        planted p;
        const char cause[] = {from[k % N], '\0'}, reply[] = {to[k % N], '\0'};
        const char other[] = {from[(k + 1 + k / N) % N], '\0'};
        plant(&p, k, cause, other[0] == cause[0] ? "" : other);
        hits += names_first(&b, &p, reply, k);
    }
    cf_opened_close(&b.opened);
    print_message("%u of %u causes named first\n", hits, (unsigned)CASES);
    assert_true(hits >= 95 * CASES / 100);
}

static void test_planted__either(void **state)
{
    (void)state;
    static const char from[] = CF_PLANT_TRIGGERS, to[] = CF_PLANT_ANSWERS;
    enum { N = sizeof from - 1 };
    bench b;
    unsigned hits = 0;
    open_planted(&b, CF_PLANT_LOOKUP, 12);
    for (unsigned k = 0; k < CASES; k++) {
        const char cause[] = {from[k % N], '\0'}, reply[] = {to[k % N], '\0'};
        hits += names_pair(&b, cause, reply, k);
    }
    cf_opened_close(&b.opened);
    print_message("%u of %u pairs named exactly\n", hits, (unsigned)CASES);
    assert_int_equal(hits, CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted__copies),
        cmocka_unit_test(test_planted__looks_up),
        cmocka_unit_test(test_planted__either),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
