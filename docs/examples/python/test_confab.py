"""test_confab.py - every call of the module, against the bundled model."""

import confab


def raises(code, function, *arguments):
    try:
        function(*arguments)
    except confab.Error as err:
        assert err.code == code, (err.code, str(err))
        assert str(err), "an error says why"
        return
    raise AssertionError(f"{function} did not fail")


def check_chat(model):
    pieces = []
    model.on_reply(lambda kind, text: pieces.append((kind, text)))
    reply = model.chat("Who are you?")
    assert "".join(t for k, t in pieces if k == confab.TEXT) == reply
    assert [m["role"] for m in model.messages] == ["user", "assistant"]
    assert model.last_reply["text"] == reply
    model.on_reply(None)
    model.system("Be brief.")
    assert model.messages[0] == {"role": "system", "content": "Be brief."}
    model.messages = [{"role": "user", "content": "Hi"}]
    assert model.messages == [{"role": "user", "content": "Hi"}]
    assert model.chat(None)


def check_refused(model):
    """A callback may only interrupt, and texts are str without NUL."""
    pieces, refused = [], []

    def heard(kind, text):
        pieces.append(text)
        for function, arguments in (
            (model.chat, ["again"]),
            (model.close, []),
            (model.on_reply, [None]),
            (model.system, ["s"]),
            (model.render, ["s"]),
        ):
            try:
                function(*arguments)
            except (confab.Error, RuntimeError) as err:
                assert "this handle is answering" in str(err), str(err)
                refused.append(function)

    model.messages = []
    model.on_reply(heard)
    assert model.chat("Who are you?")
    assert pieces and len(refused) == 5 * len(pieces)
    model.on_reply(None)
    for bad, kind in ((5, TypeError), ("a\0b", ValueError)):
        try:
            model.chat(bad)
        except kind:
            continue
        raise AssertionError(f"{bad!r} was sent")


def check_tools(model):
    seen = []

    def add(arguments):
        seen.append(arguments)
        raise ValueError("no paper")

    declaration = {
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
    model.tool(declaration, add)
    raises(9, model.tool, declaration, add)
    model.messages = []
    model.chat("What is 12 times 7?")
    assert seen == [{"expression": "12 * 7"}], seen
    assert any("no paper" in (m["content"] or "") for m in model.messages)


def check_inside(model):
    model.messages = []
    shown = model.render("Hello")
    raw = shown["text"].encode()
    assert sum(s["len"] for s in shown["spans"]) == len(raw)
    said = [s for s in shown["spans"] if s["source"] == "message"]
    assert raw[said[0]["off"] : said[0]["off"] + said[0]["len"]] == b"Hello"
    assert shown["tokens"] and shown["losses"] == []
    ids = [t["id"] for t in model.tokenize("Hello")]
    assert model.detokenize(ids) == b"Hello"
    report = model.lint()
    assert report["errors"] == sum(
        f["rule"].startswith("E") for f in report["findings"]
    )


def check_constraints(model):
    model.messages = []
    model.set("temperature", 0)
    raises(9, model.set, "temperature", 9)
    model.constrain({"regex": "[0-9]{3}"})
    assert model.chat("Hi").isdigit()
    model.constrain(None)
    raises(9, model.constrain, {"colour": 1})
    mask = model.mask({"regex": "[0-9]{2}"})
    allowed = mask.allowed()
    assert all(model.detokenize([i]).isdigit() for i in allowed)
    mask.take(allowed[0])
    mask.back()
    assert mask.allowed() == allowed and not mask.may_end


with confab.open("bundled") as m:
    check_chat(m)
    check_refused(m)
    check_inside(m)
    check_constraints(m)
    check_tools(m)
raises(5, confab.open, "/no/such.gguf")
assert confab.__version__
print("ok")
