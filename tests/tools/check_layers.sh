#!/bin/sh
# Fails when a source file includes a header its room may not know.
# Rooms and arrows: docs/architecture.md.  Project includes are written from
# the repository root, so the first path component names the room.
# Fails too when two source files have the same name.
set -eu
bad=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' \
    --include='*.[ch]' core storage templates tui |
    awk -F: '
    {
        split($1, from_path, "/")
        from = from_path[1]
        target = $0
        sub(/^[^"]*"/, "", target)
        sub(/".*/, "", target)
        split(target, to_path, "/")
        to = to_path[1]
        is_public = target ~ /^core\/(api|base)\// ||
                    target ~ /^(storage|templates)\/[a-z_]+\.h$/
        allowed = from == to ||
                  (is_public && to == "core") ||
                  (is_public && from == "tui" &&
                   (to == "storage" || to == "templates"))
        if (!allowed)
            print $1 ":" $2 ": " from " may not include " target
    }')
if [ -n "$bad" ]; then
    printf '%s\n' "$bad" >&2
    exit 1
fi

# The library is one archive of all rooms, and an archive keeps one member of
# a name: file names are unique in the whole tree.
twice=$(find core storage templates tui -name '*.c' 2>/dev/null |
    sed 's|.*/||' | sort | uniq -d)
if [ -n "$twice" ]; then
    echo "file names used twice: $twice" >&2
    exit 1
fi
