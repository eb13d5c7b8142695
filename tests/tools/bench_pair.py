#!/usr/bin/env python3
"""Writes a model of Qwen3-0.6B's shape and a draft model for it.

usage: bench_pair.py LARGE.gguf SMALL.gguf SHARE [Q8_0|Q4_0]

What both say is known: after token t the large model says next(t), and the
small one says the same for SHARE of all tokens and another token for the rest.
The large one's layers cost what they cost and add nothing: the last matrices of
attention and feed-forward blocks are zero, and row next(t) of the output matrix
is the embedding of t.  No token comes twice, so that nothing can be looked up.
Needs only the standard library.
"""
import os
import struct
import sys

sys.dont_write_bytecode = True
from bench_model import BLOCK, CODES, attention, base, block  # noqa: E402

FIRST, STEP = 300, 7919  # tokens before FIRST are bytes and marks


class Known:
    """A model's data where it is not noise."""

    def __init__(self, model, share):
        self.model, self.plain, self.share = model, model.data, share
        model.data = self.data
        self.rows = None

    def data(self, name, dims, kind):
        if kind != "F32" and ("attn_output" in name or "ffn_down" in name):
            return bytes(dims[0] * dims[1] // BLOCK[kind][1] * BLOCK[kind][2])
        if name == "token_embd.weight":
            self.rows = rows(dims, kind)
            return b"".join(self.rows)
        if name == "output.weight":
            return b"".join(self.output())
        return self.plain(name, dims, kind)

    def output(self):
        """A token that is nobody's next has the row of a byte."""
        n = len(self.rows)
        out = [self.rows[0]] * n
        for t in range(FIRST, n):
            right = (t * 2654435761 >> 7) % 1000 < self.share * 1000
            out[FIRST + (t - FIRST + STEP + (0 if right else 1)) % (n - FIRST)] = self.rows[t]
        return out


def rows(dims, kind):
    _, size, size_bytes = BLOCK[kind]
    d = struct.pack("<e", 1.5 / CODES[kind] / dims[0] ** 0.5)
    n = dims[0] // size
    out = []
    for _ in range(dims[1]):
        noise = os.urandom(n * size_bytes)
        out.append(b"".join(d + noise[i * size_bytes + 2:(i + 1) * size_bytes] for i in range(n)))
    return out


def model(arch, kind, layers, d, ff, heads, kv, head, vocab):
    m = base(arch, kind, layers, d, ff, heads, kv, head, vocab)
    m.mat("output", d, vocab)
    m.vec("output_norm.weight", d)
    for i in range(layers):
        b = f"blk.{i}."
        m.vec(b + "attn_norm.weight", d)
        m.vec(b + "ffn_norm.weight", d)
        attention(m, b, d, heads, kv, head, norm=arch == "qwen3")
        block(m, b, d, ff)
    return m


def main():
    large, small, share, *kind = sys.argv[1:]
    kind = kind[0] if kind else "Q8_0"
    m = model("qwen3", kind, 28, 1024, 3072, 16, 8, 128, 151936)
    Known(m, 1)
    m.write(large)
    m = model("llama", "Q8_0", 1, 64, 64, 1, 1, 64, 151936)
    Known(m, float(share))
    m.write(small)


if __name__ == "__main__":
    main()
