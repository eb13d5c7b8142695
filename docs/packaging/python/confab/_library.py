"""The C library's functions, by ctypes: what confab.h declares, and no more."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
from typing import Any

OK, CANCELLED = 0, 7


class CError(ctypes.Structure):
    """cf_error of status.h."""

    _fields_ = [
        ("code", ctypes.c_int),
        ("line", ctypes.c_uint32),
        ("col", ctypes.c_uint32),
        ("off", ctypes.c_uint64),
        ("text", ctypes.c_char * 240),
    ]


class OpenWith(ctypes.Structure):
    """cf_open_with_options of confab.h."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("template_name", ctypes.c_char_p),
        ("family", ctypes.c_char_p),
        ("key", ctypes.c_char_p),
        ("server_model", ctypes.c_char_p),
        ("n_threads", ctypes.c_uint32),
        ("n_ctx", ctypes.c_uint32),
    ]


TOOL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
HEARD = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
)

_P, _S, _Z, _I = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
_E = ctypes.POINTER(CError)
_WORDS = ctypes.POINTER(ctypes.c_uint32)
_IDS = ctypes.POINTER(ctypes.c_int32)

# name, result, arguments
_FUNCTIONS: list[tuple[str, Any, list[Any]]] = [
    ("cf_version", _S, []),
    ("cf_open_with", _P, [_S, ctypes.POINTER(OpenWith), _E]),
    ("cf_close", None, [_P]),
    ("cf_chat", _S, [_P, _S, _E]),
    ("cf_interrupt", None, [_P]),
    ("cf_on_reply", None, [_P, HEARD, _P]),
    ("cf_set_system", _I, [_P, _S, _E]),
    ("cf_set", _I, [_P, _S, _S, _E]),
    ("cf_constrain", _I, [_P, _S, _E]),
    ("cf_messages", _S, [_P, _E]),
    ("cf_set_messages", _I, [_P, _S, _E]),
    ("cf_last_reply", _S, [_P, _E]),
    ("cf_tool_return", None, [_P, _S]),
    ("cf_tool_fail", None, [_P, _S]),
    ("cf_add_tool", _I, [_P, _S, TOOL, _P, _E]),
    ("cf_inspect", _S, [_P, _S, _E]),
    ("cf_alternatives", _S, [_P, _E]),
    ("cf_score_text", _S, [_P, _S, _S, _E]),
    ("cf_inside", _S, [_P, _S, _E]),
    ("cf_influence", _S, [_P, _S, _E]),
    ("cf_tokenize", _S, [_P, _S, _Z, ctypes.c_bool, _E]),
    ("cf_detokenize", _P, [_P, _IDS, _Z, ctypes.POINTER(_Z), _E]),
    ("cf_lint", _S, [_P, _E]),
    ("cf_n_vocab", _Z, [_P]),
    ("cf_mask_new", _P, [_P, _S, _E]),
    ("cf_mask_free", None, [_P]),
    ("cf_mask_fill", _I, [_P, _WORDS, _Z, _E]),
    ("cf_mask_take", _I, [_P, ctypes.c_int32, _E]),
    ("cf_mask_back", None, [_P, _Z]),
    ("cf_mask_may_end", ctypes.c_bool, [_P]),
]


def _find() -> str:
    """$CONFAB_LIBRARY, the library of this package, or that of the system."""
    named = os.environ.get("CONFAB_LIBRARY")
    if named:
        return named
    own = pathlib.Path(__file__).with_name("libconfab.so.0")
    if own.exists():
        return str(own)
    return ctypes.util.find_library("confab") or "libconfab.so.0"


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(_find())
    for name, result, arguments in _FUNCTIONS:
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


lib = _load()
