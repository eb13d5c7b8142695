#!/bin/sh
# Each header compiles alone under the project's warnings.
# usage: check_headers.sh CC FLAGS...
set -u
bad=0
for h in $(git ls-files 'core/*.h' 'templates/*.h' 'storage/*.h' 'tui/*.h'); do
    printf '#include "%s"\ntypedef int cf_not_empty;\n' "$h" |
        "$@" -Wno-unused-function -x c -fsyntax-only - || {
        echo "$h does not compile alone" >&2
        bad=1
    }
done
exit $bad
