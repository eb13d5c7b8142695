#!/usr/bin/env python3
"""Checks every finding of confab lint against Python's jinja2.

    tests/tools/lint_truth.py FOLDER

FOLDER has one folder a template, each with a template.jinja, as for
templates_survey.py.  Each finding carries the context that shows it; jinja2,
set up as in Hugging Face transformers, renders that context, and the finding
is true when what it says holds of that text, or of that failure.  Prints the
findings that do not hold and a table of rules; ends with 1 when there is one.
"""
import collections
import copy
import json
import os
import re
import subprocess
import sys

import jinja2
import jinja2.meta

from language_cases import environment

BOS = "<s>"


class Raised(Exception):
    """raise_exception was called."""


def raise_exception(message):
    raise Raised(message)


class Truth:
    def __init__(self, source):
        self.source = source
        self.env = environment()
        self.env.globals["raise_exception"] = raise_exception
        try:
            self.template = self.env.from_string(source)
        except jinja2.exceptions.TemplateError:
            self.template = None

    def render(self, context):
        """(text, None) or (None, the exception)."""
        try:
            return self.template.render(**copy.deepcopy(context)), None
        except Exception as e:  # whatever a template brings about
            return None, e


def lacks(word):
    return lambda t, f, c, out, e: out is not None and word not in out


def bos_twice(t, f, c, out, e):
    return out.startswith(BOS + BOS)


def unbalanced(t, f, c, out, e):
    m = re.fullmatch(r"(.*) appears (\d+) times, (.*) (\d+) times",
                     f["message"], re.S)
    return (out.count(m[1]) == int(m[2]) and out.count(m[3]) == int(m[4])
            and m[2] != m[4])


def generation_prompt(t, f, c, out, e):
    asks, _ = t.render({**c, "add_generation_prompt": True})
    plain, _ = t.render({**c, "add_generation_prompt": False})
    if "is not a suffix" in f["message"]:
        return not asks.startswith(plain)
    return asks == plain


def crashes(t, f, c, out, e):
    if "does not compile" in f["message"]:
        return t.template is None
    return e is not None and not isinstance(e, Raised)


def call_is_written(t, f, c, out, e):
    raw = f["message"].split("does not read back '", 1)[1][:-1]
    return raw in out


def made_with(t, f, c, out, e):
    m = re.fullmatch(r"'(.*)' is made with message (\d+)\.(\w+)", f["message"])
    other = copy.deepcopy(c)
    other["messages"][int(m[2]) - 1][m[3]] = "otherprobe"
    text, _ = t.render(other)
    return m[1] in out and (text is None or m[1] not in text)


def not_a_prefix(t, f, c, out, e):
    m = re.search(r"byte (\d+) \(message \d+\) is '(.*)' in the shorter prompt "
                  r"and '(.*)' in the longer; ", f["message"], re.S)
    at, longer = int(m[1]), out.encode()
    for n in range(1, len(c["messages"])):
        for asks in (True, False):
            text, _ = t.render({**c, "messages": c["messages"][:n],
                                "add_generation_prompt": asks})
            shorter = (text or "").encode()
            if (shorter[:at] == longer[:at] and m[2] != m[3]
                    and shorter[at:].startswith(m[2].encode())
                    and longer[at:].startswith(m[3].encode())):
                return True
    return False


def fails(t, f, c, out, e):
    return e is not None


def is_lost(t, f, c, out, e):
    m = re.search(r"'(\w+)' is (lost|written as the source text)", f["message"])
    if out is None or m[2] == "lost":
        return out is not None and m[1] not in out
    # The word is in a value that was printed as Python or JSON spells it.
    value = r"""(\\['"]|\{'.{0,80}': '|\[\{".{0,80}": ?")""" + m[1]
    return re.search(value, out, re.S) is not None


def part_is_dropped(t, f, c, out, e):
    kind = re.search(r"of type (\w+)", f["message"])[1]
    without = copy.deepcopy(c)
    for m in without["messages"]:
        if isinstance(m.get("content"), list):
            m["content"] = [p for p in m["content"] if p["type"] != kind]
    return t.render(without)[0] == out


def in_a_user_turn(t, f, c, out, e):
    between = out[out.index("Osloprobe"):out.index("Resultprobe")]
    return re.search(r"(?<![a-z])user(?![a-z])", between) is not None


