#!/usr/bin/env python3
"""Mixes checkpoints, and the weights of a GGUF file, into one checkpoint.

    python3 core/bundled/recipe/mix.py --out build/bundled/checkpoint.pt --base OLD.gguf --share 0.85 A.pt B.pt ...

The result is --share of the mean of the checkpoints and the rest of --base: what
a short training on something new costs of the old comes back so.
"""

import argparse
import pathlib

import torch

import unpack

if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("checkpoints", nargs="+", type=pathlib.Path)
    p.add_argument("--out", type=pathlib.Path, required=True)
    p.add_argument("--base", type=pathlib.Path, required=True, help="a GGUF file")
    p.add_argument("--share", type=float, default=1, help="of the checkpoints")
    a = p.parse_args()
    base = unpack.state(unpack.read(a.base.read_bytes())[1])
    saved = [torch.load(path, map_location="cpu") for path in a.checkpoints]
    mean = {name: sum(s["model"][name] for s in saved) / len(saved) for name in base}
    torch.save({"model": {name: (1 - a.share) * base[name] + a.share * w for name, w in mean.items()},
                "step": saved[-1]["step"]}, a.out)
