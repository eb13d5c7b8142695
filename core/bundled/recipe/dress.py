"""The small ways in which people write one sentence differently.

dress() puts an opener before a sentence or a courtesy behind it, drops marks,
capitals and articles, contracts words and now and then mistypes one.  What
must be read exactly, such as a slot's value, is given in `keep` and survives
byte for byte; so do names of keys and commands, which are found.
"""

import re

OPENERS = (
    "hey, ", "hi, ", "hello, ", "hi! ", "hey! ", "Hello! ", "quick question: ", "sorry, ", "please, ", "one question: ",
    "ok, ", "okay, ", "so, ", "well, ", "and ", "also, ", "now, ", "a question: ", "excuse me, ", "good morning, ",
    "hi there, ", "hm, ", "um, ", "just wondering, ", "one more thing: ", "next question: ", "great. ", "thanks. ",
)
ASKING = ("can you tell me, ", "could you tell me, ", "tell me, ", "do you know, ", "I wonder, ", "I'd like to know, ", "please tell me, ",
          "can you say, ", "any idea, ")
CLOSERS = (" please", ", please", " thanks", ", thanks", " pls", ", thank you", " please?", ", any idea?")
CONTRACTIONS = (
    (r"\b([Ww])hat is\b", r"\1hat's"), (r"\b([Ww])here is\b", r"\1here's"), (r"\b([Hh])ow is\b", r"\1ow's"), (r"\b([Ww])ho is\b", r"\1ho's"),
    (r"\b([Dd])o not\b", r"\1on't"), (r"\b([Dd])oes not\b", r"\1oesn't"), (r"\b([Cc])annot\b", r"\1an't"), (r"\bI am\b", "I'm"),
    (r"\bI would\b", "I'd"), (r"\b([Ii])t is\b", r"\1t's"), (r"\bwant to\b", "wanna"),
)
# Other words for the same, as (pattern, words in its place); group 1 and 2 stay.
SYNONYMS = (
    (r"\b((?:a|the|this|that|my|its|last|another|each|one|old|whole) )reply\b()", "answer|response|output|answer"),
    (r"\b()replies\b()", "answers|responses|outputs"),
    (r"\b()conversation\b()", "chat|session|talk|dialogue|chat"),
    (r"\b()conversations\b()", "chats|sessions|talks|dialogues|chats"),
    (r"\b((?:[Cc]hat|[Pp]rompt|[Tt]okens?|[Tt]ools?|[Dd]iff|[Ll]ibrary|[Tt]emplates?|this|that|current|another|other|previous|last) )view\b()", "screen|tab|page|window|panel|pane"),
    (r"\b()the model(?= (?:is|was|says|said|writes|wrote|thinks|thought|sees|gets|reads|really|has|had|does|did|could|would|might|calls|used|gave)\b)()",
     "the assistant|the AI|the LLM|the bot|the machine"),
    (r"\b([Ww]hich |[Ww]hat )key\b()", "button|shortcut|keystroke|keyboard shortcut|hotkey|key do I press that|letter"),
    (r"\b(do I |should I |must I |can I |I )press\b()", "hit|push|use|type"),
    (r"\b()how do I\b()", "how can I|how do you|how to|how does one|how would I|how might I|how should I|in what way do I|by what means can I"),
    (r"\b()I want to\b()", "I would like to|I need to|I wish to|I have to|I am going to|I'd love to|we want to"),
    (r"\b(?<!-)()in confab\b(?! [a-z]+ )()", "here|in this program|in the workbench|in this tool|with confab|in this app"),
    (r"\b()show me\b()", "let me see|display|I want to see"),
    (r"\b(to |can I |do I |should I )change\b()", "alter|modify|adjust"),
    (r"\b(to |can I |do I |should I )delete\b()", "erase|remove|discard|drop"),
    (r"\b(to |can I |do I |should I )start\b()", "begin|launch|open"),
    (r"\b()saved (conversation|chat)", "stored|earlier|kept|previous"),
    (r"\b()bigger\b()", "larger|stronger|better"),
    (r"\b()is there a (?=key|way|command|shortcut)()", "do we have a |does it have a |there must be a "),
)
_SYNONYMS = tuple((re.compile(pattern), words.split("|")) for pattern, words in SYNONYMS)

