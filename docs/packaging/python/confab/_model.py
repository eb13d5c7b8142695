"""A model with its template and one conversation."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import os
import threading
import weakref
from typing import Any, Callable, Iterator, Optional

from . import _library, _text
from ._library import CError, HEARD, OpenWith, TOOL, lib
from ._reply import Reply
from ._show import Prompt, read_prompt
from ._text import Cancelled, Error

#: kinds of pieces that on_reply() hears
TEXT, THINKING, CALL, RESULT, NOTE, TOKEN = range(6)

_open_models: "weakref.WeakSet[Model]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Ends what still runs: a thread of C code must not outlive the interpreter."""
    for model in list(_open_models):
        with contextlib.suppress(Exception):
            model.close()


def _error(err: CError) -> Error:
    kind = Cancelled if err.code == _library.CANCELLED else Error
    return kind(err.text.decode("utf-8", "replace"), err.code, err.line, err.col, err.off)


class Model:
    """A model, its template and a conversation with it.

    A model may be used by one thread at a time: a second one gets a
    RuntimeError, and so do its own callbacks and a process forked from this
    one.  interrupt() may be called by anyone.
    """

    def __init__(
        self,
        model: str = "bundled",
        *,
        template_name: Optional[str] = None,
        family: Optional[str] = None,
        key: Optional[str] = None,
        server_model: Optional[str] = None,
        n_threads: int = 0,
        n_ctx: int = 0,
        alternatives: int = 5,
    ):
        self._handle: Optional[int] = None
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        self._handle_mutex = threading.RLock()  # the handle stays while interrupt() uses it
        self._reply: Optional[Reply] = None
        self._owner: Optional[threading.Thread] = None  # who asked for the reply
        self._tools: list[Any] = []  # callbacks that the library holds
        self._function: Optional[Callable[[int, str], object]] = None
        self._masks: "weakref.WeakSet[Mask]" = weakref.WeakSet()
        self._orphans: list[int] = []  # masks to free when the model is idle
        name = _text.text(model, "the model")
        options = OpenWith(
            size=ctypes.sizeof(OpenWith),
            template_name=_text.optional_text(template_name, "template_name"),
            family=_text.optional_text(family, "family"),
            key=_text.optional_text(key, "key"),
            server_model=_text.optional_text(server_model, "server_model"),
            n_threads=_text.number(n_threads, "n_threads", 0, 2**32 - 1),
            n_ctx=_text.number(n_ctx, "n_ctx", 0, 2**32 - 1),
        )
        top = _text.number(alternatives, "alternatives", 0, 64)
        err = CError()
        self._handle = lib.cf_open_with(name, ctypes.byref(options), ctypes.byref(err))
        if not self._handle:
            raise _error(err)
        self._heard = HEARD(self._on_piece)
        lib.cf_on_reply(self._handle, self._heard, None)
        self._n_vocab: int = lib.cf_n_vocab(self._handle)
        _open_models.add(self)
        self.set("alternatives", top)

    # ---- who may use it

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise RuntimeError("this model was opened before fork()")

    @contextlib.contextmanager
    def _idle(self) -> Iterator[int]:
        """Holds the model for one call of the library, after a reply that is being
        written; gives its handle."""
        self._check_process()
        reply = self._reply
        if reply is not None and not reply._done.is_set():
            if reply._is_writing():
                raise RuntimeError("this model is answering: this is one of its callbacks")
            if self._owner is not threading.current_thread():
                raise RuntimeError("another thread is using this model")
            reply._end()
        if not self._mutex.acquire(blocking=False):
            raise RuntimeError("another thread is using this model")
        try:
            if not self._handle:
                raise ValueError("the model is closed")
            self._free_orphans()
            yield self._handle
        finally:
            self._mutex.release()

    def _free_orphans(self) -> None:
        while self._orphans:
            lib.cf_mask_free(self._orphans.pop())

    def _ask(self, handle: int, function: Any, *arguments: Any) -> Any:
        """Calls a function that returns a status or a text."""
        err = CError()
        value = function(handle, *arguments, ctypes.byref(err))
        failed = value != _library.OK if function.restype is ctypes.c_int else value is None
        if failed:
            raise _error(err)
        return value

    def _call(self, function: Any, *arguments: Any) -> Any:
        with self._idle() as handle:
            return self._ask(handle, function, *arguments)

    def _json(self, function: Any, *arguments: Any) -> Any:
        return json.loads(self._call(function, *arguments))

    def close(self) -> None:
        """Ends a reply that is being written, and releases the model."""
        if self._pid != os.getpid():
            self._handle = None  # its threads are those of another process
            return
        reply = self._reply
        if reply is not None and not reply._done.is_set():
            if reply._is_writing():
                raise RuntimeError("this model is answering: this is one of its callbacks")
            reply._stop()
        with self._mutex:
            for mask in list(self._masks):
                mask._give_up()
            self._free_orphans()
            with self._handle_mutex:
                handle, self._handle = self._handle, None
            if handle:
                lib.cf_close(handle)
        _open_models.discard(self)

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            with contextlib.suppress(Exception):
                self.close()

    # ---- the conversation

    def _on_piece(self, _: Any, kind: int, text: int, n: int) -> None:
        """Called by the library with each piece of a reply, on the reply's thread."""
        reply = self._reply
        if reply is None:
            return
        try:
            piece = ctypes.string_at(text, n).decode("utf-8", "replace")
            if kind == TEXT:
                reply._add(piece)
            if self._function is not None and reply._failure is None:
                self._function(kind, piece)
            if reply._is_interrupted:  # perhaps before the library had begun
                self.interrupt()
        except BaseException as why:  # must not pass through C
            reply._fail(why)
            self.interrupt()

    def chat(self, message: Optional[str] = None) -> Reply:
        """Sends a message (None: asks for a reply to what is there).

        The reply is written by a thread of its own, on which tools and on_reply()'s
        function are called, too.  Using the model again waits for its end.
        """
        data = _text.optional_text(message, "the message")

        def run(reply: Reply) -> None:
            with self._mutex:
                if not self._handle:
                    raise ValueError("the model is closed")
                try:
                    self._ask(self._handle, lib.cf_chat, data)
                except Cancelled:
                    pass  # what came is kept, and stop says why it ended
                reply._facts = json.loads(self._ask(self._handle, lib.cf_last_reply))
                reply._tokens = json.loads(self._ask(self._handle, lib.cf_alternatives))

        with self._idle():
            reply = Reply(run, self.interrupt)
            self._reply, self._owner = reply, threading.current_thread()
        try:
            reply._start()
        except BaseException:  # Ctrl-C came at once
            self.interrupt()
            raise
        return reply

    def interrupt(self) -> None:
        """Ends the reply that is being written, from any thread; what came is kept."""
        reply = self._reply
        if self._pid != os.getpid():
            return  # a lock may have been held when the process forked
        with self._handle_mutex:
            if self._handle:
                if reply is not None:
                    reply._is_interrupted = True
                lib.cf_interrupt(self._handle)

    def on_reply(self, function: Optional[Callable[[int, str], object]]) -> None:
        """Has function(kind, text) called with each piece of later replies; None: no more.

        kind is TEXT, THINKING, CALL, RESULT, NOTE or TOKEN.  An exception ends the reply
        and is raised where it is read.
        """
        if function is not None and not callable(function):
            raise TypeError("on_reply() takes a function or None")
        with self._idle():
            self._function = function

    def system(self, text: Optional[str]) -> None:
        """Sets the system prompt; None: none."""
        self._call(lib.cf_set_system, _text.optional_text(text, "the system prompt"))

    def set(self, name: str, value: object) -> None:
        """Sets an option of later replies, as `confab help run` names it."""
        data = _text.text(str(value), "the value")
        self._call(lib.cf_set, _text.text(name, "the option"), data)

    def constrain(self, spec: Optional[dict[str, Any]]) -> None:
        """Holds later replies to {"schema": ...}, {"regex": ...} and so on; None: no more."""
        self._call(lib.cf_constrain, None if spec is None else _text.json_text(spec, "spec"))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, in OpenAI's form."""
        return self._json(lib.cf_messages)

    @messages.setter
    def messages(self, messages: list[dict[str, Any]]) -> None:
        self._call(lib.cf_set_messages, _text.json_text(messages, "messages"))

    @property
    def last_reply(self) -> dict[str, Any]:
        """Facts about the last reply."""
        return self._json(lib.cf_last_reply)

    def tool(
        self, declaration: dict[str, Any], function: Callable[[dict[str, Any]], object]
    ) -> None:
        """Adds a tool: function(arguments) returns a str or what json can write.

        What it raises is the call's failure, which the model gets; Ctrl-C and
        SystemExit end the reply.
        """
        if not callable(function):
            raise TypeError("a tool needs a function")

        def run(_: Any, arguments: bytes, result: Any) -> None:
            try:
                value = function(json.loads(arguments))
                text = value if isinstance(value, str) else json.dumps(value)
                lib.cf_tool_return(result, _text.text(text, "the result"))
            except Exception as why:  # goes to the model
                text = str(why).replace("\0", " ").encode("utf-8", "replace")
                lib.cf_tool_fail(result, text or type(why).__name__.encode())
            except BaseException as why:  # must not pass through C
                if self._reply is not None:
                    self._reply._fail(why)
                self.interrupt()

        callback = TOOL(run)
        self._tools.append(callback)  # before the library has it: it must outlive that
        try:
            self._call(lib.cf_add_tool, _text.json_text(declaration, "the tool"), callback, None)
        except BaseException:
            self._tools.remove(callback)
            raise

    # ---- looking inside

    def prompt(self, message: Optional[str] = None) -> Prompt:
        """The prompt that chat(message) would send, and where each byte is from."""
        data = _text.optional_text(message, "the message")
        return read_prompt(self._json(lib.cf_inspect, data))

    def tokenize(self, text: str, special: bool = False) -> list[dict[str, int]]:
        """The tokens of a text; special: spellings of control tokens become those."""
        data = _text.text(text, "the text")
        return self._json(lib.cf_tokenize, data, len(data), bool(special))

    def detokenize(self, ids: list[int]) -> bytes:
        """The bytes of the tokens."""
        checked = [_text.token(i) for i in ids]
        n = ctypes.c_size_t()
        array = (ctypes.c_int32 * len(checked))(*checked)
        with self._idle() as handle:
            text = self._ask(handle, lib.cf_detokenize, array, len(checked), ctypes.byref(n))
            return ctypes.string_at(text, n.value)

    def score(self, context: str, text: str) -> dict[str, Any]:
        """How likely the text is after the context: {"sum", "tokens"}."""
        return self._json(
            lib.cf_score_text, _text.text(context, "the context"), _text.text(text, "the text")
        )

    def inside(self, op: str, **request: Any) -> dict[str, Any]:
        """Asks about the inside of the model: "lens", "attention", "margin", "without",
        "patch" or "steer", with the members that docs/inside.md lists.

        Without ids it is about the last reply after its prompt, and without at about
        the place where its first token was chosen.
        """
        return self._json(lib.cf_inside, _text.json_text({"op": op, **request}, "the request"))

    def influence(self, by: str = "message,tool") -> dict[str, Any]:
        """What the last reply depends on: each part left out in turn, which are those
        of the kinds "message", "tool", "sentence", "word", "field" and "template".

        {"with": log-likelihood, "parts": [{"kind", "index", "without", "delta"}],
        "groups": [{"kind", "need", "parts", "delta"}]}; below zero the part made the reply
        likelier.  A sentence or word also has the index of its "message", a field its
        "path".  A group's "parts" are indices: their effect shows only together.  A reply
        under a constraint is scored under it, and "forced" tokens had no alternative.
        """
        return self._json(lib.cf_influence, _text.text(by, "by"))

    def lint(self) -> dict[str, Any]:
        """The faults of the model's chat template."""
        return self._json(lib.cf_lint)

    @property
    def n_vocab(self) -> int:
        """Tokens of the vocabulary; 0 for a server."""
        with self._idle():
            return self._n_vocab

    def mask(self, spec: dict[str, Any]) -> "Mask":
        """A place in a text under a constraint, token by token."""
        return Mask(self, spec)


