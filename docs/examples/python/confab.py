"""confab from Python: one class over the C library's confab.h, by ctypes.

    import confab
    with confab.open("bundled") as model:
        print(model.chat("Who are you?"))

The library is found by the loader's rules (libconfab.so.0), or at the path in
$CONFAB_LIBRARY.  A Model belongs to one thread at a time; interrupt() may be
called from any thread.
"""

import ctypes
import ctypes.util
import json
import os

OK, CANCELLED = 0, 7
TEXT, THINKING, CALL, RESULT, NOTE = range(5)


class Error(Exception):
    """What the library reported; `code` is its cf_status."""

    def __init__(self, err):
        super().__init__(err.text.decode("utf-8", "replace"))
        self.code = err.code


class _Error(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_int),
        ("line", ctypes.c_uint32),
        ("col", ctypes.c_uint32),
        ("off", ctypes.c_uint64),
        ("text", ctypes.c_char * 240),
    ]


class _OpenWith(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("template_name", ctypes.c_char_p),
        ("family", ctypes.c_char_p),
        ("key", ctypes.c_char_p),
        ("server_model", ctypes.c_char_p),
        ("n_threads", ctypes.c_uint32),
        ("n_ctx", ctypes.c_uint32),
    ]


_TOOL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_HEARD = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
)

_P, _S, _Z, _I = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
_E = ctypes.POINTER(_Error)
_WORDS = ctypes.POINTER(ctypes.c_uint32)

# name, result, arguments
_FUNCTIONS = [
    ("cf_version", _S, []),
    ("cf_open_with", _P, [_S, ctypes.POINTER(_OpenWith), _E]),
    ("cf_close", None, [_P]),
    ("cf_chat", _S, [_P, _S, _E]),
    ("cf_interrupt", None, [_P]),
    ("cf_on_reply", None, [_P, _HEARD, _P]),
    ("cf_set_system", _I, [_P, _S, _E]),
    ("cf_set", _I, [_P, _S, _S, _E]),
    ("cf_constrain", _I, [_P, _S, _E]),
    ("cf_messages", _S, [_P, _E]),
    ("cf_set_messages", _I, [_P, _S, _E]),
    ("cf_last_reply", _S, [_P, _E]),
    ("cf_tool_return", None, [_P, _S]),
    ("cf_tool_fail", None, [_P, _S]),
    ("cf_add_tool", _I, [_P, _S, _TOOL, _P, _E]),
    ("cf_inspect", _S, [_P, _S, _E]),
    ("cf_tokenize", _S, [_P, _S, _Z, ctypes.c_bool, _E]),
    (
        "cf_detokenize",
        _P,
        [_P, ctypes.POINTER(ctypes.c_int32), _Z, ctypes.POINTER(_Z), _E],
    ),
    ("cf_lint", _S, [_P, _E]),
    ("cf_n_vocab", _Z, [_P]),
    ("cf_mask_new", _P, [_P, _S, _E]),
    ("cf_mask_free", None, [_P]),
    ("cf_mask_fill", _I, [_P, _WORDS, _Z, _E]),
    ("cf_mask_take", _I, [_P, ctypes.c_int32, _E]),
    ("cf_mask_back", None, [_P, _Z]),
    ("cf_mask_may_end", ctypes.c_bool, [_P]),
]


def _load():
    path = os.environ.get("CONFAB_LIBRARY") or ctypes.util.find_library("confab")
    lib = ctypes.CDLL(path or "libconfab.so.0")
    for name, result, arguments in _FUNCTIONS:
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
    return lib


_lib = _load()
__version__ = _lib.cf_version().decode()


def _bytes(text):
    if text is None:
        return None
    if not isinstance(text, str):
        raise TypeError(f"expected a str, not {type(text).__name__}")
    if "\0" in text:
        raise ValueError("a text for the library ends at its first NUL")
    return text.encode("utf-8")


def _spec(spec):
    return None if spec is None else json.dumps(spec).encode("utf-8")


def open(model="bundled", **options):
    """Opens a model as cf_open_with() does; options: template_name, family,
    key, server_model, n_threads, n_ctx."""
    return Model(model, **options)