# The names of the views, as people write them: small or with a capital.
_VIEW = r"(chat|prompt|tokens|tools|diff|library|templates|token|tool|template|log)"
_VIEW_NAMES = re.compile(
    rf"\b{_VIEW}(?= (?:view|screen|tab|page|window|panel|pane)s?\b)|"
    r"(?<=[Ii]n the )(chat|prompt|library|diff)\b(?! (?:template|command|option))|(?<=[Ii]n )(chat|prompt|tokens|tools|diff|library|templates)\b|"
    r"(?<=\bthe )(library|diff)\b|(?<=open )(chat|prompt|tokens|tools|diff|library|templates)\b|(?<=to )(chat|prompt|tokens|tools|diff|library|templates)\b$|"
    r"(?<=is )(chat|prompt|tokens|tools|diff|library|templates)(?=\?|$)|(?<=for )(chat|tokens|tools|diff|library|templates)(?=\?|$)")
_CONFAB = re.compile(
    r"(?<![\w:/.-])confab(?!rc|[\w/.-])(?! (?:run|chat|complete|model|bench|tokenize|parse|constrain|history|db|replay|render|diff|lint|score|paths|help|serve|tools?|export|import)\b)")
# Words that are written in more than one case; whoever asks picks one.
CASES = ("uuid UUID", "uuids UUIDs", "gguf GGUF", "kv KV", "json JSON", "bpe BPE", "jinja Jinja", "sqlite SQLite SQlite", "gpu GPU", "cpu CPU", "llm LLM",
         "api API", "markdown Markdown", "chatgpt ChatGPT Chatgpt", "openai OpenAI", "esc Esc ESC escape Escape", "enter Enter ENTER",
         "vim Vim", "ram RAM", "top-k Top-K Top-k", "top-p Top-P Top-p", "min-p Min-P Min-p", "temperature Temperature", "q8_0 Q8_0", "llama Llama", "qwen Qwen",
         "gemma Gemma", "softmax Softmax", "perplexity Perplexity", "ctrl-c Ctrl-C CTRL-C ctrl+c Ctrl+C", "t/s T/s", "html HTML", "linux Linux")
_CASES = {word: words.split() for words in CASES for word in words.split()}
_CASED = re.compile(r"(?<![\w:/.+^-])(" + "|".join(sorted(map(re.escape, _CASES), key=len, reverse=True)) + r")(?![\w/:+-]|\.\w)")
_QUESTION = re.compile(r"^(what|which|how|who|where|why|when|is|are|do|does|can|could)\b", re.I)


# What the case and the letters of must not change: keys, commands, options.
_KEYISH = re.compile(
    r"(?<![\w:^-])(?:"
    r":[a-z]+\b|--?[a-z][a-z-]*|\^[A-Z](?:\^[A-Z])?|\$EDITOR|\]\w?|\[\w?(?!\w)|"
    r"(?:key|press|hit|type|does|is|about|for|of|use|the|capital|small|big|letter|case|shift|explain|describe|and|"
    r"enter|need|pressed|typed|what) (?:the )?([A-Z])(?!\w)|confab [a-z]+)")
_SINGLE = re.compile(r"(?<![\w'^-])([A-HJ-Z])(?![\w'])")


def keys_in(text):
    """The parts of a question about confab that dress() must leave alone."""
    out = [m.group() for m in _SINGLE.finditer(text)]
    for m in _KEYISH.finditer(text):
        out.append(m.group(1) or m.group())
    if re.search(r"\b(does|is|about|press|hit|type|use|of|explain|capital|describe|key|enter|need|pressed|typed) (the )?I\b(?! \w+ (how|to|if|when))",
                 text) and not re.search(r"\b(do|can|could|would|should|must|may|am|if|when) I\b", text):
        out.append("I")
    return [p for p in dict.fromkeys(out) if p not in ("A ", "")]


def _spans(text, protected):
    """Where a protected text stands alone, as [begin, end) pairs."""
    out = []
    for p in protected:
        if p:
            left = r"(?<!\w)" if p[0].isalnum() else ""
            right = r"(?!\w)" if p[-1].isalnum() else ""
            out += [m.span() for m in re.finditer(left + re.escape(p) + right, text)]
    return out


def _pieces(text, protected):
    """The text cut into (piece, is_protected)."""
    out, at = [], 0
    for b, e in sorted(_spans(text, protected)):
        if b < at:
            continue
        if b > at:
            out.append((text[at:b], False))
        out.append((text[b:e], True))
        at = e
    if at < len(text):
        out.append((text[at:], False))
    return out


def _free(text, protected, change):
    """change() applied to everything that is not protected."""
    return "".join(p if kept else change(p) for p, kept in _pieces(text, protected))


