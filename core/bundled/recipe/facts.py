"""What the bundled model learns to say about confab, and what it must not know.

FACTS and SMALL_TALK are lists of Fact(key, answer, forms, held): `forms` are
question forms of grammar.py, `held` are plain questions that never occur among
their expansions and are kept for evaluation.  OUTSIDE is described in outside.py.

`python3 core/bundled/recipe/facts.py --check` looks all of it over, in a minute.
"""

import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import facts_concepts  # noqa: E402
import facts_keys  # noqa: E402
import small_talk  # noqa: E402
from grammar import count, expand, fill  # noqa: E402
from outside import OUTSIDE  # noqa: E402
from phrases import Fact  # noqa: E402,F401
from dress import keys_in as protected  # noqa: E402,F401
from facts_held import HELD  # noqa: E402
from facts_more import MORE  # noqa: E402


def _with_more(facts):
    return [f._replace(forms=f.forms + MORE.get(f.key, []), held=HELD.get(f.key, [])) for f in facts]


_ALL = _with_more(facts_keys.FACTS + facts_concepts.FACTS)
FACTS = [f for f in _ALL if isinstance(f.answer, str)]
GUIDE = [f for f in _ALL if not isinstance(f.answer, str)]  # the tables of the program answer these
SMALL_TALK = _with_more(small_talk.SMALL_TALK)

def normal(text):
    """For comparison: lower case but for single letters, and without marks."""
    words = []
    for w in text.split():
        if len(w) > 1:
            w = w.rstrip("?!.,") or w
        words.append(w if len(w) == 1 and w not in "AI" else w.lower())
    return " ".join(words)


def _pattern(form):
    """A form as a regular expression over what normal() writes: exact, where
    drawing expansions only finds the frequent ones."""
    out = []
    for piece in re.split(r"([{}|]| +)", normal(form.lower())):
        out.append({"{": "(?:", "}": ")", "|": "|"}.get(piece) or (" *" if piece.isspace() else re.escape(piece)))
    return re.compile("".join(out) + "[?.!]*")


def _expansions(forms, rng, n):
    out = set()
    for form in forms:
        for _ in range(n):
            out.add(normal(expand(form, rng)))
    return out


def _check_facts(facts, rng, n, owner, faults, need):
    fewest = None
    for f in facts:
        total = sum(count(form) for form in f.forms)
        fewest = min(fewest or (total, f.key), (total, f.key))
        if total < need:
            faults.append(f"{f.key}: only {total} expansions")
        if len(f.held) < 3:
            faults.append(f"{f.key}: {len(f.held)} held questions")
        if isinstance(f.answer, str) and (not f.answer.isascii() or len(f.answer.split()) > 22):
            faults.append(f"{f.key}: answer not ASCII or too long: {f.answer}")
        texts = _expansions(f.forms, rng, n)
        for t in texts:
            if "{" in t or "|" in t or not t.isascii():
                faults.append(f"{f.key}: strange expansion: {t}")
            if owner.setdefault(t, f.key) != f.key:
                faults.append(f"{f.key}: '{t}' is asked of {owner[t]} too")
        patterns = [_pattern(form) for form in f.forms]
        for h in f.held:
            if normal(h) in texts or any(p.fullmatch(h.lower().rstrip("?.!")) for p in patterns):
                faults.append(f"{f.key}: held '{h}' is an expansion")
    return fewest


def check(n=400):
    """Prints the counts; returns the faults."""
    rng, faults, owner = random.Random(1), [], {}
    keys = [f.key for f in FACTS + SMALL_TALK + GUIDE]
    faults += [f"key {k} twice" for k in set(keys) if keys.count(k) > 1]
    faults += [f"more about an unknown fact {k}" for k in list(MORE) + list(HELD) if k not in keys]
    answers = [f.answer for f in FACTS + SMALL_TALK]
    faults += [f"answer twice: {a}" for a in set(answers) if answers.count(a) > 1]
    for name, facts, need in (("facts", FACTS, 150), ("small talk", SMALL_TALK, 40), ("guide", GUIDE, 40)):
        fewest = _check_facts(facts, rng, n, owner, faults, need)
        total = sum(count(form) for f in facts for form in f.forms)
        print(f"{name}: {len(facts)}, forms {sum(len(f.forms) for f in facts)}, "
              f"expansions {total}, fewest {fewest[0]} ({fewest[1]}), held {sum(len(f.held) for f in facts)}")
    for f in FACTS + SMALL_TALK + GUIDE:
        for h in f.held:
            if owner.get(normal(h), f.key) != f.key:
                faults.append(f"{f.key}: held '{h}' is asked of {owner[normal(h)]}")
    o = OUTSIDE
    train = _expansions(o.questions, rng, n)
    for form in o.forms:
        for _ in range(n):
            train.add(normal(fill(expand(form, rng), {"topic": rng.choice(o.topics)})))
    for t in train:
        if t in owner:
            faults.append(f"outside: '{t}' is asked of {owner[t]}")
    for h in o.held_questions + [fill(f, {"topic": t}) for f in o.held for t in o.held_topics]:
        if normal(h) in train or normal(h) in owner:
            faults.append(f"outside: held '{h}' is trained")
    faults += [f"outside: form without topic: {f}" for f in o.forms + o.held if "<topic>" not in f]
    faults += [f"outside: topic trained and held: {t}" for t in set(o.topics) & set(o.held_topics)]
    print(f"outside: forms {len(o.forms)}, held forms {len(o.held)}, topics {len(o.topics)}, held topics {len(o.held_topics)}, "
          f"questions {len(o.questions)} ({sum(map(count, o.questions))} expansions), held questions {len(o.held_questions)}")
    return faults


if __name__ == "__main__":
    if sys.argv[1:2] != ["--check"]:
        sys.exit("usage: facts.py --check [EXPANSIONS A FORM]")
    FAULTS = check(*map(int, sys.argv[2:]))
    for fault in FAULTS[:200]:
        print("fault:", fault)
    sys.exit(1 if FAULTS else 0)
