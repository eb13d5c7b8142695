#!/usr/bin/env python3
"""Writes a copy of a GGUF file with its Q8_0 matrices as Q4_0.

usage: requantise.py IN.gguf OUT.gguf

Q4_0 as ggml has it: 32 weights share a scale, the one of largest magnitude
divided by -8, and each is a number from -8 to 7 of 4 bits.
"""
import struct
import sys

Q4_0, Q8_0 = 2, 8
SIZE = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of metadata


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        v = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return v[0]

    def text(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n:self.at]

    def skip(self, kind):
        if kind == 8:
            self.text()
        elif kind == 9:
            item, n = self.take("I"), self.take("Q")
            for _ in range(n):
                self.skip(item)
        else:
            self.at += SIZE[kind]


def requantise(block):
    """34 bytes of Q8_0 as 18 of Q4_0."""
    scale, *codes = struct.unpack("<e32b", block)
    top = max(codes, key=abs) * scale
    step = struct.unpack("<e", struct.pack("<e", top / -8))[0]
    q = [min(15, max(0, int(c * scale / step + 8.5))) if step else 8 for c in codes]
    return struct.pack("<e16B", step, *(q[i] | q[i + 16] << 4 for i in range(16)))


def main():
    data = open(sys.argv[1], "rb").read()
    r = Reader(data)
    r.at = 8
    n_tensors, n_keys = r.take("Q"), r.take("Q")
    for _ in range(n_keys):
        r.text()
        r.skip(r.take("I"))
    head, tensors = data[:r.at], []
    for _ in range(n_tensors):
        name, n_dims = r.text(), r.take("I")
        dims = [r.take("Q") for _ in range(n_dims)]
        tensors.append((name, dims, r.take("I"), r.take("Q")))
    base = (r.at + 31) // 32 * 32
    infos, body = b"", b""
    for i, (name, dims, kind, at) in enumerate(tensors):
        ends = [t[3] for t in tensors if t[3] > at]
        n = 1
        for d in dims:
            n *= d
        size = n // 32 * 34 if kind == Q8_0 else (min(ends) if ends else len(data) - base) - at
        raw = data[base + at:base + at + size]
        if kind == Q8_0:
            raw = b"".join(requantise(raw[k:k + 34]) for k in range(0, size, 34))
            kind = Q4_0
        infos += struct.pack("<Q", len(name)) + name + struct.pack("<I", len(dims))
        infos += struct.pack("<%dQ" % len(dims), *dims) + struct.pack("<IQ", kind, len(body))
        body += raw + bytes(-len(raw) % 32)
    out = head + infos
    with open(sys.argv[2], "wb") as f:
        f.write(out + bytes(-len(out) % 32) + body)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
