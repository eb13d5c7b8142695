#!/usr/bin/env python3
"""The generator of training dialogues for the bundled model.

    from dialogues import Generator, segments, prompt_for, evaluation_sets
    conv = Generator(seed).conversation()
    branches = Generator(seed).tree(n_chars)

A tree is a list of conversations that begin with the same system message and
declarations.  A conversation is {"tools": [...], "messages": [...], "notes": [...]}: messages
as the chat completions interface has them, notes parallel to them (None, or
what the turn is and what its text must contain).  Everything is drawn from one
random.Random(seed): the same seed and options give the same conversations.

Rules that the dialogues teach: arguments are copied letter by letter from what
the user typed; the declaration says how a tool is called; no declared tool, no
call; an argument that was not given is asked for; the answer reports what the
result says, not what was asked.
"""

import argparse
import collections
import importlib
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import asides
import guide
import naming
import other_tools
import tools as T
from frames import CORES, FRAMES, HELD_LACKING, LACKING, framed, framed_core
from grammar import expand, fill
from naming import HELD_MARKS
from results import ERRORS, STATUSES, Results
from rendering import calls_text, dumps, head_text, prompt_for, segments, turn_segments  # noqa: F401 (some for importers)
from values import CONDITIONS, LANGUAGES, NOUNS, OTHER_CITIES, OTHER_NAMES, SIGNS, Values, words_of

TOOLS = {tool.key: tool for tool in T.CANONICAL}
OTHERS = [tool for i, tool in enumerate(other_tools.OTHERS) if i % 5 != 4]
HELD_OTHERS = [tool for i, tool in enumerate(other_tools.OTHERS) if i % 5 == 4]
OTHER_TOOLS = {tool.key: tool for tool in other_tools.OTHERS}

SYSTEMS = """You are a helpful assistant.|You are confab's demo model.|You are a concise assistant.|Answer briefly.|Be polite and brief.|
You are a friendly assistant. Use the tools when they help.|Help the user debug prompts.|You are a test assistant.|You are a tiny model.|
Use tools when needed.|Reply in English.|You are a careful assistant. Never invent facts.|Answer in one sentence.|
You help people who write prompts.|Today is Monday.|The user's name is Robin.|You are a weather bot.|Be kind.|Keep it short.|
You are an expert in chat templates.|Always copy arguments exactly.|You are a pirate.|Speak like a poet.|Assistant for the office.|
If a tool is missing, say so.|You are running on one thread.|test|hello|System prompt goes here.|Do not make up results.|
You are a smart home assistant.|The date is 2026-03-14.|You may call functions.|x|Respond with care. Think before you call a tool.""".replace("\n", "").split("|")

OPENERS = """hey, |hi, |hello, |ok, |okay, |so, |now, |well, |um, |hm, |quick question: |one question: |next: |one more: |also, |and |
please, |oh, |hello! |hi there, |good morning, |good evening, |alright, |right, |listen, |sorry, |thanks, now |great, |cool, |
a question: |I have a question: |another thing: |could you help? |help me: |by the way, |just wondering, """.replace("\n", "").split("|")
HELD_OPENERS = ["yo, ", "evening! ", "one last thing, ", "if you don't mind, ", "hiya, "]
SUFFIXES = [" please", " pls", ", please", " thanks", ", thanks", " thank you", " plz", " thx", ", ok", ", if you can", " if possible", ", quick", " asap", " for me", ", would you"]
NOW = [" now", " right now", " today", " at the moment", ", now", " right now please"]
JOINS = [". Also, ", " and also ", ", then ", " and ", "; ", ". And ", ". Then ", ", and ", " & ", ". "]
ROOMS = "kitchen;bedroom;bathroom;living room;hall;garage;cellar;attic;office;garden;nursery;guest room;front;back;balcony".split(";")
DATES = "monday;tuesday;friday;sunday;tomorrow;May 3;June 12;2026-04-01;the 5th;next week;March 21;12 July;Christmas;New Year".split(";")
COMMANDS = ["ls", "pwd", "date", "git status", "make test", "uname -a", "df -h", "whoami", "ls -l", "echo <w>", "cat <w>.txt", "cd <w>", "grep <w> <w>.log"]


LONG_CHARS, TURN_CHARS = 6500, 40  # a conversation ends before it passes about 2,000 tokens
HEAD_CHARS, EXCHANGE_CHARS, BARE_SHARE = 1300, 250, 0.15  # of a tree, about; the share of its exchanges without any tool

# kinds of exchanges and how often training has them, with and without tools
MIXTURE = {"tool": 36, "parallel": 14, "ask": 12, "followup": 4, "undeclared": 9, "fact": 16, "help": 6, "small": 4, "outside": 12}
BARE_MIXTURE = {"undeclared": 10, "fact": 34, "help": 16, "small": 7, "outside": 16, "json": 34}
GUIDE_MIXTURE = {"tool": 28, "parallel": 11, "ask": 9, "followup": 3, "undeclared": 7, "fact": 10, "help": 30, "small": 3, "outside": 6}
ALONE_MIXTURE = {"undeclared": 6, "fact": 17, "help": 64, "small": 4, "outside": 9}
GUIDE_SHARE = 0.36  # of the heads: the help of confab is declared, alone, beside the eight tools or beside others
DECK = 16  # kinds of a tree are drawn by the deck
# exchanges a conversation: with few tools, with many, and a branch of a tree
FEW, MANY, BRANCH = (1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8), (3, 4, 5, 5, 6, 7, 8), (1,) * 8 + (2,) * 7 + (3, 3, 4, 5, 6, 8)
FAMILIES = 0.35  # of the conversations with tools: most names begin or end alike
OTHER_SCRIPTS = 0.06  # cities and names that are written in another script, in training
GIBBERISH = 0.3  # values that are no words, in training

