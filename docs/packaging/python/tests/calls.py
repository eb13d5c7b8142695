"""calls.py - every call of the Python module, against the bundled model."""

import asyncio
import contextlib
import io
import json
import math
import os
import pathlib
import re
import signal
import tempfile

import confab

CALCULATE = {
    "name": "calculate",
    "description": "Evaluate an arithmetic expression",
    "parameters": {
        "type": "object",
        "properties": {
            "expression": {"type": "string", "description": "Arithmetic expression"}
        },
        "required": ["expression"],
    },
}


def raises(kind, function, *arguments, **more):
    try:
        function(*arguments, **more)
    except kind as why:
        assert str(why), "an error says why"
        return why
    raise AssertionError(f"{function} did not raise {kind}")


def check_reply(model):
    reply = model.chat("Who are you?")
    pieces = list(reply)
    assert len(pieces) > 1 and "".join(pieces) == reply.text == str(reply) and reply == reply.text
    assert list(reply) == [] and reply.text, "read again, a reply is whole and has no pieces"
    n = reply.usage["completion_tokens"]  # without the token that ends it
    assert reply.stop == "end" and len(reply.alternatives) == n + 1
    assert [m["role"] for m in model.messages] == ["user", "assistant"]
    assert model.last_reply["text"] == reply.text and reply.text in repr(reply)
    assert reply.raw and reply.thinking == "" and reply.calls == [] and reply.findings == []


def check_alternatives(model):
    tokens = model.chat("What is confab?").alternatives
    text = "".join(t.text for t in tokens)
    assert "confab" in text
    for t in tokens:
        assert len(t.top) == 5 and t.top[0].id == t.id and 0 <= t.p_raw <= 1
        assert sorted((c.p for c in t.top), reverse=True) == [c.p for c in t.top]
    html = model.chat("Hello")._repr_html_()
    assert html.startswith("<pre") and "<span" in html


def check_prompt(model):
    model.messages = []
    prompt = model.prompt("<b>Hello</b>")
    raw = prompt.text.encode()
    assert "".join(o.text for o in prompt.origins) == prompt.text
    assert [o.start for o in prompt.origins][1:] == [o.end for o in prompt.origins][:-1]
    said = [o for o in prompt.origins if o.source == "message"]
    assert raw[said[0].start : said[0].end] == b"<b>Hello</b>" and said[0].line > 0
    assert prompt.tokens and prompt.losses == () and str(prompt) == prompt.text
    assert "&lt;b&gt;Hello" in prompt._repr_html_() and "<b>" not in prompt._repr_html_()


def check_settings(model):
    model.system("Be brief.")
    assert model.messages[0] == {"role": "system", "content": "Be brief."}
    model.system(None)
    model.messages = [{"role": "user", "content": "Hi"}]
    assert model.messages == [{"role": "user", "content": "Hi"}]
    assert model.chat(None).text
    model.set("temperature", 0)
    assert raises(confab.Error, model.set, "temperature", 9).code == 9
    model.messages = []
    model.constrain({"regex": "[0-9]{3}"})
    assert model.chat("Hi").text.isdigit()
    model.constrain(None)
    assert raises(confab.Error, model.constrain, {"colour": 1}).code == 9


def check_tokens(model):
    ids = [t["id"] for t in model.tokenize("Hello")]
    assert model.detokenize(ids) == b"Hello"
    score = model.score("confab is", " a debugger")
    assert abs(sum(t["log_p"] for t in score["tokens"]) - score["sum"]) < 1e-4
    report = model.lint()
    assert report["errors"] == sum(f["rule"].startswith("E") for f in report["findings"])
    mask = model.mask({"regex": "[0-9]{2}"})
    allowed = mask.allowed()
    assert all(model.detokenize([i]).isdigit() for i in allowed)
    mask.take(allowed[0])
    mask.back()
    assert mask.allowed() == allowed and not mask.may_end


def check_inside(model):
    model.messages = []
    tokens = model.chat("What is confab?").alternatives
    layers = model.inside("lens")["layers"]
    assert layers[-1]["top"][0] == tokens[0].id
    assert raises(confab.Error, model.inside, "taste").code == 9
    found = model.influence()
    sum_p = sum(math.log(t.p_raw) for t in tokens)
    assert abs(found["with"] - sum_p) < 1e-3, (found, sum_p)
    (part,) = found["parts"]
    assert part["kind"] == "message" and part["index"] == 0 and part["delta"] < -1, part
    words = model.influence(by="sentence,word")["parts"]
    assert [p["kind"] for p in words] == ["sentence", "word", "word", "word"]
    assert [(p["message"], p["index"]) for p in words[1:]] == [(0, 0), (0, 1), (0, 2)]
    assert raises(confab.Error, model.influence, by="letter").code == 9
    assert found["groups"] == [] and "forced" not in found
    model.messages = []
    prompt = model.prompt("Which?").text
    p = {letter: math.exp(model.score(prompt, letter)["sum"]) for letter in "ab"}
    model.constrain({"regex": "[ab]"})
    reply = model.chat("Which?").text
    model.constrain(None)
    found = model.influence()
    assert abs(found["with"] - math.log(p[reply] / sum(p.values()))) < 1e-3, found
    assert found["forced"] == 0
    model.messages = [{"role": "user", "content": "Hi"}]
    assert raises(confab.Error, model.influence).code == 9


