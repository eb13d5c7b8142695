/*
 * test_template_diff.c - known answers of the comparison: which lines face
 * each other, and what changed inside them.
 */
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "templates/template.h"
#include "templates/template_diff.h"
#include "tests/support/t.h"

typedef struct lab {
    cf_arena arena;
    cf_template *tpl[2];
    cf_error err;
} lab;

static void start(lab *b)
{
    memset(b, 0, sizeof *b);
    cf_arena_init(&b->arena, 0);
}

static void end(lab *b)
{
    cf_template_free(b->tpl[0]);
    cf_template_free(b->tpl[1]);
    cf_arena_deinit(&b->arena);
}

static cf_prompt render(lab *b, int side, const char *source, const char *context)
{
    cf_context *values;
    cf_render r;
    T_OK(cf_template_compile(&b->tpl[side], cf_str_from(source), NULL, NULL, NULL, &b->err),
         b->err);
    T_OK(cf_context_read(&values, cf_str_from(context), &b->arena, &b->err), b->err);
    T_OK(cf_template_render(b->tpl[side], values, NULL, &b->arena, &r, &b->err), b->err);
    return r.prompt;
}

static cf_diff texts(lab *b, const char *left, const char *right)
{
    cf_diff d;
    T_OK(cf_diff_texts(&d, cf_str_from(left), cf_str_from(right), &b->arena, &b->err), b->err);
    return d;
}

static cf_diff prompts(lab *b, const char *left, const char *right, const char *context)
{
    cf_diff d;
    cf_prompt p = render(b, 0, left, context);
    cf_prompt q = render(b, 1, right, context);
    T_OK(cf_diff_prompts(&d, &p, &q, &b->arena, &b->err), b->err);
    return d;
}

static void add_side(cf_buf *out, const cf_diff *d, const cf_diff_side *s, uint32_t unit,
                     const cf_diff_mark *marks, size_t n)
{
    cf_str text = cf_diff_text_of(s, unit);
    (void)d;
    for (size_t i = 0, m = 0; i <= text.n; i++) {
        if (m < n && marks[m].off + marks[m].len == i) {
            cf_buf_addc(out, ']');
            m++;
        }
        if (m < n && marks[m].off == i) {
            cf_buf_addc(out, '[');
        }
        if (i < text.n) {
            cf_buf_addc(out, text.p[i]);
        }
    }
    cf_buf_adds(out, s->v[unit].has_newline ? "\n" : "~\n");
}

/* One line a side: ' ' kept, '-' removed, '+' added, '<' and '>' changed,
 * changes in brackets, '~' for a missing line end. */
static void assert_rows(const cf_diff *d, const char *want)
{
    cf_buf out = CF_BUF_INIT;
    for (size_t i = 0; i < d->n_rows; i++) {
        const cf_diff_row *r = &d->rows[i];
        const cf_diff_mark *m = d->marks + r->mark;
        if (r->kind != CF_DIFF_ADDED) {
            cf_buf_addc(&out, " -?<"[r->kind]);
            add_side(&out, d, &d->a, r->a, m, r->n_mark_a);
        }
        if (r->kind == CF_DIFF_ADDED || r->kind == CF_DIFF_CHANGED) {
            cf_buf_addc(&out, r->kind == CF_DIFF_ADDED ? '+' : '>');
            add_side(&out, d, &d->b, r->b, m + r->n_mark_a, r->n_mark_b);
        }
    }
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
}

static void test_texts__equal(void **state)
{
    lab b;
    (void)state;
    start(&b);
    cf_diff d = texts(&b, "one\ntwo\n", "one\ntwo\n");
    assert_true(cf_diff_is_equal(&d));
    assert_int_equal(d.n_rows, 2);
    d = texts(&b, "", "");
    assert_true(cf_diff_is_equal(&d));
    assert_int_equal(d.n_rows, 0);
    end(&b);
}

