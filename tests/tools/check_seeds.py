#!/usr/bin/env python3
"""Checks docs/notes/seeds.md: the counts of its head, and that every feature that is
here has a test, and every file, function and test it names exists."""
import glob
import os
import re
import sys

PAGE = "docs/notes/seeds.md"


def read(paths):
    out = {}
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as f:
            name = os.path.splitext(os.path.basename(path))[0]
            out[name] = out.get(name, "") + f.read()
    return out


def rows(text):
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0].isdigit():
            yield cells


def test_faults(cell, programs):
    """The faults of "test_a: x, y; test_b": tests test_x and test_y of the
    program test_a, and a whole program."""
    for entry in filter(None, (e.strip() for e in cell.split(";"))):
        program, _, names = entry.partition(":")
        for p in (p.strip() for p in program.split(",")):
            if p.startswith("test_") and p not in programs:
                yield "no program " + p
        for name in filter(None, (n.strip() for n in names.split(","))):
            source = programs.get(program.strip(), "")
            if not re.search(r"\btest_%s\b" % re.escape(name), source):
                yield "%s has no test %s" % (program, name)


def where_faults(cell, headers):
    for name in re.findall(r"`([a-z_]+/[a-z_/.]+)`", cell):
        if not os.path.exists(name):
            yield "no file " + name
    for name in re.findall(r"`(cf_[a-z_]+)\(", cell):
        if not re.search(r"\b%s\(" % name, headers):
            yield "no function " + name


def faults(text):
    programs = read(glob.glob("tests/**/*.c", recursive=True))
    headers = "".join(read(
        p for room in ("core", "templates", "storage", "tui")
        for p in glob.glob(room + "/**/*.h", recursive=True)).values())
    count = {"yes": 0, "part": 0, "no": 0}
    for number, _, here, where, test, left in rows(text):
        count[here] += 1
        if here != "no" and not test:
            yield number + ": no test"
        if here != "yes" and not left:
            yield number + ": no reason"
        for fault in [*test_faults(test, programs), *where_faults(where, headers)]:
            yield "%s: %s" % (number, fault)
    head = "%d rows: %d yes, %d part, %d no." % (
        sum(count.values()), count["yes"], count["part"], count["no"])
    if head not in text:
        yield "the head must say: " + head


def main():
    with open(PAGE, encoding="utf-8") as f:
        found = list(faults(f.read()))
    for fault in found:
        print("%s: row %s" % (PAGE, fault), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
