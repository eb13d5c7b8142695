#!/usr/bin/env python3
"""Trains the bundled model from nothing on dialogues made as it goes.

    python3 core/bundled/train.py --out build/bundled [--steps 4900] [--seed 1]

Writes tokenizer.json, checkpoint.pt (every 100 steps; --resume goes on from
it) and log.txt into the folder.  The same seed, steps and machine give the
same model but for rounding (with --workers 1, exactly the same);
docs/models/bundled.md has the command and the figures.

A step is 4,096 tokens of packed rows; a document mask keeps the dialogues of a
row apart.  Assistant tokens count fully in the loss; all others a tenth
during the first part, which teaches what tool names and words look like, and
then nothing.
"""

import argparse
import multiprocessing
import os
import pathlib
import random
import re
import sys
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
from model import Model, Shape, muon_step, wire  # noqa: E402

TOKENS_A_STEP, PORTION = 4096, 512
N_MERGES, N_LATE = 1700, 250
MUON_LR, ADAM_LR = 0.02, 4e-3
WARM_UP, DECAY_FROM, LAST_RATE = 40, 0.37, 0.02
OTHERS_WEIGHT, OTHERS_UNTIL = 0.1, 0.6
# (until this part of the run, tokens a row, arguments of the generator)
PHASES = [(0.45, 256, {"short": True}), (0.88, 512, {}), (0.985, 1024, {}), (1.0, 2048, {"long": True})]


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


def encode(tok, conv):
    """ids and 0/1 marks of one conversation."""
    ids, marks = [], []
    for text, trained in dialogues.segments(conv):
        part = tok.encode(text)
        ids += part
        marks += [int(trained)] * len(part)
    return ids, marks


def pack(convs, length):
    """Rows of at most length + 1 tokens, filled with the longest that fit."""
    rows = []
    convs = sorted((c[0][:length + 1], c[1][:length + 1]) for c in convs)
    convs.sort(key=lambda c: -len(c[0]))
    while convs:
        row, space, i = [], length + 1, 0
        while i < len(convs) and space > 8:
            if len(convs[i][0]) <= space:
                row.append(convs.pop(i))
                space -= len(row[-1][0])
            else:
                i += 1
        rows.append(row)
    return rows


def arrays(rows, length):
    """ids, marks and document numbers [rows, length + 1]."""
    x = np.zeros((len(rows), length + 1), np.int64)
    m = np.zeros((len(rows), length + 1), np.float32)
    d = np.full((len(rows), length + 1), -1, np.int64)
    for r, row in enumerate(rows):
        at = 0
        for n, (ids, marks) in enumerate(row):
            x[r, at:at + len(ids)] = ids
            m[r, at:at + len(ids)] = marks
            d[r, at:at + len(ids)] = n
            at += len(ids)
    return torch.from_numpy(x), torch.from_numpy(m), torch.from_numpy(d)


