/*
 * cmd_constrain.c - confab constrain: shows what a schema, tools, an expression
 * or a grammar allow, and where a text leaves it.
 */
#include <string.h>

#include "core/api/constraint.h"
#include "core/api/tool.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "tui/cli/inspect/constrain_bench.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/lab/tokens/byte_set.h"
#include "tui/sys/out.h"

typedef struct constrain {
    cf_cli *cli;
    const char *schema, *tools, *family, *mode, *regex, *grammar;
    const char *prefix, *before, *suffix;
    const char *space, *order, *batch;
    cf_opt_list choices;
    bool has_prefix, has_before, has_suffix, seed_order;
    cf_grammar_options opts;
    json_t *schema_read; /* --schema */
    cf_constraint_vocab *vocab;
    bool is_bench;
    cf_constrain_bench bench;
} constrain;

/* ---- printing an instance ----------------------------------------------- */

/* As Python prints it: ", " and ": ", keys in their own order. */
static void print_value(cf_buf *b, const json_t *v)
{
    json_t *in = cf_json_ref(v);
    bool is_first = true;
    if (json_is_object(v)) {
        const char *key;
        size_t n;
        json_t *child;
        cf_buf_addc(b, '{');
        json_object_keylen_foreach(in, key, n, child)
        {
            cf_buf_adds(b, is_first ? "" : ", ");
            is_first = false;
            cf_json_write_str(b, cf_str_make(key, n));
            cf_buf_adds(b, ": ");
            print_value(b, child);
        }
        cf_buf_addc(b, '}');
    } else if (json_is_array(v)) {
        cf_buf_addc(b, '[');
        for (size_t i = 0; i < json_array_size(v); i++) {
            cf_buf_adds(b, i == 0 ? "" : ", ");
            print_value(b, json_array_get(v, i));
        }
        cf_buf_addc(b, ']');
    } else {
        cf_json_write(b, v);
    }
}

/* ---- feeding a text ----------------------------------------------------- */

/* Feeds the text by the model's tokens when there is a vocabulary, else by
 * bytes; *n_taken bytes were allowed. */
static cf_status feed(constrain *k, cf_constraint *c, cf_str text, size_t *n_taken, cf_error *err)
{
    *n_taken = 0;
    if (k->vocab == NULL) {
        return cf_constraint_bytes(c, text.p, text.n, n_taken, err);
    }
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_token_list ids;
    cf_status st = cf_tokenizer_encode(&ids, cf_engine_tokenizer(k->cli->opened.engine), text,
                                       false, false, &arena, err);
    for (size_t i = 0; st == CF_OK && i < ids.n; i++) {
        cf_error why;
        cf_status one = cf_constraint_token(c, ids.v[i].id, &why);
        if (one == CF_EINVAL) {
            break;
        }
        st = one;
        if (st == CF_OK) {
            *n_taken = i + 1 < ids.n ? ids.v[i + 1].off : text.n;
        } else if (err != NULL) {
            *err = why;
        }
    }
    cf_arena_deinit(&arena);
    return st;
}

static cf_status accepts(constrain *k, const cf_grammar *g, cf_str text, bool *is_accepted,
                         cf_error *err)
{
    cf_constraint *c = NULL;
    size_t n = 0;
    cf_status st = cf_constraint_new(&c, g, k->vocab, err);
    CF_THEN(st, feed(k, c, text, &n, err));
    *is_accepted = st == CF_OK && n == text.n && cf_constraint_may_end(c);
    cf_constraint_free(c);
    return st;
}

/* The verdicts on the tests of a line, into the array that is open. */
static cf_status batch_tests(constrain *k, const cf_grammar *g, const json_t *tests, cf_jw *w,
                             cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = CF_OK;
    for (size_t i = 0; st != CF_ENOMEM && i < json_array_size(tests); i++) {
        bool yes = false;
        cf_buf_reset(&text);
        print_value(&text, json_object_get(json_array_get(tests, i), "data"));
        st = cf_buf_check(&text, err);
        cf_str s = {cf_buf_cstr(&text), text.n};
        if (st == CF_OK && k->is_bench) {
            st = cf_constrain_bench_text(&k->bench, g, k->vocab,
                                         cf_engine_tokenizer(k->cli->opened.engine), s, &yes, err);
        } else if (st == CF_OK) {
            st = accepts(k, g, s, &yes, err);
        }
        cf_jw_bool(w, NULL, yes);
    }
    cf_buf_deinit(&text);
    return st == CF_ENOMEM ? st : CF_OK;
}

