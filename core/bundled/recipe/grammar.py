"""A small grammar of alternatives: the many ways to say one thing.

A form is a line of text in which `{a|b|c}` stands for one of its parts.
Parts may be empty and may hold alternatives themselves:

    "{which|what} key {opens|shows} the diff view{ please|}?"

`<name>` is a slot; it is left as it is, and whoever expands the form fills it.
"""

import random
import re


def expand(form, rng):
    """One expansion of a form, drawn with rng, with its spaces tidied."""
    text, end = _sequence(form, 0, rng)
    if end != len(form):
        raise ValueError(f"form with a stray '}}' or '|' at {end}: {form}")
    return tidy(text)


def tidy(text):
    """Single spaces, none at the ends and none before a mark."""
    text = re.sub(r" +", " ", text).strip()
    return re.sub(r" ([?.,!;:])(?= |$)", r"\1", text)


def count(form):
    """How many expansions a form has (alternatives that agree count twice)."""
    total, end = _count(form, 0)
    if end != len(form):
        raise ValueError(f"form with a stray '}}' or '|' at {end}: {form}")
    return total


def split(items, every=4, seed=7):
    """Two lists without repeats: the items for training, and one in `every`
    that is held out.  The cut depends on the items and the seed alone."""
    items = list(dict.fromkeys(items))
    random.Random(seed).shuffle(items)
    n = len(items) // every
    return items[n:], items[:n]


def fill(text, values):
    """Puts values[name] for each slot <name>; other slots stay."""
    return re.sub(r"<(\w+)>", lambda m: str(values.get(m.group(1), m.group(0))), text)


def _sequence(form, at, rng):
    out = []
    while at < len(form) and form[at] not in "|}":
        if form[at] == "{":
            text, at = _choice(form, at + 1, rng)
            out.append(text)
        else:
            out.append(form[at])
            at += 1
    return "".join(out), at


def _choice(form, at, rng):
    parts = []
    while True:
        text, at = _sequence(form, at, rng)
        parts.append(text)
        if at == len(form):
            raise ValueError(f"form without its '}}': {form}")
        if form[at] == "}":
            return rng.choice(parts), at + 1
        at += 1


def _count(form, at):
    total = 1
    while at < len(form) and form[at] not in "|}":
        if form[at] != "{":
            at += 1
            continue
        ways, at = 0, at + 1
        while True:
            n, at = _count(form, at)
            ways += n
            if at == len(form):
                raise ValueError(f"form without its '}}': {form}")
            at += 1
            if form[at - 1] == "}":
                break
        total *= ways
    return total, at
