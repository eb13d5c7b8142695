/*
 * test_influence_planted.c - models whose weights are written down, so that
 * the cause of a reply is known: influence names it first.
 */
#include "tests/support/t.h"

#include "core/base/os.h"
#include "templates/open.h"
#include "tests/support/planted_gguf.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tui/study/influence/influence.h"

enum { CASES = T_IS_SLOW ? 10 : 50, /* of each model */ SENTENCES = 4, TOOLS = 4, TURNS = 3 };

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

/* With a budget, ablations in place of each part alone. */
static void measure(const bench *b, planted *p, const char *reply, uint32_t budget,
                    cf_study_case *c, cf_influence *v)
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
                                    .budget = budget,
                                    .kinds = budget > 0                    ? 1u << CF_PART_MESSAGE
                                             : p->kind == CF_PART_SENTENCE ? 1u << CF_PART_SENTENCE
                                                                           : 0};
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
    measure(b, p, reply, 0, &c, &v);
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
            print_message("  %s %.2f:", cf_part_group_name(g->of.kind), g->of.delta);
            for (size_t m = 0; m < g->of.n; m++) {
                print_message(" %zu (%.2f)", g->of.row[m], v.row[g->of.row[m]].delta);
            }
            print_message("\n");
        }
    }
    free(order);
    release(p, &c, &v);
    return is;
}

/* ---- groups -------------------------------------------------------------- */

enum { MESSAGES = 5, SETS = 1 << MESSAGES };

static const double lost = 3; /* nats */

/* Whether the reply is lost without each set of messages: all of them are left
 * out.  Bit i of a set is message i. */
static void find_truth(const cf_influence *v, bool is_lost[SETS])
{
    assert_int_equal(v->n_ablation, SETS);
    for (size_t i = 0; i < SETS; i++) {
        size_t set = 0;
        for (size_t k = 0; k < MESSAGES; k++) {
            set |= v->kept[i * MESSAGES + k] ? 0 : (size_t)1 << k;
        }
        is_lost[set] = v->with - v->score[i] >= lost;
    }
}

static unsigned n_members(size_t set)
{
    unsigned n = 0;
    for (; set != 0; set &= set - 1) {
        n++;
    }
    return n;
}

/* The reply is lost exactly where so many of the causes are left out. */
static bool is_true(const bool is_lost[SETS], size_t causes, unsigned n_least)
{
    for (size_t set = 0; set < SETS; set++) {
        if (is_lost[set] != (n_members(set & causes) >= n_least)) {
            print_message("set %zx of causes %zx: lost %d\n", set, causes, is_lost[set]);
            return false;
        }
    }
    return true;
}

typedef struct grouped {
    cf_part_group_kind kind;
    size_t causes;      /* bits of messages */
    const char *marks;  /* what the causes have, in order */
    const char *others; /* what the other messages have, in order */
    unsigned n_least;   /* of the causes have to be left out for the reply to be lost */
} grouped;

static void plant_group(planted *p, const grouped *g, unsigned k)
{
    const char *mark = g->marks, *other = g->others;
    *p = (planted){.messages = json_array(), .kind = CF_PART_MESSAGE};
    for (size_t i = 0; i + 1 < MESSAGES; i++) {
        bool is = (g->causes >> i & 1) != 0;
        const char text[] = {is ? *mark++ : *other != '\0' ? *other++ : ' ', '\0'};
        add(p->messages,
            i == 0       ? "system"
            : i % 2 == 1 ? "user"
                         : "assistant",
            text_of(k + 7 * (unsigned)i, 1, text[0] != ' ' ? 0 : SIZE_MAX, text));
    }
    add(p->messages, "user", json_string("what is it?"));
}

/* Whether exactly this group is named, and leaving out every set of messages
 * says that it is the group. */
