/*
 * test_mcp_scenarios.c - the scenarios of the protocol's official conformance
 * suite that a client is required to pass, each at its revision.
 *
 * CONFAB_MCP_SUITE names a folder whose node_modules has the suite and a node
 * that runs it (docs/mcp.md says how to make it); without it all are skipped.
 * The one that needs answers typed at a terminal is left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

#define OLD "2025-11-25"
#define NEW "2026-07-28"

static const char *const both[] = {
    "tools_call",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    NULL,
};

static const char *const only_old[] = {"initialize", "sse-retry", NULL};

static const char *const only_new[] = {
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/authorization-server-migration",
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
    NULL,
};

static size_t n_failed;

/* Plays scenarios; a failed one is named with the last lines of the suite. */
static void play(const char *folder, const char *const *names, const char *revision)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        cf_buf line = CF_BUF_INIT, said = CF_BUF_INIT;
        char block[4096];
        size_t n;
        cf_buf_addf(&line,
                    "'%s/node_modules/.bin/node' "
                    "'%s/node_modules/@modelcontextprotocol/conformance/dist/index.js' client "
                    "--scenario %s --spec-version %s --timeout 60000 -o '%s' --command "
                    "\"python3 tests/data/mcp/scenario.py '%s'\" 2>&1",
                    folder, folder, names[i], revision, store_dir_file("out"), cf_program_path());
        FILE *f = popen(cf_buf_cstr(&line), "r");
        assert_non_null(f);
        while ((n = fread(block, 1, sizeof block, f)) > 0) {
            cf_buf_add(&said, block, n);
        }
        if (pclose(f) != 0) {
            n_failed++;
            print_message("%s@%s: %s\n", names[i], revision,
                          cf_buf_cstr(&said) + (said.n > 600 ? said.n - 600 : 0));
        }
        cf_buf_deinit(&line);
        cf_buf_deinit(&said);
    }
}

static void test_mcp_scenarios__of_the_official_suite(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *folder = getenv("CONFAB_MCP_SUITE");
    if (folder == NULL) {
        T_SKIP("CONFAB_MCP_SUITE names no folder with the conformance suite");
    }
    play(folder, both, OLD);
    play(folder, only_old, OLD);
    play(folder, both, NEW);
    play(folder, only_new, NEW);
    assert_int_equal(n_failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcp_scenarios__of_the_official_suite),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
