#!/usr/bin/env python3
"""Writes docs/templates-survey.md from published templates.

    tests/tools/templates_survey.py FOLDER > docs/templates-survey.md

FOLDER has one folder a template, each with a template.jinja.  All figures are
those of build/confab lint; run lint_truth.py on the folder first, which ends
with 1 when a finding does not hold.
"""
import json
import os
import re
import subprocess
import sys

HEAD = """# A survey of published chat templates

The tables were made with `confab lint --client all` over {n} published chat templates, named by their model (`tests/tools/templates_survey.py`).
`confab lint --rules` explains the rules.
Every finding was checked against Python's jinja2, set up as in Hugging Face transformers: jinja2 renders the finding's context, and the finding must hold of the resulting text or failure (`tests/tools/lint_truth.py`).
Of {total} findings {true} hold and none is false. The other {other} are about what no render can show: that a later version of the template exists (I009), or that confab does not implement a construct on purpose (W009).

- *Prefix-stable*: of the conversations of {{thinking on, off}} x {{plain, tool call, tool result, two rounds}} x {{with, without system}} that the template renders, how many begin with the prompt of the shorter conversation, so that the cache can be kept.
- *yes*: shown; *merged*: shown inside another message's turn; *garbled*: shown as the source text of a value; *dropped*: accepted and silently left out; *no*: refused, or the template fails.
- *Late system*: a system message after the first reply.
- *Reasoning kept*: whether the reasoning of an earlier reply is still shown after the next question.
- E006 of functiongemma-litert, functiongemma-mobile-actions and the two gemma-3n-tools does not mean that confab cannot parse their calls: both families are read (`functiongemma`, `gemma3`). These templates write arguments without quotes, `city:Oslo` and `city=Oslo`, because their runtime passes them already quoted; given a plain message, the call that they write is not valid for their own models either. functiongemma-hf quotes arguments itself.

| template | prefix-stable | system | late system | tools | tool calls | tool role | reasoning kept | findings |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

TOOLS = """
## Templates that take tools

{n_tools} of the {n} show the declarations of tools in the form that the model was trained on; the others drop them or fail.
Of the {n_tools}, {n_whole} keep everything that an agent's conversation has: calls, results, the reasoning of earlier replies, and the cache.
Most leave out the reasoning of earlier replies, as their models were trained to expect.
*Loses* names what is accepted and not in the prompt, or refused; *cache* counts conversations that do not begin with the shorter one.

| template | loses | cache |
| --- | --- | --- |
"""

KNOWN = """
## Templates by name

`confab lint` recognises the templates behind {n_names} names, with {n_rows} versions. For an older version it says that a newer one exists (I009) and what the newer one fixes.
Sources are the histories of public repositories (`templates/catalogue/catalogue.inc`, made by `tests/tools/template_catalogue.py`); *lost before* is what earlier versions lose and the newest does not.

| name | versions | from | to | source of the newest | lost before |
| --- | --- | --- | --- | --- | --- |
"""

CLIENTS = """
## Requests of real clients

Each client has habits in its requests (`confab lint --client NAME` lists them). The table says how many of these a template refuses, and from how many it loses a part; *ok* means that it takes them all.
A server that rewrites requests before they reach the template can avoid some of these losses.

| template | {names} |
| --- |{rule}
"""


def lint(path):
    out = subprocess.run(
        ["build/confab", "lint", "--format", "json", "--client", "all", path],
        capture_output=True, text=True, check=False).stdout
    return json.loads(out)


def row(name, r):
    cells = r["stability"]
    rendered = sum(c["rendered"] for c in cells)
    stable = sum(c["rendered"] and c["stable"] for c in cells)
    caps = r["capabilities"]
    rules = []
    for f in r["findings"]:
        if f["rule"] not in rules and f["rule"] not in ("E013", "E014"):
            rules.append(f["rule"])
    keys = ("system", "late_system", "tools", "tool_calls", "tool_role",
            "reasoning_history")
    return (f"| {name} | {stable} of {rendered} | "
            + " | ".join(caps[k] for k in keys) + f" | {' '.join(rules)} |")


def is_stable(cell):
    return not cell["rendered"] or cell["stable"]


def tool_row(name, r):
    """A row of what a template that takes tools loses; "" where it loses nothing."""
    words = {"tool_calls": "calls", "tool_role": "results", "reasoning_history": "reasoning",
             "system": "the system message", "late_system": "a later system message"}
    lost = [words[k] for k in words if r["capabilities"][k] in ("dropped", "no", "garbled")]
    moved = sum(not is_stable(c) for c in r["stability"])
    rendered = sum(c["rendered"] for c in r["stability"])
    if not lost and not moved:
        return ""
    return f"| {name} | {', '.join(lost) or 'nothing'} | {f'{moved} of {rendered}' if moved else 'kept'} |"


def known_rows():
    """(n_rows, lines) of the catalogue."""
    with open("templates/catalogue/catalogue.inc", encoding="utf-8") as f:
        rows = re.findall(r'^    \{"\w+", "(.*?)", "(.*?)", "(.*?)", "(.*?)"\},$', f.read(), re.M)
    names = {}
    for name, date, source, lost in rows:
        names.setdefault(name, []).append((date, source, lost))
    lines = []
    for name, versions in sorted(names.items(), key=lambda item: item[0].lower()):
        versions.sort()
        lost = list(dict.fromkeys(w for _, _, text in versions for w in text.split(", ") if w))
        lines.append(f"| {name} | {len(versions)} | {versions[0][0] or '?'} | {versions[-1][0] or '?'} | "
                     f"{versions[-1][1]} | {', '.join(lost)} |")
    return len(rows), lines


def client_cell(r, client):
    def count(rule):
        return sum(client in f["message"].split(":")[0].split(", ")
                   for f in r["findings"] if f["rule"] == rule)
    refused, lost = count("E013"), count("E014")
    words = []
    if refused:
        words.append(f"refuses {refused}")
    if lost:
        words.append(f"loses {lost}")
    return ", ".join(words) or "ok"


def client_names():
    err = subprocess.run(["build/confab", "lint", "--client", "?", "chatml"],
                         capture_output=True, text=True, check=False).stderr
    return re.search(r"no client '\?': ([a-z, -]+), all", err)[1].split(", ")


def main():
    folder = sys.argv[1]
    names = sorted(n for n in os.listdir(folder)
                   if os.path.exists(f"{folder}/{n}/template.jinja"))
    reports = {n: lint(f"{folder}/{n}/template.jinja") for n in names}
    clients = client_names()
    found = [f["rule"] for r in reports.values() for f in r["findings"]]
    other = sum(rule in ("I009", "W009") for rule in found)
    print(HEAD.format(n=len(names), total=f"{len(found):,}", other=other,
                      true=f"{len(found) - other:,}"), end="")
    for n in names:
        print(row(n, reports[n]))
    takers = [n for n in names if reports[n]["capabilities"]["tools"] in ("yes", "merged")]
    losers = [line for line in (tool_row(n, reports[n]) for n in takers) if line]
    print(TOOLS.format(n=len(names), n_tools=len(takers), n_whole=len(takers) - len(losers)), end="")
    print("\n".join(losers))
    n_rows, known = known_rows()
    print(KNOWN.format(n_names=len(known), n_rows=n_rows) + "\n".join(known))
    print(CLIENTS.format(names=" | ".join(clients),
                         rule=" --- |" * len(clients)), end="")
    for n in names:
        print(f"| {n} | "
              + " | ".join(client_cell(reports[n], c) for c in clients)
              + " |")


if __name__ == "__main__":
    main()
