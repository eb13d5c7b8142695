#!/usr/bin/env python3
"""Writes the rows of templates/catalogue/catalogue.inc.

usage: template_catalogue.py CONFAB NAMES.json FOLDER@REPO=CLONE ... [CORPUS]

Each FOLDER of a git clone holds chat templates (.jinja, .jinja2); every
version that its history shows becomes a row, the oldest source of equal texts
first.  CORPUS is a folder of NAME/template.jinja with NAME/source.txt.  Files
whose histories share a text are one line of versions.  What an old version
does wrong and the newest of its line does right is what `confab lint` says of
the two.  NAMES.json maps a file's name to a line's name, "hashes" in it a
hash to a fault that lint does not see.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

VERB = {"no": "refuses", "dropped": "drops", "garbled": "garbles"}
ORDER = ["no", "dropped", "garbled", "merged", "yes"]
WHAT = {
    "system": "system messages", "late_system": "a later system message",
    "developer": "developer messages", "reply": "replies",
    "tool_role": "tool results", "text_content": "text",
    "typed_content": "content in parts",
    "typed_system": "system messages in parts",
    "typed_results": "results in parts", "object_results": "object results",
    "null_content": "null content", "call_text": "text beside a call",
    "image_parts": "images", "tools": "tool declarations",
    "tool_calls": "tool calls", "string_args": "arguments that are a string",
    "several_calls": "a second call", "reasoning": "reasoning",
    "reasoning_calls": "reasoning before a call",
    "reasoning_history": "earlier reasoning"}


def normalise(data):
    """As cf_template_known() does: line ends, blanks before them, and empty
    lines at both ends do not count."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return "\n".join(l.rstrip(" \t") for l in text.split("\n")).strip("\n")


def git(clone, *args):
    return subprocess.run(["git", "-C", clone, *args], capture_output=True,
                          check=False).stdout


class Catalogue:
    def __init__(self, names):
        self.names, self.text, self.first, self.group = names, {}, {}, {}

    def add(self, data, key, date, source, rank):
        text = normalise(data)
        h = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.text[h] = text
        row = (date or "9999", rank, date, source, key)
        self.first[h] = min(self.first.get(h, row), row)
        self.join(h, key)

    def join(self, h, key):
        """h and key are of one line."""
        a, b = self.root(h), self.root(("key", key))
        self.group[a] = b

    def root(self, x):
        while self.group.setdefault(x, x) != x:
            x = self.group[x]
        return x

    def history(self, folder, repo, clone, rank):
        log = git(clone, "log", "--format=@%H %as", "--name-status",
                  "--no-renames", "--", folder).decode("utf8", "replace")
        for line in log.split("\n"):
            if line.startswith("@"):
                commit, date = line[1:].split(" ")
            elif line[:1] in ("A", "M") and re.search(r"\.jinja2?$", line):
                path = line.split("\t")[-1]
                data = git(clone, "show", "%s:%s" % (commit, path))
                if data:
                    key = re.sub(r"\.jinja2?$", "", os.path.basename(path))
                    self.add(data, self.names.get(key, key), date,
                             "%s %s" % (repo, commit[:9]), rank)

    def corpus(self, folder):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name, "template.jinja")
            if os.path.exists(path):
                with open(os.path.join(folder, name, "source.txt"),
                          encoding="utf-8") as f:
                    source = f.readline().split(" ")
                with open(path, "rb") as f:
                    self.add(f.read(), self.names.get(name, name), "",
                             "%s %s" % (source[1], source[-1].strip()[:9]), 9)


def capabilities(confab, text):
    with tempfile.NamedTemporaryFile(suffix=".jinja") as f:
        f.write(text.encode())
        f.flush()
        out = subprocess.run([confab, "lint", "--capabilities", "--json",
                              f.name], capture_output=True, text=True,
                             check=False).stdout
    try:
        found = json.loads(out)
    except ValueError:
        return {}, set()
    return found["capabilities"], {
        x["rule"] for x in found["findings"]
        if x["rule"] == "E012" or "does not compile" in x["message"]}


def faults(old, new):
    """What the newest version does better, at most four of them."""
    (a, rules), (b, new_rules) = old, new
    out = []
    if "E005" in rules - new_rules:
        return "does not compile"
    for key, what in WHAT.items():
        x, y = a.get(key), b.get(key)
        if x in VERB and y in ORDER and ORDER.index(y) > ORDER.index(x) and \
                y in ("merged", "yes"):
            out.append("%s %s" % (VERB[x], what))
    if a.get("thinking_switch") is False and b.get("thinking_switch"):
        out.append("has no thinking switch")
    if "E012" in rules - new_rules:
        out.append("loses the cache between turns")
    return ", ".join(out[:4])


def main():
    confab, names = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
    c = Catalogue(names)
    for rank, arg in enumerate(sys.argv[3:]):
        m = re.fullmatch(r"(.+)@(.+)=(.+)", arg)
        if m:
            c.history(m[1], m[2], m[3], rank)
        else:
            c.corpus(arg)
    lines = {}
    for h, row in c.first.items():
        lines.setdefault(c.root(h), []).append((row, h))
    out = []
    for rows in lines.values():
        rows.sort()
        dated = [r for r in rows if r[0][2]]
        name = min(((r[0][1], r[0][0]), r[0][4]) for r in rows)[1]
        newest = dated[-1] if dated else None
        new = capabilities(confab, c.text[newest[1]]) if len(dated) > 1 else None
        for row, h in rows:
            fault = names["hashes"].get(h, "")
            if new is not None and row[2] and row[2] < newest[0][2]:
                fault = fault or faults(capabilities(confab, c.text[h]), new)
            out.append((name.lower(), row[0], '    {"%s", "%s", "%s", "%s", "%s"},' % (
                h, name, row[2], row[3], fault)))
    for _, _, line in sorted(out):
        print(line)


main()
