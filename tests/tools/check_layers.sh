#!/bin/sh
# Fails when a source file includes a header that it may not know, when the
# folders of a room form a circle, when two files have the same name, or when a
# folder of tests/unit is none of the sources.
# Runs from the root of any checkout.  The rules are the four tables below;
# docs/architecture.md draws them.  Project includes are written from the
# root, so the first components of a path name the room and the folder.
set -u

# Rooms: what a room may include of another one.  Only the public headers of
# a room (core/base, core/json, core/api, those at the top of storage and templates) are
# seen from outside it; tui also sees core/net and core/wire.
rooms='
core       -
templates  core
storage    core
tui        core storage templates
'

# Folders of core, in order: each includes only those before it.
core_order='
base json api helper kernel token model hub infer inside media sample
grammar regex schema constrain tools net wire backend mcp chat bundled
'
# Folders that know less than their place in the order allows.
core_less='
base      -
json      base
helper    base api
api       base json
kernel    base
token     base api
model     base api kernel
hub       base json api kernel token model
media     base api kernel model
sample    base api
grammar   base api
net       base json api
wire      base json api net
bundled   base api
'

# Folders of tui: what each may include of the others.
tui_folders='
sys     -
grid    -
image   grid sys
term    grid image sys
widget  grid term
lab     sys
demo    lab sys
serve   lab sys
page    grid sys
study   lab sys page
app     lab sys grid image widget term demo study
view    lab sys grid image widget app study
cli     lab sys grid image demo serve study page
'

# Folders inside the folders of tui: what each may include of its neighbours.
# A row with one name is for the files at the top of that folder, and its name
# in another row means those files.  A folder without a row is an error.
inner_folders='
lab          state watch reply talk prompt compare tokens tools
lab/state    -
lab/watch    -
lab/reply    state
lab/talk     state reply
lab/prompt   state reply talk
lab/compare  state reply talk prompt
lab/tokens   state reply talk prompt
lab/tools    state reply talk prompt
cli/answers -
cli/shell   answers
cli/about   shell answers
cli/talk    shell answers
cli/inspect shell answers
cli/saved   shell answers
cli/study   shell answers
cli/inside  shell answers
cli/serve   shell answers
serve/record -
serve/proxy  record
serve/server record
app          config
app/config   -
view            -
view/kit        -
view/help       kit
view/log        kit
view/output     kit
view/chat       kit
view/prompt     kit
view/tokens     kit
view/tools      kit
view/diff       kit
view/library    kit
view/templates  kit
view/replies    kit
view/servers    kit
view/traffic    kit
view/influence  kit
view/steps      kit
view/inside     kit
view/sweep      kit
view/systems    kit
view/media      kit
study/ask        -
study/plan       ask
study/import     plan
study/sweep      ask plan import
study/influence  ask
study/inside     ask influence
study/shrink     ask
study/report     ask influence inside
'

# Includes that break these rules and are being removed: FROM TO, folders.
# A row that no file needs any more is to be deleted.
open_cases='
'

list=$(find core storage templates tui -name '*.[ch]' 2>/dev/null | sort)
[ -n "$list" ] || { echo "no sources: run at the root of a checkout" >&2; exit 1; }

