"""misuse.py - every call with wrong values, closed handles, other threads and other
processes: each raises, none crashes, and the model answers as before."""

import os
import threading

import confab

WRONG = [
    None, 5, -1, 2**40, 1.5, True, b"bytes", "", "a\0b", "\ud800", [], ["a"], [None], {}, {1: 2},
    {"a": float("nan")}, object(), print, Exception, [[[]]], "x" * 100000,
]  # fmt: skip

# What a wrong value may be answered with: nothing else passes.
RAISED = (TypeError, ValueError, OverflowError, confab.Error, AttributeError, RecursionError)


def try_all(calls):
    """How many calls raised; a call may also succeed, as long as nothing breaks."""
    n = 0
    for call in calls:
        for value in WRONG:
            try:
                result = call(value)
                if isinstance(result, confab.Reply):
                    result.interrupt()
                    repr(result.stop)
            except RAISED:
                n += 1
    return n


def deep():
    value = []
    for _ in range(100000):
        value = [value]
    return value


def set_messages(model, value):
    model.messages = value


def calls_of(model, mask):
    return [
        lambda v: confab.open(v),
        lambda v: confab.open("bundled", n_threads=v),
        lambda v: confab.open("bundled", n_ctx=v),
        lambda v: confab.open("bundled", template_name=v),
        lambda v: confab.open("bundled", family=v),
        lambda v: confab.open("bundled", alternatives=v),
        lambda v: confab.open("bundled", **{"unknown": v}),
        model.system,
        model.on_reply,
        model.prompt,
        model.constrain,
        lambda v: model.set(v, 1),
        lambda v: model.set("temperature", v),
        lambda v: set_messages(model, v),
        lambda v: model.tool(v, print),
        lambda v: model.tool({"name": "f", "description": "d", "parameters": {}}, v),
        model.tokenize,
        model.detokenize,
        lambda v: model.detokenize([v]),
        lambda v: model.score(v, "a"),
        lambda v: model.score("a", v),
        model.inside,
        lambda v: model.inside("lens", ids=v),
        lambda v: model.inside("lens", ids=[1, 2], at=v),
        lambda v: model.inside("without", ids=[1, 2], at=1, changes=v),
        model.mask,
        mask.take,
        mask.back,
        lambda v: confab.Mask(v, {"json": True}),
        lambda v: confab.Model.chat(v, "a"),
    ]


def check_values():
    model = confab.open("bundled")
    mask = model.mask({"regex": "[0-9]+"})
    n = try_all(calls_of(model, mask))
    assert n > 300, n
    for call in (model.constrain, model.mask, lambda v: set_messages(model, v)):
        try:
            call(deep())
        except RAISED:
            continue
        raise AssertionError("a value nested without bound was taken")
    model.on_reply(None)
    model.close()
    model.close()
    mask_calls = [lambda v: mask.allowed(), lambda v: mask.may_end, mask.take, mask.back]
    closed = [c for c in calls_of(model, mask)[7:-2]] + mask_calls + [
        lambda v: model.chat("a"), lambda v: model.messages, lambda v: model.lint(),
        lambda v: model.n_vocab, lambda v: model.last_reply,
    ]  # fmt: skip
    assert try_all(closed) == len(closed) * len(WRONG), "a closed model answers nothing"
    assert confab.open("bundled").chat("Hello").text


def check_threads():
    model = confab.open("bundled")
    answers, refused = [], []
    start = threading.Barrier(8)

    def work():
        start.wait()
        for call in (lambda: model.chat("Who are you?").text, lambda: model.prompt("a").text):
            try:
                answers.append(call())
            except RuntimeError as why:
                refused.append(str(why))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(answers) + len(refused) == 16 and answers
    assert set(refused) <= {"another thread is using this model"}
    model.messages = []
    assert model.chat("Hello").text


def check_lifetimes():
    model = confab.open("bundled")
    masks = [model.mask({"regex": "[0-9]+"}) for _ in range(3)]
    del masks[0]
    reply = model.chat("Hello")
    del model
    assert reply.text and masks[0].allowed()
    confab.open("bundled").chat("Hello")  # neither is kept
    holder = {}
    holder["mask"] = confab.open("bundled").mask({"json": True})
    assert holder["mask"].allowed()


def check_fork():
    model = confab.open("bundled")
    mask = model.mask({"json": True})
    begun, may_go_on = threading.Event(), threading.Event()
    model.on_reply(lambda kind, text: (begun.set(), may_go_on.wait()))
    reply = model.chat("Hello")
    begun.wait()
    child = os.fork()
    if child == 0:
        code = 1
        for call in (lambda: model.chat("a").text, lambda: model.prompt("a"), mask.allowed,
                     lambda: reply.text, lambda: next(iter(reply))):
            try:
                call()
                os._exit(2)
            except RuntimeError as why:
                code = 0 if "fork" in str(why) else 3
        model.close()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    may_go_on.set()
    assert reply.text


check_values()
check_threads()
check_lifetimes()
check_fork()
print("ok")
