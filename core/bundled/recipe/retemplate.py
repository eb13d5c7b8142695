#!/usr/bin/env python3
"""Puts chat_template.jinja into a GGUF file without touching anything else.

    python3 core/bundled/recipe/retemplate.py core/bundled/confab-tiny.gguf
"""

import argparse
import pathlib
import struct

KEY = b"tokenizer.chat_template"
STRING, ARRAY, ALIGN = 8, 9, 32
WIDTH = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, fmt):
        value = struct.unpack_from("<" + fmt, self.data, self.at)[0]
        self.at += struct.calcsize("<" + fmt)
        return value

    def string(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n : self.at]

    def value(self, kind):
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            item, n = self.take("I"), self.take("Q")
            for _ in range(n):
                self.value(item)
        else:
            self.at += WIDTH[kind]


def retemplate(data, template):
    """The file's bytes with another template; tensor data keeps its order."""
    r = Reader(data)
    assert r.take("4s") == b"GGUF" and r.take("I") == 3, "not a GGUF file of version 3"
    n_tensors, n_entries = r.take("Q"), r.take("Q")
    entries, found = bytearray(), False
    for _ in range(n_entries):
        start = r.at
        key, kind = r.string(), r.take("I")
        if key == KEY:
            assert kind == STRING
            head = data[start : r.at]
            r.string()
            entries += head + struct.pack("<Q", len(template)) + template
            found = True
        else:
            r.value(kind)
            entries += data[start : r.at]
    assert found, "the file has no template"
    start = r.at
    for _ in range(n_tensors):
        r.string()
        n_dims = r.take("I")
        r.at += 8 * n_dims + 4 + 8
    out = data[:24] + bytes(entries) + data[start : r.at]
    return out + bytes(-len(out) % ALIGN) + data[r.at + -r.at % ALIGN :]


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("gguf", type=pathlib.Path)
    a = p.parse_args()
    source = pathlib.Path(__file__).parent / "chat_template.jinja"
    template = source.read_text().rstrip("\n").encode()
    a.gguf.write_bytes(retemplate(a.gguf.read_bytes(), template))