static cf_status batch_item(void *ud, const json_t *item, cf_buf *answer, cf_error *err)
{
    constrain *k = ud;
    cf_grammar *g = NULL;
    cf_error why = {0};
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    uint64_t began = cf_os_monotonic_us();
    cf_grammar_options opts = k->opts;
    const char *dir = json_string_value(json_object_get(item, "schema_dir"));
    opts.schema_dir = dir != NULL ? dir : opts.schema_dir;
    cf_status st = cf_grammar_from_schema(&g, json_object_get(item, "schema"), &opts, &why);
    if (st == CF_ENOMEM) {
        *err = why;
        return st;
    }
    if (k->is_bench && st == CF_OK) {
        cf_constrain_bench_compiled(&k->bench, cf_os_monotonic_us() - began);
    }
    char text[CF_ERROR_TEXT_MAX + 20];
    snprintf(text, sizeof text, "%s: %s", st == CF_EINVAL ? "unsatisfiable" : "unsupported",
             why.text);
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "compile", g != NULL ? "ok" : text);
    cf_jw_array(&w, "results");
    st = g != NULL ? batch_tests(k, g, json_object_get(item, "tests"), &w, err) : CF_OK;
    cf_jw_end(&w);
    cf_jw_end(&w);
    CF_THEN(st, cf_jw_finish(&w, err));
    if (st == CF_OK) {
        cf_cli_put_members(answer, &line);
    }
    cf_buf_deinit(&line);
    cf_grammar_free(g);
    return st;
}

/* ---- one text ----------------------------------------------------------- */

static bool parse_mode(const char *text, cf_tool_mode *out)
{
    static const struct {
        const char *name;
        cf_tool_mode mode;
    } modes[] = {{"calls", CF_TOOLS_ONLY},
                 {"tool-call-only", CF_TOOLS_ONLY},
                 {"text-and", CF_TOOLS_TEXT_AND},
                 {"text-and-or", CF_TOOLS_TEXT_AND},
                 {"text-until", CF_TOOLS_TEXT_UNTIL}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(text, modes[i].name) == 0) {
            *out = modes[i].mode;
            return true;
        }
    }
    return false;
}

static cf_str str_or_empty(const char *text)
{
    return text != NULL ? cf_str_from(text) : cf_str_make("", 0);
}

static cf_status compile_tools(constrain *k, cf_grammar **out, cf_error *err)
{
    json_t *tools = NULL;
    cf_tool_set *set = NULL;
    cf_tool_constraint spec = {.prefix = str_or_empty(k->prefix),
                               .before = str_or_empty(k->before),
                               .suffix = str_or_empty(k->suffix),
                               .has_fences = k->has_prefix || k->has_before || k->has_suffix,
                               .seed_order = k->seed_order};
    if (k->family == NULL) {
        return cf_fail(err, CF_EINVAL, "--family: not given");
    }
    CF_TRY(cf_tool_family_read(&spec.family, cf_str_from(k->family), err));
    if (k->mode != NULL && !parse_mode(k->mode, &spec.mode)) {
        return cf_fail(err, CF_EINVAL, "--mode: '%s' is not calls, text-and or text-until",
                       k->mode);
    }
    cf_status st = cf_json_read_file(&tools, k->tools, err);
    CF_THEN(st, cf_tool_set_new(&set, tools, err));
    if (st == CF_OK) {
        spec.tools = set;
        st = cf_grammar_from_tools(out, &spec, &k->opts, err);
    }
    cf_tool_set_free(set);
    json_decref(tools);
    return st;
}