static void test_texts__known_answers(void **state)
{
    static const struct {
        const char *a, *b, *rows;
    } cases[] = {
        {"", "x", "+x~\n"},
        {"x\n", "", "-x\n"},
        {"x\n", "x", "<x\n>x~\n"},
        {"a\nb\nc\n", "a\nc\n", " a\n-b\n c\n"},
        {"a\nc\n", "a\nb\nc\n", " a\n+b\n c\n"},
        {"a b c\n", "a x c\n", "<a [b] c\n>a [x] c\n"},
        {"key: one two end\n", "key: three four end\n",
         "<key: [one two] end\n>key: [three four] end\n"},
        {"alpha\n", "omega\n", "-alpha\n+omega\n"},
        {"f(x)\nsame\n", "f(x, y)\nsame\n", "<f(x)\n>f(x[, y])\n same\n"},
        {"gr\xc3\xbc"
         "n ist es\n",
         "gr\xc3\xb6n ist es\n",
         "<[gr\xc3\xbc"
         "n] ist es\n>[gr\xc3\xb6n] ist es\n"},
        {"A\nB\nC\nA\nB\nB\nA\n", "C\nB\nA\nB\nA\nC\n", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab b;
        start(&b);
        cf_diff d = texts(&b, cases[i].a, cases[i].b);
        if (cases[i].rows != NULL) {
            assert_rows(&d, cases[i].rows);
        } else { /* Myers' own example: four lines are common */
            assert_int_equal(d.n_of[CF_DIFF_KEPT], 4);
        }
        end(&b);
    }
}

#define CHATML                                                         \
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}" \
    "<|im_end|>\n{% endfor %}"
#define PLAIN                                                   \
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n\n" \
    "{% endfor %}"

static void test_prompts__message_faces_itself(void **state)
{
    lab b;
    (void)state;
    start(&b);
    cf_diff d = prompts(&b, CHATML, PLAIN,
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"yes\"},"
                        "{\"role\":\"assistant\",\"content\":\"no\"},"
                        "{\"role\":\"user\",\"content\":\"yes\"}]}");
    size_t n_faced = 0;
    for (size_t i = 0; i < d.n_rows; i++) {
        const cf_diff_row *r = &d.rows[i];
        if (r->a == CF_DIFF_NONE || r->b == CF_DIFF_NONE) {
            continue;
        }
        const cf_diff_unit *u = &d.a.v[r->a], *w = &d.b.v[r->b];
        if (u->source == CF_SPAN_MESSAGE && w->source == CF_SPAN_MESSAGE) {
            assert_int_equal(u->index, w->index);
            assert_true(r->by_source);
            assert_int_equal(r->kind, CF_DIFF_CHANGED);
            n_faced++;
        }
    }
    assert_int_equal(n_faced, 3);
    end(&b);
}

/* Each template drops another of two messages that say the same; the text
 * alone would call these prompts equal. */
static void test_prompts__same_text_of_other_message(void **state)
{
    lab b;
    (void)state;
    start(&b);
    cf_diff d = prompts(&b, "{{ messages[0].content }}", "{{ messages[1].content }}",
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"yes\"}"
                        ",{\"role\":\"user\",\"content\":\"yes\"}]}");
    assert_false(cf_diff_is_equal(&d));
    assert_rows(&d, "-yes~\n+yes~\n");
    assert_int_equal(d.a.v[0].index, 0);
    assert_int_equal(d.b.v[0].index, 1);
    end(&b);
}

static void test_prompts__trimmed_message(void **state)
{
    lab b;
    (void)state;
    start(&b);
    cf_diff d = prompts(&b, "<{{ messages[0].content }}>", "({{ messages[0].content|trim }})",
                        "{\"messages\":[{\"role\":\"user\",\"content\":\" one\\ntwo \"}]}");
    assert_rows(&d, "<[< ]one\n>[(]one\n<two[ >]~\n>two[)]~\n");
    assert_true(d.rows[0].by_source);
    assert_true(d.rows[1].by_source);
    end(&b);
}