bad=$(printf '%s\n' "$list" | tr '\n' '\0' |
    xargs -0 grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' /dev/null |
    awk -F: -v rooms="$rooms" -v core_order="$core_order" \
        -v core_less="$core_less" -v tui_folders="$tui_folders" \
        -v inner_folders="$inner_folders" -v open_cases="$open_cases" '
    function read_table(text, table,    lines, n, i, k, words, m) {
        n = split(text, lines, "\n")
        for (i = 1; i <= n; i++) {
            m = split(lines[i], words, " ")
            if (m > 0) {
                table[words[1]] = " "
            }
            for (k = 2; k <= m; k++) {
                table[words[1]] = table[words[1]] words[k] " "
            }
        }
    }
    function holds(row, word) {
        return index(row, " " word " ") > 0
    }
    function folder_of(path, parts,    n) {
        n = split(path, parts, "/")
        return n > 2 ? parts[1] "/" parts[2] : parts[1]
    }
    # The row of a path, split into `parts`, in the table of inner folders.
    function row_of(path, parts,    n) {
        n = split(path, parts, "/")
        return n > 3 ? parts[2] "/" parts[3] : parts[2]
    }
    function inner_may(from, to, parts) {
        if (from == to) {
            return !index(from, "/") || (from in inner)
        }
        return (from in inner) && (to in inner) &&
            holds(inner[from], index(to, "/") ? parts[3] : parts[2])
    }
    # Remembers, of every pair of folders, that one includes the other.
    function join(from, to) {
        if (from != to) {
            edge[from, to] = node[from] = node[to] = 1
        }
    }
    function core_may(from, to) {
        if (!(from in rank) || !(to in rank)) {
            return 0
        }
        if (from in less) {
            return holds(less[from], to)
        }
        return to == "base" || to == "json" || to == "api" || rank[to] < rank[from]
    }
    function may(from, to, target) {
        if (a[1] != b[1]) {
            if (target !~ /^core\/(api|base|json)\// &&
                !(a[1] == "tui" && target ~ /^core\/(net|wire)\//) &&
                target !~ /^(storage|templates)\/[a-z_0-9]+\.h$/) {
                return 0
            }
            return holds(room[a[1]], b[1])
        }
        if (from == to || from == a[1]) {
            return 1
        }
        if (a[1] == "core") {
            return core_may(a[2], b[2])
        }
        if (a[1] == "tui") {
            return to != b[1] && holds(tui[a[2]], b[2])
        }
        return 1
    }
    BEGIN {
        read_table(rooms, room)
        read_table(core_less, less)
        read_table(tui_folders, tui)
        read_table(inner_folders, inner)
        n = split(core_order, words, /[ \n]+/)
        for (i = 1; i <= n; i++) {
            rank[words[i]] = i
        }
        n = split(open_cases, lines, "\n")
        for (i = 1; i <= n; i++) {
            if (split(lines[i], words, " ") == 2) {
                is_open[words[1] " " words[2]] = 1
            }
        }
    }
    {
        target = $0
        sub(/^[^"]*"/, "", target)
        sub(/".*/, "", target)
        from = folder_of($1, a)
        to = folder_of(target, b)
        if ((from " " to) in is_open) {
            next
        }
        if (!may(from, to, target)) {
            print $1 ":" $2 ": " from " may not include " target
        }
        if (index(from, "/") && index(to, "/")) {
            join(from, to)
        }
        if (a[1] == "tui" && from == to) {
            from = row_of($1, a)
            to = row_of(target, b)
            if (!inner_may(from, to, b)) {
                print $1 ":" $2 ": tui/" from " may not include " target
            }
            join("inside tui/" from, "inside tui/" to)
        }
    }
    # Takes away, again and again, the folders that no other one includes and
    # those that include none: what is left lies on circles, or between two.
    END {
        for (again = 1; again;) {
            again = 0
            for (f in node) {
                n_in = n_out = 0
                for (e in edge) {
                    split(e, ends, SUBSEP)
                    n_in += ends[2] == f && ends[1] in node
                    n_out += ends[1] == f && ends[2] in node
                }
                if (n_in == 0 || n_out == 0) {
                    delete node[f]
                    again = 1
                }
            }
        }
        for (e in edge) {
            split(e, ends, SUBSEP)
            if (ends[1] in node && ends[2] in node) {
                print "folders in a circle: " ends[1] " includes " ends[2]
            }
        }
    }') || bad="check_layers: awk failed
$bad"

# The library is one archive of all rooms, which keeps one member of a name,
# and a reader of a backtrace or an include knows a file by its name alone.
twice=$(printf '%s\n' "$list" | sed 's|.*/||' | sort | uniq -d)

# Unit tests lie in the folder of what they test.
astray=$(find tests/unit -mindepth 1 -type d 2>/dev/null | sed 's|^tests/unit/||' |
    while read -r folder; do [ -d "$folder" ] || echo "tests/unit/$folder"; done)

[ -z "$bad" ] || printf '%s\n' "$bad" >&2
[ -z "$twice" ] || echo "file names used twice:" $twice >&2
[ -z "$astray" ] || echo "no such folder of sources:" $astray >&2
[ -z "$bad$twice$astray" ]
