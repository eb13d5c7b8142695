#!/usr/bin/env python3
"""Writes a random projector file of a real encoder's shape, for measuring.

usage: bench_mmproj.py OUT.gguf SHAPE WIDTH [LAYERS]

SHAPE: siglip (896 pixels, the projector of Gemma 3), whisper (large, the
projector of Voxtral).  WIDTH is that of the text model's rows; LAYERS cuts the
encoder.  Weights are random F16 numbers that keep activations near one.  Needs
only the standard library.
"""
import os
import struct
import sys

from bench_model import Model

SMALL = bytes((b & 0x83) | 0x20 for b in range(256))  # +-2^-7 .. 2^-6


class Projector(Model):
    def __init__(self, projector, side):
        super().__init__("clip", "F16", 0)
        self.keys["general.architecture"] = "clip"
        self.keys[f"clip.has_{side}_encoder"] = True
        self.keys["clip.projector_type"] = projector

    def linear(self, name, *dims):
        self.mat(name, *dims)
        self.vec(name + ".bias", dims[-1])

    def norm(self, name, width):
        self.vec(name + ".weight", width)
        self.vec(name + ".bias", width)

    def data(self, name, dims, kind):
        n = 1
        for d in dims:
            n *= d
        if kind == "F16":
            b = bytearray(2 * n)
            b[0::2] = os.urandom(n)
            b[1::2] = os.urandom(n).translate(SMALL)
            return bytes(b)
        one = 1.0 if name.endswith("norm.weight") or ".ln" in name else 0.01
        return struct.pack("<f", one) * n


def common(m, side, width, ff, heads, layers, out, eps):
    p = f"clip.{side}."
    m.keys.update({p + "embedding_length": width,
                   p + "feed_forward_length": ff, p + "block_count": layers,
                   p + "projection_dim": out,
                   p + "attention.head_count": heads,
                   p + "attention.layer_norm_epsilon": eps})


def layers_of(m, letter, n, width, ff, has_k_bias=True):
    for i in range(n):
        b = f"{letter}.blk.{i}."
        m.norm(b + "ln1", width)
        m.norm(b + "ln2", width)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            (m.linear if has_k_bias or name != "attn_k" else m.mat)(
                b + name, width, width)
        m.linear(b + "ffn_up", width, ff)
        m.linear(b + "ffn_down", ff, width)


def picture(m, size, patch, width, side):
    m.keys.update({"clip.vision.image_size": size,
                   "clip.vision.patch_size": patch,
                   "clip.vision.image_mean": [0.5, 0.5, 0.5],
                   "clip.vision.image_std": [0.5, 0.5, 0.5],
                   "clip.use_gelu": True})
    m.mat("v.patch_embd", patch, patch, 3, width)
    m.vec("v.patch_embd.bias", width)
    m.vec("v.position_embd.weight", width, side * side)
    m.norm("v.post_ln", width)


def siglip(out, layers):
    m = Projector("gemma3", "vision")
    common(m, "vision", 1152, 4304, 16, layers or 27, out, 1e-6)
    picture(m, 896, 14, 1152, 64)
    layers_of(m, "v", layers or 27, 1152, 4304)
    m.vec("mm.soft_emb_norm.weight", 1152)
    m.mat("mm.input_projection", out, 1152)
    return m


def whisper(out, layers):
    m = Projector("voxtral", "audio")
    common(m, "audio", 1280, 5120, 20, layers or 32, out, 1e-5)
    m.keys["clip.audio.num_mel_bins"] = 128
    m.keys["clip.audio.projector.stack_factor"] = 4
    m.mat("a.conv1d.1", 3, 128, 1280)
    m.vec("a.conv1d.1.bias", 1, 1280)
    m.mat("a.conv1d.2", 3, 1280, 1280)
    m.vec("a.conv1d.2.bias", 1, 1280)
    m.vec("a.position_embd.weight", 1280, 1500)
    layers_of(m, "a", layers or 32, 1280, 5120, False)
    m.norm("a.post_ln", 1280)
    m.mat("mm.a.mlp.1", 5120, 3072)
    m.mat("mm.a.mlp.2", 3072, out)
    return m


SHAPES = {"siglip": siglip, "whisper": whisper}


def main():
    if len(sys.argv) < 4 or sys.argv[2] not in SHAPES:
        sys.exit(__doc__)
    layers = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    SHAPES[sys.argv[2]](int(sys.argv[3]), layers).write(sys.argv[1])


if __name__ == "__main__":
    main()