/* Text that a template writes may face text that the other one copies. */
static void test_prompts__literal_and_copied_role(void **state)
{
    lab b;
    (void)state;
    start(&b);
    cf_diff d = prompts(&b, "role: user\n{{ messages[0].content }}\n",
                        "role: {{ messages[0].role }}\n{{ messages[0].content }}\n",
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    assert_true(cf_diff_is_equal(&d));
    end(&b);
}

static void test_prompts__template_line(void **state)
{
    lab b;
    (void)state;
    start(&b);
    cf_diff d = prompts(&b, "one\n{{ messages[0].content }}\nthree\n",
                        "{{ messages[0].content }}\n\n", "{\"messages\":[{\"content\":\"hi\"}]}");
    assert_rows(&d, "-one\n hi\n-three~\n");
    assert_int_equal(d.a.v[0].template_line, 1);
    assert_int_equal(d.a.v[1].template_line, 2);
    assert_int_equal(d.b.v[0].template_line, 1);
    end(&b);
}

static void test_tokens__by_source_then_id(void **state)
{
    lab b;
    cf_diff d;
    (void)state;
    start(&b);
    const char *context = "{\"messages\":[{\"content\":\"abcd\"}]}";
    cf_prompt p = render(&b, 0, "<{{ messages[0].content }}>", context);
    cf_prompt q = render(&b, 1, "({{ messages[0].content }}>", context);
    cf_token_span left[] = {{9, 0, 0}, {1, 0, 1}, {2, 1, 4}, {3, 5, 1}};
    cf_token_span right[] = {{9, 0, 0}, {4, 0, 1}, {5, 1, 3}, {6, 4, 1}, {3, 5, 1}};
    cf_token_list in_left = {left, 4}, in_right = {right, 5};
    T_OK(cf_diff_tokens(&d, &p, &in_left, &q, &in_right, &b.arena, &b.err), b.err);
    static const cf_diff_kind want[] = {CF_DIFF_KEPT,    CF_DIFF_REMOVED, CF_DIFF_ADDED,
                                        CF_DIFF_CHANGED, CF_DIFF_ADDED,   CF_DIFF_KEPT};
    assert_int_equal(d.n_rows, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(d.rows[i].kind, want[i]);
    }
    assert_int_equal(d.a.v[d.rows[3].a].id, 2);
    assert_int_equal(d.b.v[d.rows[3].b].id, 5);
    assert_true(d.rows[3].by_source);
    end(&b);
}

static void test_texts__too_many_lines(void **state)
{
    lab b;
    cf_diff d;
    size_t n = (size_t)CF_DIFF_MAX_UNITS + 1;
    char *many = malloc(n);
    (void)state;
    assert_non_null(many);
    memset(many, '\n', n);
    start(&b);
    T_FAILS(cf_diff_texts(&d, cf_str_make(many, n), cf_str_make("", 0), &b.arena, &b.err),
            CF_ELIMIT);
    end(&b);
    free(many);
}

/* Two conversations: equal lines are kept wherever they are in a message, and
 * also in a message of another number. */
static void test_conversations__equal_lines_stay(void **state)
{
    static const char each[] = "{% for m in messages %}{{ m.content }}\n{% endfor %}";
    lab b;
    cf_diff d;
    (void)state;
    start(&b);
    cf_prompt p = render(&b, 0, each,
                         "{\"messages\":[{\"content\":\"short\"},{"
                         "\"content\":\"list\\n- one\\n- two\"}]}");
    cf_prompt q = render(&b, 1, each,
                         "{\"messages\":[{\"content\":\"a much longer text\\nlist\\n- "
                         "one\\n- two\"},{\"content\":\"new\"}]}");
    T_OK(cf_diff_conversations(&d, &p, NULL, &q, NULL, &b.arena, &b.err), b.err);
    assert_rows(&d, "-short\n+a much longer text\n list\n - one\n - two\n"
                    "+new\n");
    end(&b);
}

/* Of several similar lines those face each other that have most in common. */
static void test_texts__best_pairs(void **state)
{
    lab b;
    (void)state;
    start(&b);
    cf_diff d = texts(&b, "the red fox runs\nthe old dog sleeps\n", "the old dog sleeps well\n");
    assert_rows(&d, "-the red fox runs\n<the old dog sleeps\n"
                    ">the old dog sleeps[ well]\n");
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts__equal),
        cmocka_unit_test(test_texts__known_answers),
        cmocka_unit_test(test_texts__too_many_lines),
        cmocka_unit_test(test_texts__best_pairs),
        cmocka_unit_test(test_conversations__equal_lines_stay),
        cmocka_unit_test(test_prompts__message_faces_itself),
        cmocka_unit_test(test_prompts__same_text_of_other_message),
        cmocka_unit_test(test_prompts__trimmed_message),
        cmocka_unit_test(test_prompts__literal_and_copied_role),
        cmocka_unit_test(test_prompts__template_line),
        cmocka_unit_test(test_tokens__by_source_then_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
