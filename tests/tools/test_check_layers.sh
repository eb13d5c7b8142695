#!/bin/sh
# Tests check_layers.sh: it accepts an include that follows the order and
# refuses one that does not, naming the file and the line.
set -u
check=$(cd "$(dirname "$0")" && pwd)/check_layers.sh
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
bad=0

# usage: try accepted|refused MESSAGE FILE HEADER [FILE HEADER...]
# Checks a tree in which each FILE includes its HEADER on line 2.
try() {
    expected=$1 message=$2 result=accepted
    shift 2
    rm -rf "$tree/core" "$tree/storage" "$tree/templates" "$tree/tui"
    while [ $# -gt 0 ]; do
        mkdir -p "$tree/$(dirname "$1")"
        printf '\n#include "%s"\n' "$2" >"$tree/$1"
        shift 2
    done
    said=$(cd "$tree" && "$check" 2>&1) || result=refused
    case $result,$said in
    "$expected",*"$message"*) ;;
    *)
        printf 'expected "%s: %s", got "%s: %s"\n' "$expected" "$message" "$result" "$said" >&2
        bad=1
        ;;
    esac
}

try accepted '' core/infer/a.c core/model/b.h
try refused 'core/model/a.c:2: ' core/model/a.c core/infer/b.h
try accepted '' tui/lab/a.c core/api/b.h
try refused 'tui/lab/a.c:2: ' tui/lab/a.c core/infer/b.h
try refused 'storage/a.c:2: ' storage/a.c templates/b.h
try refused 'tui/lab/a.c:2: ' tui/lab/a.c tui/view/b.h
try refused 'tui/lab/nowhere/a.c:2: ' tui/lab/nowhere/a.c tui/lab/nowhere/a.h
try refused 'tui/lab/a.c:2: ' tui/lab/a.c tui/lab/nowhere/a.h
try refused 'folders in a circle' core/tools/a.c core/api/b.h core/api/b.h core/tools/c.h
try refused 'used twice: a.c' core/base/a.c core/base/b.h core/api/a.c core/base/b.h
exit $bad
