#!/usr/bin/env python3
"""Evaluates a bundled model through confab itself.

    python3 core/bundled/recipe/evaluate.py [--confab build/confab] [--model FILE] [-n 200] [--set REGEX] [--show N]
        [--jobs 2] [--constrained]

Each sample is a conversation of the generator up to one reply.  `confab render`
writes the prompt with the model's own template, `confab complete` continues it
greedily, `confab parse` reads the calls.  With --constrained `confab run` asks
instead and holds what calls there are to the declarations; this is for prompts
of a single question, so sets of longer conversations are left out.  The last line tells how many of
the bars were met.  The dialogues come from seeds that training does not use.
"""

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import dialogues
import facts
import guide
import strangers

SEED = 900001
# (name, sets that count, what is counted, least share)
BARS = [
    ("right tool, unseen values", ["tool, unseen values", "tool, all eight, unseen values"], "tool", 0.97),
    ("exact arguments, unseen values", ["tool, unseen values", "tool, all eight, unseen values"], "exact", 0.93),
    ("exact, unseen phrasings", ["tool, unseen phrasings", "stranger: calls"], "exact", 0.85),
    ("exact, renamed tools", ["tool, renamed"], "exact", 0.85),
    ("confab, held-out paraphrases", ["fact, held-out", "stranger: confab"], "exact", 0.85),
    ("out of domain", ["outside, held-out topics and questions", "outside, held-out phrasings", "stranger: outside"], "exact", 0.90),
    ("no call where none is due", ["no call due, all eight declared", "no call due, all eight, held-out", "stranger: confab",
      "stranger: asks back", "stranger: outside", "stranger: small talk, no call"], "no call", 0.95),
]


class Confab:
    def __init__(self, program, model, jobs):
        self.program, self.model, self.jobs = program, ["-m", model or "bundled"], jobs

    def __call__(self, command, *args, text=None):
        done = subprocess.run([self.program, command, *self.model, *args], input=text,
                              capture_output=True, text=True, errors="replace")
        if done.returncode not in (0, 1) and not done.stdout:  # a run whose tools have no program ends late, with a reply
            sys.exit(f"confab {command}: {done.stderr.strip()}")
        return done.stdout

    def each(self, ask, items):
        """ask(item) of all items in order, some of them at a time."""
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(ask, items))

    def batch(self, command, items):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
            f.writelines(json.dumps(i) + "\n" for i in items)
            f.flush()
            return [json.loads(line) for line in self(command, "--batch", f.name).splitlines()]


def samples(kinds, options, n):
    """n turns of the wanted kinds, one a conversation."""
    g = dialogues.Generator(SEED, **options)
    out = []
    while len(out) < n:
        conv = g.conversation()
        at = [i for i, note in enumerate(conv["notes"])
              if note and note["kind"] in kinds and (not options.get("thinking") or i == len(conv["notes"]) - 1)]
        if at:
            out.append(dialogues.prompt_for(conv, g.rng.choice(at)))
    return out


def stranger_samples():
    """Sets of questions by somebody who has not seen what training asks; all
    eight tools are declared, as the workbench does."""
    tools = dialogues.canonical_tools()
    answers = {f.key: f.answer for f in facts.FACTS}

    def case(text, kind, must, call=None, tools=tools):
        expected = {"role": "assistant", "content": "" if call else " ".join(must)}
        if call:
            expected["tool_calls"] = [{"type": "function", "function": {"name": call[0], "arguments": call[1]}}]
        return [{"role": "user", "content": text}], tools, False, expected, {"kind": kind, "must": must}

    return {
        "stranger: confab": [case(q, "fact", [answers[k]]) for k, qs in strangers.FACTS.items() if k in answers for q in qs],
        "stranger: asks the help": [case(q, "help", [], (guide.NAME, {"question": q}), [guide.DECLARATION])
                                    for k, qs in strangers.FACTS.items() if k not in answers for q in qs],
        "stranger: knows no key": [case(q, "refused", ["by heart"]) for k, qs in strangers.FACTS.items() if k not in answers for q in qs],
        "stranger: calls": [case(t, "tool", [], (name, args)) for t, name, args in strangers.CALLS],
        "stranger: asks back": [case(t, "ask", ["?"]) for t, _ in strangers.ASK],
        "stranger: outside": [case(t, "outside", ["tiny demonstration model"]) for t in strangers.OUTSIDE],
        "stranger: small talk, no call": [case(t, "small", []) for t in strangers.SMALL],
    }


def replies(confab, cases):
    contexts = [{"name": str(i), "context": {"messages": c[0], "tools": c[1] or None, "add_generation_prompt": True,
                                             "enable_thinking": c[2]}} for i, c in enumerate(cases)]
    prompts = [prompt["output"] for prompt in confab.batch("render", contexts)]
    return confab.each(lambda prompt: confab("complete", "--special", "--greedy", "--threads", "1", "-n", "300", text=prompt), prompts)


