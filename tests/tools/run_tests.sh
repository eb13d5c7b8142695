#!/bin/sh
# Runs the test programs of one variant, one per processor at a time, prints what failed and
# what was skipped with its reason, and closes with one line of counts.
#
# usage: run_tests.sh BUILD_FOLDER [PATTERN]     PATTERN limits by path
# TEST_SECONDS is the time a program may take, 120 when it is not set, and
# TEST_CPU its processor time, 240 seconds; twice that with sanitizers.  No test
# may use more than TEST_KIB of memory, 8 GiB: of address space, or with
# sanitizers, which reserve that, of resident memory.
set -u
folder=$1
pattern=${2:-.}
logs=$folder/test-logs
rm -rf "$logs" && mkdir -p "$logs" || exit 1
started=$(date +%s)

# Tests start python3 some hundred times, and the scripts that stand for it where
# several versions are installed take half a second each.
python=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))' 2>/dev/null) &&
    PATH=$python:$PATH && export PATH

# Syncing databases to a disk takes half of the time of some tests.  So their files
# lie in memory, where enough of that is free and programs can be started there.
# What a run leaves that was killed is removed by the next one.
available() { # KiB, by each bound that the system tells
    awk '/^MemAvailable:/ {print $2}' /proc/meminfo
    df -Pk "$1" | awk 'END {print $4}'
    for bound in memory.max memory/memory.limit_in_bytes; do
        awk '$1 != "max" {printf "%.0f\n", $1 / 1024}' "/sys/fs/cgroup/$bound" 2>/dev/null
    done
}
[ -n "${TMPDIR:-}" ] || unset TMPDIR
for old in /dev/shm/confab-tests.*; do
    owner=${old#*.}
    [ ! -d "$old" ] || [ -d "/proc/${owner%.*}" ] || rm -rf "$old"
done
if [ -z "${TMPDIR:-}" ] && memory=$(mktemp -d "/dev/shm/confab-tests.$$.XXXXXX" 2>/dev/null); then
    trap 'rm -rf "$memory"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    chmod 711 "$memory" # some tests run a program as another user
    printf '#!/bin/sh\n' >"$memory/program" && chmod 700 "$memory/program"
    least=$(available "$memory" | sort -n | head -n 1)
    if "$memory/program" 2>/dev/null && [ "$least" -ge 4000000 ]; then
        TMPDIR=$memory && export TMPDIR
    fi
fi

run_one='
    program=$1 logs=$2
    name=$(echo "$program" | tr / _)
    kib=${TEST_KIB:-8388608}
    case $program in
    */release/* | */debug/* | */cov/*) twice=1 ;;
    *)  twice=2 ;;
    esac
    seconds=${TEST_SECONDS:-$((120 * twice))}
    ulimit -t "${TEST_CPU:-$((240 * twice))}"
    began=$(date +%s)
    case $program in
    */release/* | */debug/* | */cov/*) ulimit -v "$kib" ;;
    *)  limit=hard_rss_limit_mb=$((kib / 1024))
        ASAN_OPTIONS=$limit:${ASAN_OPTIONS:-} TSAN_OPTIONS=$limit:die_after_fork=0:suppressions=$PWD/tests/tools/tsan.supp:${TSAN_OPTIONS:-}
        export ASAN_OPTIONS TSAN_OPTIONS ;;
    esac
    case $program in
    */fuzz_*) corpus=tests/fuzz/corpus/$(basename "$program" | sed s/^fuzz_//)
        timeout "$seconds" "$program" "$corpus" >"$logs/$name.log" 2>&1 ;;
    *)  timeout "$seconds" "$program" >"$logs/$name.log" 2>&1 ;;
    esac
    echo "$? $program" >"$logs/$name.rc"
    echo "$(($(date +%s) - began)) $program" >>"$logs/seconds"
    n=$(wc -l <"$logs/seconds")
    if [ -t 1 ]; then
        printf "\r\033[K[%s/%s] %s" "$n" "$total" "${program##*/}"
    elif [ $((n % 50)) -eq 0 ]; then
        echo "[$n/$total] test programs"
    fi
'
jobs=$(nproc 2>/dev/null || echo 2)
# Only programs whose source still exists.
list=$logs/list
find "$folder/tests" -type f \( -name 'test_*' -o -name 'fuzz_*' \) \
    ! -name '*.*' | grep -E -- "$pattern" | sort | while read -r program; do
    [ -f "${program#"$folder"/}.c" ] && echo "$program"
done >"$list"
total=$(wc -l <"$list")
export total
# Not in the background, where a shell has SIGINT ignored.
xargs -P "$jobs" -I{} sh -c "$run_one" sh {} "$logs" <"$list"
[ ! -t 1 ] || printf "\r\033[K"

passed=0 failed=0 skipped=0
for rc_file in "$logs"/*.rc; do
    [ -e "$rc_file" ] || continue
    read -r rc program <"$rc_file"
    log=${rc_file%.rc}.log
    p=$(sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | awk '{n+=$1} END {print n+0}')
    f=$(sed -n 's/.*\[  FAILED  \] tests*: \([0-9]*\) test.*/\1/p;s/.*\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$log" | awk '{n+=$1} END {print n+0}')
    s=$(sed -n 's/.*\[  SKIPPED \] [^:]*: \([0-9]*\) test.*/\1/p;s/.*\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "$log" | awk '{n+=$1} END {print n+0}')
    if [ "$rc" -ne 0 ]; then
        [ "$f" -gt 0 ] || f=1
        echo "FAILED $program (exit $rc)"
        grep -vE '^\[ +(RUN|OK) ' "$log" | tail -n 40 | sed 's/^/    /'
    fi
    [ "$s" -eq 0 ] || grep -aE '^SKIP ' "$log" | sed "s|^|$program: |"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
# Where the time went.
echo "slowest programs:"
sort -rn "$logs/seconds" 2>/dev/null | head -n 5 |
    awk '{sub(".*/", "", $2); printf "%5d s  %s\n", $1, $2}'
echo "$(($(date +%s) - started)) s"
if [ $((passed + failed)) -eq 0 ]; then
    echo "no test ran"
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
