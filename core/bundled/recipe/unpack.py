#!/usr/bin/env python3
"""Writes a checkpoint and the tokenizer out of a GGUF file, for train.py to go on from.

    python3 core/bundled/recipe/unpack.py core/bundled/confab-tiny.gguf --out build/bundled --step 11400

The weights are those of the file, so eight bits each; the optimiser starts anew.
"""

import argparse
import json
import pathlib

import numpy as np
import torch

from export import ALIGN, F32, LAYER_TENSORS
from retemplate import ARRAY, STRING, Reader


def read(data):
    """(metadata, name -> float32 array) of a GGUF file with tensors in F32 and Q8_0."""
    r = Reader(data)
    assert r.take("4s") == b"GGUF" and r.take("I") == 3, "not a GGUF file of version 3"
    n_tensors, n_entries = r.take("Q"), r.take("Q")
    meta, tensors = {}, {}
    for _ in range(n_entries):
        key, kind = r.string().decode(), r.take("I")
        if kind == ARRAY and (item := r.take("I")) == STRING:
            meta[key] = [r.string().decode() for _ in range(r.take("Q"))]
        elif kind == ARRAY:
            for _ in range(r.take("Q")):
                r.value(item)
        else:
            r.value(kind)
    infos = []
    for _ in range(n_tensors):
        name = r.string().decode()
        shape = [r.take("Q") for _ in range(r.take("I"))][::-1]
        infos.append((name, shape, r.take("I"), r.take("Q")))
    base = r.at + -r.at % ALIGN
    for name, shape, kind, at in infos:
        n = int(np.prod(shape))
        if kind == F32:
            tensors[name] = np.frombuffer(data, np.float32, n, base + at).reshape(shape)
        else:
            blocks = np.frombuffer(data, np.uint8, n // 32 * 34, base + at).reshape(-1, 34)
            scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
            tensors[name] = (blocks[:, 2:].copy().view(np.int8) * scale).reshape(shape)
    return meta, tensors


def state(tensors):
    """The parameters by their names in model.py."""
    ours = {name: own for own, name in LAYER_TENSORS}
    out = {}
    for name, w in tensors.items():
        part = name.removesuffix(".weight").split(".")
        key = {"token_embd": "embd", "output_norm": "norm"}.get(part[0]) or f"layers.{part[1]}.{ours[part[2]]}"
        out[key] = torch.from_numpy(np.array(w, np.float32))
    return out


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("gguf", type=pathlib.Path)
    p.add_argument("--out", type=pathlib.Path, required=True)
    p.add_argument("--step", type=int, required=True, help="where the run stands")
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    META, TENSORS = read(a.gguf.read_bytes())
    merges = [m.split(" ") for m in META["tokenizer.ggml.merges"]]
    (a.out / "tokenizer.json").write_text(json.dumps(merges, ensure_ascii=False, indent=0))
    torch.save({"model": state(TENSORS), "step": a.step}, a.out / "checkpoint.pt")
