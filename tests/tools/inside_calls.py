#!/usr/bin/env python3
"""Counts what looking inside says of calls, against what happens.

usage: inside_calls.py CONFAB [hide] [steer] [fail] [-m MODEL] [OPTION ...]

hide   each declared tool of questions that end in a call is hidden, and left out of the
       prompt in another run: whether both change the call; whether the declaration that
       was looked at most is the called one, and whether hiding it changes the call.
steer  the same calls, each steered in every layer along the output row of the token of
       each other tool: the smallest scale of 1, 2, 4 .. 64 at which it is the best.
fail   a tool that is named `lookup` and described as another one, beside one tool: of
       the calls that fail, where the model looked, and what leads to the right one.

Without a word all three.  Replies are greedy; nothing is saved but in a folder that is
deleted at the end.
"""
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

QUESTIONS = {
    "get_weather": ["What is the weather in Oslo?", "Is it raining in Paris?",
                    "How warm is it in Cairo today?", "Weather in Tokyo?"],
    "get_time": ["What time is it in Tokyo?", "What is the current time in New York?",
                 "Tell me the time in Berlin."],
    "calculate": ["What is 17 * 23?", "Calculate 144 / 12.", "How much is 99 + 1?"],
    "set_timer": ["Set a timer for 5 minutes.", "Start a timer of 20 minutes for the pasta.",
                  "Set a timer for 10 minutes."],
    "convert_currency": ["Convert 100 USD to EUR.", "How much is 50 euros in yen?",
                         "Convert 20 GBP to USD."],
    "search_notes": ["Search my notes for the garage code.", "Find my notes about whales.",
                     "What do my notes say about the water meter?"],
    "send_message": ["Send a message to Anna: I am late.", "Tell Bob that dinner is ready.",
                     "Send Mia a message that says happy birthday.", "Message Tom: see you soon."],
    "get_stock_price": ["What is the price of AAPL?", "Stock price of MSFT?",
                        "How much is a share of TSLA?"],
}
SCALES = (1, 2, 4, 8, 16, 32, 64)


class Confab:
    def __init__(self, program, options, folder):
        self.program, self.options, self.folder = program, options, folder
        self.db = os.path.join(folder, "h.db")

    def ask(self, *arguments, **how):
        out = subprocess.run([self.program, *arguments, *self.options], capture_output=True,
                             text=True, check=how.get("check", True), stdin=subprocess.DEVNULL)
        return out.stdout

    def lines(self, *arguments, **how):
        return [json.loads(x) for x in self.ask(*arguments, **how).splitlines()]

    def file(self, name, value):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(value)
        return path

    def reply(self, question, tools, keeps):
        """The called name ("": none), the reply's ids, the conversation if it is kept."""
        path = self.file("tools.json", json.dumps(tools))
        text, ids, uuid = "", [], None
        keep = ["--db", self.db] if keeps else ["--no-store", "-n", "16"]
        for e in self.lines("run", "--json", "--greedy", "--stop-at-call", "--tools", path, *keep,
                            question, check=False):
            if e["event"] == "token" and "id" in e:
                ids.append(e["id"])
                text += e["text"]
        name = re.search(r'"name": "(\w+)"', text)
        if keeps:
            uuid = self.lines("history", "list", "--db", self.db, "--json", "-n", "1")[0]
        return name.group(1) if name else "", ids, uuid and uuid["conversation"]

    def prompt_ids(self, question, tools):
        path = self.file("tools.json", json.dumps(tools))
        text = self.ask("run", "--no-store", "--show-prompt", "--tools", path, question)
        return [t["id"] for t in json.loads(self.ask("tokenize", "--special", "--json", text))
                ["tokens"]]

    def inside(self, kind, uuid, *options):
        return json.loads(self.ask("inside", kind, "--db", self.db, "--json", uuid, *options))

    def batch(self, requests):
        path = self.file("batch.jsonl", "".join(json.dumps(r) + "\n" for r in requests))
        return self.lines("inside", "--batch", path)


def name_of(tool):
    return tool["function"]["name"]


def called(confab, tools):
    """The questions that are answered with the right call: question, name, timeline."""
    for name, questions in QUESTIONS.items():
        for q in questions:
            got, ids, uuid = confab.reply(q, tools, True)
            if got == name:
                yield q, name, confab.prompt_ids(q, tools), ids, uuid


def declarations(confab, uuid, at):
    """Of each declared tool by number: the share that was looked at, and its positions."""
    parts = confab.inside("attention", uuid, "--at", str(at))["parts"]
    return {p["index"]: (p["looked_at"], p["positions"]) for p in parts if p["part"] == "tool"}