# other tools whose requests read like questions from outside: never refused for want of a tool, no outside question beside them
LIKE_OUTSIDE = set("""music translate table web define news file random distance recipe movie age air antonym average base book bus calories capital coin count_letters
crypto days_until dice dns draw element elevation etymology factorial flight fridge gcd geocode hash holiday hotel joke loan lyrics moon museum nearby
parking phone_code plant player podcast population postcode power prime quiz quote_of reverse rhyme roman route score shop_search spell sqrt standings
sunrise synonym tax tip traffic tv unit_length unit_weight uppercase weekday""".split())


class Declared:
    """A tool as one conversation declares it: its name and what its parameters are called there."""

    __slots__ = ("tool", "key", "name", "params", "schema", "noun")

    def __init__(self, tool, name, params, schema):
        self.tool, self.key, self.noun = tool, tool.key, tool.noun
        self.name, self.params, self.schema = name, params, schema


class Request:
    """What a user asks of a tool: the text and the arguments under their canonical names."""

    __slots__ = ("key", "text", "args", "open_end")

    def __init__(self, key, text, args, open_end=False):
        self.key, self.text, self.args, self.open_end = key, text, args, open_end


def tool_of(key):
    return TOOLS.get(key) or OTHER_TOOLS[key]


def canonical_schema(tool):
    properties = {p.name: {"type": p.type, "description": p.description} for p in tool.params}
    required = [p.name for p in tool.params if p.required]
    return {"type": "function", "function": {"name": tool.name, "description": tool.description,
                                             "parameters": {"type": "object", "properties": properties, "required": required}}}


def canonical_tools():
    """The eight demonstration tools as the workbench declares them."""
    return [canonical_schema(tool) for tool in T.CANONICAL]


class Head:
    """What the branches of a tree share: the declared tools and the system message."""

    __slots__ = ("declared", "tools", "turns", "chars", "has_guide")

    def __init__(self, declared, system, has_guide):
        self.declared, self.has_guide = declared, has_guide
        self.tools = [d.schema for d in declared] + [guide.DECLARATION] * has_guide
        self.turns = [] if system is None else [({"role": "system", "content": system}, None)]
        self.chars = len(head_text({"tools": self.tools, "messages": [m for m, _ in self.turns]}))


class _Values(Values):
    """Values with fewer words that mean nothing: they cost a small model much, and training has enough of them."""

    def invented(self):
        return self.random or (not self.held and self.rng.random() < GIBBERISH)

    def city(self):
        return self.rng.choice(OTHER_CITIES) if self.rng.random() < OTHER_SCRIPTS else super().city()

    def name(self):
        return self.rng.choice(OTHER_NAMES) if self.rng.random() < OTHER_SCRIPTS else super().name()


class _Facts:
    """The facts, loaded on first use, and all their words."""

    loaded = None

    @classmethod
    def get(cls):
        if cls.loaded is None:
            cls.loaded = importlib.import_module("facts")
            try:
                cls.dress = staticmethod(importlib.import_module("dress").dress)
            except ImportError:
                cls.dress = None
            texts = []
            for fact in cls.loaded.FACTS + cls.loaded.SMALL_TALK + cls.loaded.GUIDE:
                texts += [fact.answer] if isinstance(fact.answer, str) else list(fact.answer)
                texts += fact.forms
            outside = cls.loaded.OUTSIDE
            texts += list(outside.topics) + list(outside.questions) + list(outside.forms) + [outside.answer]
            for tool in T.CANONICAL:
                texts += [form for forms in tool.forms.values() for form in forms] + tool.descriptions + [tool.description]
            for tool in OTHERS:
                texts += tool.forms + tool.descriptions
            texts += [form for missing in LACKING.values() for cores in missing.values() for forms in cores.values() for form in forms]
            texts += [form for cores in CORES.values() for forms in cores.values() for form in forms] + [form for forms in FRAMES.values() for form in forms]
            texts += SYSTEMS + OPENERS + SUFFIXES + CONDITIONS + ERRORS + STATUSES
            cls.words = words_of(re.sub(r"<\w+>", " ", t) for t in texts)
        return cls.loaded