class Model:
    """A model with its template and one conversation."""

    def __init__(self, model="bundled", **options):
        self._handle = None
        self._callbacks = []
        self._on_reply = None
        self._is_answering = False
        given = {k: _bytes(v) if isinstance(v, str) else v for k, v in options.items()}
        options = _OpenWith(size=ctypes.sizeof(_OpenWith), **given)
        err = _Error()
        self._handle = _lib.cf_open_with(
            _bytes(model), ctypes.byref(options), ctypes.byref(err)
        )
        if not self._handle:
            raise Error(err)

    def _need_idle(self):
        if self._is_answering:
            raise RuntimeError("this handle is answering")

    def close(self):
        self._need_idle()
        handle, self._handle = self._handle, None
        _lib.cf_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if self._handle:
            self.close()

    def _call(self, function, *arguments):
        """Calls a function that returns a status or a text."""
        if not self._handle:
            raise ValueError("the model is closed")
        err = _Error()
        value = function(self._handle, *arguments, ctypes.byref(err))
        failed = value != OK if function.restype is _I else value is None
        if failed:
            raise Error(err)
        return value

    def _json(self, function, *arguments):
        return json.loads(self._call(function, *arguments))

    # ---- the conversation

    def chat(self, message=None):
        """Sends a message and returns the text of the reply."""
        self._need_idle()
        message = _bytes(message)
        self._is_answering = True
        try:
            return self._call(_lib.cf_chat, message).decode("utf-8", "replace")
        finally:
            self._is_answering = False

    def interrupt(self):
        if self._handle:
            _lib.cf_interrupt(self._handle)

    def on_reply(self, function):
        """Has function(kind, text) called with each piece of a reply."""
        self._need_idle()

        def heard(_, kind, text, n):
            function(kind, ctypes.string_at(text, n).decode("utf-8", "replace"))

        self._on_reply = _HEARD(heard) if function else _HEARD()
        _lib.cf_on_reply(self._handle, self._on_reply, None)

    def system(self, text):
        self._call(_lib.cf_set_system, _bytes(text))

    def set(self, name, value):
        self._call(_lib.cf_set, _bytes(name), _bytes(str(value)))

    def constrain(self, spec):
        """spec: {"schema": ...}, {"regex": ...} and so on, or None."""
        self._call(_lib.cf_constrain, _spec(spec))

    @property
    def messages(self):
        return self._json(_lib.cf_messages)

    @messages.setter
    def messages(self, messages):
        self._call(_lib.cf_set_messages, _spec(messages))

    @property
    def last_reply(self):
        return self._json(_lib.cf_last_reply)

    def tool(self, declaration, function):
        """Adds a tool: function(arguments) returns a string or what json can
        write; what it raises is the call's failure."""

        def run(_, arguments, result):
            try:
                value = function(json.loads(arguments))
                text = value if isinstance(value, str) else json.dumps(value)
                _lib.cf_tool_return(result, _bytes(text))
            except Exception as why:  # goes to the model, not through C
                _lib.cf_tool_fail(result, _bytes(str(why)))

        callback = _TOOL(run)
        self._call(_lib.cf_add_tool, _spec(declaration), callback, None)
        self._callbacks.append(callback)

    # ---- inside

    def render(self, message=None):
        """The prompt with its origins, tokens and losses, as cf_inspect()."""
        return self._json(_lib.cf_inspect, _bytes(message))

    def tokenize(self, text, special=False):
        data = text.encode("utf-8")
        return self._json(_lib.cf_tokenize, data, len(data), special)

    def detokenize(self, ids):
        """The bytes of the tokens."""
        n = _Z()
        array = (ctypes.c_int32 * len(ids))(*ids)
        text = self._call(_lib.cf_detokenize, array, len(ids), ctypes.byref(n))
        return ctypes.string_at(text, n.value)

    def lint(self):
        return self._json(_lib.cf_lint)

    @property
    def n_vocab(self):
        return _lib.cf_n_vocab(self._handle)

    def mask(self, spec):
        return Mask(self, spec)


class Mask:
    """Which tokens a constraint allows next."""

    def __init__(self, model, spec):
        self._handle = None
        self._model = model  # keeps it open for as long as the mask lives
        self._handle = model._call(_lib.cf_mask_new, _spec(spec))
        self._words = (ctypes.c_uint32 * ((model.n_vocab + 31) // 32))()

    def __del__(self):
        if self._handle and self._model._handle:
            _lib.cf_mask_free(self._handle)

    def _check(self, status, err):
        if status != OK:
            raise Error(err)

    def allowed(self):
        """The ids that may come next."""
        err = _Error()
        n = len(self._words)
        status = _lib.cf_mask_fill(self._handle, self._words, n, ctypes.byref(err))
        self._check(status, err)
        return [
            32 * i + bit
            for i, word in enumerate(self._words)
            if word
            for bit in range(32)
            if word >> bit & 1
        ]

    def take(self, token):
        err = _Error()
        self._check(_lib.cf_mask_take(self._handle, token, ctypes.byref(err)), err)

    def back(self, n=1):
        _lib.cf_mask_back(self._handle, n)

    @property
    def may_end(self):
        return _lib.cf_mask_may_end(self._handle)
