"""What the tool confab_help finds, and what the model answers from it.

    rows = load_rows()                       what `confab help --search` prints without words
    found = Index(rows).find("how do I quit?")
    result(found), answer(found[0])

The index ranks as tui/sys/word_index.c does and takes its words from there.
A training draws other keys for the rows again and again (rebound), so that the
model learns to copy them.
"""

import collections
import math
import os
import re
import string
import subprocess
from pathlib import Path

from grammar import expand

ROOT = Path(__file__).resolve().parents[3]
ROWS_MAX = 4
NAME = "confab_help"
DECLARATION = {"type": "function", "function": {
    "name": NAME,
    "description": "Finds keys, commands, options and settings of confab",
    "parameters": {"type": "object", "properties": {"question": {"type": "string", "description": "What the user asks about confab"}},
                   "required": ["question"]}}}
NOTHING = "Nothing is found; {} lists the keys and commands of a view."
NOTHING_ANSWER = "The help has nothing about that; {} lists the keys and commands of a view."
NOT_BY_HEART = "I do not know keys and commands by heart; ? lists them, and confab help --search WORDS finds them."

Row = collections.namedtuple("Row", "keys name where help")


def load_rows():
    """All rows of the program's tables."""
    program = os.environ.get("CONFAB", ROOT / "build" / "confab")
    text = os.environ.get("CONFAB_ROWS")
    text = Path(text).read_text() if text else subprocess.run([program, "help", "--search"], capture_output=True, text=True, check=True).stdout
    lines, rows = text.splitlines(), []
    for head, help_text in zip(lines[::2], lines[1::2]):
        if "  (manual, " in head:
            name, _, where = head[:-1].rpartition("  (")
            rows.append(Row("", name, where, help_text.strip()))
            continue
        m = re.fullmatch(r"(.*?)(:[a-z][^()]*|confab .*|--.*?)  \(([^()]*)\)", head)
        rows.append(Row(m[1].strip(), m[2].strip(), m[3], help_text.strip()))
    return rows


def written(row):
    """The two lines of a row."""
    keys = row.keys + "  " if row.keys else ""
    return f"{keys}{row.name}  ({row.where})\n    {row.help}"


def result(found, help_key="?"):
    return "\n".join(map(written, found)) if found else NOTHING.format(help_key)


def answer(row):
    """What is said of a row: its key, where it has one, its name and where, and what it does."""
    if row.where.startswith("workbench"):
        view = row.where.partition(", ")[2]
        how = f"Press {' or '.join(row.keys.split())}, or type {row.name}, in {view}" if row.keys else f"Type {row.name} in {view}"
    elif row.where == "setting":
        how = f"Type {row.name}"
    elif row.where == "command line":
        how = f"Run {row.name}"
    elif row.where.startswith("manual"):
        how = f"{row.name}, in the manual under {row.where.partition(', ')[2]}"
    else:
        how = f"Use {row.name} with {row.where.removeprefix('option of ').removeprefix('option, ')}"
    return f"{how}: {row.help}."


def place(row):
    """As targets say it: `Chat retry`, `* quit`, `command run`, `option --model`, `setting mouse`."""
    if row.where.startswith("workbench"):
        view = row.where.partition(", ")[2]
        return ("*" if view == "all views" else view) + " " + row.name[1:].split()[0].rstrip("!")
    if row.where.startswith("manual"):
        return "manual " + row.name
    if row.where == "setting":
        return "setting " + re.split("[ =]", row.name)[1]
    return ("command " + row.name.split()[1]) if row.where == "command line" else "option " + row.name.split()[0]


def handle(row):
    """The name of a row as tui/sys/asked.txt has it: `Chat :retry`, `* :quit`, `confab run`, `--tools`, `:set mouse`."""
    name = re.split("[ =]", row.name)
    if row.where.startswith("workbench"):
        view = row.where.partition(", ")[2]
        return ("*" if view == "all views" else view) + " " + name[0]
    return " ".join(name[:1 if name[0].startswith("--") else 2])


def fits(row, targets):
    here = place(row)
    return any(t == here or (t.startswith("? ") and t[2:] == here.split()[-1]) for t in targets)


# ---- the search, as in tui/sys/word_index.c