class Generator(Results, guide.Guide):
    """Conversations from a seed.

    held_values   slot values (and topics, questions from outside) from the held-out lists only
    random_values invented slot values only
    held_forms    held-out phrasings only
    held_tools    all declarations renamed and described from held-out lists, or only renamed ("names")
    n_exchanges   exchanges per conversation (default 1-8)
    thinking      True/False: the last turn has reasoning (default: one in four)
    kinds         a list of exchange kinds to choose from (default: the training mixture)
    declare       "none", "all", or None for the training mixture
    short, long   1-2 exchanges with 0-3 tools; many exchanges
    plain         no openers, typos, lower case or stray spaces
    pieces        parts of words: some marks in names are made of them, so that each is copied now and then
    """

    def __init__(self, seed, *, held_values=False, held_forms=False, held_tools=False, random_values=False, n_exchanges=None, thinking=None,
                 kinds=None, declare=None, short=False, long=False, plain=False, pieces=()):
        self.rng = random.Random(seed)
        self.facts = _Facts.get()
        self.dress = _Facts.dress
        self.training = kinds is None and n_exchanges is None  # evaluation samples have their own, unchanging mixture
        self.values = (_Values if self.training else Values)(self.rng, held=held_values, random=random_values, corpus=_Facts.words)
        self.held_values, self.held_forms, self.held_tools = held_values, held_forms, held_tools
        self.n_exchanges, self.thinking, self.kinds, self.declare_mode = n_exchanges, thinking, kinds, declare
        self.short, self.long, self.plain, self.pieces = short, long, plain, pieces
        self.family = ("", "")  # what most names of one conversation begin and end with
        self.twins = collections.deque(maxlen=8)  # requests made of declared tools, to be made again where none is declared
        self.inner = False  # while the second half of a double request is drawn
        self.used = None  # in a tree: how often each tool was used for what
        self.deck = []  # in a tree: the kinds of the next exchanges
        self.has_guide = False  # the help is declared in the conversation at hand

    # ---- small draws

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return self.rng.choice(items)

    def pick_tool(self, declared, purpose):
        """One of the declared tools; in a tree one that was picked least for this purpose."""
        if self.used is None:
            return self.pick(declared)
        least = min(self.used[purpose, d.name] for d in declared)
        d = self.pick([d for d in declared if self.used[purpose, d.name] == least])
        self.used[purpose, d.name] += 1
        return d

    def form(self, forms):
        return expand(self.pick(forms), self.rng)

    # ---- user texts

    def decorate(self, text, now=False, open_end=False):
        """Openers, suffixes and typos around a text whose slots are not filled yet."""
        r = self.rng
        if self.plain or self.inner:
            return text
        slots = re.findall(r"<\w+>", text)
        before = text
        if not open_end and r.random() < 0.3:
            suffix = r.choice(NOW) if now and r.random() < 0.4 else r.choice(SUFFIXES)
            mark = text[-1] if text[-1] in "?.!" else ""
            core = text[:-1] if mark else text
            if not core.endswith((" now", " please", " today", "tomorrow", " me")):
                text = core + suffix + mark
        x = r.random()
        if x < 0.25:
            opener = r.choice(HELD_OPENERS if self.held_forms else OPENERS)
            text = opener + text
        elif x < 0.4 and self.dress:
            dressed = self.dress(text, r, slots)
            if all(dressed.count(s) == text.count(s) for s in slots) and (not open_end or dressed.endswith(text[-6:])):
                text = dressed
        x = r.random()
        if x < 0.45 and not text.startswith("<"):
            text = text[0].upper() + text[1:]
        elif x < 0.55:
            text = text.rstrip("?.!") if not open_end else text
        elif x < 0.6 and not open_end:
            text += r.choice(".!?") if text[-1].isalnum() or text[-1] == ">" else ""
        if x > (0.95 if self.training else 0.97):
            text = self.typo(text)
        return text if text.strip() else before

    def dressed(self, form, key, open_end=False):
        """decorate(), or whole sentences around the form."""
        r = self.rng
        now = key in ("weather", "time", "stock")
        if not self.training or self.plain or self.inner or r.random() < 0.84:
            return self.decorate(form, now=now, open_end=open_end)
        x = r.random()
        text = form
        if x > 0.65 and not open_end:
            text = asides.with_last_word(text, r)
        if x < 0.8:
            text = asides.with_reason(key, text, r)
        return text

    def lowers(self):
        """Whether a request is typed in small letters."""
        return not self.plain and self.chance(0.16 if self.training else 0.1)

    def unmarked(self, form, keep_commas=False):
        """Without the marks of its sentences; those beside a slot part two values."""
        if keep_commas:
            return form if form.endswith("<text>") else form.rstrip("?.!")
        return re.sub(r"(?<=\w),(?= [a-z])|[?!.]+(?= |$)", "", form) or form

    def typo(self, text):
        """One slip outside of the slots."""
        words = text.split(" ")
        at = self.rng.randrange(len(words))
        word = words[at]
        if len(word) < 4 or not word.isalpha():
            return text
        i = self.rng.randint(1, len(word) - 2)
        x = self.rng.random()
        if x < 0.4:
            word = word[:i] + word[i + 1] + word[i] + word[i + 2:]
        elif x < 0.7:
            word = word[:i] + word[i + 1:]
        else:
            word = word[:i] + word[i] + word[i:]
        words[at] = word
        return " ".join(words)

    def stray(self, text):
        """Trailing blanks and line ends, as they happen."""
        if not self.plain and self.rng.random() < 0.05:
            return text + self.pick([" ", "  ", "\n", "\n\n", " \n"])
        return text

    # ---- slot values: what is typed, and the argument

    def slots(self, tool, variant):
        v, r = self.values, self.rng
        key = tool.key
        if key == "weather":
            city = v.city()
            values = {"location": (city, city)}
            if variant == "unit":
                unit = r.choice(("celsius", "fahrenheit"))
                values["unit"] = (unit, unit)
            return values
        if key == "time":
            zone = v.zone()
            return {"timezone": (zone, zone)}
        if key == "calc":
            return {"expression": self.expression()}
        if key == "timer":
            minutes = str(r.randint(1, 60)) if r.random() < 0.6 else v.number(3)
            values = {"minutes": (minutes, int(minutes))}
            if variant == "label":
                label = v.label()
                values["label"] = (label, label)
            return values
        if key == "currency":
            amount = v.number(5) if r.random() < 0.75 else v.decimal()
            return {"amount": (amount, float(amount) if "." in amount else int(amount)), "from": self.currency(), "to": self.currency()}
        if key == "notes":
            query = v.phrase()
            return {"query": (query, query)}
        if key == "message":
            name, text = v.name(), self.message_text()
            return {"to": (name, name), "text": (text, text)}
        if key == "stock":
            symbol = v.ticker()
            return {"symbol": (symbol, symbol)}
        raise KeyError(key)

    def message_text(self):
        while True:
            text = self.values.sentence()
            if '"' not in text and not text.lower().startswith(("that ", "to ", "saying ", "the message", "the text", "a ", "know ", "too")):
                return text

    def currency(self):
        if self.rng.random() < 0.25:
            noun = self.pick(list(NOUNS))
            return noun, NOUNS[noun]
        code = self.values.code()
        return code, code

    def expression(self):
        r, v = self.rng, self.values

        def number():
            return v.decimal(3) if r.random() < 0.12 else v.number(4)

        if r.random() < 0.04:
            a, b = v.number(2), number()
            return f"{a}{r.choice(('%', ' percent'))} of {b}", f"{a} / 100 * {b}"
        n = r.choice((2, 2, 2, 3, 3, 4))
        style = r.choice(("spaced", "spaced", "spaced", "tight", "words", "words"))
        typed = argument = number()
        for _ in range(n - 1):
            op, b = r.choice("+-*/"), number()
            if style == "words":
                word = {"+": ("plus", "plus", "added to"), "-": ("minus",), "*": ("times", "times", "multiplied by", "x"), "/": ("divided by", "over")}[op]
                typed += f" {r.choice(word)} {b}"
                argument += f" {op} {b}"
            else:
                step = f" {op} {b}" if style == "spaced" else op + b
                typed += step
                argument += step
        if style != "words" and n > 2 and r.random() < 0.3:
            cut = re.match(r"^([\d.]+ ?[-+*/] ?[\d.]+)(.*)$", typed)
            typed = argument = f"({cut.group(1)}){cut.group(2)}"
        return typed, argument

    def other_value(self, kind):
        v, r = self.values, self.rng
        if kind == "title":
            text = v.phrase(4)
            return text.title() if r.random() < 0.5 else text
        if kind == "room":
            return r.choice(ROOMS) if r.random() < 0.6 else v.word()
        if kind == "place":
            return v.name() if r.random() < 0.5 else v.phrase(2).title()
        if kind == "language":
            return r.choice(LANGUAGES) if r.random() < 0.7 else v.invent(True)
        if kind == "serial":
            return "".join(r.choice("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(r.randint(4, 9)))
        if kind == "path":
            return r.choice(("", "/", "./", "~/", "src/", "docs/")) + v.word().lower() + r.choice((".txt", ".md", ".c", ".json", ".py", ".log", "/" + v.word()))
        if kind == "date":
            return r.choice(DATES)
        if kind == "small":
            return r.randint(1, 30)
        if kind == "large":
            return int(v.number(4))
        if kind == "address":
            return f"{v.word().lower()}@{v.word().lower()}.{r.choice(('com', 'org', 'net', 'io'))}"
        if kind == "command":
            text = r.choice(COMMANDS)
            while "<w>" in text:
                text = text.replace("<w>", v.word(), 1)
            return text
        return getattr(v, kind)()

    # ---- requests

    def request(self, tool, variant=None, params=None):
        """A full request of a tool; variant of its forms, within the declared params."""
        if isinstance(tool, other_tools.Other):
            return self.other_request(tool)
        forms = tool.held_forms if self.held_forms else tool.forms
        if variant is None:
            variants = [v for v in forms if params is None or not v or v in params or self.chance(0.05)]
            variant = "" if len(variants) == 1 or self.chance(0.7) else variants[1]
        values = self.slots(tool, variant)
        core = tool.key + "." + variant if variant else tool.key
        if self.training and self.chance(0.07):
            form = self.form(asides.SENTENCES[core])
        else:
            form = framed(core, self.rng) if not self.held_forms and self.chance(0.35) else self.form(forms[variant])
        return self.fill_form(tool, form, values)

    def fill_form(self, tool, form, values, decorated=True, keep=None):
        if tool.key == "currency" and not self.plain and "<amount> <from>" in form and self.chance(0.05):
            sign = self.pick(list(SIGNS))
            form = form.replace("<amount> <from>", sign + "<amount>")
            values = dict(values, **{"from": (sign, SIGNS[sign])})
        if "<to> <text>" in form:  # nothing but the capital tells where the name ends
            name, text = values["to"][0].split(" ")[-1], values["text"][0]
            if not re.match(r"I\b", text):
                text = text[0].lower() + text[1:]
            values = dict(values, to=(name, name), text=(text, text))
        open_end = form.endswith("<text>") and tool.key == "message"
        text = self.dressed(form, tool.key, open_end) if decorated else form
        typed = {name: value[0] for name, value in values.items()}
        args = {name: value[1] for name, value in values.items()}
        lower = self.lowers() and not any(value[0] in NOUNS and value[0] != value[0].lower() for value in values.values() if isinstance(value[0], str))
        if lower and self.training and self.chance(0.6):
            text = self.unmarked(text, open_end or tool.key == "message")
        text = fill(text, typed)
        if lower:
            text = text.lower()
            args = {name: value.lower() if isinstance(value, str) and typed[name] == value else value for name, value in args.items()}
        return Request(tool.key, text, args, open_end)

    def other_request(self, tool):
        values = {slot: self.other_value(kind) for slot, kind in tool.slots.items()}
        text = self.dressed(self.form(tool.forms), tool.key)
        lower = self.lowers()
        if lower and self.training and self.chance(0.6):
            text = self.unmarked(text)
        text = fill(text, values)
        if lower:
            text = text.lower()
            values = {slot: value.lower() if isinstance(value, str) else value for slot, value in values.items()}
        return Request(tool.key, text, values)

    # ---- declarations

    def declare(self, tool, canonical):
        if isinstance(tool, other_tools.Other):
            return self.declare_other(tool)
        if canonical:
            return Declared(tool, tool.name, {p.name: p.name for p in tool.params}, canonical_schema(tool))
        r, held = self.rng, self.held_tools
        speaks = r.random() < (0.92 if self.training else 0.95)
        name = naming.in_family(r, self.family, self.tool_name(tool, speaks, held))
        function = {"name": name}
        if held:
            function["description"] = tool.description if held == "names" else r.choice(tool.held_descriptions)
        elif not (speaks and r.random() < 0.08):
            function["description"] = tool.description if r.random() < 0.25 else expand(r.choice(tool.descriptions), r)
        if not held and "description" in function and r.random() < 0.12:
            function["description"] = r.choice(("Tool: {}", "{}.", "{}. Returns JSON.", "Function. {}", "{} (demo)", "Helper: {}", "Call this: {}", "{} for the user")).format(function["description"])
        properties, required, names = {}, [], {}
        rename = held or r.random() < 0.7
        described = r.random() < 0.9 or (held and len(tool.params) > 1)
        for p in tool.params:
            if not p.required and r.random() < 0.3:
                continue
            alias = p.name
            random_name = False
            if rename:
                x = r.random()
                alias = r.choice(p.held_names if held and held != "names" else p.names) if x < 0.85 or held else self.values.invent() if x < 0.875 else p.name
                random_name = x >= 0.85
            if alias in properties:
                alias = p.name if p.name not in properties else p.name + "_2"
            names[p.name] = alias
            prop = {"type": p.type}
            if described or random_name or tool.key == "currency":
                prop["description"] = p.description if r.random() < 0.3 else expand(r.choice(p.descriptions), r)
            properties[alias] = prop
            if p.name == "unit" and r.random() < 0.3:
                prop["enum"] = ["celsius", "fahrenheit"]
            if p.required:
                required.append(alias)
        if r.random() < 0.08:
            self.extra_param(properties)
        self.finish_schema(function, properties, required)
        return Declared(tool, name, names, {"type": "function", "function": function})

    def extra_param(self, properties):
        name, prop = self.pick([("lang", {"type": "string", "description": "Reply language"}), ("verbose", {"type": "boolean"}), ("format", {"type": "string"}),
                                ("limit", {"type": "integer", "description": "Most results"}), ("user_id", {"type": "string", "description": "Optional user"}),
                                ("debug", {"type": "boolean", "description": "Print more"})])
        properties.setdefault(name, prop)

    def finish_schema(self, function, properties, required):
        parameters = {"type": "object", "properties": properties}
        if required or self.chance(0.5):
            parameters["required"] = required
        if self.chance(0.07):
            parameters["additionalProperties"] = False
        function["parameters"] = parameters

    def mark(self):
        """Any word, as a part of a name."""
        if self.pieces and self.chance(0.5):
            word = "".join(self.pick(self.pieces) for _ in range(self.pick((1, 1, 2))))
            return word if word not in HELD_MARKS else "tool"
        word = self.values.word() if self.values.random else self.pick(self.values.words)
        return re.sub(r"[^a-z]", "", word.lower()) or "tool"

    def tool_name(self, tool, speaks, held):
        r = self.rng
        if held:
            verb, noun = r.choice(tool.held_verbs), r.choice(tool.held_nouns)
            word = self.values.invent()
            if held == "names":
                usual, mark = r.choice(tool.nouns), r.choice(HELD_MARKS)
                return r.choice((f"{usual}_{mark}", f"{mark}_{usual}", f"{verb}_{usual}", f"{r.choice(tool.verbs)}_{usual}_{mark}"))
            return r.choice((f"{verb}_{noun}", f"{noun}_{verb}", noun, f"{verb}_{word}", f"{word}_{noun}", word, f"{word}_{self.values.invent()}"))
        if speaks:
            return naming.new_name(r, tool.verbs, tool.nouns, tool.name, self.mark, self.training and self.chance(0.2))
        return self.silent_name()

    def silent_name(self):
        """A name that does not tell what the tool does."""
        return naming.spelled(self.rng, [self.values.invent() if self.chance(0.5) else self.mark() for _ in range(self.pick((1, 2, 2)))])

    def declare_other(self, tool):
        r = self.rng
        speaks = r.random() < 0.95
        name = r.choice(tool.names) if speaks else self.silent_name()
        if speaks and r.random() < 0.45:
            name = naming.varied_name(r, name, self.mark)
        name = naming.in_family(r, self.family, name)
        function = {"name": name}
        if not speaks or r.random() < 0.93:
            function["description"] = expand(r.choice(tool.descriptions), r)
        properties, names = {}, {}
        for slot, aliases, kind, description in tool.params:
            alias = aliases[0] if r.random() < 0.4 else r.choice(aliases)
            if alias in properties:
                alias = slot if slot not in properties else slot + "_2"
            names[slot] = alias
            properties[alias] = {"type": kind, "description": expand(description, r)}
        self.finish_schema(function, properties, list(properties))
        return Declared(tool, name, names, {"type": "function", "function": function})

    def declarations(self, bare=0.22):
        """The declared tools of one conversation; bare: the share of conversations without any."""
        r, mode = self.rng, self.declare_mode
        if mode == "none":
            return []
        x = r.random()
        eight = bare + (1 - bare) * (0.18 if self.training else 0.26)
        if mode == "all" or (mode is None and not self.short and not self.held_tools and bare <= x < eight):
            return [self.declare(tool, True) for tool in T.CANONICAL]
        if mode is None and x < bare:
            return []
        n = r.choice((1, 2, 2, 3) if self.short else (1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8) if self.training else (1, 1, 2, 2, 3, 3, 4, 5, 6, 8))
        pool = r.sample(T.CANONICAL, min(n, len(T.CANONICAL)))
        if not self.held_tools or self.kinds is None:
            others = HELD_OTHERS if self.held_tools else OTHERS
            foreign = 0.3 if self.training else 0.1
            pool = [r.choice(others) if r.random() < foreign else tool for tool in pool]
            pool = list({tool.noun: tool for tool in pool}.values())
        canonical = 0 if self.held_tools else 0.12 if self.training else 0.3
        self.family = naming.family(r, self.mark) if self.training and len(pool) > 1 and self.chance(FAMILIES) else ("", "")
        declared = [self.declare(tool, r.random() < canonical) for tool in pool]
        unique = {}
        for d in declared:
            unique.setdefault(d.name, d)
        return list(unique.values())

    # ---- assistant turns

    def call_message(self, calls):
        return {"role": "assistant", "content": "", "tool_calls": [
            {"type": "function", "function": {"name": d.name, "arguments": {d.params[k]: v for k, v in args.items() if k in d.params}}} for d, args in calls]}

    def call_thought(self, calls):
        parts = []
        for d, args in calls:
            named = [f"{d.params[k]} {v}" for k, v in args.items() if k in d.params]
            parts.append(f"I call {d.name} with {' and '.join(named)}.")
        return " ".join(parts)

    # ---- exchanges: lists of (message, note)

    def user(self, text):
        return {"role": "user", "content": self.stray(text)}, None

    def say(self, text, kind, must, tool=None, thought=None):
        message = {"role": "assistant", "content": text}
        if thought:
            message["reasoning_content"] = thought
        return message, {"kind": kind, "must": must, "tool": tool}

    def calls(self, text, calls, kind):
        """The user's text, the calls, their results and the answer, with a thought at each assistant turn."""
        turns = [self.user(text)]
        message = self.call_message(calls)
        message["reasoning_content"] = self.call_thought(calls)
        turns.append((message, {"kind": kind, "must": [], "tool": calls[0][0].key}))
        answers, must = [], []
        for d, args in calls:
            content, answer, needed = self.result(d, args)
            turns.append(({"role": "tool", "content": content}, None))
            answers.append(answer)
            must += needed
        turns.append(self.say(" ".join(answers), "summary", must, calls[0][0].key, "The tool has answered." if len(calls) == 1 else "The tools have answered."))
        return turns

    def single(self, declared):
        d = self.pick_tool(declared, "single")
        request = self.request(d.tool, params=d.params)
        if self.chance(0.4):
            self.twins.append(request)
        return self.calls(request.text, [(d, request.args)], "tool")

    def parallel(self, declared):
        for _ in range(4 if self.training else 1):
            turns = self.some_calls(declared)
            if turns:
                return turns
        return self.single(declared)

    def some_calls(self, declared):
        """Two or three requests in one text, or None where they do not go together."""
        r = self.rng
        lists = [d for d in declared if d.key in ("weather", "time", "stock", "timer", "currency", "message")]
        if lists and (len(declared) < 2 or r.random() < 0.55):
            return self.parallel_list(self.pick_tool(lists, "list"))
        if len(declared) < 2:
            pair = [declared[0], declared[0]]
        else:
            first = self.pick_tool(declared, "parallel")
            pair = [first, self.pick_tool([d for d in declared if d is not first], "parallel")]
            if r.random() < 0.1:
                pair.append(r.choice(declared))
        requests = []
        for d in pair:
            self.inner = bool(requests)
            requests.append((self.request(d.tool, params=d.params), d))
        self.inner = False
        if requests[0][0].open_end:
            if r.random() < 0.5 or pair[-1].key == "message":
                return None
            self.inner = True
            requests = [(self.request(pair[-1].tool, params=pair[-1].params), pair[-1]), requests[0]]
            self.inner = False
        if any(request.open_end for request, _ in requests[:-1]):
            return None
        text = requests[0][0].text
        for request, _ in requests[1:]:
            join = r.choice(JOINS)
            mark = text[-1] if text[-1] in "?!" else "."
            more = request.text
            if join.startswith("."):
                join = mark + join[1:]
                first = tuple(str(value) for value in request.args.values())
                if more[0].islower() and join == mark + " " and not more.startswith(first) and r.random() < 0.6:
                    more = more[0].upper() + more[1:]
            text = text.rstrip("?.!") + join + more
        return self.calls(text, [(d, request.args) for request, d in requests], "parallel")

    def parallel_list(self, d):
        """One request with a list in one of its slots: a call for each item; None where its form does not take a list."""
        r = self.rng
        tool = d.tool
        slot = {"weather": "location", "time": "timezone", "stock": "symbol", "timer": "minutes", "currency": "to", "message": "to"}[d.key]
        forms = (tool.held_forms if self.held_forms else tool.forms)[""]
        n = 3 if r.random() < 0.2 else 2
        values = [self.slots(tool, "") for _ in range(n)]
        for other in values[1:]:
            other.update({k: x for k, x in values[0].items() if k != slot})
        if len({str(v[slot][0]) for v in values}) < n or any("," in str(v[slot][0]) for v in values):
            return None
        typed = [v[slot][0] for v in values]
        joined = (typed[0] + r.choice((", ", ", ", " and ")) + typed[1] + r.choice((" and ", ", and ", " and also ", ", ")) + typed[2] if n == 3
                  else typed[0] + r.choice((" and ", " and ", " and ", " & ", ", ", " and also ", " and in " if d.key in ("weather", "time") else " and ", ", and ")) + typed[1])
        form = self.form(forms)
        if f"<{slot}>" not in form or "<to> <text>" in form:
            return None
        merged = dict(values[0])
        merged[slot] = (joined, joined)
        request = self.fill_form(tool, form, merged)
        lowered = request.text == request.text.lower()
        calls = []
        for v in values:
            args = dict(request.args)
            args[slot] = v[slot][1]
            if lowered and isinstance(args[slot], str) and v[slot][0] == v[slot][1]:
                args[slot] = args[slot].lower()
            calls.append((d, args))
        return self.calls(request.text, calls, "parallel")

    def lacking(self, key, missing, forms):
        """A request of a tool without the missing arguments."""
        which = ",".join(missing)
        if self.held_forms:
            return self.form(HELD_LACKING[key][which])
        return framed_core(LACKING[key][which], self.rng) if self.chance(0.55) else self.form(forms)

    def ask(self, declared):
        known = [d for d in declared if d.key in TOOLS]
        if not known:
            return self.single(declared)
        d = self.pick_tool(known, "ask")
        missing, forms, question, answers = self.pick(d.tool.asks)
        values = self.slots(d.tool, "")
        given = {k: v for k, v in values.items() if k not in missing}
        open_end = lambda form: form.endswith("<text>")
        form = self.lacking(d.tool.key, missing, forms)
        first = self.fill_form(d.tool, form, given)
        asked = fill(question, {k: v for k, v in first.args.items()}) if d.key == "message" else question
        names = " and ".join(d.params[m] for m in missing)
        turns = [self.user(first.text), self.say(asked, "ask", [asked], d.key, f"The {names} {'is' if len(missing) == 1 else 'are'} missing, so I ask.")]
        if self.chance(0.2):
            return turns
        answer = self.form(answers)
        later = {k: values[k] for k in values if k in missing}
        second = self.fill_form(d.tool, answer, later, decorated=self.chance(0.3) and not open_end(answer))
        args = dict(first.args)
        args.update(second.args)
        ordered = {p.name: args[p.name] for p in d.tool.params if p.name in args}
        return turns + self.calls(second.text, [(d, ordered)], "answered")

    def followup(self, declared):
        known = [d for d in declared if d.key in TOOLS]
        if not known:
            return self.single(declared)
        d = self.pick_tool(known, "followup")
        first = self.request(d.tool, variant="")
        form = self.form(d.tool.follow)
        names = re.findall(r"<(\w+)>", form)
        values = {k: v for k, v in self.slots(d.tool, "").items() if k in names}
        second = self.fill_form(d.tool, form, values, decorated=self.chance(0.3))
        args = dict(first.args)
        args.update(second.args)
        turns = self.calls(first.text, [(d, first.args)], "tool")
        if self.chance(0.3 if self.training else 0.15):
            d2 = self.plain_exchange(self.pick(("fact", "small")))
            turns += d2
        return turns + self.calls(second.text, [(d, args)], "followup")

    def undeclared(self, declared):
        keys, nouns = {d.key for d in declared}, {d.noun for d in declared}
        twin = next((t for t in self.twins if t.key not in keys | LIKE_OUTSIDE and tool_of(t.key).noun not in nouns), None)
        if twin and self.chance(0.6):
            self.twins.remove(twin)
            tool, text = tool_of(twin.key), twin.text
        else:
            others = [t for t in (HELD_OTHERS if self.held_tools else OTHERS) if t.key not in keys and t.key not in LIKE_OUTSIDE and t.noun not in nouns]
            canonical = [t for t in T.CANONICAL if t.key not in keys and t.noun not in nouns]
            tool = self.pick(canonical if canonical and self.chance(0.75 if self.training else 0.85) else others)
            if tool.key in TOOLS and self.chance(0.12):
                missing, forms, _, _ = self.pick(tool.asks)
                values = {k: v for k, v in self.slots(tool, "").items() if k not in missing}
                text = self.fill_form(tool, self.lacking(tool.key, missing, forms), values).text
            else:
                text = self.request(tool).text
        reply = f"I have no tool for {tool.noun}. Declare one and ask again."
        return [self.user(text), self.say(reply, "undeclared", [f"no tool for {tool.noun}"], tool.key, "No declared tool fits.")]

    def question_text(self, text, topic=None):
        """A plain question, dressed."""
        r = self.rng
        if self.plain:
            return text
        if r.random() < 0.7:
            text = self.dress(text, r, [topic] if topic else [])
        return text

    def plain_exchange(self, kind):
        if kind == "outside":
            return self.outside()
        fact = self.pick(self.facts.FACTS if kind == "fact" else self.facts.SMALL_TALK)
        text = self.question_text(self.form(fact.held if self.held_forms else fact.forms))
        answer = fact.answer if isinstance(fact.answer, str) else self.pick(fact.answer)
        thought = "This is a question about confab." if kind == "fact" else "This is small talk."
        return [self.user(text), self.say(answer, kind, [answer], fact.key, thought)]

    def outside(self):
        o, r, v = self.facts.OUTSIDE, self.rng, self.values
        if r.random() < 0.5:
            text = self.question_text(self.form(o.held_questions if self.held_values or self.held_forms else o.questions))
        else:
            if self.held_values:
                topic = r.choice(o.held_topics)
            elif r.random() < 0.5:
                topic = r.choice(o.topics)
            else:
                topic = r.choice(("", "", "the ", "a ", "the history of ", "my ")) + (v.city() if r.random() < 0.15 else v.name() if r.random() < 0.15 else v.phrase(3))
            form = self.form(o.held if self.held_forms else o.forms)
            text = self.question_text(form.replace("<topic>", topic), topic)
        return [self.user(text), self.say(o.answer, "outside", ["tiny demonstration model"], "outside", "This is outside of what I know.")]

    def kind(self, declared):
        """The kind of the next exchange."""
        if self.kinds:
            return self.pick(self.kinds)
        shares = (GUIDE_MIXTURE if declared else ALONE_MIXTURE) if self.has_guide else MIXTURE if declared else BARE_MIXTURE
        if self.used is None:
            return self.rng.choices(list(shares), shares.values())[0]
        if not self.deck:  # as many of each kind as its share says, the fractions by chance
            at, total = self.rng.random(), 0
            for kind, share in shares.items():
                total += DECK * share / sum(shares.values())
                while at < total:
                    self.deck.append(kind)
                    at += 1
            self.rng.shuffle(self.deck)
        return self.deck.pop()

    def exchange(self, declared):
        kind = self.kind(declared)
        if kind == "outside" and any(d.key in LIKE_OUTSIDE for d in declared):
            kind = self.pick(("fact", "tool", "undeclared")) if self.training else "fact"
        if kind == "answered":
            kind = "ask"
        if kind == "help":
            return self.help_exchange(self.has_guide)
        if kind == "json":
            return self.object_exchange()
        if kind in ("fact", "small", "outside"):
            return self.plain_exchange(kind)
        if kind == "undeclared" or not declared:
            return self.undeclared(declared)
        return {"tool": self.single, "summary": self.single, "parallel": self.parallel, "ask": self.ask, "followup": self.followup}[kind](declared)

    # ---- conversations

    def head(self, bare=0.22):
        r = self.rng
        if self.declare_mode == "guide":
            declared, self.has_guide = [], True
        elif self.training and r.random() < GUIDE_SHARE:
            x, self.has_guide = r.random(), True
            declared = [] if x < 0.62 else [self.declare(tool, True) for tool in T.CANONICAL] if x < 0.94 and not self.short else self.declarations(0)
        else:
            declared, self.has_guide = self.declarations(bare), False
        self.index = None  # made when it is asked
        return Head(declared, self.pick(SYSTEMS) if r.random() < 0.55 else None, self.has_guide)

    def conversation(self):
        head = self.head()
        return self.branch(head, MANY if len(head.declared) > 6 else FEW, LONG_CHARS)

    def tree(self, n_chars):
        """Conversations with one head, as many as fit into about n_chars of text with the head counted once, at least one.

        The kinds of exchanges and the tools that are used are spread evenly over them.  A head without tools has three
        branches at most; there are the more such trees, so that BARE_SHARE of all exchanges have none."""
        exchanges = self.n_exchanges or (1.5 if self.short else 17 if self.long else sum(BRANCH) / len(BRANCH))
        full = max(1.0, (n_chars - HEAD_CHARS) / (exchanges * EXCHANGE_CHARS))  # branches of a tree with tools, about
        bare = BARE_SHARE * full / (2 * (1 - BARE_SHARE) + BARE_SHARE * full)
        head = self.head(bare)
        most = n_chars if head.tools else self.rng.randint(1, 3)
        self.used, self.deck = collections.Counter(), []
        branches, left = [], n_chars - head.chars
        while len(branches) < most:
            conv = self.branch(head, BRANCH, min(LONG_CHARS, n_chars))
            left -= sum(len(text) for text, _ in turn_segments(conv))
            if branches and left < 0:
                break
            branches.append(conv)
        self.used, self.deck = None, []
        return branches

    def branch(self, head, lengths, most_chars):
        """A conversation after the head: one of `lengths` exchanges, of at most about most_chars of text."""
        r, declared, self.has_guide = self.rng, head.declared, head.has_guide
        turns = list(head.turns)
        n = self.n_exchanges or (r.randint(1, 2) if self.short else r.randint(10, 24) if self.long else r.choice(lengths))
        thinking = r.random() < 0.25 if self.thinking is None else self.thinking
        budget = most_chars - sum(len(dumps(schema)) for schema in head.tools)
        for i in range(n):
            exchange = self.exchange(declared)
            budget -= sum(TURN_CHARS + len(m["content"]) + len(calls_text(m.get("tool_calls", ()))) for m, _ in exchange)
            if i and budget < 0:
                break
            turns += exchange
            if thinking and (i == n - 1):
                ends = [k for k, (m, _) in enumerate(exchange) if m["role"] == "assistant"]
                turns = turns[:len(turns) - len(exchange) + self.pick(ends) + 1]
        if not self.kinds and not thinking and (turns[-1][1] or {}).get("kind") in ("summary", "guide") and self.chance(0.6):
            turns = turns[:1 + max(k for k, (m, _) in enumerate(turns) if "tool_calls" in m)]  # calls are harder than reading results
        for k, (message, _) in enumerate(turns):
            if "reasoning_content" in message and not (thinking and k == len(turns) - 1):
                del message["reasoning_content"]
        return {"tools": head.tools, "messages": [m for m, _ in turns], "notes": [n for _, n in turns]}


def evaluation_sets():
    """name -> (kinds of the turns that count, Generator options)."""
    calm = dict(n_exchanges=1, thinking=False)
    none_due = ["fact", "small", "outside"]
    return {
        "tool, seen": (["tool"], dict(calm, kinds=["tool"])),
        "tool, unseen values": (["tool"], dict(calm, kinds=["tool"], held_values=True)),
        "tool, random values": (["tool"], dict(calm, kinds=["tool"], random_values=True)),
        "tool, unseen phrasings": (["tool"], dict(calm, kinds=["tool"], held_forms=True)),
        "tool, renamed": (["tool"], dict(calm, kinds=["tool"], held_tools="names")),
        "tool, unseen names": (["tool"], dict(calm, kinds=["tool"], held_tools=True)),
        "tool, all eight, unseen values": (["tool"], dict(calm, kinds=["tool"], held_values=True, declare="all")),
        "parallel, unseen values": (["parallel"], dict(calm, kinds=["parallel"], held_values=True)),
        "ask, unseen values": (["ask"], dict(calm, kinds=["ask"], held_values=True)),
        "ask, unseen phrasings": (["ask"], dict(calm, kinds=["ask"], held_forms=True)),
        "answered, unseen values": (["answered"], dict(calm, kinds=["ask"], held_values=True)),
        "followup, unseen values": (["followup"], dict(calm, kinds=["followup"], held_values=True)),
        "help, seen": (["help"], dict(calm, kinds=["help"], declare="guide")),
        "help, held-out": (["help"], dict(calm, kinds=["help"], declare="guide", held_forms=True)),
        "guide, seen": (["guide"], dict(calm, kinds=["help"], declare="guide")),
        "refused, held-out": (["refused"], dict(calm, kinds=["help"], declare="none", held_forms=True)),
        "undeclared, unseen values": (["undeclared"], dict(calm, kinds=["undeclared"], held_values=True)),
        "undeclared, unseen phrasings": (["undeclared"], dict(calm, kinds=["undeclared"], held_forms=True)),
        "no call due, all eight declared": (none_due, dict(calm, kinds=none_due, declare="all")),
        "no call due, all eight, held-out": (none_due, dict(calm, kinds=none_due, declare="all", held_forms=True, held_values=True)),
        "fact, seen": (["fact"], dict(calm, kinds=["fact"])),
        "fact, held-out": (["fact"], dict(calm, kinds=["fact"], held_forms=True)),
        "small talk, seen": (["small"], dict(calm, kinds=["small"])),
        "small talk, held-out": (["small"], dict(calm, kinds=["small"], held_forms=True)),
        "outside, seen": (["outside"], dict(calm, kinds=["outside"])),
        "outside, held-out topics and questions": (["outside"], dict(calm, kinds=["outside"], held_values=True)),
        "outside, held-out phrasings": (["outside"], dict(calm, kinds=["outside"], held_values=True, held_forms=True)),
        "summary, unseen values": (["summary"], dict(calm, kinds=["tool", "parallel"], held_values=True)),
        "thinking, unseen values": (["tool", "summary", "ask", "fact", "undeclared"], dict(n_exchanges=1, thinking=True, held_values=True)),
        "long context, unseen values": (["tool", "summary", "fact", "undeclared"], dict(n_exchanges=12, thinking=False, held_values=True)),
    }


def main():
    import dialogue_check

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="generate 20,000 conversations and check them")
    parser.add_argument("--show", type=int, metavar="N", help="print N rendered conversations")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.show:
        generator = Generator(args.seed)
        for _ in range(args.show):
            print("".join(text for text, _ in segments(generator.conversation())))
            print("=" * 60)
    if args.check:
        faults = dialogue_check.check(Generator(1), 20000)
        for options in ({}, {"short": True}, {"long": True}):
            faults += dialogue_check.check_trees(Generator(3, **options), 700, 8000)
        for name, (_, options) in evaluation_sets().items():
            generator = Generator(2, **options)
            for _ in range(200):
                fault = dialogue_check.fault_of(generator.conversation())
                if fault:
                    faults += 1
                    print(f"{name}: {fault}")
        return 1 if faults else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
