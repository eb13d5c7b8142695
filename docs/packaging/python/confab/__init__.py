"""confab from Python: a debugger for prompts, over the C library.

    import confab

    with confab.open("bundled") as model:
        for piece in model.chat("Who are you?"):
            print(piece, end="")

docs/python.md tells of everything in it.
"""

from ._library import lib as _lib
from ._model import CALL, NOTE, RESULT, TEXT, THINKING, TOKEN, Mask, Model
from ._reply import Reply
from ._show import Candidate, Origin, Prompt, Token
from ._text import Cancelled, Error

__version__ = _lib.cf_version().decode()

__all__ = [
    "CALL", "Cancelled", "Candidate", "Error", "Mask", "Model", "NOTE", "Origin", "Prompt",
    "RESULT", "Reply", "TEXT", "THINKING", "TOKEN", "Token", "open",
]  # fmt: skip

open = Model  # confab.open("bundled") reads like the built-in open()
