/*
 * test_prompt_model.c - the source of each token of the prompt, and which
 * tokens are cached.
 */
#include "tests/support/fault.h"
#include "tests/support/t.h"
#include "tui/grid/cluster.h"
#include "tui/lab/prompt/prompt_model.h"

/* "<s>user\nHi</s>\n<s>bot\nYo</s>\n<s>bot\n" with a token for each mark,
 * newline and word; "Hi" is message 0, "Yo" message 1. */
static const char text[] = "<s>user\nHi</s>\n<s>bot\nYo</s>\n<s>bot\n";

typedef struct fixture {
    cf_prompt_span spans[20];
    cf_token_span ids[20];
    cf_prompt prompt;
    cf_token_list tokens;
} fixture;

static void add_token(fixture *f, uint32_t len)
{
    uint32_t off = 0;
    if (f->tokens.n != 0) {
        cf_token_span *last = &f->ids[f->tokens.n - 1];
        off = last->off + last->len;
    }
    f->ids[f->tokens.n] = (cf_token_span){(cf_token)(100 + f->tokens.n), off, len};
    f->tokens.n++;
}

static void make(fixture *f)
{
    memset(f, 0, sizeof *f);
    f->spans[0] = (cf_prompt_span){.off = 0, .len = 8};
    f->spans[1] = (cf_prompt_span){.off = 8, .len = 2, .source = CF_SPAN_MESSAGE, .index = 0};
    f->spans[2] = (cf_prompt_span){.off = 10, .len = 12};
    f->spans[3] = (cf_prompt_span){.off = 22, .len = 2, .source = CF_SPAN_MESSAGE, .index = 1};
    f->spans[4] = (cf_prompt_span){.off = 24, .len = 12};
    static const uint32_t lens[] = {3, 4, 1, 2, 4, 1, 3, 3, 1, 2, 4, 1, 3, 3, 1};
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        add_token(f, lens[i]);
    }
    f->tokens.v = f->ids;
    f->prompt = (cf_prompt){.text = cf_str_from(text), .spans = f->spans, .n_spans = 5};
}

static void test_parts__heads_belong_to_what_follows(void **state)
{
    (void)state;
    fixture f;
    cf_prompt_model m = {0};
    cf_error err;
    make(&f);
    T_OK(cf_prompt_model_build(&m, &f.prompt, &f.tokens, NULL, 0, &err), err);
    static const int32_t want[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, -2, -2, -2};
    for (size_t i = 0; i < m.n; i++) {
        assert_int_equal(m.token[i].message, want[i]);
    }
    assert_int_equal(m.n_part, 3);
    assert_int_equal(m.part[1].n_tokens, 6);
    assert_int_equal(m.part[2].message, CF_PART_GENERATION);
    cf_prompt_model_deinit(&m);
}

/* "<s>" role "\n" system text, then the user's own: the header that says
 * "user" is of the system prompt that comes first in it. */
static void test_parts__a_message_inside_another(void **state)
{
    (void)state;
    fixture f = {0};
    cf_prompt_model m = {0};
    cf_error err;
    static const uint32_t lens[] = {3, 4, 1, 3, 1, 2, 4};
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        add_token(&f, lens[i]);
    }
    f.spans[0] = (cf_prompt_span){.off = 0, .len = 3};
    f.spans[1] = (cf_prompt_span){
        .off = 3, .len = 4, .source = CF_SPAN_MESSAGE, .index = 1, .path = cf_str_from(".role")};
    f.spans[2] = (cf_prompt_span){.off = 7, .len = 1};
    f.spans[3] = (cf_prompt_span){
        .off = 8, .len = 3, .source = CF_SPAN_MESSAGE, .path = cf_str_from(".content")};
    f.spans[4] = (cf_prompt_span){.off = 11, .len = 1};
    f.spans[5] = (cf_prompt_span){.off = 12,
                                  .len = 2,
                                  .source = CF_SPAN_MESSAGE,
                                  .index = 1,
                                  .path = cf_str_from(".content")};
    f.spans[6] = (cf_prompt_span){.off = 14, .len = 4};
    f.tokens.v = f.ids;
    f.prompt =
        (cf_prompt){.text = cf_str_from("<s>user\nBe\n\nHi</s>"), .spans = f.spans, .n_spans = 7};
    T_OK(cf_prompt_model_build(&m, &f.prompt, &f.tokens, NULL, 0, &err), err);
    assert_int_equal(m.part[0].message, 0);
    assert_int_equal(m.part[0].first, 0);
    assert_int_equal(m.part[1].message, 1);
    for (size_t i = 2; i < m.n_part; i++) {
        assert_int_equal(m.part[i].message, CF_PART_GENERATION);
    }
    cf_prompt_model_deinit(&m);
}

/* Builds a prompt from pieces, each a token: "*" before one says that it is of
 * the next message, and equal pieces have equal ids. */
