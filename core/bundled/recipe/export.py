#!/usr/bin/env python3
"""Writes a trained checkpoint as a Q8_0 GGUF with its tokenizer and template.

    python3 core/bundled/recipe/export.py --run build/bundled --out core/bundled/confab-tiny.gguf

GGUF version 3, alignment 32 (https://github.com/ggml-org/ggml, docs/gguf.md).
A Q8_0 block is 32 weights: a half-precision scale, the largest magnitude
divided by 127, then 32 signed bytes.
"""

import argparse
import pathlib
import struct

import numpy as np
import torch

import tokenizer

F32, Q8_0 = 0, 8
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5
ALIGN = 32

LAYER_TENSORS = [  # (parameter, GGUF name)
    ("attn_norm", "attn_norm"), ("q", "attn_q"), ("k", "attn_k"), ("v", "attn_v"),
    ("q_norm", "attn_q_norm"), ("k_norm", "attn_k_norm"), ("o", "attn_output"),
    ("ffn_norm", "ffn_norm"), ("gate", "ffn_gate"), ("up", "ffn_up"), ("down", "ffn_down")]


def q8_0(w):
    blocks = w.astype(np.float32).reshape(-1, 32)
    scale = np.abs(blocks).max(1) / 127
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    out = np.zeros((len(blocks), 34), np.uint8)
    out[:, :2] = scale.astype(np.float16).view(np.uint8).reshape(-1, 2)
    out[:, 2:] = np.rint(blocks * inverse[:, None]).astype(np.int8).view(np.uint8)
    return out.tobytes()


def string(s):
    data = s.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    head = string(key) + struct.pack("<I", kind)
    if kind == STRING:
        return head + string(value)
    if kind == ARRAY:
        of, items = value
        body = b"".join(map(string, items)) if of == STRING else np.array(items, np.int32).tobytes()
        return head + struct.pack("<IQ", of, len(items)) + body
    return head + struct.pack({UINT32: "<I", FLOAT32: "<f", BOOL: "<?"}[kind], value)


def metadata(tok, n_vocab, n_layer, template):
    tokens = list(tok.tokens) + [f"[PAD{i}]" for i in range(n_vocab - len(tok.tokens))]
    kinds = [CONTROL if t in tokenizer.CONTROL else USER_DEFINED if t in tokenizer.WHOLE_SET else
             UNUSED if i >= len(tok.tokens) else NORMAL for i, t in enumerate(tokens)]
    out = [entry("general.architecture", STRING, "qwen3"),
           entry("general.name", STRING, "confab-tiny"),
           entry("general.description", STRING,
                 "A tiny demonstration model, trained from nothing for confab by core/bundled."),
           entry("general.license", STRING, "mit"),
           entry("general.file_type", UINT32, 7),
           entry("general.quantization_version", UINT32, 2)]
    numbers = {"block_count": n_layer, "context_length": 2048, "embedding_length": 256,
               "feed_forward_length": 704, "attention.head_count": 4, "attention.head_count_kv": 2,
               "attention.key_length": 64, "attention.value_length": 64}
    out += [entry("qwen3." + k, UINT32, v) for k, v in numbers.items()]
    out += [entry("qwen3.attention.layer_norm_rms_epsilon", FLOAT32, 1e-6),
            entry("qwen3.rope.freq_base", FLOAT32, 1e6),
            entry("tokenizer.ggml.model", STRING, "gpt2"),
            entry("tokenizer.ggml.pre", STRING, "qwen2"),
            entry("tokenizer.ggml.tokens", ARRAY, (STRING, tokens)),
            entry("tokenizer.ggml.token_type", ARRAY, (INT32, kinds)),
            entry("tokenizer.ggml.merges", ARRAY, (STRING, [f"{a} {b}" for a, b in tok.merges])),
            entry("tokenizer.ggml.eos_token_id", UINT32, tok.end),
            entry("tokenizer.ggml.padding_token_id", UINT32, tok.id["<|endoftext|>"]),
            entry("tokenizer.ggml.add_bos_token", BOOL, False),
            entry("tokenizer.chat_template", STRING, template)]
    return out


def tensors(weights, n_layer):
    yield "token_embd.weight", weights["embd"]
    for i in range(n_layer):
        for ours, name in LAYER_TENSORS:
            yield f"blk.{i}.{name}.weight", weights[f"layers.{i}.{ours}"]
    yield "output_norm.weight", weights["norm"]


def export(run, out):
    run = pathlib.Path(run)
    tok = tokenizer.load(run / "tokenizer.json")
    weights = torch.load(run / "checkpoint.pt", map_location="cpu")["model"]
    n_layer = 1 + max(int(k.split(".")[1]) for k in weights if k.startswith("layers."))
    template = (pathlib.Path(__file__).parent / "chat_template.jinja").read_text().rstrip("\n")
    entries = metadata(tok, weights["embd"].shape[0], n_layer, template)
    infos, data = [], bytearray()
    for name, w in tensors(weights, n_layer):
        w = w.float().numpy()
        kind = Q8_0 if w.ndim == 2 else F32
        data += bytes(-len(data) % ALIGN)
        infos.append(string(name) + struct.pack("<I", w.ndim) +
                     b"".join(struct.pack("<Q", n) for n in reversed(w.shape)) +
                     struct.pack("<IQ", kind, len(data)))
        data += q8_0(w) if kind == Q8_0 else w.tobytes()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(entries)) + b"".join(entries) + b"".join(infos)
    head += bytes(-len(head) % ALIGN)
    pathlib.Path(out).write_bytes(head + bytes(data))
    return len(head) + len(data)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--run", required=True, help="folder that train.py wrote")
    p.add_argument("--out", required=True)
    a = p.parse_args()
    print(export(a.run, a.out), "bytes")
