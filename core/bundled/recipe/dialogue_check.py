"""What every generated conversation must hold, and the shares of what is in them."""

import collections
import json
import re
import time

from rendering import dumps, head_text, segments, turn_segments
from tools import CANONICAL as TOOLS
from values import NOUNS

CANONICAL = [tool.name for tool in TOOLS]

# Arguments that are not copied: arithmetic words and percentages in the
# calculator's expression, currency nouns and signs.


def fault_of(conv):
    """What is wrong with a conversation, or None."""
    declared = {t["function"]["name"]: t["function"]["parameters"] for t in conv["tools"]}
    if len(declared) != len(conv["tools"]):
        return "two tools of one name"
    typed = ""
    for message, note in zip(conv["messages"], conv["notes"]):
        if message["role"] == "user":
            typed += "\n" + message["content"]
        for call in message.get("tool_calls", ()):
            function = call["function"]
            if function["name"] not in declared:
                return "call of an undeclared tool"
            parameters = declared[function["name"]]
            arguments = json.loads(dumps(function["arguments"]))
            if not set(parameters.get("required", ())) <= set(arguments):
                return f"required argument missing: {function}"
            if not set(arguments) <= set(parameters["properties"]):
                return f"unknown argument: {function}"
            for name, value in arguments.items():
                if function["name"] == "confab_help":
                    continue  # in the words of the tables
                kind = parameters["properties"][name]["type"]
                if (kind == "string") != isinstance(value, str):
                    return f"wrong type: {function}"
                text = value if isinstance(value, str) else dumps(value)
                if text in typed or (isinstance(value, float) and f"{value:.2f}" in typed):
                    continue
                if note["tool"] in ("calc", "currency") or note["kind"] == "parallel":
                    if set(text) <= set("0123456789.+-*/() ") or text in NOUNS.values():
                        continue
                return f"argument not typed by the user: {function} in {typed!r}"
        if message["role"] == "assistant":
            for needed in note["must"]:
                if needed not in message["content"]:
                    return f"the answer lacks {needed!r}: {message['content']!r}"
        if re.search(r"<(location|unit|timezone|expression|minutes|label|amount|from|to|query|text|symbol|topic|w|n|c)>", message["content"]):
            return f"unfilled slot: {message['content']!r}"
    return None


def names_of(conv):
    return [t["function"]["name"] for t in conv["tools"]]


def check(generator, count):
    """Generates and checks `count` conversations, prints their shares, returns the number of faults."""
    shares, declared = {}, {}
    start = time.process_time()
    conversations = [generator.conversation() for _ in range(count)]
    seconds = time.process_time() - start
    faults = 0
    for conv in conversations:
        fault = fault_of(conv)
        if fault:
            faults += 1
            if faults <= 5:
                print("fault:", fault)
        declared[len(conv["tools"])] = declared.get(len(conv["tools"]), 0) + 1
        for note in conv["notes"]:
            if note:
                shares[note["kind"]] = shares.get(note["kind"], 0) + 1
    start = time.process_time()
    rendered = [segments(conv) for conv in conversations]
    render_seconds = time.process_time() - start
    total = sum(shares.values())
    print("shares of assistant turns:", ", ".join(f"{k} {100 * n / total:.1f}%" for k, n in sorted(shares.items(), key=lambda x: -x[1])))
    print("declared tools:", ", ".join(f"{k}: {100 * n / count:.0f}%" for k, n in sorted(declared.items())))
    print(f"{count} conversations, {total / count:.1f} assistant turns and {sum(len(t) for s in rendered for t, _ in s) / count:.0f} characters each; "
          f"{count / seconds:.0f}/s, rendered {count / render_seconds:.0f}/s; {faults} faults")
    return faults


def check_trees(generator, count, n_chars):
    """The same for `count` trees: every branch is a conversation, and all begin alike."""
    start = time.process_time()
    trees = [generator.tree(n_chars) for _ in range(count)]
    seconds = time.process_time() - start
    faults, kinds, sizes = 0, collections.Counter(), []
    heads = trained = chars = 0
    for tree in trees:
        head = head_text(tree[0])
        wrong = [fault for fault in map(fault_of, tree) if fault]
        wrong += ["branches that do not begin alike" for conv in tree if head_text(conv) != head or conv["tools"] is not tree[0]["tools"]]
        turns = [turn_segments(conv) for conv in tree]
        size = len(head) + sum(len(text) for segment in turns for text, _ in segment)
        if size > n_chars and len(tree) > 1:
            wrong.append(f"a tree of {size} characters")
        faults += len(wrong)
        for fault in wrong[:5]:
            print("fault:", fault)
        sizes.append(size)
        heads += len(head)
        trained += sum(len(text) for segment in turns for text, own in segment if own)
        chars += size
        kinds.update(note["kind"] for conv in tree for note in conv["notes"] if note and note["kind"] not in ("summary", "answered"))
    total, branches = sum(kinds.values()), sum(map(len, trees))
    print("shares of exchanges:", ", ".join(f"{k} {100 * n / total:.1f}%" for k, n in kinds.most_common()))
    print(f"{count} trees of {chars / count:.0f} characters, {branches / count:.1f} branches of {total / branches:.1f} exchanges; heads {100 * heads / chars:.0f}%, "
          f"trained {100 * trained / chars:.0f}% of the text; branches without tools {100 * sum(len(t) for t in trees if not t[0]['tools']) / branches:.0f}%, "
          f"with all eight {100 * sum(len(t) for t in trees if names_of(t[0]) == CANONICAL) / branches:.0f}%; {branches / seconds:.0f} branches/s; {faults} faults")
    return faults
