#!/usr/bin/env python3
"""Writes a random GGUF of a real model's shape, for measuring speed.

usage: bench_model.py OUT.gguf SHAPE [Q8_0|Q4_0] [LAYERS]

SHAPE: qwen3-0.6b qwen35-0.8b lfm2-1.2b granite-h-tiny gemma4-e2b qwen3-30b-a3b
glm-4.7-flash.  LAYERS cuts the model to fit memory.  The weights are random blocks with scales that
keep activations near one: the answers are noise, the cost is real.  Needs only
the standard library.
"""
import os
import struct
import sys

BLOCK = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q8_0": (8, 32, 34)}
CODES = {"Q4_0": 8, "Q8_0": 127}  # the largest


def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def value(v):
    """A metadata value with its type."""
    if isinstance(v, str):
        return struct.pack("<I", 8) + text(v)
    if isinstance(v, bool):
        return struct.pack("<I?", 7, v)
    if isinstance(v, int):
        return struct.pack("<II", 4, v)
    if isinstance(v, float):
        return struct.pack("<If", 6, v)
    head = {str: 8, bool: 7, int: 5, float: 6}[type(v[0])]
    body = b"".join(value(x)[4:] for x in v)
    return struct.pack("<IIQ", 9, head, len(v)) + body


class Model:
    def __init__(self, arch, kind, layers):
        self.arch, self.kind, self.layers = arch, kind, layers
        self.keys, self.tensors = {}, []

    def key(self, **keys):
        for k, v in keys.items():
            self.keys[f"{self.arch}.{k.replace('__', '.')}"] = v

    def mat(self, name, *dims):
        """dims as in the file: inputs first."""
        self.tensors.append((name + ".weight", dims, self.kind))

    def vec(self, name, *dims):
        self.tensors.append((name, dims, "F32"))

    def data(self, name, dims, kind):
        n = 1
        for d in dims:
            n *= d
        if kind == "F32":
            one = 1.0 if len(dims) == 1 else 1 / dims[0]
            return struct.pack("<f", -one if name.endswith("ssm_a") else one) * n
        _, size, size_bytes = BLOCK[kind]
        d = struct.pack("<e", 1.5 / CODES[kind] / dims[0] ** 0.5)
        noise = os.urandom(1 << 16)
        blocks = b"".join(
            d + noise[i * 32:i * 32 + size_bytes - 2] for i in range(2000))
        total = n // size * size_bytes
        return (blocks * (total // len(blocks) + 1))[:total]

    def write(self, path):
        out = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors),
                                    len(self.keys))
        out += b"".join(text(k) + value(v) for k, v in self.keys.items())
        at = 0
        for name, dims, kind in self.tensors:
            number, size, size_bytes = BLOCK[kind]
            n = 1
            for d in dims:
                n *= d
            out += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims),
                                            *dims, number, at)
            at += -(-n // size * size_bytes // 32) * 32
        with open(path, "wb") as f:
            f.write(out + b"\0" * (-len(out) % 32))
            for name, dims, kind in self.tensors:
                body = self.data(name, dims, kind)
                f.write(body + b"\0" * (-len(body) % 32))


def vocabulary(m, n):
    words = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
    words += ["t%d" % i for i in range(len(words), n)]
    m.keys["tokenizer.ggml.model"] = "llama"
    m.keys["tokenizer.ggml.tokens"] = words
    m.keys["tokenizer.ggml.scores"] = [0.0] * n
    m.keys["tokenizer.ggml.token_type"] = [2, 3, 3] + [6] * 256 + [1] * (n - 259)


def base(arch, kind, layers, d, ff, heads, kv, head, vocab, **more):
    m = Model(arch, kind, layers)
    m.keys["general.architecture"] = arch
    m.key(context_length=32768, embedding_length=d, block_count=layers,
          feed_forward_length=ff, attention__head_count=heads,
          attention__head_count_kv=kv, attention__key_length=head,
          attention__value_length=head,
          attention__layer_norm_rms_epsilon=1e-6, rope__freq_base=1e6, **more)
    vocabulary(m, vocab)
    m.mat("token_embd", d, vocab)
    return m


def block(m, b, d, ff):
    m.mat(b + "ffn_gate", d, ff)
    m.mat(b + "ffn_up", d, ff)
    m.mat(b + "ffn_down", ff, d)


def experts(m, b, d, ff, n):
    m.vec(b + "ffn_gate_inp.weight", d, n)
    m.mat(b + "ffn_gate_exps", d, ff, n)
    m.mat(b + "ffn_up_exps", d, ff, n)
    m.mat(b + "ffn_down_exps", ff, d, n)


def attention(m, b, d, heads, kv, head, gate=1, norm=True):
    m.mat(b + "attn_q", d, heads * head * gate)
    m.mat(b + "attn_k", d, kv * head)
    m.mat(b + "attn_v", d, kv * head)
    m.mat(b + "attn_output", heads * head, d)
    if norm:
        m.vec(b + "attn_q_norm.weight", head)
        m.vec(b + "attn_k_norm.weight", head)


def ssm(m, b, channels, a, inner, d):
    m.vec(b + "ssm_conv1d.weight", 4, channels)
    m.vec(b + "ssm_dt.bias", a[-1])
    m.vec(b + "ssm_a", *a)
    m.mat(b + "ssm_out", inner, d)


def qwen35(kind, layers):
    d, ff, heads, kv, head, s, n = 1024, 3584, 8, 2, 256, 128, 16
    m = base("qwen35", kind, layers or 24, d, ff, heads, kv, head, 248320,
             rope__dimension_count=64, ssm__conv_kernel=4,
             ssm__inner_size=s * n, ssm__state_size=s, ssm__time_step_rank=n,
             ssm__group_count=n, full_attention_interval=4,
             rope__dimension_sections=[11, 11, 10, 0])
    m.vec("output_norm.weight", d)
    for i in range(m.layers):
        b = f"blk.{i}."
        m.vec(b + "attn_norm.weight", d)
        m.vec(b + "post_attention_norm.weight", d)
        if i % 4 == 3:
            attention(m, b, d, heads, kv, head, gate=2)
        else:
            m.mat(b + "attn_qkv", d, 3 * s * n)
            m.mat(b + "attn_gate", d, s * n)
            m.mat(b + "ssm_beta", d, n)
            m.mat(b + "ssm_alpha", d, n)
            m.vec(b + "ssm_norm.weight", s)
            ssm(m, b, 3 * s * n, [n], s * n, d)
        block(m, b, d, ff)
    return m


def lfm2(kind, layers):
    d, ff, head = 2048, 8192, 64
    kv = [8 if i in (2, 5, 8, 10, 12, 14) else 0 for i in range(layers or 16)]
    m = base("lfm2", kind, len(kv), d, ff, 32, kv, head, 65536,
             shortconv__l_cache=3)
    m.vec("token_embd_norm.weight", d)
    for i, n in enumerate(kv):
        b = f"blk.{i}."
        m.vec(b + "attn_norm.weight", d)
        m.vec(b + "ffn_norm.weight", d)
        if n:
            attention(m, b, d, 32, n, head)
        else:
            m.mat(b + "shortconv.in_proj", d, 3 * d)
            m.vec(b + "shortconv.conv.weight", 3, d)
            m.mat(b + "shortconv.out_proj", d, d)
        block(m, b, d, ff)
    return m


def granite(kind, layers):
    d, s, n, inner = 1536, 128, 48, 3072
    kv = [4 if i % 10 == 5 else 0 for i in range(layers or 40)]
    m = base("granitehybrid", kind, len(kv), d, 512, 12, kv, 128, 100352,
             ssm__conv_kernel=4, ssm__inner_size=inner, ssm__state_size=s,
             ssm__time_step_rank=n, ssm__group_count=1, expert_count=64,
             expert_used_count=6, expert_shared_feed_forward_length=1024,
             rope__scaling__finetuned=False)
    m.vec("output_norm.weight", d)
    for i, has_kv in enumerate(kv):
        b = f"blk.{i}."
        m.vec(b + "attn_norm.weight", d)
        m.vec(b + "ffn_norm.weight", d)
        if has_kv:
            attention(m, b, d, 12, 4, 128, norm=False)
        else:
            m.mat(b + "ssm_in", d, 2 * inner + 2 * s + n)
            m.vec(b + "ssm_d", 1, n)
            m.vec(b + "ssm_norm.weight", inner)
            ssm(m, b, inner + 2 * s, [1, n], inner, d)
        experts(m, b, d, 512, 64)
        for part, x, y in (("gate", d, 1024), ("up", d, 1024),
                           ("down", 1024, d)):
            m.mat(f"{b}ffn_{part}_shexp", x, y)
    return m


def gemma4(kind, layers):
    d, p, vocab = 1536, 256, 262144
    n = layers or 35
    window = [i % 5 != 4 for i in range(n)]
    shared = min(20, n - 5)
    m = base("gemma4", kind, n, d, 6144, 8, 1, 512, vocab,
             attention__key_length_swa=256, attention__value_length_swa=256,
             rope__dimension_count_swa=256, attention__sliding_window=512,
             attention__sliding_window_pattern=window,
             attention__shared_kv_layers=shared,
             embedding_length_per_layer_input=p,
             final_logit_softcapping=30.0)
    m.vec("output_norm.weight", d)
    m.mat("per_layer_token_embd", n * p, vocab)
    m.mat("per_layer_model_proj", d, n * p)
    m.vec("per_layer_proj_norm.weight", p)
    m.vec("rope_freqs.weight", 256)
    for i in range(n):
        b, head = f"blk.{i}.", 256 if window[i] else 512
        for name in ("attn_norm", "ffn_norm", "post_attention_norm",
                     "post_ffw_norm", "post_norm"):
            m.vec(b + name + ".weight", d)
        m.mat(b + "attn_q", d, 8 * head)
        m.vec(b + "attn_q_norm.weight", head)
        if i < n - shared:
            m.mat(b + "attn_k", d, head)
            m.mat(b + "attn_v", d, head)
            m.vec(b + "attn_k_norm.weight", head)
        m.mat(b + "attn_output", 8 * head, d)
        block(m, b, d, 6144)
        m.mat(b + "inp_gate", d, p)
        m.mat(b + "proj", p, d)
        m.vec(b + "layer_output_scale.weight", 1)
    return m


def qwen3moe(kind, layers):
    d = 2048
    m = base("qwen3moe", kind, layers or 48, d, 6144, 32, 4, 128, 151936,
             expert_count=128, expert_used_count=8,
             expert_feed_forward_length=768)
    m.vec("output_norm.weight", d)
    m.mat("output", d, 151936)
    for i in range(m.layers):
        b = f"blk.{i}."
        m.vec(b + "attn_norm.weight", d)
        m.vec(b + "ffn_norm.weight", d)
        attention(m, b, d, 32, 4, 128)
        experts(m, b, d, 768, 128)
    return m


def glm47flash(kind, layers):
    d, heads, plain, rot, v, q, c, n, ff = 2048, 20, 192, 64, 256, 768, 512, 64, 1536
    m = base("deepseek2", kind, layers or 47, d, 10240, heads, 1, c + rot, 154880,
             attention__kv_lora_rank=c, attention__q_lora_rank=q,
             attention__key_length_mla=plain + rot, attention__value_length_mla=v,
             rope__dimension_count=rot, leading_dense_block_count=1,
             expert_count=n, expert_used_count=4, expert_shared_count=1,
             expert_feed_forward_length=ff, expert_gating_func=2,
             expert_weights_norm=True, expert_weights_scale=1.8,
             expert_group_count=1, expert_group_used_count=1, vocab_size=154880)
    m.key(attention__value_length=c)
    m.vec("output_norm.weight", d)
    m.mat("output", d, 154880)
    for i in range(m.layers):
        b = f"blk.{i}."
        for name, size in (("attn", d), ("ffn", d), ("attn_q_a", q), ("attn_kv_a", c)):
            m.vec(f"{b}{name}_norm.weight", size)
        m.mat(b + "attn_q_a", d, q)
        m.mat(b + "attn_q_b", q, heads * (plain + rot))
        m.mat(b + "attn_kv_a_mqa", d, c + rot)
        m.mat(b + "attn_k_b", plain, c, heads)
        m.mat(b + "attn_v_b", c, v, heads)
        m.mat(b + "attn_output", heads * v, d)
        if i == 0:
            block(m, b, d, 10240)
            continue
        experts(m, b, d, ff, n)
        m.vec(b + "exp_probs_b.bias", n)
        for part, x, y in (("gate", d, ff), ("up", d, ff), ("down", ff, d)):
            m.mat(f"{b}ffn_{part}_shexp", x, y)
    return m


def qwen3(kind, layers):
    d, ff = 1024, 3072
    m = base("qwen3", kind, layers or 28, d, ff, 16, 8, 128, 151936)
    m.vec("output_norm.weight", d)
    for i in range(m.layers):
        b = f"blk.{i}."
        m.vec(b + "attn_norm.weight", d)
        m.vec(b + "ffn_norm.weight", d)
        attention(m, b, d, 16, 8, 128)
        block(m, b, d, ff)
    return m


SHAPES = {"qwen3-0.6b": qwen3, "qwen35-0.8b": qwen35, "lfm2-1.2b": lfm2, "granite-h-tiny": granite,
          "gemma4-e2b": gemma4, "qwen3-30b-a3b": qwen3moe, "glm-4.7-flash": glm47flash}


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in SHAPES:
        sys.exit(__doc__)
    kind = sys.argv[3] if len(sys.argv) > 3 else "Q4_0"
    layers = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    SHAPES[sys.argv[2]](kind, layers).write(sys.argv[1])


if __name__ == "__main__":
    main()
