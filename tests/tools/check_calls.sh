#!/bin/sh
# Some calls have one home (docs/style.md); this names the strays.
set -u
bad=0
# usage: only PATTERN ALLOWED_FILES_REGEX WHERE...
only() {
    pattern=$1 allowed=$2
    shift 2
    # core/bundled/step is the training script's, and no part of the program.
    found=$(grep -rnE --include='*.c' --exclude-dir=step "(^|[^a-zA-Z_>.])($pattern)[[:space:]]*\(" "$@" |
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
    only 'exit|_exit|abort' 'tui/main.c|core/base/status.c|core/base/process.c|tui/term/[a-z_]*.c|core/base/worker.c' $rooms
    only 'getenv|secure_getenv' 'tui/.*|templates/open/.*' $rooms
}

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