static void make_of(fixture *f, cf_buf *out, const char *const *piece, size_t n)
{
    uint32_t message = 0;
    *f = (fixture){0};
    for (size_t i = 0; i < n; i++) {
        bool is_message = piece[i][0] == '*';
        const char *words = piece[i] + is_message;
        uint32_t len = (uint32_t)strlen(words), off = (uint32_t)out->n;
        size_t same = 0;
        while (strcmp(piece[same], piece[i]) != 0) {
            same++;
        }
        cf_buf_adds(out, words);
        f->ids[i] = (cf_token_span){(cf_token)(100 + same), off, len};
        f->spans[i] = (cf_prompt_span){.off = off, .len = len};
        if (is_message) {
            f->spans[i].source = CF_SPAN_MESSAGE;
            f->spans[i].index = message++;
        }
    }
    f->tokens.v = f->ids;
    f->tokens.n = n;
    f->prompt = (cf_prompt){.text = cf_buf_str(out), .spans = f->spans, .n_spans = n};
}

static void expect_messages(const char *const *piece, size_t n, const int32_t *want)
{
    fixture f;
    cf_buf out = CF_BUF_INIT;
    cf_prompt_model m = {0};
    cf_error err;
    make_of(&f, &out, piece, n);
    T_OK(cf_prompt_model_build(&m, &f.prompt, &f.tokens, NULL, 0, &err), err);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(m.token[i].message, want[i]);
    }
    cf_prompt_model_deinit(&m);
    cf_buf_deinit(&out);
}

