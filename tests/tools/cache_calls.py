#!/usr/bin/env python3
"""Answers the turns of a history again with each type of cache.

usage: cache_calls.py CONFAB HISTORY [-m MODEL] [OPTION ...]

For every turn that a reply follows, the reply is made again, greedily, with a
cache of each type and whatever other options are given, and compared with that
of f16: the first token that parts, and whether the calls are the same (names
and arguments as values).  Prints a row for each type.  Nothing is saved.
"""
import json
import statistics
import subprocess
import sys

TYPES = ("f32", "q8_0", "q4_0")


def lines(*command):
    out = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return [json.loads(x) for x in out.stdout.splitlines()]


def answered(confab, history):
    """The turns that replies follow."""
    for c in lines(confab, "history", "list", "--db", history, "--json", "-n", "100000"):
        for t in lines(confab, "history", "show", "--db", history, "--json", c["conversation"]):
            if t["role"] == "assistant" and t["parent"]:
                yield t["parent"]


def reply(confab, history, turn, kind, options):
    """Ids of the tokens, and the calls."""
    ids, calls = [], []
    for e in lines(confab, "run", "--db", history, "--continue", turn, "--no-store", "--greedy",
                   "--stop-at-call", "--json", "-n", "400", "--cache", kind, *options):
        if e["event"] == "token" and "id" in e:
            ids.append(e["id"])
        elif e["event"] == "tool_call":
            calls.append((e["name"], json.dumps(e.get("arguments"), sort_keys=True)))
    return ids, calls


def main():
    confab, history, *options = sys.argv[1:]
    turns = list(answered(confab, history))
    want = [reply(confab, history, t, "f16", options) for t in turns]
    n_calls = sum(bool(calls) for _, calls in want)
    print(f"{len(turns)} replies, {n_calls} with calls, {sum(len(i) for i, _ in want)} tokens")
    for kind in TYPES:
        parts, changed, lost = [], 0, 0
        for turn, (ids, calls) in zip(turns, want):
            got, got_calls = reply(confab, history, turn, kind, options)
            if got != ids:
                same = [a == b for a, b in zip(got, ids)] + [False]
                parts.append(same.index(False))
            changed += calls != got_calls and bool(calls) and bool(got_calls)
            lost += bool(calls) != bool(got_calls)
        first = f"{min(parts)} / {statistics.median(parts):g}" if parts else "-"
        print(f"{kind}: {len(parts)} replies part, first token (least / median) {first}; "
              f"{changed} with other calls, {lost} with a call more or none")


if __name__ == "__main__":
    main()