class Batches:
    """Endless batches; the dialogues of a block of 32 steps depend on the seed
    and the number of the block only."""

    BLOCK = 32

    def __init__(self, tok, seed):
        self.tok, self.seed, self.rows, self.key = tok, seed, [], None

    def get(self, step, length, kwargs):
        key = (step // self.BLOCK, length)
        if key != self.key or not self.rows:
            again = 0 if key != self.key else 1
            self.key = key
            self.rows = self._block(f"{self.seed}/{key}/{again}", length, kwargs)
        n = TOKENS_A_STEP // length
        take, self.rows = self.rows[:n], self.rows[n:]
        return arrays(take, length)

    def _block(self, seed, length, kwargs):
        rng = random.Random(seed)
        g = dialogues.Generator(rng.randrange(1 << 48), **kwargs)
        convs, n = [], 0
        while n < 1.1 * self.BLOCK * TOKENS_A_STEP:
            convs.append(encode(self.tok, g.conversation()))
            n += min(len(convs[-1][0]), length + 1)
        rows = pack(convs, length)
        rng.shuffle(rows)
        return rows


def rate(step, steps):
    """The learning rate's factor: warm-up, constant, linear to LAST_RATE."""
    up = min(1, (step + 1) / WARM_UP)
    left = (1 - step / steps) / (1 - DECAY_FROM)
    return up * max(LAST_RATE, min(1, left))


def loss_of(model, batch, weight, total):
    """The loss of some rows of a step, as their part of the step's mean, and
    the sums that the log wants."""
    x, docs = batch
    time_ = x.shape[1] - 1
    sees = (docs[:, :-1, None] == docs[:, None, :-1]) & torch.ones(time_, time_, dtype=torch.bool).tril()
    mask = torch.where(sees, 0.0, -1e4)[:, None]
    at = weight.reshape(-1).nonzero()[:, 0]
    hidden = model(x[:, :-1], mask).reshape(-1, model.s.n_embd)[at]
    target = x[:, 1:].reshape(-1)[at]
    logits = model.logits(hidden)
    each = F.cross_entropy(logits, target, reduction="none")
    w = weight.reshape(-1)[at]
    with torch.no_grad():
        own = w == 1
        right = (logits.argmax(-1) == target)[own].sum().item()
        sums = [each[own].sum().item(), right, own.sum().item(), x.shape[0] * time_]
    return (each * w).sum() / total, sums


class Team:
    """The processes of a run.  Weights, momenta and gradients lie in memory
    that all of them share; the rows of a step, and then the matrices to be
    updated, are taken one by one by whoever is free."""

    def __init__(self, model, n):
        self.model, self.n = model.share_memory(), n
        named = list(model.named_parameters())
        self.params = [p for _, p in named]
        self.is_inner = [p.dim() == 2 and name != "embd" for name, p in named]
        self.grads = [[torch.zeros_like(p).share_memory_() for p in self.params] for _ in range(n)]
        self.momenta = {i: torch.zeros_like(p).share_memory_() for i, p in enumerate(self.params) if self.is_inner[i]}
        self.sums = torch.zeros(n, 4, dtype=torch.float64).share_memory_()
        self.row, self.matrix = multiprocessing.Value("i", 0), multiprocessing.Value("i", 0)
        self.barrier = multiprocessing.Barrier(n)

    @staticmethod
    def take(counter, count):
        """0, 1, 2, ... to whoever asks, then None."""
        with counter.get_lock():
            at = counter.value
            counter.value = at + 1
        return at if at < count else None


def gradients(team, rank, batch, others):
    """Adds to this process's gradients what it can get hold of of one step."""
    x, marks, docs = batch
    same = (docs[:, 1:] == docs[:, :-1]) & (docs[:, 1:] >= 0)
    weight = torch.where(marks[:, 1:] > 0, 1.0, others) * same
    total = weight.sum()
    rows = max(1, PORTION // (x.shape[1] - 1))
    for g in team.grads[rank]:
        g.zero_()
    while (at := team.take(team.row, (len(x) + rows - 1) // rows)) is not None:
        part = slice(at * rows, (at + 1) * rows)
        loss, sums = loss_of(team.model, (x[part], docs[part]), weight[part], total)
        loss.backward()
        team.sums[rank] += torch.tensor(sums, dtype=torch.float64)


def update_outer(team, adam, lr):
    """Adam's step for the embedding and the norms."""
    for group in adam.param_groups:
        group["lr"] = lr
    outer = [i for i, is_inner in enumerate(team.is_inner) if not is_inner]
    for i in outer:
        team.params[i].grad = sum(g[i] for g in team.grads)
    adam.step()
    for i in outer:
        team.params[i].grad = team.grads[0][i]


def work(team, rank, tok, args, first, adam_state):
    """One process of a run; the first one also keeps the log and the checkpoint."""
    torch.set_num_threads(1)
    for p, g in zip(team.params, team.grads[rank]):
        p.grad = g
    inner = [i for i, is_inner in enumerate(team.is_inner) if is_inner]
    outer = [p for p, is_inner in zip(team.params, team.is_inner) if not is_inner]
    adam = torch.optim.AdamW(outer, betas=(0.9, 0.95), weight_decay=0.0)
    if adam_state:
        adam.load_state_dict(adam_state)
    batches, began = Batches(tok, args.seed), time.time()
    for step in range(first, args.steps):
        part = step / args.steps
        length, kwargs = next((t, k) for until, t, k in PHASES if part < until)
        gradients(team, rank, batches.get(step, length, kwargs), OTHERS_WEIGHT if part < OTHERS_UNTIL else 0.0)
        team.barrier.wait()
        f = rate(step, args.steps)
        if rank == 0:
            team.row.value = 0
            update_outer(team, adam, ADAM_LR * f)
        while (at := team.take(team.matrix, len(inner))) is not None:
            i = inner[at]
            muon_step(team.params[i], sum(g[i] for g in team.grads), team.momenta[i], MUON_LR * f)
        if rank == 0 and (step + 1) % 25 == 0:
            loss, right, own, n = team.sums.sum(0).tolist()
            say(args.out, f"{step + 1} row {length} loss {loss / own:.4f} right {right / own:.4f} "
                          f"trained {own / n:.2f} tokens/s {n / (time.time() - began):.0f} rate {f:.3f}")
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
    model = Model(Shape((len(tok.tokens) + 31) // 32 * 32))
    wire(model)
    team, first, adam_state = Team(model, args.workers), 0, None
    if args.resume:
        saved = torch.load(args.out / "checkpoint.pt")
        model.load_state_dict(saved["model"])
        for i, m in team.momenta.items():
            m.copy_(saved["momenta"][i])
        first, adam_state = saved["step"], saved["adam"]
    say(args.out, f"parameters {sum(p.numel() for p in team.params)} vocabulary {len(tok.tokens)} "
                  f"steps {args.steps} seed {args.seed} from {first} workers {args.workers}")
    others = [multiprocessing.Process(target=work, args=(team, r, tok, args, first, None), daemon=True)
              for r in range(1, args.workers)]
    for process in others:
        process.start()
    work(team, 0, tok, args, first, adam_state)


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
    p.add_argument("--out", required=True, type=pathlib.Path, help="folder of the run")
    p.add_argument("--steps", type=int, default=4900)
    p.add_argument("--workers", type=int, default=2, help="processes, one thread each")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint")
    sys.exit(run(p.parse_args()))
