#!/bin/sh
# Prints the C files and headers that differ from where this branch left
# BASE: committed since, changed, or new.
# usage: changed.sh [BASE]     default: origin/HEAD, else main
set -eu
base=${1:-}
if [ -z "$base" ]; then
    base=main
    git rev-parse -q --verify origin/HEAD >/dev/null && base=origin/HEAD
fi
start=$(git merge-base HEAD "$base" 2>/dev/null) || start=HEAD
{
    git diff --name-only --diff-filter=d "$start" -- '*.c' '*.h'
    git ls-files --others --exclude-standard -- '*.c' '*.h'
} | sort -u