static cf_status compile(constrain *k, cf_grammar **out, cf_error *err)
{
    if (k->schema != NULL) {
        cf_status st = cf_json_read_file(&k->schema_read, k->schema, err);
        CF_THEN(st, cf_grammar_from_schema(out, k->schema_read, &k->opts, err));
        return st;
    }
    if (k->tools != NULL) {
        return compile_tools(k, out, err);
    }
    if (k->regex != NULL) {
        return cf_grammar_from_regex(out, cf_str_from(k->regex), &k->opts, err);
    }
    if (k->grammar != NULL) {
        cf_buf text = CF_BUF_INIT;
        cf_status st = cf_os_read_file(&text, k->grammar, (size_t)16 << 20, err);
        CF_THEN(st, cf_grammar_from_text(out, cf_buf_str(&text), &k->opts, err));
        cf_buf_deinit(&text);
        return st;
    }
    cf_str v[CF_OPT_LIST_MAX];
    for (size_t i = 0; i < k->choices.n; i++) {
        v[i] = cf_str_from(k->choices.v[i]);
    }
    return cf_grammar_from_choices(out, v, k->choices.n, &k->opts, err);
}

/* Where a text left the constraint, in words. */
typedef struct place {
    const char *verdict;
    size_t n_taken, n;
    bool may_end;
    cf_buf path, rule, stack, allowed, forced;
    cf_buf why; /* a line for each flaw of a JSON text */
} place;

static void place_deinit(place *p)
{
    cf_buf *const all[] = {&p->path, &p->rule, &p->stack, &p->allowed, &p->forced, &p->why};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cf_buf_deinit(all[i]);
    }
}

static cf_status find_place(place *p, constrain *k, cf_constraint *c, cf_str text, size_t n,
                            cf_error *err)
{
    uint32_t set[8];
    *p = (place){.n_taken = n,
                 .n = text.n,
                 .may_end = cf_constraint_may_end(c),
                 .path = CF_BUF_INIT,
                 .rule = CF_BUF_INIT,
                 .stack = CF_BUF_INIT,
                 .allowed = CF_BUF_INIT,
                 .forced = CF_BUF_INIT,
                 .why = CF_BUF_INIT};
    p->verdict = n < text.n ? "refused" : p->may_end ? "accepted" : "incomplete";
    cf_constraint_where(c, &p->path, &p->rule, &p->stack);
    cf_constraint_next_bytes(c, set);
    cf_byte_set_write(&p->allowed, set);
    CF_TRY(cf_buf_check(&p->path, err));
    CF_TRY(cf_buf_check(&p->rule, err));
    CF_TRY(cf_buf_check(&p->stack, err));
    CF_TRY(cf_buf_check(&p->allowed, err));
    CF_TRY(cf_constraint_forced(c, &p->forced, 4096, err));
    if (k->schema_read != NULL && n < text.n) {
        CF_TRY(cf_schema_explain(&p->why, k->schema_read, &k->opts, text, err));
    }
    return CF_OK;
}

/* Calls fn for each line of the reasons. */
static void each_reason(const place *p, void (*fn)(void *ud, cf_str line), void *ud)
{
    for (size_t at = 0; at < p->why.n;) {
        size_t len = strcspn(p->why.p + at, "\n");
        fn(ud, cf_str_make(p->why.p + at, len));
        at += len + 1;
    }
}

static void add_reason(void *ud, cf_str line)
{
    cf_jw_str(ud, NULL, line);
}

/* "WORD     text", the text on one line. */
static void put_row(cf_buf *out, const char *word, cf_str text)
{
    cf_buf_addf(out, "%-8s ", word);
    cf_safe_line(out, text.p, text.n);
    cf_buf_addc(out, '\n');
}

static void put_reason(void *ud, cf_str line)
{
    put_row(ud, "why", line);
}

static cf_status print_json(const place *p, cf_error *err)
{
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "result", p->verdict);
    cf_jw_uint(&w, "byte", p->n_taken);
    cf_jw_bool(&w, "may_end", p->may_end);
    cf_jw_str(&w, "path", cf_buf_str(&p->path));
    cf_jw_str(&w, "rule", cf_buf_str(&p->rule));
    cf_jw_str(&w, "stack", cf_buf_str(&p->stack));
    cf_jw_str(&w, "allowed", cf_buf_str(&p->allowed));
    cf_jw_str(&w, "forced", cf_buf_str(&p->forced));
    cf_jw_array(&w, "why");
    each_reason(p, add_reason, &w);
    cf_jw_end(&w);
    cf_jw_end(&w);
    cf_status st = cf_jw_finish(&w, err);
    if (st == CF_OK) {
        cf_buf_addc(&line, '\n');
        st = cf_buf_check(&line, err);
    }
    if (st == CF_OK) {
        cf_out(stdout, cf_buf_str(&line), CF_OUT_JSON);
    }
    cf_buf_deinit(&line);
    return st;
}