static bool names_group(const bench *b, const grouped *g, const char *reply, unsigned k)
{
    planted p;
    cf_study_case c;
    cf_influence v;
    bool is_lost[SETS];
    plant_group(&p, g, k);
    measure(b, &p, reply, SETS - 1, &c, &v);
    find_truth(&v, is_lost);
    release(&p, &c, &v);
    bool is = is_true(is_lost, g->causes, g->n_least);
    plant_group(&p, g, k);
    measure(b, &p, reply, 0, &c, &v);
    const cf_influence_group *named = &v.group[0];
    size_t members = 0;
    for (size_t i = 0; v.n_group == 1 && i < named->of.n; i++) {
        members |= (size_t)1 << v.row[named->of.row[i]].part.index;
    }
    bool is_named = v.n_group == 1 && named->of.kind == g->kind && members == g->causes &&
                    (g->kind != CF_GROUP_SOME || named->of.need == 2);
    if (!is_named) {
        print_message("case %u: causes %zx: %zu groups, members %zx\n", k, g->causes, v.n_group,
                      members);
        for (size_t i = 0; i < v.n_row; i++) {
            print_message("  %zu: %.2f\n", v.row[i].part.index, v.row[i].delta);
        }
    }
    release(&p, &c, &v);
    return is && is_named;
}

/* The k-th set of n of the messages before the last. */
static size_t set_of(unsigned k, unsigned n)
{
    for (size_t set = 0, left = k % (n == 2 ? 6 : 4);; set++) {
        if (n_members(set) == n && left-- == 0) {
            return set;
        }
    }
}

/* ---- the three models---------------------------------------------------- */

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

/* The same trigger in two messages: either suffices. */
static void test_planted__either(void **state)
{
    (void)state;
    static const char from[] = CF_PLANT_TRIGGERS, to[] = CF_PLANT_ANSWERS;
    enum { N = sizeof from - 1 };
    bench b;
    unsigned hits = 0;
    open_planted(&b, CF_PLANT_LOOKUP, 12);
    for (unsigned k = 0; k < CASES; k++) {
        const char marks[] = {from[k / 5 % N], from[k / 5 % N], '\0'};
        const char reply[] = {to[k / 5 % N], '\0'};
        const grouped g = {CF_GROUP_EITHER, set_of(k, 2), marks, "", 2};
        hits += names_group(&b, &g, reply, k);
    }
    cf_opened_close(&b.opened);
    print_message("%u of %u pairs named exactly\n", hits, (unsigned)CASES);
    assert_int_equal(hits, CASES);
}

/* Two triggers of a set, which need each other, beside one of another set; three
 * of a set, of which two are needed. */
static void check_pairs(cf_part_group_kind kind)
{
    static const char from[] = CF_PLANT_SETS, to[] = CF_PLANT_SET_ANSWERS;
    bool is_both = kind == CF_GROUP_BOTH;
    bench b;
    unsigned hits = 0;
    open_planted(&b, CF_PLANT_PAIRS, 13);
    for (unsigned k = 0; k < CASES; k++) {
        const char *set = from + 3 * (k / 10 % 3);
        const char reply[] = {to[k / 10 % 3], '\0'};
        const char marks[] = {set[k % 3], set[(k + 1) % 3], is_both ? '\0' : set[(k + 2) % 3],
                              '\0'};
        const char others[] = {from[3 * ((k / 10 + 1) % 3) + k % 3], '\0'};
        const grouped g = {kind, set_of(k, is_both ? 2 : 3), marks, others, is_both ? 1 : 2};
        hits += names_group(&b, &g, reply, k);
    }
    cf_opened_close(&b.opened);
    print_message("%u of %u groups named exactly\n", hits, (unsigned)CASES);
    assert_int_equal(hits, CASES);
}

static void test_planted__both(void **state)
{
    (void)state;
    check_pairs(CF_GROUP_BOTH);
}

static void test_planted__two_of_three(void **state)
{
    (void)state;
    check_pairs(CF_GROUP_SOME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted__copies),       cmocka_unit_test(test_planted__looks_up),
        cmocka_unit_test(test_planted__either),       cmocka_unit_test(test_planted__both),
        cmocka_unit_test(test_planted__two_of_three),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
