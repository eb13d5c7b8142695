#!/bin/sh
# Prints the line coverage of the tests that were run in BUILD, by room, and
# the files of ROOM when one is named.
#   tests/tools/coverage.sh BUILD [ROOM]
#   tests/tools/coverage.sh --have      fails where gcovr is missing
set -eu
if ! command -v gcovr >/dev/null 2>&1; then
    echo "coverage: gcovr is not installed (Debian and Ubuntu: apt install gcovr)" >&2
    exit 1
fi
[ "$1" != --have ] || exit 0
build=$1
room=${2:-}
csv=$build/coverage.csv
# Threads count without atomics, so that a count may be off, even below zero,
# which gcovr would refuse; whether a line ran is still right.
gcovr --gcov-ignore-parse-errors --root . --object-directory "$build" --csv --output "$csv" \
    --filter 'core/' --filter 'templates/' --filter 'storage/' --filter 'tui/' \
    --exclude-directories "$build/tests" "$build"
awk -F, -v only="$room" '
    NR == 1 { next }
    {
        split($1, part, "/")
        room = part[1]
        lines[room] += $2
        covered[room] += $3
        all_lines += $2
        all_covered += $3
        if (room == only)
            printf "%6.1f %%  %6d lines not run  %s\n", 100 * $3 / ($2 + 0.001), $2 - $3, $1
    }
    END {
        if (all_lines == 0) {
            print "coverage: no data; were any tests run?" > "/dev/stderr"
            exit 1
        }
        n = split("core templates storage tui", rooms, " ")
        for (i = 1; i <= n; i++)
            if (lines[rooms[i]] > 0)
                printf "%-10s %5.1f %% of %6d lines\n", rooms[i],
                    100 * covered[rooms[i]] / lines[rooms[i]], lines[rooms[i]]
        printf "%-10s %5.1f %% of %6d lines\n", "all", 100 * all_covered / all_lines, all_lines
    }' "$csv"
