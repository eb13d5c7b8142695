#!/usr/bin/env python3
"""Checks the origins that confab gives, over a folder of templates and cases.

  check_spans.py CONFAB FOLDER

FOLDER holds NAME/template.jinja and NAME/cases.jsonl, whose lines have "name"
and "context".  For every case that renders: the spans cover the output without
gap or overlap, and a span that is called a copy has the bytes of its source at
the place given.  Prints the counts; ends with 1 after a fault.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys


def strings_at(value, path):
    """All strings that `path` may name: a key may hold dots and brackets."""
    if path == "":
        return [value] if isinstance(value, str) else []
    found = []
    if isinstance(value, dict):
        rest = path[1:] if path.startswith(".") else path
        for key, member in value.items():
            if rest.startswith(key):
                found += strings_at(member, rest[len(key):])
    index = re.match(r"\[(\d+)\]", path)
    if isinstance(value, list) and index and int(index[1]) < len(value):
        found += strings_at(value[int(index[1])], path[index.end():])
    return found


def sources_of(span, template, context):
    path = span.get("path", "")
    if span["source"] == "template":
        return [template]
    if span["source"] == "variable":
        return strings_at(context, path)
    items = context["messages" if span["source"] == "message" else "tools"]
    return strings_at(items[span["index"]], path)


def check(answer, template, context, count):
    text = answer["output"].encode()
    at = 0
    for span in answer["spans"]:
        off, size = span["off"], span["len"]
        if off != at or size <= 0:
            return f"span at {off}, expected at {at}"
        if span["line"] < 1 or span["column"] < 1:
            return f"span at {off} has no place in the template"
        at += size
        count[span["source"], "src_off" in span] += 1
        if "src_off" not in span:
            continue
        piece, start = text[off:at], span["src_off"]
        sources = sources_of(span, template, context)
        if not any(s.encode()[start:start + size] == piece
                   if isinstance(s, str) else s[start:start + size] == piece
                   for s in sources):
            return f"{piece!r} at {off} is not a copy of {span}"
    return None if at == len(text) else f"spans end at {at} of {len(text)}"


def main():
    confab, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    n = collections.Counter()
    spans = collections.Counter()
    for source in sorted(folder.glob("*/template.jinja")):
        cases = source.with_name("cases.jsonl")
        lines = [x for x in cases.read_bytes().split(b"\n") if x]
        done = subprocess.run([confab, "render", "--spans", "-t", source,
                               "--batch", cases], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=True)
        answers = [x for x in done.stdout.split(b"\n") if x]
        if len(answers) != len(lines):
            print(f"{source}: {len(answers)} answers to {len(lines)} cases")
            n["faults"] += 1
        template = source.read_bytes()
        for line, answer in zip(map(json.loads, lines),
                                map(json.loads, answers)):
            n["cases"] += 1
            if "error" in answer:
                n["refused"] += 1
                continue
            n["rendered"] += 1
            n["bytes"] += len(answer["output"].encode())
            fault = check(answer, template, line["context"], spans)
            if fault:
                n["faults"] += 1
                print(f"{source.parent.name} {line.get('name')}: {fault}")
    print(f"{n['cases']} cases: {n['rendered']} rendered, {n['refused']} "
          f"refused, {n['bytes']} bytes, {sum(spans.values())} spans, "
          f"{n['faults']} faults")
    for (source, is_copy), k in sorted(spans.items()):
        print(f"  {source:9} {'copied' if is_copy else 'made':6} {k}")
    return 1 if n["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