static cf_status print_text(const place *p, cf_error *err)
{
    cf_buf out = CF_BUF_INIT;
    cf_buf_addf(&out, "%s at byte %zu of %zu\n", p->verdict, p->n_taken, p->n);
    each_reason(p, put_reason, &out);
    put_row(&out, "path", cf_buf_str(&p->path));
    put_row(&out, "rule", cf_buf_str(&p->rule));
    put_row(&out, "stack", cf_buf_str(&p->stack));
    cf_buf_addf(&out, "allowed  %s%s%s\n", cf_buf_cstr(&p->allowed),
                p->allowed.n > 0 && p->may_end ? " or " : "", p->may_end ? "end of text" : "");
    if (p->forced.n > 0) {
        cf_buf_adds(&out, "forced   ");
        cf_json_write_str(&out, cf_buf_str(&p->forced));
        cf_buf_addc(&out, '\n');
    }
    cf_status st = cf_buf_check(&out, err);
    if (st == CF_OK) {
        cf_out(stdout, cf_buf_str(&out), CF_OUT_TEXT);
    }
    cf_buf_deinit(&out);
    return st;
}

static cf_status print_result(constrain *k, cf_constraint *c, cf_str text, size_t n,
                              bool *is_accepted, cf_error *err)
{
    place p;
    cf_status st = find_place(&p, k, c, text, n, err);
    *is_accepted = n == text.n && p.may_end;
    CF_THEN(st, k->cli->is_json ? print_json(&p, err) : print_text(&p, err));
    place_deinit(&p);
    return st;
}

static int run_text(constrain *k, const char *arg)
{
    cf_error err;
    cf_grammar *g = NULL;
    cf_constraint *c = NULL;
    cf_buf text = CF_BUF_INIT;
    bool is_accepted = false;
    size_t n = 0;
    cf_status st = compile(k, &g, &err);
    if (st == CF_OK && arg != NULL && strcmp(arg, "-") != 0) {
        cf_buf_adds(&text, arg);
        st = cf_buf_check(&text, &err);
    } else if (st == CF_OK && arg != NULL) {
        st = cf_os_read_file(&text, "-", (size_t)64 << 20, &err);
    }
    cf_str s = {cf_buf_cstr(&text), text.n};
    CF_THEN(st, cf_constraint_new(&c, g, k->vocab, &err));
    CF_THEN(st, feed(k, c, s, &n, &err));
    CF_THEN(st, print_result(k, c, s, n, &is_accepted, &err));
    cf_constraint_free(c);
    cf_grammar_free(g);
    cf_buf_deinit(&text);
    json_decref(k->schema_read);
    if (st != CF_OK) {
        return cf_cli_fail(k->cli, &err);
    }
    return is_accepted || arg == NULL ? CF_EXIT_OK : CF_EXIT_FINDING;
}

/* ---- options ------------------------------------------------------------ */

static bool read_policies(constrain *k)
{
    static const char *const spaces[] = {"flexible", "python", "compact"};
    bool ok = k->space == NULL;
    for (int i = 0; i < 3 && !ok; i++) {
        ok = strcmp(k->space, spaces[i]) == 0;
        k->opts.space = (cf_json_space)i;
    }
    if (k->order != NULL && strcmp(k->order, "any") == 0) {
        k->opts.order = CF_KEYS_ANY;
    } else if (k->order != NULL && strcmp(k->order, "declared") != 0) {
        ok = false;
    }
    return ok;
}

