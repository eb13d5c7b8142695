#!/usr/bin/env python3
"""Trains the bundled model from nothing on dialogues made as it goes.

    python3 core/bundled/recipe/train.py --out build/bundled [--steps N] [--seed 1]
    python3 core/bundled/recipe/train.py --out build/bundled --resume --steps MORE [--layers N]
    python3 core/bundled/recipe/train.py --check

Writes tokenizer.json, checkpoint.pt (every 100 steps; --resume goes on from
it, with more steps or more layers if wanted) and log.txt into the folder.  The same seed, steps and machine give the
same model but for rounding (with --workers 1, exactly the same);
docs/models/bundled.md has the command and the figures.

Dialogues come in trees that share their declarations (dialogues.tree), and
step/gradients.c computes such a tree in one go; it is compiled first, and
--check compares it with PyTorch.  The assistant's tokens count fully in the
loss; all others a tenth during the first part, which teaches what tool names
and words look like, and then nothing.
"""

import argparse
import collections
import ctypes
import multiprocessing
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import dialogues  # noqa: E402
import facts  # noqa: E402
import tokenizer  # noqa: E402
import values  # noqa: E402
from model import EPS, Model, Shape, muon_step, wire  # noqa: E402

PART = 1024
N_MERGES, N_LATE = 1700, 250
MUON_LR, ADAM_LR = 0.02, 4e-3
DECAY_FROM, LAST_RATE = 0.4, 0.02
OTHERS_WEIGHT, OTHERS_UNTIL = 0.1, 0.3
# (until this part of the run, characters of a tree, arguments of the generator)
PHASES = [(0.2, 3000, {"short": True}), (0.97, None, {}), (1.0, 7000, {"long": True})]  # None: --chars


def make_tokenizer(seed):
    """Merges from dialogues whose values are all random words, so that no
    city has a token of its own and known and unknown values look alike."""
    g = dialogues.Generator(seed, random_values=True)
    texts = ["".join(t for t, _ in dialogues.segments(g.conversation())) for _ in range(4000)]
    return tokenizer.train(texts, known_words(), N_MERGES, N_LATE)


def known_words():
    """Every word that a value or a sentence of the generator may hold."""
    text = " ".join(w for held in (False, True) for v in values.LISTS.values() for w in v[held])
    for fact in facts.FACTS + facts.SMALL_TALK:
        text += " " + " ".join([str(fact.answer), *fact.forms, *fact.held])
    return set(re.findall(r"[A-Za-z]+", text))


def encode(tok, segments):
    """ids and 0/1 marks of a dialogue or a part of one."""
    ids, marks = [], []
    for text, trained in segments:
        part = tok.encode(text)
        ids += part
        marks += [int(trained)] * len(part)
    return ids, marks


class Tree:
    """Dialogues with a common beginning: the trunk, seen by all branches."""

    def __init__(self, tok, convs, longest):
        parts = [dialogues.segments(c) for c in convs]
        has_head = parts[0][0][0].startswith("<|im_start|>system")
        self.trunk = encode(tok, parts[0][:has_head])
        room = longest - len(self.trunk[0])
        self.branches = [tuple(x[:room] for x in encode(tok, p[has_head:])) for p in parts]
        self.n = len(self.trunk[0]) + sum(len(ids) for ids, _ in self.branches)


def pack(trees):
    """Lists of trees of about PART tokens; a longer tree lies alone."""
    parts = []
    for tree in sorted(trees, key=lambda t: -t.n):
        part = next((p for p in parts[-40:] if sum(t.n for t in p) + tree.n <= PART), None)
        if part is None:
            parts.append(part := [])
        part.append(tree)
    return parts


class Tokens(ctypes.Structure):
    """struct tokens of gradients.c, made from some trees."""

    _fields_ = [("n", ctypes.c_int32), ("n_segment", ctypes.c_int32)] + [
        (name, ctypes.c_void_p) for name in ("id", "target", "position", "weight", "begin", "length", "trunk", "n_trunk")]

    def __init__(self, trees, others):
        ids, targets, positions, weights, segments = [], [], [], [], []
        for tree in trees:
            at, n = len(ids), len(tree.trunk[0])
            for k, (part, marks) in enumerate([tree.trunk, *tree.branches]):
                if not part:
                    continue
                first = n if k else 0
                segments.append((len(ids), len(part), at, first))
                ids += part
                targets += part[1:] + [0]
                positions += range(first, first + len(part))
                weights += [1.0 if m else others for m in marks[1:]] + [0.0]
        self.arrays = {name: np.array(v, np.int32) for name, v in (("id", ids), ("target", targets), ("position", positions))}
        self.arrays["weight"] = np.array(weights, np.float32)
        for name, v in zip(("begin", "length", "trunk", "n_trunk"), zip(*segments)):
            self.arrays[name] = np.array(v, np.int32)
        super().__init__(len(ids), len(segments), *(self.arrays[name].ctypes.data for name, _ in self._fields_[2:]))


