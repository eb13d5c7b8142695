"""A reply: pieces of text as they come, and everything about them at the end."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from typing import Any, AsyncIterator, Callable, Generator, Iterator, Optional

from ._show import Token, read_tokens, tokens_html

_END = object()


class Reply:
    """The answer to a message, which is being written by a thread of its own.

    Iterating gives its text piece by piece, `async for` does the same, `await`
    and str() give the whole text.  Every other property waits for the end.
    Whatever ends the reply early, Ctrl-C and an exception of a callback among
    it, is raised where the reply is read.
    """

    def __init__(self, run: Callable[["Reply"], None], interrupt: Callable[[], None]):
        self._pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._done = threading.Event()
        self._text: list[str] = []
        self._facts: dict[str, Any] = {}
        self._tokens: list[dict[str, Any]] = []
        self._failure: Optional[BaseException] = None
        self._interrupt = interrupt
        self._is_interrupted = False
        self._pid = os.getpid()
        self._thread = threading.Thread(
            target=self._work, args=(run,), name="confab reply", daemon=True
        )

    # ---- the thread that writes

    def _start(self) -> None:
        self._thread.start()

    def _work(self, run: Callable[["Reply"], None]) -> None:
        try:
            run(self)
        except BaseException as why:  # raised where the reply is read
            self._fail(why)
        finally:
            self._done.set()
            self._pieces.put(_END)

    def _fail(self, why: BaseException) -> None:
        """The first reason counts: what follows from it is no news."""
        if self._failure is None:
            self._failure = why

    def _add(self, piece: str) -> None:
        self._text.append(piece)
        self._pieces.put(piece)

    def _is_writing(self) -> bool:
        return threading.current_thread() is self._thread

    # ---- the thread that reads

    def _stop(self) -> None:
        """Ends it and waits; asks again, since the library may not have begun."""
        while not self._done.is_set():
            self.interrupt()
            self._done.wait(0.05)

    def _check_reader(self) -> None:
        if self._is_writing():
            raise RuntimeError("the reply is not finished: this is one of its callbacks")
        if self._pid != os.getpid() and not self._done.is_set():
            raise RuntimeError("the reply was not finished before fork()")

    def _end(self) -> None:
        """Waits for the end, which Ctrl-C brings about."""
        self._check_reader()
        try:
            self._done.wait()
        except BaseException:
            self._stop()
            raise

    def _whole(self) -> None:
        self._end()
        if self._failure is not None:
            raise self._failure

    def _next(self) -> Any:
        self._check_reader()
        try:
            piece = self._pieces.get()
        except BaseException:
            self._stop()
            raise
        if piece is _END:
            self._pieces.put(_END)  # for whoever iterates again
        return piece

    def __iter__(self) -> Iterator[str]:
        while (piece := self._next()) is not _END:
            yield piece
        self._whole()

    async def _pieces_async(self) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        while True:
            try:
                piece = await loop.run_in_executor(None, self._next)
            except BaseException:
                self.interrupt()
                raise
            if piece is _END:
                break
            yield piece
        self._whole()

    def __aiter__(self) -> AsyncIterator[str]:
        return self._pieces_async()

    def __await__(self) -> Generator[Any, None, str]:
        async def whole() -> str:
            async for _ in self:
                pass
            return self.text

        return whole().__await__()

    def interrupt(self) -> None:
        """Ends the reply; what came of it is kept.  From any thread."""
        self._interrupt()

    # ---- the whole of it

    @property
    def text(self) -> str:
        """The text of the last reply, without those before tool calls."""
        self._whole()
        return self._facts["text"] or ""

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.text == other
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        if not self._done.is_set():
            return "<confab.Reply, being written>"
        if self._failure is not None:
            return f"<confab.Reply, failed: {self._failure}>"
        return f"<confab.Reply {self._facts['text']!r}>"

    def _repr_html_(self) -> str:
        return tokens_html(self.alternatives)

    @property
    def alternatives(self) -> list[Token]:
        """Its tokens, each with what could have come in its place."""
        self._whole()
        return read_tokens(self._tokens)

    def _fact(self, name: str) -> Any:
        self._whole()
        return self._facts[name]

    @property
    def thinking(self) -> str:
        return self._fact("thinking") or ""

    @property
    def raw(self) -> str:
        """What the model wrote, with marks of calls and thinking."""
        return self._fact("raw")

    @property
    def calls(self) -> list[Any]:
        return self._fact("calls") or []

    @property
    def findings(self) -> list[Any]:
        return self._fact("findings") or []

    @property
    def stop(self) -> str:
        """Why it ended: "end", "length" ..."""
        return self._fact("stop")

    @property
    def usage(self) -> dict[str, int]:
        return self._fact("usage")

    @property
    def timings(self) -> dict[str, int]:
        return self._fact("timings")