WEIGHTS = {"name": 2.5, "help": 2.5, "where": 1, "asked": 2.5}
LATE_FACTOR, EXACT_WEIGHT = 0.7, 40
_LINES = (ROOT / "tui/sys/asked.txt").read_text().splitlines()
ASKED = dict(line.split(": ", 1) for line in _LINES if line[0] not in "=#")  # words that people use for a row
ALIKE = collections.defaultdict(set)  # words of one meaning
for _group in (set(line.split()[1:]) for line in _LINES if line[0] == "="):
    for _word in _group:
        ALIKE[_word] |= _group
_SOURCE = (ROOT / "tui/sys/word_index.c").read_text()


def _words_of(table):
    return set(" ".join(re.findall('"([^"]*)"', re.search(table + r"\[\] =(.*?);", _SOURCE, re.S)[1])).split())


FILLERS, BEFORE_KEY, AFTER_KEY = map(_words_of, ("fillers", "before_key", "after_key"))
def words(text):
    return re.findall(r"[A-Za-z0-9\x80-\U0010ffff]+", text)


def same(a, b):
    """2: the same word; 1: with another ending."""
    if a == b:
        return 2
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return int(n >= 4 and n + 1 >= min(len(a), len(b)) and n + 3 >= max(len(a), len(b)))


def bare(token):
    """Without quotes and the marks of a sentence."""
    token = token.lstrip("\"'`")
    while len(token) > 1 and token[-1] in "?.,!;:\"'`" and token[0] != "<":
        token = token[:-1]
    return token


def key_of(token):
    """The key that a word of the question names: `^S` and `ctrl-s` are `<C-s>`, `enter` is in `<Enter>`."""
    token = bare(token)
    m = re.fullmatch(r"(?:\^|ctrl.)(.)", token, re.I)
    return f"<C-{m[1].lower()}>" if m else token.lower() if len(token) > 2 and token.isalpha() else token


class Index:
    """The rows; rows of one table differ in their keys only, so what words weigh is shared."""

    vocabulary, shared = collections.defaultdict(set), {}  # word -> (row, part); word -> row -> weight

    def __init__(self, rows):
        self.rows, self.exact = rows, collections.defaultdict(set)
        for i, row in enumerate(rows):
            name = re.sub("=.*", "", row.name).split()
            spelled = {w.lower() for w in words(row.keys) if len(w) > 2}
            for called in {*row.keys.split(), *spelled, name[0], " ".join(name[:2])} - {"confab", ":set"}:
                self.exact[called].add(i)
        if not self.vocabulary:
            for i, row in enumerate(rows):
                for part, text in zip(WEIGHTS, (row.name, row.help, row.where, ASKED.get(handle(row), ""))):
                    for w in words(text):
                        self.vocabulary[w.lower()].add((i, part))

    def weights(self, word):
        if word not in self.shared:
            best = collections.defaultdict(int)
            for w, places in self.vocabulary.items():
                s = same(w, word) or int(w in ALIKE.get(word, ()))
                for at in places if s else ():
                    best[at] = max(best[at], s)
            out = self.shared[word] = collections.defaultdict(float)
            for (i, part), s in best.items():
                out[i] += s * WEIGHTS[part]
        return self.shared[word]

    def find(self, question, n=ROWS_MAX):
        score, hits = collections.defaultdict(float), collections.Counter()
        asked = [w.lower() for w in words(question) if (len(w) > 1 or w.isdigit()) and w.lower() not in FILLERS]
        for w in asked:
            weights = self.weights(w)
            hits.update(weights.keys())
            for i, weight in weights.items():
                score[i] += math.log(1 + len(self.rows) / len(weights)) * weight
        for i in score:
            score[i] *= math.sqrt(hits[i] / len(asked)) * (LATE_FACTOR if self.rows[i].where.startswith(("option", "manual")) else 1)
        tokens = [bare(token) for token in question.split()]
        for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], "end"]):
            handles = {token + " " + after} if token in ("confab", ":set") else set()
            if not token.isalnum() or (before.lower() in BEFORE_KEY and after.lower() in AFTER_KEY):
                handles.add(key_of(token))
            for i in set().union(*(self.exact.get(h, ()) for h in handles)):
                score[i] += EXACT_WEIGHT
        order = sorted(score, key=lambda i: (-score[i], i))
        return [self.rows[i] for i in order[:n] if 2 * score[i] >= score[order[0]]]  # the rest has nothing to do with it


# ---- other keys for the rows

_LEADERS = ("", "", "", "", "g", "g", "z", "y", "]", "[", ",", "d", "Z")