def single_turn(case):
    """Whether a case is one question, perhaps after a system message."""
    roles = [m["role"] for m in case[0]]
    return roles in (["user"], ["system", "user"])


def constrained_replies(confab, cases):
    """The same with calls held to the declarations; for one question only."""
    def ask(case):
        messages, tools, thinking, _, _ = case
        options = ["--thinking", "on" if thinking else "off"]
        if len(messages) > 1:
            options += ["--system", messages[0]["content"]]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            if tools:
                json.dump(tools, f)
                f.flush()
                options += ["--tools", f.name, "--constrain-tools", "text-and"]
            events = confab("run", "--no-store", "--greedy", "--json", "--max-rounds", "1", "--threads", "1", "-n", "300", *options, "--", messages[-1]["content"])
        events = [json.loads(line) for line in events.splitlines()]
        reply, end, _ = "".join(e["text"] for e in events if e["event"] == "token").partition("<|im_end|>")
        return reply + end  # what comes after a call is another reply

    return confab.each(ask, cases)


def calls_of(parsed):
    return [(c["name"], json.dumps(c["arguments"], sort_keys=True)) for c in parsed["calls"]]


def judge(confab, cases, raws):
    """For each case the names of what was right."""
    after = [raw.split("</think>\n\n")[-1] for raw in raws]
    parsed = confab.batch("parse", [{"name": str(i), "family": "hermes", "tools": c[1], "raw": raw}
                                    for i, (c, raw) in enumerate(zip(cases, after))])
    for (_, _, thinking, expected, note), raw, text, got in zip(cases, raws, after, parsed):
        right = set()
        calls = calls_of(got)
        if "<tool_call>" not in text:
            right.add("no call")
        if got["status"] != "PARSE_ERROR":
            right.add("well-formed")
        if thinking and "</think>" not in raw:
            right.discard("well-formed")
        if expected.get("tool_calls"):
            wanted = [(c["function"]["name"], json.dumps(c["function"]["arguments"], sort_keys=True))
                      for c in expected["tool_calls"]]
            if [c[0] for c in calls] == [c[0] for c in wanted]:
                right.add("tool")
            if calls == wanted:
                right.add("exact")
        elif "no call" in right and all(m in text for m in note["must"]):
            right.add("exact")
        yield right


def show(case, raw):
    said = next((m["content"] for m in reversed(case[0]) if m["role"] == "user"), "")
    expected = case[3]
    wanted = expected["content"] or dialogues.calls_text(expected["tool_calls"])
    print(f"    user   {said!r}\n    wanted {wanted!r}\n    got    {raw!r}")


def run(args):
    confab = Confab(args.confab, args.model, args.jobs)
    totals = collections.defaultdict(collections.Counter)
    print(f"| set | n | exact | right tool | well-formed | no call |\n|---|---|---|---|---|---|")
    sets = {name: (lambda k=kinds, o=options: samples(k, o, args.n))
            for name, (kinds, options) in dialogues.evaluation_sets().items()}
    sets.update({name: (lambda c=cases: c) for name, cases in stranger_samples().items()})
    for name, make in sets.items():
        if args.set and not re.search(args.set, name):
            continue
        cases = make()
        if args.constrained and not all(map(single_turn, cases)):
            continue
        raws = (constrained_replies if args.constrained else replies)(confab, cases)
        count, shown = totals[name], 0
        for case, raw, right in zip(cases, raws, judge(confab, cases, raws)):
            count.update(right)
            if "exact" not in right and shown < args.show:
                show(case, raw)
                shown += 1
        count["n"] = n = len(cases)
        tool = f"{100 * count['tool'] / n:.1f} %" if all(c[3].get("tool_calls") for c in cases) else ""
        print(f"| {name} | {n} | {100 * count['exact'] / n:.1f} % | {tool} | "
              f"{100 * count['well-formed'] / n:.1f} % | {100 * count['no call'] / n:.1f} % |", flush=True)
    if args.set or args.constrained:
        return 0
    met = 0
    print("\n| bar | reached | least |\n|---|---|---|")
    for name, sets, what, least in BARS:
        share = sum(totals[s][what] for s in sets) / sum(totals[s]["n"] for s in sets)
        met += share >= least
        print(f"| {name} | {100 * share:.1f} % | {100 * least:.0f} % |")
    print(f"\n{met} of {len(BARS)} bars met")
    return 0 if met == len(BARS) else 1


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--confab", default="build/confab")
    p.add_argument("--model", help="a GGUF file (default: the one that is built in)")
    p.add_argument("-n", type=int, default=200, help="samples a set")
    p.add_argument("--constrained", action="store_true", help="hold calls to the declarations; sets of single questions only")
    p.add_argument("--jobs", type=int, default=2, help="replies made at a time")
    p.add_argument("--set", help="only sets whose name matches")
    p.add_argument("--show", type=int, default=0, help="print the first N misses of a set")
    sys.exit(run(p.parse_args()))