def _typo(word, rng):
    i = rng.randrange(1, len(word) - 1)
    kind = rng.random()
    if kind < 0.4:
        return word[:i] + word[i + 1] + word[i] + word[i + 2:]
    return word[:i] + word[i + 1:] if kind < 0.75 else word[:i] + word[i] + word[i:]


def _mistype(text, protected, rng):
    """One word of four letters or more, anywhere but in what is protected."""
    taken = _spans(text, protected)
    words = [m.span() for m in re.finditer(r"(?<![\w^:/<>-])[A-Za-z]{4,}(?![\w:/<>-])", text)
             if not any(b < m.end() and m.start() < e for b, e in taken)]
    if not words:
        return text
    b, e = rng.choice(words)
    return text[:b] + _typo(text[b:e], rng) + text[e:]


def _lower_first(text, protected):
    """Without the capital that only begins a sentence."""
    word = re.match(r"[A-Za-z]+", text)
    if word and len(word.group()) > 1 and word.group()[1:].islower() and not any(
            b == 0 for b, _ in _spans(text, protected)):
        return text[0].lower() + text[1:]
    return text


def _capital(text, protected):
    if any(b == 0 for b, _ in _spans(text, protected)):
        return text
    return text[:1].upper() + text[1:]


def _article(text):
    """a before a vowel becomes an, and the other way round, where a word was exchanged."""
    text = re.sub(r"\b([Aa]) (?=answer|output|earlier|AI\b)", r"\1n ", text)
    return re.sub(r"\b([Aa])n (?=response|reply|chat|stored|previous)", r"\1 ", text)


def _reword(text, protected, rng, p):
    """Some words exchanged for others of the same meaning, each with probability p."""
    for pattern, words in _SYNONYMS:
        if rng.random() < p:
            word = rng.choice(words)
            text = _free(text, protected, lambda t: pattern.sub(lambda m: m.group(1) + word + (m.group(2) and " " + m.group(2)), t))
    return _article(text)


def _named(text, keep, rng, p):
    """Names of views, of the program and of formats in another case, each with probability p."""
    if rng.random() < p:
        text = _free(text, keep, lambda t: _VIEW_NAMES.sub(lambda m: m.group().capitalize(), t))
        if rng.random() < 0.15:
            text = _free(text, keep, lambda t: re.sub(r"\b([A-Z][a-z]+) (view|screen|tab|page)\b", lambda m: m.group(1) + " " + m.group(2).capitalize(), t))
    if rng.random() < p:
        text = _free(text, keep, lambda t: _CONFAB.sub("Confab", t))
    if rng.random() < p:
        text = _free(text, keep, lambda t: _CASED.sub(lambda m: rng.choice(_CASES[m.group()]), t))
    return text


def dress(text, rng, keep=(), strength=1.0):
    """A variation of text; strength scales how often anything happens."""
    keep = list(keep)
    text = _reword(text, keep + keys_in(text), rng, 0.2 * strength)
    protected = keep + keys_in(text)

    def chance(p):
        return rng.random() < p * strength

    if chance(0.5):
        text = _capital(text, protected)
    for pattern, short in CONTRACTIONS:
        if chance(0.3):
            text = _free(text, protected, lambda t: re.sub(pattern, short, t))
    if chance(0.06):
        text = _free(text, protected, lambda t: re.sub(r"\b(the|an?) (?=[a-z])", "", t, count=1))
    mark = text[-1:] if text[-1:] in "?.!" and not any(e == len(text) for _, e in _spans(text, protected)) else ""
    body = text[:len(text) - len(mark)]
    if chance(0.10):
        body += rng.choice(CLOSERS)
        mark = "" if body.endswith("?") else mark
    if mark == "?" and chance(0.3):
        mark = ""
    elif not mark and _QUESTION.match(body) and not body.endswith("?") and chance(0.3):
        mark = "?"
    elif not mark and chance(0.06) and body[-1:].isalnum():
        mark = "."
    if chance(0.12):
        body = rng.choice(OPENERS) + _lower_first(body, protected)
    elif _QUESTION.match(body) and chance(0.05):
        body = rng.choice(ASKING) + _lower_first(body, protected)
    text = body + mark
    if chance(0.05):
        text = _free(text, protected, lambda t: t.replace("'", ""))
    if chance(0.2):
        text = _free(text, protected, str.lower)
    text = _named(text, keep, rng, 0.35 * strength)
    if chance(0.008) and len(protected) == len(keep):
        text = _free(text, protected, str.upper)
    if chance(0.03):
        text = _mistype(text, protected, rng)
    return text
