#!/bin/sh
# Checks the headers of the tree.  Without arguments only their text:
#
#   - a public header (core/base, core/json, core/api, core/net, core/wire but for its
#     *_impl.h, storage/*.h, templates/*.h) answers
#     five questions in its first comment, in this order: what it is, its place
#     in the flow, what it knows and does not know, threads, memory;
#   - every header's first comment begins with its own name.
#
# With a compiler and flags also that each header compiles alone:
#   check_headers.sh CC FLAGS...
set -u
bad=0

# Prints the faults of the first comment of the header $1 with the name $2.
head_faults() {
    awk -v path="$1" -v name="$2" -v is_public="$3" '
    BEGIN {
        n = split("Place in the flow:|Knows:|Does not know:|Threads:|Memory:",
                  word, "|")
        at = 1
    }
    # A sentence may be wrapped between its words.
    { text = text " " $0; sub(/ \* ?/, " ", text) }
    /\*\// { exit }
    END {
        gsub(/[ \t]+/, " ", text)
        if (index(text, "/* " name " - ") == 0 &&
            index(text, "/* " name " -- ") == 0)
            print path ": the first comment does not begin with \"" name " - \""
        if (!is_public)
            exit
        for (i = 1; i <= n; i++) {
            found = index(substr(text, at), word[i])
            if (found == 0)
                print path ": the first comment lacks \"" word[i] \
                      "\", or has it out of order"
            else
                at += found
        }
    }' "$1"
}

headers=$(find core templates storage tui -name '*.h' | sort)
for h in $headers; do
    is_public=0
    case $h in
    */*/*/*) ;;
    */*_impl.h) ;;
    core/base/*.h | core/json/*.h | core/api/*.h | core/net/*.h | core/wire/*.h) is_public=1 ;;
    storage/*/*.h | templates/*/*.h) ;;
    storage/*.h | templates/*.h) is_public=1 ;;
    esac
    faults=$(head_faults "$h" "${h##*/}" "$is_public")
    if [ -n "$faults" ]; then
        printf '%s\n' "$faults" >&2
        bad=1
    fi
done

if [ $# -gt 0 ]; then
    machine=$("$1" -dumpmachine)
    for h in $headers; do
        case $h:$machine in
        */simd_neon.h:aarch64* | */simd_neon.h:arm*) ;;
        */simd_neon.h:*) continue ;; # of the other processor family
        */simd_avx*.h:x86_64* | */simd_avx*.h:i?86*) ;;
        */simd_avx*.h:*) continue ;;
        esac
        printf '#include "%s"\ntypedef int cf_not_empty;\n' "$h" |
            "$@" -Wno-unused-function -x c -fsyntax-only - || {
            echo "$h does not compile alone" >&2
            bad=1
        }
    done
fi
exit $bad
