"""What every generated conversation must hold, and the shares of what is in them."""

import json
import re
import time

from rendering import dumps, segments
from values import NOUNS

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