def hide(confab, tools):
    n = same = flips = most = most_flips = own = calls = 0
    for q, name, prompt, ids, uuid in called(confab, tools):
        calls += 1
        look = confab.inside("attention", uuid)
        at, line = look["at"], prompt + ids
        looked = declarations(confab, uuid, at)
        places = range(len(prompt) - 1, at + 1)
        requests = [{"op": "without", "ids": line[:p + 1], "at": p, "tokens": [], "changes":
                     [{"look": r, "from": positions[-1][1]} for r in positions]}
                    for _, positions in looked.values() for p in places]
        tops = iter(confab.batch(requests))
        changed = {i: any([next(tops)["top"][0] != line[p + 1] for p in places]) for i in looked}
        best = max(looked, key=lambda i: looked[i][0])
        for i in looked:
            rest = [t for k, t in enumerate(tools) if k != i]
            left_out = confab.reply(q, rest, False)[0] != name
            n += 1
            same += left_out == changed[i]
            flips += changed[i]
            own += changed[i] and name_of(tools[i]) == name
        most += name_of(tools[best]) == name
        most_flips += changed[best]
    print(f"{calls} calls; hidden as left out: {same} of {n}; {flips} change the call, {own} of "
          f"them by hiding the called tool\nlooked at most is the called one: {most} of {calls}; "
          f"hiding what was looked at most changes the call: {most_flips} of {calls}")


def steer(confab, tools):
    at_scale, n = collections.Counter(), 0
    rows = {}
    for _, _, prompt, ids, uuid in called(confab, tools):
        line, others = prompt + ids, []
        for t in confab.inside("tools", uuid)["tools"]:
            if t["name"] != "no call" and not t["written"]:
                others.append((t["at"], t["token"]["id"]))
        for _, token in others:
            if token not in rows:
                rows[token] = os.path.join(confab.folder, f"{token}.gguf")
                confab.ask("inside", "steer", "make", "-o", rows[token], "--row", str(token))
        answers = iter(confab.batch(
            [{"op": "steer", "ids": line[:at + 1], "at": at, "tokens": [], "vector": rows[token],
              "scale": k, "positions": [0, at + 1]} for at, token in others for k in SCALES]))
        for _, token in others:
            n += 1
            at_scale[next((k for k, a in list(zip(SCALES, [next(answers) for _ in SCALES]))
                           if a["top"][0] == token), None)] += 1
    print(f"steered to another tool's token: {n - at_scale[None]} of {n}; by scale",
          ", ".join(f"{k}: {at_scale[k]}" for k in SCALES if at_scale[k]))


def disguised(right, wrong):
    """`right` under the name lookup, described as `wrong`."""
    f = dict(right["function"], name="lookup", description=wrong["function"]["description"])
    return {"type": "function", "function": f}


def fail(confab, tools):
    total, how, flips, shares, margins, turned, ahead = 0, collections.Counter(), \
        collections.Counter(), [], [], [], 0
    for i, right in enumerate(tools):
        for q in QUESTIONS[name_of(right)]:
            for k in range(1, len(tools)):
                pair = [disguised(right, tools[(i + k) % len(tools)]), tools[(i + k) % len(tools)]]
                got, _, uuid = confab.reply(q, pair, True)
                total += 1
                how["right" if got == "lookup" else "no call" if got == "" else
                    "other" if got == name_of(pair[1]) else "undeclared"] += 1
                if got != name_of(pair[1]):
                    continue
                look = confab.inside("attention", uuid)
                shares.append([p["looked_at"] for p in look["parts"] if p["part"] == "tool"])
                found = confab.inside("tools", uuid, "--by", "message,tool,field")["tools"]
                row = next(t for t in found if t["name"] == "lookup")
                margins.append(row["margin"])
                for way in ("hide", "move", "steer"):
                    flips[way] += way in row
                flips["field"] += row.get("hide", {}).get("part") == "field"
                lens = confab.inside("lens", uuid)
                ranks = {t["token"]["id"]: t for t in lens["tokens"]}
                mine, theirs = ranks[row["token"]["id"]], ranks[lens["for"]["id"]]
                turned.append(theirs.get("best_from", len(mine["rank"])))
                third = len(mine["rank"]) * 2 // 3
                ahead += any(a < b for a, b in zip(mine["rank"][third:], theirs["rank"][third:]))
    n = len(shares)
    print(f"{total} replies: " + ", ".join(f"{v} {k}" for k, v in how.most_common()))
    if n > 0:
        print(f"of {n} calls of the other tool: the right one looked at most: "
              f"{sum(a > b for a, b in shares)}; margin of the right one: median "
              f"{statistics.median(margins):.2f}, largest {max(margins):.2f}\n"
              f"the written one is the best from layer {min(turned)} to {max(turned)} on (median "
              f"{statistics.median(turned):g}); the right one ahead in a later layer: {ahead}\n"
              f"flipped by hiding a part: {flips['hide']} (a field: {flips['field']}), by "
              f"moving: {flips['move']}, by steering: {flips['steer']}")


def main():
    program, *words = sys.argv[1:]
    kinds = {"hide": hide, "steer": steer, "fail": fail}
    wanted = [w for w in words if w in kinds] or list(kinds)
    with tempfile.TemporaryDirectory() as folder:
        confab = Confab(program, [w for w in words if w not in kinds], folder)
        tools = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                                            "tui", "demo", "tools.json"), encoding="utf-8"))
        for w in wanted:
            kinds[w](confab, tools)


if __name__ == "__main__":
    main()