def random_key(rng):
    x = rng.random()
    if x < 0.12:
        return f"<C-{rng.choice(string.ascii_lowercase)}>"
    if x < 0.2:
        return f"<F{rng.randint(1, 12)}>"
    if x < 0.26:
        return rng.choice(("<Enter>", "<Space>", "<Tab>", "<S-Tab>", "<Left>", "<Right>", "<PgUp>", "<End>", "<BS>", "<Del>"))
    return rng.choice(_LEADERS) + rng.choice(string.ascii_letters * 3 + string.digits + "!#$%&*+-./;=?@_~|^")


def rebound(rows, rng):
    """The rows with other keys: none, a few, half or all of them."""
    share = rng.choice((0, 0, 0, 0.1, 0.5, 1))
    out = []
    for row in rows:
        if row.keys and rng.random() < share:
            keys = " ".join(dict.fromkeys(random_key(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))))
            row = row._replace(keys=keys)
        elif row.where.startswith("workbench") and rng.random() < 0.1 * share:
            row = row._replace(keys=random_key(rng))
        out.append(row)
    return out


# ---- what is asked

_KEY_FORMS = (
    "what does {the |}<key>{ key|} do<where>{?|}", "what is {the |}<key>{ key|} {for|good for|used for}<where>?", "what {happens|will happen} {when|if} I {press|hit|type|use} <key><where>?",
    "{meaning|function|purpose|use} of {the key |}<key><where>{?|}", "{explain|tell me about|describe} {the key |}<key><where>", "{why|when} would I {press|use|need|type} <key><where>?",
    "{what about|and|what is|what's} {the key |}<key><where>?", "<key><where>, what {is it for|does it do|is it bound to}?", "I {pressed|hit|typed|saw|read about} <key><where>, what {does it do|is it|is that for}?",
    "what {will|would|might|did} <key> do<where>?", "what {is bound to|is on|lies on} <key><where>?", "I {accidentally|just} {pressed|hit|typed} <key><where>, what {happened|did it do}?",
    "does <key> do {something|anything}<where>?", "which {command|function} is on <key><where>?")
_NAME_FORMS = ("what does <name> do{ in confab|}?", "what is <name>{ for| good for|}?", "{explain|tell me about|describe} <name>", "how do I use <name>?", "<name>, what is that?",
               "is there a key for <name>?", "{which|what} key {does|is} <name>{ the same as|}?", "when do I need <name>?", "what {can I do with|is the meaning of} <name>?")
_DOES_FORMS = ("{how do I|how can I|how do you|how to} <does>{ here| in confab|}?", "{which|what} {key|command|setting|option} {is it to|lets me|do I need to} <does>?", "{I want to|I need to|let me|can I|is it possible to} <does>",
               "{where|how} is it possible to <does>?", "is there a {key|command|way} to <does>?", "{tell me|show me} how to <does>{ please|}", "<does>, how?")
_THING_FORMS = ("{where are|where is|how do I see|show me|where do I find} <does>?", "{which|what} {key|command|view|setting|option} is for <does>?", "{what about|I look for} <does>", "is there something for <does>?", "<does>?")
_NO_FORMS = ("{how do I|how can I|can I} {<w>|<w> the <w>|<w> a <w>} {in confab|in the workbench|in this program}?", "{which|what} key {<w>s the <w>|is for <w>}?", "what does {:<w>|the command :<w>|confab <w>} do?",
             "is there a {key|command|setting} {for <w>|to <w> the <w>}?", "where is the <w> {view|setting|command}?")
_VERB = re.compile(r"(show|list|go|jump|edit|compare|copy|set|remove|add|open|close|use|run|write|print|read|hide|begin|make|give|take|answer|choose|keep|stop|continue|describe|find|measure|export|"
                   r"import|render|declare|start|mark|tick|split|switch|undo|delete|save|draw|redraw|rate|follow|attach|fold|unfold|scroll|leave|swap|ask|score|filter|force|report|record|serve|"
                   r"constrain|restrict|limit|send|generate|tokenize|add|load|change|move|replace|accept|search|sort|rerun|reduce|back|fail|do|end|turn|test|try|drop|draft|allow|show)\b")