def no_thought(t, f, c, out, e):
    if "empty think block" in f["message"]:
        return re.search(r"<think>[ \n]*</think>", out) is not None
    return "Thoughtprobe" not in out


def system(t, f, c, out, e):
    if "refused" in f["message"]:
        return e is not None
    return ("Sysprobe" in out) != ("dropped" in f["message"])


def escaped(t, f, c, out, e):
    return '\\"Osloprobe' in out


def ends_blank(t, f, c, out, e):
    return out.endswith((" ", "\t"))


def unset(t, f, c, out, e):
    names = jinja2.meta.find_undeclared_variables(t.env.parse(t.source))
    return bool(names & set(re.findall(r"\w+", f["message"])))


def by_chance(t, f, c, out, e):
    user = {"role": "user", "content": "Userprobe"}
    tool = {"type": "function", "function": {
        "name": "probe_weather", "description": "", "parameters": {}}}
    contexts = [{"messages": m, "tools": tools, "bos_token": BOS,
                 "add_generation_prompt": True}
                for m in ([user], [{**user, "role": "system"}, user])
                for tools in (None, [tool])]
    first = [t.render(x)[0] for x in contexts]
    t.env.globals["strftime_now"] = lambda form: "another day"
    return first != [t.render(x)[0] for x in contexts]


def part_is_moved(t, f, c, out, e):
    first, second = "Secondprobe and then", "Thirdprobe tell more"
    if "is lost" in f["message"]:
        return first not in out or second not in out
    without = copy.deepcopy(c)
    for m in without["messages"]:
        if isinstance(m.get("content"), list):
            m["content"] = [p for p in m["content"] if p["type"] == "text"]
    plain, _ = t.render(without)
    at = next(i for i in range(len(out)) if out[i] != plain[i:i + 1])
    if "before the reply" in f["message"]:
        return at < out.index("Replyprobe")
    if "before all text" in f["message"]:
        return at <= out.index(first)
    return at >= out.index(second) + len(second)


CHECKS = {
    "E001": bos_twice, "E003": unbalanced, "E004": generation_prompt,
    "E005": crashes, "E006": call_is_written, "E007": lacks("probe_weather"),
    "E008": lacks("Osloprobe"), "E009": lacks("Resultprobe"),
    "E010": made_with, "E011": lacks("Replyprobe"), "E012": not_a_prefix,
    "E013": fails, "E014": is_lost, "E015": part_is_dropped,
    "W003": in_a_user_turn, "W004": no_thought, "W005": system,
    "W006": escaped, "W007": ends_blank, "W010": part_is_moved,
    "I007": by_chance, "I008": unset,
}


def lint(path):
    out = subprocess.run(
        ["build/confab", "lint", "--format", "json", "--client", "all", path],
        capture_output=True, text=True, check=False).stdout
    return json.loads(out)


def holds(truth, f):
    """True, False, or None: nothing that a render could show."""
    check = CHECKS.get(f["rule"])
    if check is None:
        return None
    context = json.loads(f["context"]) if f["context"] else {}
    out = error = None
    if truth.template is not None:
        out, error = truth.render(context)
    return bool(check(truth, f, context, out, error))


def main():
    folder = sys.argv[1]
    names = sorted(n for n in os.listdir(folder)
                   if os.path.exists(f"{folder}/{n}/template.jinja"))
    tally = collections.defaultdict(lambda: [0, 0, 0])
    for name in names:
        path = f"{folder}/{name}/template.jinja"
        truth = Truth(open(path, encoding="utf-8", newline="").read())
        for f in lint(path)["findings"]:
            try:
                is_true = holds(truth, f)
            except (TypeError, AttributeError, ValueError,
                    StopIteration) as e:
                print(f"{name}: {f['rule']}: cannot be checked: {e!r}")
                is_true = False
            row = tally[f["rule"]]
            row[0 if is_true else 2 if is_true is None else 1] += 1
            if is_true is False:
                print(f"{name}: {f['rule']} does not hold: {f['message']}")
    print("\n| rule | true | false | not shown by a render |\n"
          "| --- | --- | --- | --- |")
    for rule in sorted(tally):
        print(f"| {rule} | " + " | ".join(map(str, tally[rule])) + " |")
    total = [sum(r[i] for r in tally.values()) for i in range(3)]
    print("| all | " + " | ".join(map(str, total)) + " |")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
