#!/bin/sh
# No external symbol of the program is defined twice: of two objects in archives
# the linker takes the first without a word, and the other one's is lost.
#
# usage: check_symbols.sh ARCHIVE...
set -u
twice=$(nm -A -g --defined-only "$@" 2>/dev/null |
    sed -n 's/^\(.*\):[0-9a-f]* [TDBRSGC] \(.*\)$/\2 \1/p' | LC_ALL=C sort |
    awk '$1 == name { print $1 ": " where " and " $2 } { name = $1; where = $2 }')
[ -z "$twice" ] || {
    printf 'defined twice:\n%s\n' "$twice" >&2
    exit 1
}
