"""What the tools of training dialogues are called when they are renamed.

Most names read like those that people write: a verb and a noun, a noun alone,
a service before or behind them, a version, a name space, in one of the usual
spellings.  In about one of three stands any word as a mark.  The marks that
evaluation puts into names (HELD_MARKS) never occur here by themselves.
"""

HELD_MARKS = "now plus helper lite pro endpoint handler func today".split()
SERVICES = """home office acme cloud app assistant bot phone desk hub local remote world city smart family work user core data web demo team
mobile desktop agent system server client internal public global house room shop kit box open easy mini super hello test dev main""".split()
SUFFIXES = "v2 v1 v3 api tool service svc util cmd action request fn 2 ext call op task job query".split()
# parts of a name and how often; "canonical" is the tool's own name
PATTERNS = {("verb", "noun"): 25, ("noun", "verb"): 6, ("noun",): 10, ("service", "verb", "noun"): 10, ("service", "noun"): 6, ("noun", "service"): 6,
            ("verb", "noun", "suffix"): 7, ("noun", "suffix"): 5, ("canonical",): 3, ("mark", "noun"): 6, ("noun", "mark"): 6, ("verb", "noun", "mark"): 6,
            ("mark", "verb", "noun"): 5, ("mark", "noun", "suffix"): 2, ("verb", "mark", "noun"): 3, ("mark", "noun", "mark"): 1}
COMMON_VERBS = "get do run find fetch check call use ask tool my make query".split()
SPACES = ("__", "__", ".", ".", "-", "/", "::")


def spelled(rng, words):
    """The words of a name joined in one of the usual ways."""
    words = [part for word in words for part in word.replace("-", "_").split("_") if part]
    x = rng.random()
    if x < 0.62 or len(words) == 1:
        return "_".join(words)
    if x < 0.80:
        return words[0] + "".join(word.capitalize() for word in words[1:])
    if x < 0.92:
        return "-".join(words)
    return "".join(word.capitalize() for word in words) if x < 0.98 else "".join(words)


def parts_of_name(rng, verbs, nouns, canonical, mark, marked):
    """The words of a new name; mark() draws any word, marked: one stands at the beginning."""
    pattern = rng.choices(list(PATTERNS), PATTERNS.values())[0]
    if marked:
        pattern = ("mark", "noun") if rng.random() < 0.6 else ("mark", "verb", "noun")
    draw = {"verb": lambda: rng.choice(verbs), "noun": lambda: rng.choice(nouns), "service": lambda: rng.choice(SERVICES),
            "suffix": lambda: rng.choice(SUFFIXES), "canonical": lambda: canonical, "mark": mark}
    return [draw[part]() for part in pattern]


def new_name(rng, verbs, nouns, canonical, mark, marked=False):
    """A new name of a tool that has verbs and nouns."""
    words = parts_of_name(rng, verbs, nouns, canonical, mark, marked)
    if rng.random() < 0.08:
        return rng.choice(SERVICES) + rng.choice(SPACES) + spelled(rng, words)
    return spelled(rng, words)


def varied_name(rng, name, mark):
    """A variation of a name: a prefix, a suffix, a name space or another spelling."""
    x = rng.random()
    if x < 0.25:
        return spelled(rng, [name])
    if x < 0.45:
        return spelled(rng, [rng.choice(SERVICES), name])
    if x < 0.6:
        return spelled(rng, [name, rng.choice(SUFFIXES)])
    if x < 0.75:
        return rng.choice(SERVICES) + rng.choice(SPACES) + spelled(rng, [name])
    return spelled(rng, [name, mark()] if x < 0.9 else [mark(), name])


def family(rng, mark):
    """What the names of one server's tools begin and end with; one of the two is empty."""
    x = rng.random()
    word = rng.choice(COMMON_VERBS) if x < 0.3 else rng.choice(SERVICES) if x < 0.5 else rng.choice(SUFFIXES) if x < 0.6 else mark()
    if rng.random() < 0.75:
        return word + rng.choice(("_", "_", "_", "_", "-", "") + SPACES), ""
    return "", rng.choice(("_", "_", "_", "-", "")) + word


def in_family(rng, family, name):
    """The name, mostly with what its family begins and ends with; ("", "") is no family."""
    before, after = family
    return before + name + after if (before or after) and rng.random() < 0.85 else name
