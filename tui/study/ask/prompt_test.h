/*
 * prompt_test.h - tests of prompts and replies, written as plain text.
 *
 * Place in the flow:  a test file --> [prompt_test] --> tests with their
 *                     checks --> the outcome of each check.
 * Knows: the file's form, templates, engines, predicates.  Does not know:
 * command lines, colours.
 *
 * A file is lines; blank lines and lines that begin with '#' say nothing.
 *
 *   template FILE|NAME    settings; before the first test they apply to all
 *   model MODEL           tests of the file, within a test to it alone.  Paths
 *   context FILE          are relative to the test file.
 *   family NAME
 *   var NAME=JSON
 *
 *   test NAME             begins a test
 *   prompt contains TEXT  checks of the rendered prompt
 *   prompt lacks TEXT
 *   prompt tokens N       at most N (needs a model)
 *   prompt stable         the prompt before each reply begins the whole one
 *   prompt fails [TEXT]   the template ends in an error (with TEXT in it)
 *   prompt is             exactly the block that follows
 *   reply is              the reply that the block gives, byte for byte
 *   reply made [tokens=N] [seed=N]
 *                         the model's reply; greedy without a seed
 *   expect [not] PREDICATE
 *                         about the reply: predicate.h
 *
 * A block is the lines that follow and begin with '|'; what comes after "| "
 * is text, and an empty last line ends the text with a newline.  TEXT is the
 * rest of the line, or a JSON string where it begins with '"'.
 *
 * Threads:  one thread.
 * Memory:   a file owns its tests; results are written to the caller's
 *           buffers.
 */
#ifndef CF_TUI_STUDY_ASK_PROMPT_TEST_H
#define CF_TUI_STUDY_ASK_PROMPT_TEST_H

#include "core/base/arena.h"
#include "templates/open.h"
#include "tui/study/ask/predicate.h"

typedef enum cf_check_kind {
    CF_CHECK_CONTAINS,
    CF_CHECK_LACKS,
    CF_CHECK_TOKENS,
    CF_CHECK_STABLE,
    CF_CHECK_FAILS,
    CF_CHECK_IS,
    CF_CHECK_EXPECT
} cf_check_kind;

typedef struct cf_prompt_check {
    cf_check_kind kind;
    uint32_t line;
    cf_str words;            /* the line, for messages */
    cf_str text;             /* TEXT or the block */
    size_t block, block_end; /* CHECK_IS: bytes of the block in the file */
    uint64_t limit;          /* CHECK_TOKENS */
    bool is_not;             /* CHECK_EXPECT */
    cf_predicate *predicate; /* CHECK_EXPECT */
} cf_prompt_check;

typedef struct cf_prompt_test {
    cf_str name;
    uint32_t line;
    const char *model, *tpl, *context, *family; /* NULL: not given; paths are
                                     resolved */
    json_t *vars;                               /* object */
    bool has_reply, is_made;
    cf_str reply; /* has_reply */
    uint32_t max_tokens;
    uint64_t seed;
    bool has_seed;
    cf_prompt_check *check; /* [n] */
    size_t n;
} cf_prompt_test;

typedef struct cf_prompt_tests {
    cf_arena arena;
    cf_buf source;
    cf_prompt_test *v; /* [n] */
    size_t n;
} cf_prompt_tests;

/* Reads a file.  CF_EFORMAT with the line of the mistake; CF_EIO,
 * CF_ENOTFOUND, CF_ELIMIT (1 MiB, 1000 tests, 100 checks a test), CF_ENOMEM.
 * *out must be deinitialised even on failure. */
CF_MUST_USE cf_status cf_prompt_tests_read(cf_prompt_tests *out, const char *path, cf_error *err);
void cf_prompt_tests_deinit(cf_prompt_tests *t);

/* Called for each check of a test, in order.  `why` explains a failure;
 * `prompt` is the rendered prompt of a failed "prompt is". */
typedef void (*cf_check_fn)(void *ud, const cf_prompt_check *check, bool ok, cf_str why,
                            cf_str prompt);

/*
 * Runs a test.  `base` has defaults for what the test does not name: model,
 * template, threads.  CF_OK also when checks fail; any error means that the
 * test could not be run: a model that does not open, a context that is not
 * JSON.
 */
CF_MUST_USE cf_status cf_prompt_test_run(const cf_prompt_test *test, const cf_open_options *base,
                                         cf_cancel *cancel, cf_check_fn fn, void *ud,
                                         cf_error *err);

#endif