static void test_parts__what_closes_a_call_belongs_to_it(void **state)
{
    (void)state;
    static const char *const call[] = {"<s>",   "user\n", "*Hi",    "</s>", "\n",      "<s>",
                                       "bot\n", "<call>", "*{}",    "\n",   "</call>", "</s>",
                                       "\n",    "<s>",    "tool\n", "*4"};
    static const int32_t is_of[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2};
    expect_messages(call, 16, is_of);
    /* Nothing is opened as the first message was. */
    static const char *const results[] = {"<r>\n", "*4", "\n",   "</r>\n",
                                          "<q>\n", "*5", "</q>", "\n"};
    static const int32_t theirs[] = {0, 0, 0, 0, 1, 1, 1, 1};
    expect_messages(results, 7, theirs);
    /* A header that ends the gap is the next one's. */
    static const char *const header[] = {"<bos>", "<h>", "user", "</h>\n\n", "*Hi",
                                         "</t>",  "<h>", "bot",  "</h>\n\n", "*Yo"};
    static const int32_t headed[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
    expect_messages(header, 10, headed);
    /* A message of the template's own comes before the first one. */
    static const char *const own[] = {"<s>", "system\n", "Be brief", "</s>",
                                      "\n",  "<s>",      "user\n",   "*Hi"};
    static const int32_t owned[] = {-1, -1, -1, -1, -1, 0, 0, 0};
    expect_messages(own, 8, owned);
}

static void test_reuse__break_and_loss(void **state)
{
    (void)state;
    fixture f;
    cf_prompt_model m = {0};
    cf_error err;
    make(&f);
    cf_token cache[20];
    for (size_t i = 0; i < 12; i++) {
        cache[i] = f.ids[i].id;
    }
    T_OK(cf_prompt_model_build(&m, &f.prompt, &f.tokens, cache, 12, &err), err);
    assert_int_equal(m.n_kept, 12);
    assert_false(m.has_break); /* the cache is a beginning of the prompt */
    assert_int_equal(m.token[12].reuse, CF_REUSE_NEW);
    cache[5] = 7;
    T_OK(cf_prompt_model_build(&m, &f.prompt, &f.tokens, cache, 12, &err), err);
    assert_int_equal(m.n_kept, 5);
    assert_int_equal(m.n_state, 5);
    const uint32_t states[] = {0, 3, 9};
    cf_prompt_model_mark_states(&m, states, 3);
    assert_int_equal(m.n_state, 3);
    assert_true(m.token[3].has_state);
    assert_false(m.token[0].has_state || m.token[9].has_state);
    assert_int_equal(m.n_lost, 7);
    assert_true(m.has_break);
    assert_int_equal(m.cached, 7);
    assert_int_equal(m.token[5].reuse, CF_REUSE_BREAK);
    assert_int_equal(m.token[6].reuse, CF_REUSE_NEW);
    cf_prompt_model_deinit(&m);
}

static void test_wrap__rows_cover_all_tokens(void **state)
{
    (void)state;
    fixture f;
    cf_prompt_model m = {0};
    cf_error err;
    make(&f);
    T_OK(cf_prompt_model_build(&m, &f.prompt, &f.tokens, NULL, 0, &err), err);
    for (int step = 0; step < 4 * 34; step++) {
        int width = 6 + step / 4;
        cf_prompt_form form = (cf_prompt_form)(step % 4);
        T_OK(cf_prompt_model_wrap(&m, width, form, cf_text_width_visible, &err), err);
        size_t next = 0;
        for (size_t r = 0; r < m.n_row; r++) {
            assert_int_equal(m.row[r].first, next);
            assert_true(m.row[r].n > 0);
            for (size_t i = 0; i < m.row[r].n; i++) {
                assert_int_equal(m.token[next + i].message, m.row[r].message);
                assert_int_equal(cf_prompt_model_row_of(&m, next + i), r);
            }
            next += m.row[r].n;
        }
        assert_int_equal(next, m.n);
    }
    cf_prompt_model_deinit(&m);
}

/* A run is the text between special tokens of one message, whichever of its
 * tokens is asked for; and fills one row. */
static void test_run__lies_between_specials(void **state)
{
    (void)state;
    fixture f;
    cf_prompt_model m = {0};
    cf_error err;
    make(&f);
    T_OK(cf_prompt_model_build(&m, &f.prompt, &f.tokens, NULL, 0, &err), err);
    m.token[0].is_special = m.token[4].is_special = true;
    m.token[6].is_special = m.token[10].is_special = true;
    /* By token: the first of its run, and how many it has. */
    static const size_t want[][2] = {{0, 0},  {1, 3},  {1, 3},  {1, 3},  {4, 0},
                                     {5, 1},  {6, 0},  {7, 3},  {7, 3},  {7, 3},
                                     {10, 0}, {11, 1}, {12, 3}, {12, 3}, {12, 3}};
    for (size_t i = 0; i < m.n; i++) {
        size_t first;
        assert_int_equal(cf_prompt_model_run(&m, i, &first), want[i][1]);
        assert_int_equal(first, want[i][0]);
    }
    for (int width = 4; width < 30; width++) {
        T_OK(cf_prompt_model_wrap(&m, width, CF_PROMPT_AS_SPECIALS, cf_text_width_visible, &err),
             err);
        for (size_t i = 0; i < m.n; i++) {
            size_t first;
            (void)cf_prompt_model_run(&m, i, &first);
            assert_int_equal(cf_prompt_model_row_of(&m, i), cf_prompt_model_row_of(&m, first));
        }
    }
    cf_prompt_model_deinit(&m);
}

static cf_status build(void *ud)
{
    fixture *f = ud;
    cf_prompt_model m = {0};
    cf_error err;
    cf_status st = cf_prompt_model_build(&m, &f->prompt, &f->tokens, NULL, 0, &err);
    CF_THEN(st, cf_prompt_model_wrap(&m, 20, CF_PROMPT_AS_TEXT, cf_text_width_visible, &err));
    cf_prompt_model_deinit(&m);
    return st;
}

static void test_build__every_allocation_may_fail(void **state)
{
    (void)state;
    fixture f;
    make(&f);
    cf_fault_every_alloc(build, &f, false);
}

/* A picture is one block: markers, rows and all. */
static void test_media__is_one_block(void **state)
{
    (void)state;
    cf_error err;
    cf_prompt_model m = {0};
    cf_prompt_span spans[] = {{.off = 0, .len = 2},
                              {.off = 2,
                               .len = 6,
                               .source = CF_SPAN_MESSAGE,
                               .media = cf_str_from("image 0a, 4 x 4 to 8 x 8")},
                              {.off = 8, .len = 1, .source = CF_SPAN_MESSAGE}};
    const cf_token row = cf_token_of_row(77);
    cf_token_span ids[] = {{5, 0, 2},       {6, 2, 2}, {row, 4, 2},
                           {row + 1, 4, 0}, {7, 6, 2}, {8, 8, 1}};
    const cf_prompt prompt = {.text = cf_str_from("ab<>..<>\n"), .spans = spans, .n_spans = 3};
    const cf_token_list tokens = {ids, 6};
    const cf_token cache[] = {5, 6, row};
    T_OK(cf_prompt_model_build(&m, &prompt, &tokens, cache, 3, &err), err);
    static const bool is_media[] = {false, true, true, true, true, false};
    static const bool continues[] = {false, false, true, true, true, false};
    size_t first = 0;
    char words[CF_PROMPT_BLOCK_MAX];
    for (size_t i = 0; i < m.n; i++) {
        assert_int_equal(cf_prompt_model_is_media(&m, i), is_media[i]);
        assert_int_equal(cf_prompt_model_continues(&m, i), continues[i]);
    }
    assert_int_equal(cf_prompt_model_run(&m, 3, &first), 4);
    assert_int_equal(first, 1);
    cf_str block = cf_prompt_model_block(&m, 4, words);
    T_TEXT(block.p, block.n, "[image 0a, 4 x 4 to 8 x 8: 4 tokens]");
    T_OK(cf_prompt_model_wrap(&m, 20, CF_PROMPT_AS_TEXT, cf_text_width_visible, &err), err);
    assert_int_equal(cf_prompt_model_row_of(&m, 1), cf_prompt_model_row_of(&m, 4));
    cf_prompt_model_deinit(&m);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_media__is_one_block),
        cmocka_unit_test(test_parts__heads_belong_to_what_follows),
        cmocka_unit_test(test_parts__a_message_inside_another),
        cmocka_unit_test(test_parts__what_closes_a_call_belongs_to_it),
        cmocka_unit_test(test_reuse__break_and_loss),
        cmocka_unit_test(test_wrap__rows_cover_all_tokens),
        cmocka_unit_test(test_run__lies_between_specials),
        cmocka_unit_test(test_build__every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
