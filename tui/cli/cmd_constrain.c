/*
 * cmd_constrain.c - confab constrain: what a schema, tools, an expression or
 * a grammar allow, and where a text leaves it.
 */
#include <string.h>

#include "core/api/constraint.h"
#include "core/api/tool.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/cli/cli.h"
#include "tui/cli/constrain_bench.h"
#include "tui/lab/byte_set.h"

typedef struct constrain {
    cf_cli *cli;
    const char *schema, *tools, *family, *mode, *regex, *grammar;
    const char *prefix, *before, *suffix;
    const char *space, *order, *batch;
    cf_opt_list choices;
    bool has_prefix, has_before, has_suffix, seed_order;
    cf_grammar_options opts;
    cf_engine *engine;
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
static cf_status feed(constrain *k, cf_constraint *c, cf_str text,
                      size_t *n_taken, cf_error *err)
{
    *n_taken = 0;
    if (k->vocab == NULL) {
        return cf_constraint_bytes(c, text.p, text.n, n_taken, err);
    }
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_token_list ids;
    cf_status st = cf_tokenizer_encode(&ids, cf_engine_tokenizer(k->engine),
                                       text, false, false, &arena, err);
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

static cf_status accepts(constrain *k, const cf_grammar *g, cf_str text,
                         bool *is_accepted, cf_error *err)
{
    cf_constraint *c = NULL;
    size_t n = 0;
    cf_status st = cf_constraint_new(&c, g, k->vocab, err);
    CF_THEN(st, feed(k, c, text, &n, err));
    *is_accepted = st == CF_OK && n == text.n && cf_constraint_may_end(c);
    cf_constraint_free(c);
    return st;
}

static cf_status batch_item(void *ud, const json_t *item, json_t *answer,
                            cf_error *err)
{
    constrain *k = ud;
    cf_grammar *g = NULL;
    cf_error why;
    const json_t *tests = json_object_get(item, "tests");
    uint64_t began = cf_os_monotonic_us();
    cf_status st = cf_grammar_from_schema(&g, json_object_get(item, "schema"),
                                          &k->opts, &why);
    if (st == CF_ENOMEM) {
        *err = why;
        return st;
    }
    if (k->is_bench && st == CF_OK) {
        cf_constrain_bench_compiled(&k->bench, cf_os_monotonic_us() - began);
    }
    json_t *results = json_array();
    if (st != CF_OK) {
        char text[CF_ERROR_TEXT_MAX + 20];
        snprintf(text, sizeof text, "unsupported: %s", why.text);
        json_object_set_new(answer, "compile", json_string(text));
    } else {
        json_object_set_new(answer, "compile", json_string("ok"));
    }
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; g != NULL && i < json_array_size(tests); i++) {
        bool yes = false;
        cf_buf_reset(&text);
        print_value(&text, json_object_get(json_array_get(tests, i), "data"));
        st = cf_buf_check(&text, err);
        cf_str s = {cf_buf_cstr(&text), text.n};
        if (st == CF_OK && k->is_bench) {
            st = cf_constrain_bench_text(&k->bench, g, k->vocab,
                                         cf_engine_tokenizer(k->engine), s,
                                         &why);
        } else if (st == CF_OK) {
            st = accepts(k, g, s, &yes, &why);
        }
        if (st == CF_ENOMEM) {
            break;
        }
        json_array_append_new(results, json_boolean(yes));
    }
    json_object_set_new(answer, "results", results);
    cf_buf_deinit(&text);
    cf_grammar_free(g);
    return st == CF_ENOMEM ? st : CF_OK;
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
                               .has_fences = k->has_prefix || k->has_before ||
                                             k->has_suffix,
                               .seed_order = k->seed_order};
    if (k->family == NULL ||
        !cf_tool_family_parse(&spec.family, cf_str_from(k->family))) {
        return cf_fail(err, CF_EINVAL, "--family: %s",
                       k->family != NULL ? "no such family" : "not given");
    }
    if (k->mode != NULL && !parse_mode(k->mode, &spec.mode)) {
        return cf_fail(err, CF_EINVAL,
                       "--mode: '%s' is not calls, text-and or text-until",
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
        json_t *schema = NULL;
        cf_status st = cf_json_read_file(&schema, k->schema, err);
        CF_THEN(st, cf_grammar_from_schema(out, schema, &k->opts, err));
        json_decref(schema);
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
        cf_status st =
            cf_os_read_file(&text, k->grammar, (size_t)16 << 20, err);
        CF_THEN(st,
                cf_grammar_from_text(out, cf_buf_str(&text), &k->opts, err));
        cf_buf_deinit(&text);
        return st;
    }
    cf_str v[CF_OPT_LIST_MAX];
    for (size_t i = 0; i < k->choices.n; i++) {
        v[i] = cf_str_from(k->choices.v[i]);
    }
    return cf_grammar_from_choices(out, v, k->choices.n, &k->opts, err);
}

static cf_status print_result(constrain *k, cf_constraint *c, cf_str text,
                              size_t n, bool *is_accepted, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    cf_buf rule = CF_BUF_INIT;
    cf_buf stack = CF_BUF_INIT;
    cf_buf allowed = CF_BUF_INIT;
    cf_buf forced = CF_BUF_INIT;
    uint32_t set[8];
    bool may_end = cf_constraint_may_end(c);
    *is_accepted = n == text.n && may_end;
    cf_constraint_where(c, &path, &rule, &stack);
    cf_constraint_next_bytes(c, set);
    cf_byte_set_write(&allowed, set);
    cf_status st = cf_constraint_forced(c, &forced, 4096, err);
    const char *verdict = *is_accepted  ? "accepted"
                          : n == text.n ? "incomplete"
                                        : "refused";
    if (st == CF_OK && k->cli->is_json) {
        json_t *out =
            json_pack("{s:s,s:I,s:b,s:s,s:s,s:s,s:s}", "result", verdict,
                      "byte", (json_int_t)n, "may_end", (int)may_end, "path",
                      cf_buf_cstr(&path), "rule", cf_buf_cstr(&rule), "stack",
                      cf_buf_cstr(&stack), "allowed", cf_buf_cstr(&allowed));
        cf_buf line = CF_BUF_INIT;
        json_object_set_new(out, "forced",
                            json_stringn(cf_buf_cstr(&forced), forced.n));
        cf_json_write(&line, out);
        printf("%s\n", cf_buf_cstr(&line));
        cf_buf_deinit(&line);
        json_decref(out);
    } else if (st == CF_OK) {
        printf("%s at byte %zu of %zu\n", verdict, n, text.n);
        printf("path     %s\nrule     %s\nstack    %s\n", cf_buf_cstr(&path),
               cf_buf_cstr(&rule), cf_buf_cstr(&stack));
        printf("allowed  %s%s%s\n", cf_buf_cstr(&allowed),
               allowed.n > 0 && may_end ? " or " : "",
               may_end ? "end of text" : "");
        if (forced.n > 0) {
            cf_buf line = CF_BUF_INIT;
            cf_json_write_str(&line, cf_str_make(forced.p, forced.n));
            printf("forced   %s\n", cf_buf_cstr(&line));
            cf_buf_deinit(&line);
        }
    }
    cf_buf_deinit(&path);
    cf_buf_deinit(&rule);
    cf_buf_deinit(&stack);
    cf_buf_deinit(&allowed);
    cf_buf_deinit(&forced);
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

int cf_cmd_constrain(cf_cli *cli, int argc, char **argv)
{
    constrain k = {.cli = cli};
    const cf_opt own[] = {
        {"--schema", 0, CF_OPT_STR, &k.schema, "FILE", "a JSON Schema", NULL},
        {"--tools", 0, CF_OPT_STR, &k.tools, "FILE",
         "tool declarations, with --family", NULL},
        {"--family", 0, CF_OPT_STR, &k.family, "NAME",
         "syntax of the calls: gemma3, functiongemma, gemma4, hermes, ...",
         NULL},
        {"--mode", 0, CF_OPT_STR, &k.mode, "MODE",
         "calls (default), text-and, text-until", NULL},
        {"--prefix", 0, CF_OPT_STR, &k.prefix, "TEXT",
         "text before the calls, or the stop phrase", &k.has_prefix},
        {"--before", 0, CF_OPT_STR, &k.before, "TEXT",
         "text between the free text and the prefix in text-and",
         &k.has_before},
        {"--suffix", 0, CF_OPT_STR, &k.suffix, "TEXT", "text after the calls",
         &k.has_suffix},
        {"--seed-order", 0, CF_OPT_FLAG, &k.seed_order, NULL,
         "required parameters first and in order", NULL},
        {"--regex", 0, CF_OPT_STR, &k.regex, "R", "a regular expression", NULL},
        {"--grammar", 0, CF_OPT_STR, &k.grammar, "FILE", "grammar notation",
         NULL},
        {"--choice", 0, CF_OPT_LIST, &k.choices, "TEXT",
         "one of the texts given; may be repeated", NULL},
        {"--space", 0, CF_OPT_STR, &k.space, "POLICY",
         "white space in JSON: flexible, python, compact", NULL},
        {"--order", 0, CF_OPT_STR, &k.order, "ORDER",
         "order of keys: declared, any", NULL},
        {"--bench", 0, CF_OPT_FLAG, &k.is_bench, NULL,
         "with --batch and a model: time compilation and masks", NULL},
        {"--batch", 0, CF_OPT_STR, &k.batch, "FILE",
         "schemas with instances, JSON lines", NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int n_rest;
    int done = cf_cli_options(cli, own, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    int n_given = (k.schema != NULL) + (k.tools != NULL) + (k.regex != NULL) +
                  (k.grammar != NULL) + (k.choices.n > 0);
    if (!read_policies(&k)) {
        return cf_cli_usage(cli, "--space or --order has an unknown value");
    }
    if (n_given != (k.batch == NULL ? 1 : 0) || n_rest > 1) {
        return cf_cli_usage(cli, "give one of --schema, --tools, --regex, "
                                 "--grammar, --choice and --batch");
    }
    if (k.is_bench) {
        cf_open_want_model(&cli->open);
    }
    if (k.is_bench && (k.batch == NULL || cli->open.model == NULL)) {
        return cf_cli_usage(cli, "--bench needs --batch and --model");
    }
    cf_error err;
    if (cli->open.model != NULL) {
        cf_status st = cf_open_engine(&k.engine, &cli->open, true, &err);
        CF_THEN(st, cf_constraint_vocab_from_tokenizer(
                        &k.vocab, cf_engine_tokenizer(k.engine), &err));
        if (st != CF_OK) {
            cf_engine_close(k.engine);
            return cf_cli_fail(cli, &err);
        }
    }
    int rc = k.batch != NULL ? cf_cli_batch(cli, k.batch, batch_item, &k)
                             : run_text(&k, n_rest > 0 ? argv[0] : NULL);
    if (k.is_bench && rc == CF_EXIT_OK) {
        cf_constrain_bench_print(&k.bench, cf_constraint_vocab_n(k.vocab));
    }
    cf_constrain_bench_deinit(&k.bench);
    cf_constraint_vocab_free(k.vocab);
    if (k.engine != NULL) {
        cf_engine_close(k.engine);
    }
    return rc;
}
