"""The text format of the bundled model: ChatML with the tools in the system turn.

The chat template that the model file carries renders the same.
"""

import json

PREAMBLE = "# Tools\n\nYou may call these functions:\n<tools>\n"
EPILOGUE = '\n</tools>\n\nTo call one, reply with:\n<tool_call>\n{"name": <name>, "arguments": <arguments>}\n</tool_call>'


def dumps(value):
    return json.dumps(value, ensure_ascii=False)


def declaration(schema):
    """A declared tool, its description first."""
    function = schema["function"]
    return dumps({"type": "function", "function": {"description": function.get("description", ""), "name": function["name"],
                                                   "parameters": function["parameters"]}})


def calls_text(calls):
    return "\n".join('<tool_call>\n{"name": %s, "arguments": %s}\n</tool_call>' % (dumps(c["function"]["name"]), dumps(c["function"]["arguments"])) for c in calls)


def head_text(conv):
    """The system turn: the system message and the declarations; "" without either."""
    messages = conv["messages"]
    said = bool(messages) and messages[0]["role"] == "system"
    head = messages[0]["content"] if said else ""
    if conv["tools"]:
        head = (head + "\n\n" if head else "") + PREAMBLE + "\n".join(map(declaration, conv["tools"])) + EPILOGUE
    return "<|im_start|>system\n" + head + "<|im_end|>\n" if head or said else ""


def segments(conv):
    """The conversation in the model's format: a list of (text, whether it is trained)."""
    head = head_text(conv)
    return ([(head, False)] if head else []) + turn_segments(conv)


def turn_segments(conv):
    """The same of what follows the head."""
    out = []
    messages = conv["messages"]
    at = 1 if messages and messages[0]["role"] == "system" else 0
    while at < len(messages):
        message = messages[at]
        role = message["role"]
        if role == "tool":
            parts = []
            while at < len(messages) and messages[at]["role"] == "tool":
                parts.append("<tool_response>\n" + messages[at]["content"] + "\n</tool_response>")
                at += 1
            out.append(("<|im_start|>tool\n" + "\n".join(parts) + "<|im_end|>\n", False))
            continue
        if role == "assistant":
            thought = message.get("reasoning_content") if at == len(messages) - 1 else None
            body = message["content"] + calls_text(message.get("tool_calls", ()))
            if thought:
                out.append(("<|im_start|>assistant\n<think>\n", False))
                body = thought + "\n</think>\n\n" + body
            else:
                out.append(("<|im_start|>assistant\n", False))
            given = message.get("given", "")  # what a constraint writes, and training does not
            if given:
                out.append((given, False))
            out.append((body[len(given):] + "<|im_end|>", True))
            out.append(("\n", False))
        else:
            out.append((f"<|im_start|>{role}\n{message['content']}<|im_end|>\n", False))
        at += 1
    return out


def prompt_for(conv, i):
    """What is needed to evaluate assistant turn i: (messages before it, tools,
    whether thinking is on, the expected message, its note)."""
    expected = conv["messages"][i]
    return conv["messages"][:i], conv["tools"], "reasoning_content" in expected, expected, conv["notes"][i]