def rare_pieces(tok, seed):
    """The tokens that replies hold least often, a third of those that are parts of words."""
    g, n = dialogues.Generator(seed), collections.Counter()
    for _ in range(1000):
        for text, trained in dialogues.segments(g.conversation()):
            if trained:
                n.update(tok.encode(text))
    pieces = sorted((n[i], t) for i, t in enumerate(tok.tokens) if re.fullmatch("[A-Za-z]{2,}", t))
    return [t for _, t in pieces[:len(pieces) // 3]]


class Batches:
    """Endless batches; the dialogues of a block of 16 steps depend on the seed
    and the number of the block only."""

    BLOCK = 16

    def __init__(self, tok, args):
        self.tok, self.seed, self.parts, self.key = tok, args.seed, [], None
        self.tokens, self.n_chars = args.tokens, args.chars
        self.pieces = rare_pieces(tok, args.seed)

    def get(self, step, others, n_chars, kwargs):
        """The parts of one step, as Tokens."""
        key = (step // self.BLOCK, str(kwargs))
        batch, n = [], 0
        while n < self.tokens - PART // 2:
            if key != self.key or not self.parts:
                again = 0 if key != self.key else self.again + 1
                self.key, self.again = key, again
                self.parts = self._block(f"{self.seed}/{key}/{again}", n_chars, kwargs)
            batch.append(Tokens(self.parts.pop(), others))
            n += batch[-1].n
        return batch

    def _block(self, seed, n_chars, kwargs):
        rng = random.Random(seed)
        g = dialogues.Generator(rng.randrange(1 << 48), pieces=self.pieces, **kwargs)
        trees, n = [], 0
        while n < 1.02 * self.BLOCK * self.tokens:
            trees.append(Tree(self.tok, g.tree(n_chars or self.n_chars), Shape.n_ctx))
            n += trees[-1].n
        parts = pack(trees)
        rng.shuffle(parts)
        return parts


def rate(step, steps, first, warm_up):
    """The learning rate's factor: warm-up from the first step on, constant, linear to LAST_RATE."""
    up = min(1, (step - first + 1) / warm_up)
    left = (1 - step / steps) / (1 - DECAY_FROM)
    return up * max(LAST_RATE, min(1, left))


@torch.no_grad()
def grow(model, state):
    """Takes over the weights of a model with as many or fewer layers, and returns the number of new ones.  A
    new layer comes before each of the last ones and adds nothing at first: its outputs are zero."""
    old = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    new = model.s.n_layer - old
    for name, weights in state.items():
        if name.startswith("layers."):
            _, i, rest = name.split(".")
            name = f"layers.{int(i) + max(0, int(i) - (old - new) + 1)}.{rest}"
        model.get_parameter(name).copy_(weights)
    return new


class CShape(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("n_vocab", "n_embd", "n_layer", "n_head", "n_head_kv", "head_dim", "n_ff")
                ] + [("eps", ctypes.c_float), ("rope_base", ctypes.c_float)]


class Backend:
    """step/*.c, compiled for this machine."""

    def __init__(self, folder, *options):
        here = pathlib.Path(__file__).resolve()
        sources = sorted((here.parent / "step").glob("*.c"))
        library = pathlib.Path(folder).resolve() / "gradients.so"
        subprocess.run(["cc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", f"-I{here.parents[3]}", *options,
                        *map(str, sources), "-o", str(library), "-lopenblas", "-lm"], check=True)
        self.call = ctypes.CDLL(str(library)).gradients
        self.call.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_float, ctypes.c_void_p]

    @staticmethod
    def pointers(tensors):
        return (ctypes.c_void_p * len(tensors))(*(t.data_ptr() for t in tensors))

    def add_gradients(self, shape, tokens, params, grads, scale, sums):
        """Adds the gradients of scale * sum(weight * loss) to grads, and to
        sums [4] float64 the loss, the right answers and the count of the tokens of
        weight 1, and the count of all."""
        c = CShape(*(getattr(shape, name) for name, _ in CShape._fields_[:7]), EPS, shape.rope_base)
        if self.call(ctypes.byref(c), ctypes.byref(tokens), self.pointers(params), self.pointers(grads), scale, sums.data_ptr()):
            raise MemoryError("gradients.c found no memory, or the model is too large")


class Team:
    """The processes of a run.  Weights, momenta and gradients lie in memory
    that all of them share; the parts of a step, and then the matrices to be
    updated, are taken one by one by whoever is free."""

    def __init__(self, model, backend, n):
        self.model, self.backend, self.n = model.share_memory(), backend, n
        named = list(model.named_parameters())
        self.params = [p for _, p in named]
        self.is_inner = [p.dim() == 2 and name != "embd" for name, p in named]
        self.grads = [[torch.zeros_like(p).share_memory_() for p in self.params] for _ in range(n)]
        self.momenta = {i: torch.zeros_like(p).share_memory_() for i, p in enumerate(self.params) if self.is_inner[i]}
        self.sums = torch.zeros(n, 4, dtype=torch.float64).share_memory_()
        self.part, self.matrix = multiprocessing.Value("i", 0), multiprocessing.Value("i", 0)
        self.barrier = multiprocessing.Barrier(n)

    @staticmethod
    def take(counter, count):
        """0, 1, 2, ... to whoever asks, then None."""
        with counter.get_lock():
            at = counter.value
            counter.value = at + 1
        return at if at < count else None


def gradients(team, rank, batch):
    """Adds to this process's gradients what it can get hold of of one step."""
    for g in team.grads[rank]:
        g.zero_()
    while (at := team.take(team.part, len(batch))) is not None:
        team.backend.add_gradients(team.model.s, batch[at], team.params, team.grads[rank], 1.0, team.sums[rank])


def gradient(team, i, total):
    """The gradient of parameter i, the mean over `total` weights; 0 where float16 overflowed."""
    return torch.nan_to_num(sum(g[i] for g in team.grads) / total, 0.0, 0.0, 0.0)


def update_outer(team, adam, lr, total):
    """Adam's step for the embedding and the norms."""
    for group in adam.param_groups:
        group["lr"] = lr
    outer = [i for i, is_inner in enumerate(team.is_inner) if not is_inner]
    for i in outer:
        team.params[i].grad = gradient(team, i, total)
    adam.step()


def work(team, rank, tok, args, first, adam_state):
    """One process of a run; the first one also keeps the log and the checkpoint."""
    torch.set_num_threads(1)
    inner = [i for i, is_inner in enumerate(team.is_inner) if is_inner]
    outer = [p for p, is_inner in zip(team.params, team.is_inner) if not is_inner]
    adam = torch.optim.AdamW(outer, betas=(0.9, 0.95), weight_decay=0.0)
    if adam_state:
        adam.load_state_dict(adam_state)
    batches, began = Batches(tok, args), time.time()
    for step in range(first, args.steps):
        part = step / args.steps
        phase = next(phase for until, *phase in PHASES if part < until)
        batch = batches.get(step, OTHERS_WEIGHT if part < OTHERS_UNTIL else 0.0, *phase)
        total = sum(float(p.arrays["weight"].sum()) for p in batch)
        gradients(team, rank, batch)
        team.barrier.wait()
        f = rate(step, args.steps, first, args.warm_up)
        if rank == 0:
            team.part.value = 0
            update_outer(team, adam, ADAM_LR * f, total)
        while (at := team.take(team.matrix, len(inner))) is not None:
            i = inner[at]
            muon_step(team.params[i], gradient(team, i, total), team.momenta[i], MUON_LR * f)
        if rank == 0 and (step + 1) % 25 == 0:
            loss, right, own, n = team.sums.sum(0).tolist()
            say(args.out, f"{step + 1} loss {loss / own:.4f} right {right / own:.4f} trained {own / n:.2f} "
                          f"tokens/s {n / (time.time() - began):.0f} rate {f:.3f}")
            team.sums.zero_()
            began = time.time()
        team.barrier.wait()
        team.matrix.value = 0
        if rank == 0 and ((step + 1) % 100 == 0 or step + 1 == args.steps):
            save(args.out / "checkpoint.pt", {"model": team.model.state_dict(), "adam": adam.state_dict(),
                                              "momenta": team.momenta, "step": step + 1, "steps": args.steps})


def run(args):
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    if not (args.out / "tokenizer.json").exists():
        make_tokenizer(args.seed).save(args.out / "tokenizer.json")
    tok = tokenizer.load(args.out / "tokenizer.json")
    model = Model(Shape((len(tok.tokens) + 31) // 32 * 32, n_layer=args.layers))
    wire(model)
    team, first, adam_state = Team(model, Backend(args.out), args.workers), 0, None
    if args.resume:
        saved = torch.load(args.out / "checkpoint.pt")
        first = saved["step"]
        if grow(model, saved["model"]) == 0 and "adam" in saved:  # unpack.py writes none
            adam_state = saved["adam"]
            for i, m in team.momenta.items():
                m.copy_(saved["momenta"][i])
    say(args.out, f"parameters {sum(p.numel() for p in team.params)} vocabulary {len(tok.tokens)} "
                  f"steps {args.steps} seed {args.seed} from {first} workers {args.workers}")
    others = [multiprocessing.Process(target=work, args=(team, r, tok, args, first, None), daemon=True)
              for r in range(1, args.workers)]
    for process in others:
        process.start()
    work(team, 0, tok, args, first, adam_state)


def check(args):
    """Compares gradients.c with autograd on a few trees, in a small model with random weights."""
    torch.manual_seed(args.seed)
    tok = make_tokenizer(args.seed)
    shape = Shape((len(tok.tokens) + 31) // 32 * 32, n_embd=128, n_layer=3, n_ff=192)
    model = Model(shape)
    for p in model.parameters():
        with torch.no_grad():
            p.add_(0.05 * torch.randn_like(p))
    g = dialogues.Generator(args.seed)
    tokens = Tokens([Tree(tok, g.tree(3000), shape.n_ctx) for _ in range(2)], 0.25)
    a = {name: torch.from_numpy(v.astype(np.int64) if v.dtype == np.int32 else v) for name, v in tokens.arrays.items()}
    sees = torch.zeros(tokens.n, tokens.n, dtype=torch.bool)
    for b, n, t, m in zip(*(a[name].tolist() for name in ("begin", "length", "trunk", "n_trunk"))):
        sees[b:b + n, b:b + n] = torch.ones(n, n, dtype=torch.bool).tril()
        sees[b:b + n, t:t + m] = True
    hidden = model(a["id"][None], torch.where(sees, 0.0, -1e9)[None, None], a["position"][None])
    loss = (F.cross_entropy(model.logits(hidden[0]), a["target"], reduction="none") * a["weight"]).sum()
    loss.backward()
    params, is_right = list(model.parameters()), True
    for name, options, most in (("float32", ["-mno-avx512fp16"], 1e-4), ("as trained", [], 2e-2)):
        grads = [torch.zeros_like(p) for p in params]
        with tempfile.TemporaryDirectory() as folder:
            Backend(folder, *options).add_gradients(shape, tokens, params, grads, 1.0, torch.zeros(4, dtype=torch.float64))
        worst = max(((p.grad - g).norm() / p.grad.norm()).item() for p, g in zip(params, grads))
        is_right &= worst < most
        print(f"{name}: {tokens.n} tokens in {tokens.n_segment} segments, gradients differ by {worst:.1e}")
    return 0 if is_right else 1


def save(path, state):
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)


def say(out, line):
    line = time.strftime("%H:%M:%S ") + line
    print(line, flush=True)
    with open(out / "log.txt", "a") as log:
        log.write(line + "\n")


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--out", type=pathlib.Path, help="folder of the run")
    p.add_argument("--steps", type=int, default=5500)
    p.add_argument("--layers", type=int, default=Shape.n_layer, help="more than the checkpoint has are added to it")
    p.add_argument("--workers", type=int, default=2, help="processes, one thread each")
    p.add_argument("--tokens", type=int, default=8192, help="tokens a step")
    p.add_argument("--chars", type=int, default=4500, help="characters of a tree, in the middle of a run")
    p.add_argument("--warm-up", type=int, default=40, help="steps")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint")
    p.add_argument("--check", action="store_true", help="compare gradients.c with autograd")
    args = p.parse_args()
    if not args.check and not args.out:
        p.error("--out is needed")
    sys.exit(check(args) if args.check else run(args))
