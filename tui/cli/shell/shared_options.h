/*
 * shared_options.h - rows of options that several commands have, so that each
 * has one text.
 *
 * `at` and `given` are offsets into the command's state, as in cf_opt_row.
 */
#ifndef CF_TUI_CLI_SHELL_SHARED_OPTIONS_H
#define CF_TUI_CLI_SHELL_SHARED_OPTIONS_H

#include "tui/cli/shell/options.h"

/* clang-format off */
#define CF_ROW_TOKENS(at, given)                                               \
    {"--tokens", 'n', CF_OPT_U32, at, "N",                                     \
     "generate at most N tokens (default: until the model ends)", given}
#define CF_ROW_MAX_TOKENS(at)                                                  \
    {"--max-tokens", 'n', CF_OPT_U32, at, "N",                                 \
     "generate at most N tokens for each reply (default: as recorded, else 256)", 0}
#define CF_ROW_STOP(at)                                                        \
    {"--stop", 0, CF_OPT_LIST, at, "TEXT",                                     \
     "stop generating before this text; may be repeated", 0}
#define CF_ROW_STOP_ON_LOOP(at)                                                \
    {"--stop-on-loop", 0, CF_OPT_FLAG, at, NULL,                               \
     "stop when the output repeats itself or cannot end; reported in any case", 0}
#define CF_ROW_DRAFT(at, given)                                                \
    {"--draft", 0, CF_OPT_U32, at, "N",                                        \
     "draft up to N tokens from the prompt and the reply; the output stays "   \
     "the same (default: 7; 0: none)", given}
#define CF_ROW_REPEAT(at)                                                      \
    {"--repeat", 0, CF_OPT_U32, at, "N",                                       \
     "ask up to N times, with consecutive seeds, if answers depend on "  \
     "chance (default: 1)", 0}
#define CF_ROW_AT_LEAST(at)                                                    \
    {"--at-least", 0, CF_OPT_U32, at, "K",                                     \
     "with --repeat: the predicate must hold at least K times (default: N)", 0}
#define CF_ROW_FAMILY(at)                                                      \
    {"--family", 0, CF_OPT_STR, at, "FAMILY",                                  \
     "syntax of tool calls (default: detected from template and metadata)", 0}
#define CF_ROW_MCP(at)                                                         \
    {"--mcp", 0, CF_OPT_STR, at, "FILE",                                       \
     "MCP servers whose tools the model may call; asks before each start "     \
     "and call", 0}
#define CF_ROW_NO_BROWSER(at)                                                  \
    {"--no-browser", 0, CF_OPT_FLAG, at, NULL,                                 \
     "sign-in to a server: print the address instead of opening it", 0}
#define CF_ROW_AS_IS(at)                                                       \
    {"--as-is", 0, CF_OPT_FLAG, at, NULL,                                      \
     "pass messages and tools to the template unchanged, even if it does not " \
     "write them", 0}
#define CF_ROW_NO_STORE(at)                                                    \
    {"--no-store", 0, CF_OPT_FLAG, at, NULL, "do not save the conversation", 0}
#define CF_ROW_KEEP_PREFIX(at)                                                 \
    {"--keep-prefix", 0, CF_OPT_FLAG, at, NULL,                                \
     "keep computed prompt prefixes beside the history, for the next start", 0}
#define CF_ROW_YES(at)                                                         \
    {"--yes", 0, CF_OPT_FLAG, at, NULL, "do not ask for confirmation", 0}
#define CF_ROW_TOKEN(at)                                                       \
    {"--token", 0, CF_OPT_STR, at, "TEXT",                                     \
     "what clients must send as their key or in X-Confab-Token; required "     \
     "beyond this machine (default: $CONFAB_TOKEN)", 0}
/* clang-format on */

#endif