static const cf_opt_row options[] = {
    {"--schema", 0, CF_OPT_STR, offsetof(constrain, schema), "FILE", "a JSON Schema", 0},
    {"--schema-dir", 0, CF_OPT_STR, offsetof(constrain, opts.schema_dir), "DIR",
     "documents that schemas refer to, each at the path of its URI", 0},
    {"--tools", 0, CF_OPT_STR, offsetof(constrain, tools), "FILE",
     "tool declarations, with --family", 0},
    {"--family", 0, CF_OPT_STR, offsetof(constrain, family), "FAMILY",
     "syntax of the calls: gemma3, functiongemma, gemma4, hermes, ...", 0},
    {"--mode", 0, CF_OPT_STR, offsetof(constrain, mode), "calls|text-and|text-until",
     "calls (default), text-and, text-until", 0},
    {"--prefix", 0, CF_OPT_STR, offsetof(constrain, prefix), "TEXT",
     "text before the calls, or the trigger phrase", offsetof(constrain, has_prefix)},
    {"--before", 0, CF_OPT_STR, offsetof(constrain, before), "TEXT",
     "text between the free text and the prefix in text-and", offsetof(constrain, has_before)},
    {"--suffix", 0, CF_OPT_STR, offsetof(constrain, suffix), "TEXT", "text after the calls",
     offsetof(constrain, has_suffix)},
    {"--seed-order", 0, CF_OPT_FLAG, offsetof(constrain, seed_order), NULL,
     "required parameters come first, in their declared order", 0},
    {"--regex", 0, CF_OPT_STR, offsetof(constrain, regex), "R", "a regular expression", 0},
    {"--grammar", 0, CF_OPT_STR, offsetof(constrain, grammar), "FILE",
     "a grammar, in GBNF or the notation of confab", 0},
    {"--choice", 0, CF_OPT_LIST, offsetof(constrain, choices), "TEXT",
     "one of the given texts; may be repeated", 0},
    {"--space", 0, CF_OPT_STR, offsetof(constrain, space), "POLICY",
     "white space in JSON: flexible, python, compact", 0},
    {"--order", 0, CF_OPT_STR, offsetof(constrain, order), "ORDER", "order of keys: declared, any",
     0},
    {"--bench", 0, CF_OPT_FLAG, offsetof(constrain, is_bench), NULL,
     "with --batch and a model: time compilation and masks", 0},
    {"--batch", 0, CF_OPT_STR, offsetof(constrain, batch), "FILE",
     "check the instances of schemas in a JSON Lines file", 0},
    CF_OPT_ROWS_END,
};

static int run_constrain(cf_cli *cli, void *state)
{
    constrain *k = state;
    k->cli = cli;
    int n_given = (k->schema != NULL) + (k->tools != NULL) + (k->regex != NULL) +
                  (k->grammar != NULL) + (k->choices.n > 0);
    if (!read_policies(k)) {
        return cf_cli_usage(cli, "--space or --order has an unknown value");
    }
    if (n_given != (k->batch == NULL ? 1 : 0) || cli->n_args > 1) {
        return cf_cli_usage(cli, "give one of --schema, --tools, --regex, "
                                 "--grammar, --choice and --batch");
    }
    if (k->is_bench) {
        cf_open_want_model(&cli->open);
    }
    if (k->is_bench && (k->batch == NULL || cli->open.model == NULL)) {
        return cf_cli_usage(cli, "--bench needs --batch and --model");
    }
    cf_error err;
    cf_status st = CF_OK;
    if (cli->open.model != NULL) {
        st = cf_open_engine(&cli->opened.engine, &cli->open, true, &err);
        CF_THEN(st, cf_constraint_vocab_from_tokenizer(
                        &k->vocab, cf_engine_tokenizer(cli->opened.engine), &err));
    }
    if (st != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    int rc = k->batch != NULL ? cf_cli_batch(cli, k->batch, batch_item, k)
                              : run_text(k, cli->n_args > 0 ? cli->args[0] : NULL);
    if (k->is_bench && rc == CF_EXIT_OK) {
        cf_constrain_bench_put(&cli->out, &k->bench, cf_constraint_vocab_n(k->vocab));
        rc = cf_cli_print_as(cli, &cli->out, CF_OUT_JSON);
    }
    cf_constrain_bench_deinit(&k->bench);
    cf_constraint_vocab_free(k->vocab);
    return rc;
}

const cf_cli_command cf_cmd_constrain = {
    .name = "constrain",
    .arguments = "[TEXT]",
    .summary = "find where a text violates a schema, a pattern or tool declarations",
    .options = options,
    .state_bytes = sizeof(constrain),
    .n_max = CF_ARGS_ANY,
    .run = run_constrain,
};
