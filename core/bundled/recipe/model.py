"""The bundled model in PyTorch: the qwen3 architecture, small.

RMSNorm, rotary positions in the neox layout, grouped queries with normalised
queries and keys, SwiGLU, tied embeddings.  The shapes are those that the GGUF
architecture "qwen3" has; nothing here is special to confab but the start, see
`wire`.
"""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn

EPS = 1e-6


@dataclasses.dataclass
class Shape:
    n_vocab: int
    n_embd: int = 256
    n_layer: int = 6
    n_head: int = 4
    n_head_kv: int = 2
    head_dim: int = 64
    n_ff: int = 704
    rope_base: float = 1e6
    n_ctx: int = 2048


def rms_norm(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * w


def rope_freqs(s):
    return s.rope_base ** (-torch.arange(0, s.head_dim, 2).float() / s.head_dim)


class Layer(nn.Module):
    def __init__(self, s):
        super().__init__()
        d, q, kv = s.n_embd, s.n_head * s.head_dim, s.n_head_kv * s.head_dim
        self.s = s
        for name, rows, cols in (("q", q, d), ("k", kv, d), ("v", kv, d), ("o", d, q),
                                 ("gate", s.n_ff, d), ("up", s.n_ff, d), ("down", d, s.n_ff)):
            w = torch.randn(rows, cols) * 0.5 * cols ** -0.5
            if name in ("o", "down"):
                w.zero_()
            self.register_parameter(name, nn.Parameter(w))
        for name, n in (("attn_norm", d), ("ffn_norm", d), ("q_norm", s.head_dim), ("k_norm", s.head_dim)):
            self.register_parameter(name, nn.Parameter(torch.ones(n)))

    def forward(self, x, cos, sin, mask):
        """x [batch, time, embd] float32; mask [batch, 1, time, time], 0 or -1e9."""
        s = self.s
        batch, time, _ = x.shape
        nq, nkv, group = s.n_head * s.head_dim, s.n_head_kv * s.head_dim, s.n_head // s.n_head_kv
        qk, v = F.linear(rms_norm(x, self.attn_norm),
                         torch.cat([self.q, self.k, self.v])).split([nq + nkv, nkv], -1)
        gain = torch.cat([(self.q_norm * s.head_dim ** -0.5).expand(s.n_head, -1),
                          self.k_norm.expand(s.n_head_kv, -1)])
        qk = rms_norm(qk.view(batch, time, s.n_head + s.n_head_kv, s.head_dim), gain)
        a, b = qk.chunk(2, -1)
        qk = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
        q, k = qk.split([s.n_head, s.n_head_kv], 2)
        q = q.view(batch, time, s.n_head_kv, group, s.head_dim).permute(0, 2, 3, 1, 4)
        q = q.reshape(batch * s.n_head_kv, group * time, s.head_dim)
        k = k.permute(0, 2, 3, 1).reshape(batch * s.n_head_kv, s.head_dim, time)
        v = v.view(batch, time, s.n_head_kv, s.head_dim)
        v = v.permute(0, 2, 1, 3).reshape(batch * s.n_head_kv, time, s.head_dim)
        att = torch.bmm(q, k).view(batch, s.n_head, time, time)
        att = torch.softmax(att + mask, -1).view(batch * s.n_head_kv, group * time, time)
        y = torch.bmm(att, v).view(batch, s.n_head, time, s.head_dim)
        x = x + F.linear(y.permute(0, 2, 1, 3).reshape(batch, time, nq), self.o)
        gate, up = F.linear(rms_norm(x, self.ffn_norm), torch.cat([self.gate, self.up])).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down)


class Model(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.embd = nn.Parameter(torch.randn(s.n_vocab, s.n_embd) * 0.02)
        self.layers = nn.ModuleList(Layer(s) for _ in range(s.n_layer))
        self.norm = nn.Parameter(torch.ones(s.n_embd))
        angle = torch.arange(s.n_ctx).float()[:, None] * rope_freqs(s)
        self.cos, self.sin = angle.cos(), angle.sin()

    def forward(self, ids, mask, positions):
        """Hidden states [batch, time, embd] after the last norm; ids and positions [batch, time]."""
        cos, sin = self.cos[positions][:, :, None], self.sin[positions][:, :, None]
        x = F.embedding(ids, self.embd)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return rms_norm(x, self.norm)

    def logits(self, hidden):
        return F.linear(hidden, self.embd)


@torch.no_grad()
def wire(m, embd_std=0.3, note=0.6, copy=1.0, gain=2.0, n_fast=6, scale=3.0):
    """Starts the model with an induction circuit in three of its heads.

    Head 0 of layer 0 looks one token back and writes what it saw, turned by
    A then B, into the residual stream; head 0 of layers 1 and 2 looks for a
    place whose note is the token at hand and copies what stands there.  Without
    it the circuit forms by itself only after more than a million tokens.
    """
    s, half = m.s, m.s.head_dim // 2
    freqs = rope_freqs(s)

    def rows():  # orthonormal, blind to the constant feature 0
        w = torch.zeros(s.head_dim, s.n_embd)
        w[:, 1:] = torch.linalg.qr(torch.randn(s.n_embd - 1, s.head_dim))[0].t()
        return w

    m.embd.normal_(std=embd_std)
    m.embd[:, 0] = 5 * embd_std
    m.norm.fill_(0.15)
    seen, noted = rows(), rows()
    first = m.layers[0]
    first.q[:s.head_dim] = 0
    first.k[:s.head_dim] = 0
    for j in range(n_fast):  # the score is largest at distance one
        first.q[j, 0] = scale
        first.k[j, 0] = scale * freqs[j].cos()
        first.k[j + half, 0] = scale * freqs[j].sin()
    first.v[:s.head_dim] = seen
    first.o[:, :s.head_dim] = note * noted.t()
    slow = [j for j in range(half) if freqs[j] < 2e-3]
    slow += [j + half for j in slow]
    for layer in m.layers[1:3]:
        layer.q[:s.head_dim] = 0
        layer.k[:s.head_dim] = 0
        layer.q[slow] = scale * seen[slow]
        layer.k[slow] = scale * noted[slow]
        layer.v[:s.head_dim] = rows()
        layer.o[:, :s.head_dim] = copy * layer.v[:s.head_dim].t()
    for layer in m.layers[:3]:
        layer.q_norm.fill_(gain)
        layer.k_norm.fill_(gain)


def newton_schulz(g, steps=5):
    """The nearest orthogonal matrix to g, by the quintic iteration of Muon
    (K. Jordan, "Muon: an optimizer for hidden layers", 2024)."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (g.norm() + 1e-7)
    flip = x.shape[0] > x.shape[1]
    x = (x.t() if flip else x).contiguous()
    for _ in range(steps):
        p = x @ x.t()
        x = a * x + (b * p + c * (p @ p)) @ x
    return x.t() if flip else x


@torch.no_grad()
def muon_step(p, grad, momentum, lr, beta=0.95, decay=0.02):
    """Muon for one matrix inside the model: momentum, made orthogonal."""
    momentum.lerp_(grad, 1 - beta)
    p.mul_(1 - lr * decay)
    p.add_(newton_schulz(grad.lerp(momentum, beta)), alpha=-lr * max(1, p.shape[0] / p.shape[1]) ** 0.5)
