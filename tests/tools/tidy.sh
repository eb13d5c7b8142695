#!/bin/sh
# clang-tidy on one file, without its count of the warnings that it left out.
# usage: tidy.sh FILE FLAGS...
file=$1
shift
out=$(clang-tidy --quiet "$file" -- "$@" 2>&1)
status=$?
printf '%s\n' "$out" | grep -vE '^([0-9]+ warnings? generated\.)?$'
exit $status
