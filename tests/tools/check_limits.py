#!/usr/bin/env python3
"""Compares docs/limits.md with the code: every number with its constant, and
every message with a text of its folder."""
import os
import re
import sys

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def number(text):
    words = text.replace(",", "").split()
    return int(words[0]) * (UNITS[words[1]] if len(words) > 1 else 1)


def constant(source, name):
    """The value of NAME = EXPRESSION or #define NAME (EXPRESSION)."""
    pattern = r"(?:#define\s+%s\s+|(?<!\w)%s\s*=\s*)([^,;}\n]+)" % (
        re.escape(name), re.escape(name))
    found = re.search(pattern, source)
    if found is None:
        return None
    text = re.sub(r"/\*.*", "", found.group(1))
    text = re.sub(r"\(size_t\)|UINT64_C|\(uint64_t\)", "", text)
    if not re.fullmatch(r"[\d\s()<*+-]+", text):
        return None
    return eval(text)  # digits and operators only


def literals(folder):
    """All string literals below a folder, those side by side joined."""
    text = ""
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                with open(os.path.join(place, name), encoding="utf-8") as f:
                    text += f.read()
    return re.sub(r'"\s*"', "", text)


def check_row(cells):
    bound, value, message, where = cells
    path, name = re.findall(r"`([^`]+)`", where)
    if not os.path.exists(path):
        return "%s: no such file" % path
    with open(path, encoding="utf-8") as f:
        have = constant(f.read(), name)
    if have is None:
        return "%s: no %s in %s" % (bound, name, path)
    if have != number(value):
        return "%s: %s says %d" % (bound, name, have)
    # A message may be in another folder of the same drawer.
    source = literals("/".join(os.path.dirname(path).split("/")[:2]))
    # The messages of a header's bounds are in the files of its room's folder
    # or of the folders that use it.
    if path.startswith("core/"):
        source += literals("core/chat") + literals("core/backend")
        source += literals("core/base")
    for piece in message.split("..."):
        if piece.strip() and piece.strip() not in source:
            return "%s: '%s' is in no message" % (bound, piece.strip())
    return None


def main():
    wrong, rows = [], 0
    with open("docs/limits.md", encoding="utf-8") as f:
        for line in f:
            cells = [c.strip() for c in line.strip().strip("|").split("|")]
            if len(cells) == 4 and "`" in cells[3]:
                rows += 1
                problem = check_row(cells)
                if problem:
                    wrong.append(problem)
    for problem in wrong:
        print("docs/limits.md: " + problem, file=sys.stderr)
    if rows < 40:
        print("docs/limits.md: only %d rows were read" % rows, file=sys.stderr)
    return 1 if wrong or rows < 40 else 0


sys.exit(main())
