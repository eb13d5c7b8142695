/*
 * test_completion.c - the completion scripts, asked by the shells themselves.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/cli/shell/cli.h"

/* The output of a shell command, on one line. */
static void ask(cf_buf *out, const char *command)
{
    char part[256];
    cf_buf_reset(out);
    FILE *from = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(from);
    for (size_t n; (n = fread(part, 1, sizeof part, from)) > 0;) {
        cf_buf_add(out, part, n);
    }
    assert_int_equal(pclose(from), 0);
    for (size_t i = 0; i < out->n; i++) {
        out->p[i] = out->p[i] == '\n' ? ' ' : out->p[i];
    }
}

/* Skips the test where the shell, or the program, is not there. */
static void need(const char *shell)
{
    char command[64];
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    snprintf(command, sizeof command, "command -v %s >/dev/null", shell);
    if (system(command) != 0) { /* NOLINT(cert-env33-c) */
        T_SKIP("that shell is not installed");
    }
}

static void bash_gives(const char *line, const char *want)
{
    char command[600];
    cf_buf out = CF_BUF_INIT;
    snprintf(command, sizeof command,
             "bash -c 'confab() { $CONFAB_BIN \"$@\"; }; eval \"$(confab completion bash)\"; "
             "COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
             "_confab 2>/dev/null; echo \"${COMPREPLY[@]}\"'",
             line);
    ask(&out, command);
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
}

static void test_bash__commands_options_values(void **state)
{
    (void)state;
    need("bash");
    bash_gives("confab re", "replay report render ");
    bash_gives("confab run --think", "--thinking ");
    bash_gives("confab run --thinking \"\"", "on off ");
    bash_gives("confab run --tools d", "demo ");
    bash_gives("confab diff --color a", "always auto ");
    bash_gives("confab completion \"\"", "bash zsh fish ");
    bash_gives("confab help to", "tokenize ");
    bash_gives("confab -m bundled --exact re", "replay report render ");
    bash_gives("confab --qui", "--quiet ");
    bash_gives("confab --color n", "never ");
    bash_gives("confab --db x run --think", "--thinking ");
    bash_gives("confab run --seed \"\"", " ");
    bash_gives("confab render -t qw", "qwen2.5 qwen3 ");
    bash_gives("confab parse --family gem", "gemma4 gemma3 ");
    bash_gives("confab bench --kernels re", "ref ");
    bash_gives("confab lint --format s", "sarif ");
    bash_gives("confab history export --format l", "litert llama-app llm-db ");
}

static void fish_gives(const char *line, const char *want)
{
    char command[400];
    cf_buf out = CF_BUF_INIT;
    snprintf(command, sizeof command,
             "HOME=/nonexistent fish --no-config -c '"
             "function confab; $CONFAB_BIN $argv; end; "
             "confab completion fish | source; complete -C \"%s\"' "
             "2>/dev/null | cut -f 1 | LC_ALL=C sort",
             line);
    ask(&out, command);
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
}

static void test_fish__commands_options_values(void **state)
{
    (void)state;
    need("fish");
    fish_gives("confab re", "render replay report ");
    fish_gives("confab run --think", "--thinking ");
    fish_gives("confab run --thinking ", "off on ");
    fish_gives("confab diff --color a", "always auto ");
    fish_gives("confab completion ", "bash fish zsh ");
    fish_gives("confab run -t qw", "qwen2.5 qwen3 ");
    fish_gives("confab parse --family gem", "gemma3 gemma4 ");
}

static void test_zsh__script_is_read(void **state)
{
    (void)state;
    need("zsh");
    cf_buf out = CF_BUF_INIT;
    ask(&out, "zsh -f -c 'autoload -Uz compinit; compinit -u -D; "
              "eval \"$($CONFAB_BIN completion zsh)\"; "
              "print $+functions[_confab] $_comps[confab]'");
    assert_string_equal(cf_buf_cstr(&out), "1 _confab ");
    cf_buf_deinit(&out);
}

/* A history of one conversation, where the program looks for it; its UUID. */
static void save_one(cf_buf *id)
{
    static const char saved[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}";
    cf_program p;
    assert_int_equal(setenv("XDG_DATA_HOME", store_dir_file("data"), 1), 0);
    CF_PROGRAM(&p, "history", "import", store_dir_put_text("one.json", saved));
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    ask(id, "$CONFAB_BIN history list --ids");
    assert_int_equal(id->n, CF_UUID_TEXT + 1);
}

/* Where a command takes a conversation, the saved ones are offered, and nothing else of
 * what a list of them prints. */
static void test_completion__saved_conversations(void **state)
{
    (void)state;
    cf_buf id = CF_BUF_INIT;
    NEED_PROGRAM();
    save_one(&id);
    need("bash");
    bash_gives("confab replay \"\"", cf_buf_cstr(&id));
    bash_gives("confab run --continue \"\"", cf_buf_cstr(&id));
    if (system("command -v fish >/dev/null") == 0) { /* NOLINT(cert-env33-c) */
        fish_gives("confab replay ", cf_buf_cstr(&id));
    }
    if (system("command -v zsh >/dev/null") == 0) { /* NOLINT(cert-env33-c) */
        cf_buf out = CF_BUF_INIT;
        ask(&out, "zsh -f -c 'confab() { $CONFAB_BIN \"$@\" }; "
                  "autoload -Uz compinit; compinit -u -D; eval \"$(confab completion zsh)\"; "
                  "compadd() { shift; print -l -- $@ }; _confab_reply @uuid'");
        assert_string_equal(cf_buf_cstr(&out), cf_buf_cstr(&id));
        cf_buf_deinit(&out);
    }
    unsetenv("XDG_DATA_HOME");
    cf_buf_deinit(&id);
}

/* No command is left out of any script. */
static void test_completion__every_command(void **state)
{
    (void)state;
    static const char *const shells[] = {"bash", "zsh", "fish"};
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    for (size_t i = 0; i < 3; i++) {
        cf_program p;
        CF_PROGRAM(&p, "completion", shells[i]);
        assert_int_equal(p.status, 0);
        for (const cf_cli_command *const *c = cf_cli_commands; *c != NULL; c++) {
            assert_non_null(strstr(cf_buf_cstr(&p.out), (*c)->name));
        }
        cf_program_deinit(&p);
    }
    cf_program p;
    CF_PROGRAM(&p, "completion", "tcsh");
    assert_int_equal(p.status, CF_EXIT_USAGE);
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bash__commands_options_values),
        cmocka_unit_test(test_fish__commands_options_values),
        cmocka_unit_test(test_zsh__script_is_read),
        cmocka_unit_test(test_completion__saved_conversations),
        cmocka_unit_test(test_completion__every_command),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
