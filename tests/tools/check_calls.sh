#!/bin/sh
# Some calls have one home (docs/style.md); this names the strays.
set -u
bad=0
# usage: only PATTERN ALLOWED_FILES_REGEX WHERE...
only() {
    pattern=$1 allowed=$2
    shift 2
    # core/bundled/step is the training script's and core/helper another program:
    # no parts of this one.
    found=$(grep -rnE --include='*.c' --exclude-dir=step --exclude-dir=helper "(^|[^a-zA-Z_>.])($pattern)[[:space:]]*\(" "$@" |
        grep -vE "^($allowed):" | grep -vE '^[^:]*:[0-9]*:[[:space:]]*(/?\*)')
    if [ -n "$found" ]; then
        printf 'belongs in %s:\n%s\n' "$allowed" "$found" >&2
        bad=1
    fi
}
rooms="core templates storage tui"
# The room names are split into words on purpose.
# shellcheck disable=SC2086
{
    only 'malloc|calloc|realloc|strdup|strndup' 'core/base/alloc.c' $rooms
    only 'free' 'core/base/alloc.c' $rooms
    only 'mmap|munmap|getentropy' 'core/base/os.c' $rooms
    only 'json_copy|json_deep_copy' 'core/json/json.c' $rooms
    only 'sqlite3_[a-z0-9_]+' 'storage/.*' $rooms
    only 'exit|_exit|abort' 'tui/main.c|tui/sys/leave.c|core/base/status.c|core/base/process.c|tui/term/[a-z_]*.c|core/base/worker.c' $rooms
    only 'getenv|secure_getenv' 'tui/.*|templates/open/.*' $rooms
}

# Every source that opens a connection or hands an address on, so that a new one
# is seen: where do its addresses come from, and does the key go with them?
# docs/security.md, "Addresses and keys".
# usage: exactly WHAT PATTERN FILES
exactly() {
    found=$(grep -rlE --include='*.c' "(^|[^a-zA-Z_>.])($2)[[:space:]]*\(" core templates storage tui |
        LC_ALL=C sort)
    want=$(printf '%s\n' $3)
    if [ "$found" != "$want" ]; then
        printf '%s: the list in check_calls.sh has\n%s\nand the sources have\n%s\n' "$1" "$want" \
            "$found" >&2
        bad=1
    fi
}
exactly 'sources that open a connection' \
    'getaddrinfo|socket|curl_easy_init|MHD_start_daemon' '
    core/net/http_client.c
    core/net/http_server.c
    core/net/upstream.c
    tui/lab/tools/sign_in.c
'
# Of these, addresses come from files in cmd_test (prompt_test_run), sweep_* and
# mcp_open, tool_servers; tui/sys/trust.h decides about them.
exactly 'sources that hand an address to a client' \
    'cf_backend_remote_new|cf_open_backend|cf_upstream_open|cf_mcp_add' '
    core/backend/backend_remote.c
    core/mcp/mcp.c
    core/net/upstream.c
    templates/easy/easy.c
    templates/open/open_backend.c
    tui/cli/inspect/cmd_score.c
    tui/cli/inspect/render_server.c
    tui/cli/saved/history_truncate.c
    tui/cli/serve/cmd_serve.c
    tui/cli/shell/cli_recorded.c
    tui/cli/study/cmd_bisect.c
    tui/cli/study/cmd_compare.c
    tui/cli/talk/cmd_chat.c
    tui/cli/talk/cmd_mcp.c
    tui/cli/talk/cmd_run.c
    tui/cli/talk/mcp_open.c
    tui/lab/compare/diff_queue.c
    tui/lab/prompt/diff_pair.c
    tui/lab/tools/tool_servers.c
    tui/serve/proxy/proxy.c
    tui/study/ask/prompt_test_run.c
    tui/study/sweep/sweep_judge.c
    tui/study/sweep/sweep_local.c
    tui/study/sweep/sweep_servers.c
'

# Text for standard output and standard error goes through tui/sys/out.c, which
# keeps escape sequences from a terminal.  The files left out write constant
# text, or data to files that the user named.
written='(^|[^a-zA-Z_>.])(printf|vprintf|puts|putchar|perror)[[:space:]]*\(|(fprintf|vfprintf|fputs|fputc|putc|fwrite)[[:space:]]*\((.*[ (,])?(stdout|stderr)\>'
found=$(grep -rnE --include='*.c' "$written" tui |
    grep -vE '^tui/(sys/out|cli/shell/(man|completion_text|progress)|cli/about/cmd_help)\.c:')
if [ -n "$found" ]; then
    printf 'write with cf_out(), cf_note() or cf_cli_print():\n%s\n' "$found" >&2
    bad=1
fi
exit $bad
