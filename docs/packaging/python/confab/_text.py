"""What the library takes and gives: texts, numbers and JSON, checked."""

from __future__ import annotations

import json
from typing import Any, Optional


class Error(Exception):
    """A failure that the library reported.

    code is its cf_status (status.h); line, column and offset are the place in
    the input where there is one, else 0.
    """

    def __init__(self, text: str, code: int, line: int = 0, column: int = 0, offset: int = 0):
        super().__init__(text)
        self.code = code
        self.line = line
        self.column = column
        self.offset = offset


class Cancelled(Error):
    """The reply was interrupted; what came of it is kept."""


def text(value: Any, name: str) -> bytes:
    """The bytes of a str that a C string can hold."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{name} has a NUL character")
    return value.encode("utf-8")


def optional_text(value: Any, name: str) -> Optional[bytes]:
    return None if value is None else text(value, name)


def number(value: Any, name: str, low: int, high: int) -> int:
    """An int from low to high; a bool is none."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low} to {high}, not {value}")
    return value


def token(value: Any) -> int:
    return number(value, "a token", -(2**31), 2**31 - 1)


def json_text(value: Any, name: str) -> bytes:
    """A value as the library reads JSON: UTF-8, no NaN."""
    try:
        return text(json.dumps(value, ensure_ascii=False, allow_nan=False), name)
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None