class Guide:
    """The part of the generator that asks how confab is used."""

    all_rows = None

    def new_index(self):
        """For one head: the tables with the keys of somebody."""
        if Guide.all_rows is None:
            Guide.all_rows = load_rows()
        self.index = Index(rebound(Guide.all_rows, self.rng))
        self.help_key = next((r.keys.split()[0] for r in self.index.rows if place(r) == "* help" and r.keys), ":help")

    def help_exchange(self, has_guide):
        if self.index is None:
            self.new_index()
        x = self.rng.random()
        if x < 0.68 or self.held_forms or not has_guide and x < 0.9:
            text, found, said = self._asked()
        elif x < 0.82:
            text, found, said = self._of_key()
        elif x < 0.97:
            text, found, said = self._of_row()
        else:
            text, found, said = self._of_nothing()
        if not has_guide:
            return [self.user(text), self.say(NOT_BY_HEART, "refused", [NOT_BY_HEART], None, "I know no keys by heart.")]
        call = {"role": "assistant", "content": "", "reasoning_content": "I look it up in the help of confab.", "tool_calls": [
            {"type": "function", "function": {"name": NAME, "arguments": {"question": text.strip()}}}]}
        return [self.user(text), (call, {"kind": "help", "must": [], "tool": NAME}), ({"role": "tool", "content": result(found, self.help_key)}, None),
                self.say(said, "guide", [said], NAME, "The help has answered.")]

    def _asked(self):
        """A question whose row is known."""
        fact = self.pick(self.facts.GUIDE)
        text = self.question_text(expand(self.pick(fact.held if self.held_forms else fact.forms), self.rng))
        found = self.index.find(text)
        if not found:
            return text, found, NOTHING_ANSWER.format(self.help_key)
        best = next((f for f in found if fits(f, fact.answer)), None)
        return text, found, answer(best or found[0])

    def _of_key(self):
        r = self.rng
        row = self.pick([row for row in self.index.rows if row.keys])
        key, view = self.pick(row.keys.split()), row.where.partition(", ")[2]
        named = view != "all views" and r.random() < 0.6
        where = expand("{in|in the} <v>{ view|}", r).replace("<v>", r.choice((view, view.lower()))) if named else ""
        if key.startswith("<C-") and r.random() < 0.7:
            key = r.choice(("^", "^", "ctrl-", "Ctrl+")) + (key[3].upper() if r.random() < 0.6 else key[3])
        elif key.startswith("<") and "-" not in key and r.random() < 0.5:
            key = key.strip("<>")
        form = expand(self.pick(_KEY_FORMS), r)
        text = self.question_text(form.replace("<where>", " " + where if where else "").replace("<key>", "\x01"), "\x01").replace("\x01", key)
        found = self.index.find(text)
        mine = [f for f in found if key_of(key) in f.keys.split() or key in words(f.keys)]
        if not mine:
            return self._asked()
        return text, found, " ".join(map(answer, mine[:1 if named else 2]))

    def _of_row(self):
        """A question in the words of any row, or about its name."""
        r = self.rng
        row = self.pick(self.index.rows if r.random() < 0.9 else [row for row in self.index.rows if row.where.startswith("manual")])
        if r.random() < 0.3:
            name = row.name.split()[0] if not row.name.startswith(("confab ", ":set", "exit ")) else row.name if row.name.startswith("exit ") else " ".join(re.split("[ =]", row.name)[:2])
            form, slot = expand(self.pick(_NAME_FORMS), r), name
        else:
            does = re.split(r"[;:(,]", row.help)[0].split()
            while len(does) > 3 and r.random() < 0.35:
                del does[r.randrange(1, len(does))]
            slot = " ".join(does)
            form = expand(self.pick(_DOES_FORMS if _VERB.match(slot) else _THING_FORMS), r)
            if row.where.startswith("workbench, ") and "all views" not in row.where and r.random() < 0.5:
                form = re.sub(r"(\??)$", " in " + row.where[11:] + r"\1", form)
        form = form.replace("<name>", "<does>")
        text = self.question_text(form.replace("<does>", "\x01"), "\x01").replace("\x01", slot)
        found = self.index.find(text)
        if not found:
            return text, found, NOTHING_ANSWER.format(self.help_key)
        best = next((f for f in found if f.help == row.help and f.name == row.name), next((f for f in found if f.help == row.help), found[0]))
        return text, found, answer(best)

    def _of_nothing(self):
        while True:
            form = expand(self.pick(_NO_FORMS), self.rng)
            while "<w>" in form:
                form = form.replace("<w>", self.values.invent(), 1)
            text = self.question_text(form)
            found = self.index.find(text)
            if not found:
                return text, found, NOTHING_ANSWER.format(self.help_key)
            if self.rng.random() < 0.05:
                return text, found, answer(found[0])