class Mask:
    """Which tokens a constraint allows next.  It ends with its model."""

    def __init__(self, model: Model, spec: dict[str, Any]):
        self._handle: Optional[int] = None
        self._model = model
        data = _text.json_text(spec, "spec")
        with model._idle() as handle:
            self._words = (ctypes.c_uint32 * ((model._n_vocab + 31) // 32))()
            self._handle = model._ask(handle, lib.cf_mask_new, data)
            model._masks.add(self)

    def _give_up(self) -> None:
        """Leaves the mask to the model, which frees it when it is idle."""
        handle, self._handle = self._handle, None
        if handle:
            self._model._orphans.append(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._give_up()

    @contextlib.contextmanager
    def _ready(self) -> Iterator[int]:
        with self._model._idle():
            if not self._handle:
                raise ValueError("the mask is closed")
            yield self._handle

    def allowed(self) -> list[int]:
        """The ids that may come next."""
        with self._ready() as handle:
            self._model._ask(handle, lib.cf_mask_fill, self._words, len(self._words))
            return [
                32 * i + bit
                for i, word in enumerate(self._words)
                if word
                for bit in range(32)
                if word >> bit & 1
            ]

    def take(self, token: int) -> None:
        """Goes on by a token; a token that is not allowed is an Error and changes nothing."""
        checked = _text.token(token)
        with self._ready() as handle:
            self._model._ask(handle, lib.cf_mask_take, checked)

    def back(self, n: int = 1) -> None:
        """Takes the last n tokens back."""
        checked = _text.number(n, "n", 0, 2**31 - 1)
        with self._ready() as handle:
            lib.cf_mask_back(handle, checked)

    @property
    def may_end(self) -> bool:
        """Whether the text may end here."""
        with self._ready() as handle:
            return lib.cf_mask_may_end(handle)