def check_groups(model):
    """A call needs its question and its declaration."""
    model.messages = []
    model.system("Be brief.")
    model.set("max_tokens", 1)
    assert model.chat("What is 12 times 7?").raw == "<tool_call>"
    found = model.influence()
    (group,) = found["groups"]
    assert group["kind"] == "both" and group["delta"] < -3
    assert [found["parts"][i]["kind"] for i in sorted(group["parts"])] == ["message", "tool"]
    model.set("max_tokens", 0)
    model.system(None)


def check_tools(model):
    seen = []

    def add(arguments):
        seen.append(arguments)
        raise ValueError("no paper")

    model.tool(CALCULATE, add)
    assert raises(confab.Error, model.tool, CALCULATE, add).code == 9
    model.messages = []
    assert model.chat("What is 12 times 7?").text
    assert seen == [{"expression": "12 * 7"}], seen
    assert any("no paper" in (m["content"] or "") for m in model.messages)


def check_async(model):
    async def both():
        model.messages = []
        pieces = [piece async for piece in model.chat("Who are you?")]
        model.messages = []
        assert "".join(pieces) == await model.chat("Who are you?")

    asyncio.run(both())


def check_callbacks(model):
    """A callback hears everything, may only interrupt, and what it raises comes out."""
    heard, refused = [], []

    def hear(kind, text):
        heard.append((kind, text))
        for call in (
            lambda: model.chat("again"),
            model.close,
            lambda: model.on_reply(None),
            lambda: model.system("s"),
            lambda: model.prompt("s"),
            lambda: model.n_vocab,
            lambda: reply.text,
            lambda: next(iter(reply)),
        ):
            refused.append(raises(RuntimeError, call))

    model.messages = []
    model.on_reply(hear)
    reply = model.chat("Who are you?")
    text = reply.text
    assert "".join(t for k, t in heard if k == confab.TEXT) == text
    assert sum(k == confab.TOKEN for k, _ in heard) == len(reply.alternatives)
    assert len(refused) == 8 * len(heard)

    def fail(kind, text):
        raise KeyError("mine")

    model.on_reply(fail)
    failed = model.chat("Hello")
    raises(KeyError, lambda: failed.text)
    raises(KeyError, lambda: list(failed))
    model.on_reply(None)
    assert model.chat("Hello").text, "the model goes on"


def check_interrupt(folder):
    """Ctrl-C ends a long reply and comes out of what waits for it."""
    script = pathlib.Path(folder) / "slow.json"
    slow = {"text": "x" * 4000, "chunk": 1, "delay_ms": 20}
    script.write_text(json.dumps({"replies": [slow, {"text": "Yes."}]}))
    for read in (lambda reply: reply.text, list, str):
        with confab.open(f"script:{script}") as model:
            once = iter([signal.SIGINT])
            model.on_reply(lambda kind, text: os.kill(os.getpid(), next(once, 0)))
            raises_interrupt(model, read)
            model.on_reply(None)
            assert model.chat("And now?").text == "Yes."
    with confab.open(f"script:{script}") as model:
        reply = model.chat("Write")
        next(iter(reply))
        reply.interrupt()
        assert reply.stop == "cancelled" and 0 < len(reply.text) < 4000
    model = confab.open(f"script:{script}")
    reply = model.chat("Write")
    model.close()  # ends the reply first
    assert reply.stop == "cancelled"


def check_page():
    """The examples of docs/python.md run in their order, as one program."""
    page = pathlib.Path(__file__).resolve().parents[3] / "python.md"
    code = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    names, said = {}, io.StringIO()
    with contextlib.redirect_stdout(said):
        exec("\n".join(code), names)
    names["model"].close()
    assert len(code) > 2 and "21 degrees" in said.getvalue(), said.getvalue()


def raises_interrupt(model, read):
    try:
        read(model.chat("Write"))
    except KeyboardInterrupt:
        return
    raise AssertionError("Ctrl-C was lost")


def main():
    with confab.open("bundled") as model:
        check_reply(model)
        check_alternatives(model)
        check_prompt(model)
        check_settings(model)
        check_tokens(model)
        check_inside(model)
        check_async(model)
        check_callbacks(model)
        check_tools(model)
        check_groups(model)
    with tempfile.TemporaryDirectory() as folder:
        check_interrupt(folder)
    check_page()
    assert raises(confab.Error, confab.open, "/no/such.gguf").code == 5
    assert confab.__version__
    print("ok")


main()
