"""Byte-level BPE for the bundled model, in the format of GGUF's "gpt2" model
with the "qwen2" pre-tokenizer.

Two things differ from an ordinary vocabulary:

- Late spaces.  An ordinary vocabulary cuts " Paris" and "Paris" into different
  tokens, so that copying a word from a question into JSON is a translation.
  Here the letters are merged first, without what stands before the word; the
  merges that join a space to a word come last in the list, and only for words
  that begin hardly any other known word.  So a word is cut alike wherever it stands.
- Glue.  The longest runs of a tool declaration and of a call that never change
  are USER_DEFINED tokens, matched in the raw text before everything else.
"""

import collections
import heapq
import json
import re

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>",
         "</tool_response>", "<tools>", "</tools>"]
GLUE = ['", "name": "', '{"type": "function", "function": {"description": "',
        '", "parameters": {"type": "object", "properties": {"',
        '": {"type": "string", "description": "',
        '": {"type": "integer", "description": "',
        '": {"type": "number", "description": "',
        '"}, "', '"}}, "required": ["', '"]}}}', '{"name": "',
        '", "arguments": {"', '": "', '": ', '", "', '"}}', '}}']
USER_DEFINED = MARKS + GLUE
WHOLE = CONTROL + USER_DEFINED

# The qwen2 pre-tokenizer, with \p{L} and \p{N} spelled for Python's re.
_L = r"[^\W\d_]"
_OTHER = r"(?:[^\s\w]|_)"
_PIECES = re.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    rf"|(?:[^\r\n\w]|_)?{_L}+|\d| ?{_OTHER}+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+|\w")
_WHOLE = re.compile("(" + "|".join(re.escape(w) for w in sorted(WHOLE, key=len, reverse=True)) + ")")


def _byte_letters():
    """The printable letter that stands for each byte in a gpt2 vocabulary."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    letters = {b: chr(b) for b in plain}
    for b in range(256):
        letters.setdefault(b, chr(256 + len(letters) - len(plain)))
    return letters


_LETTER = _byte_letters()
_BYTE = {c: b for b, c in _LETTER.items()}


def spell(text):
    """Text as the letters of its UTF-8 bytes."""
    return "".join(_LETTER[b] for b in text.encode("utf-8"))


def pieces(text):
    """(piece, is_whole_token) for each piece that BPE never crosses."""
    for part in _WHOLE.split(text):
        if part in WHOLE_SET:
            yield part, True
        else:
            for m in _PIECES.finditer(part):
                yield m.group(0), False


WHOLE_SET = set(WHOLE)


class Tokenizer:
    def __init__(self, merges):
        self.merges = [tuple(m) for m in merges]
        self._rank = {m: i for i, m in enumerate(self.merges)}
        tokens = [_LETTER[b] for b in range(256)] + [a + b for a, b in self.merges]
        self.tokens = list(dict.fromkeys(tokens)) + WHOLE
        self.id = {t: i for i, t in enumerate(self.tokens)}
        self.end = self.id["<|im_end|>"]
        self._cache = {}

    def encode(self, text):
        out = []
        for piece, whole in pieces(text):
            if whole:
                out.append(self.id[piece])
                continue
            ids = self._cache.get(piece)
            if ids is None:
                ids = [self.id[t] for t in self.split(spell(piece))]
                if len(self._cache) < 300000:
                    self._cache[piece] = ids
            out += ids
        return out

    def split(self, letters):
        """The tokens of one piece: its pairs are merged in rank order."""
        word = list(letters)
        while len(word) > 1:
            best = min(range(len(word) - 1),
                       key=lambda i: self._rank.get((word[i], word[i + 1]), 1 << 30))
            if (word[best], word[best + 1]) not in self._rank:
                break
            word[best:best + 2] = [word[best] + word[best + 1]]
        return word

    def decode(self, ids):
        data = bytearray()
        for i in ids:
            if i >= len(self.tokens):  # padding of the vocabulary
                continue
            t = self.tokens[i]
            data += t.encode() if t in WHOLE_SET else bytes(_BYTE[c] for c in t)
        return data.decode("utf-8", "replace")

    def save(self, path):
        with open(path, "w") as f:
            json.dump(self.merges, f, ensure_ascii=False, indent=0)


def load(path):
    with open(path) as f:
        return Tokenizer(json.load(f))


def train(texts, words, n_merges, n_late):
    """A tokenizer from texts; `words` are all words known to the generator."""
    letters, spaced = collections.Counter(), collections.Counter()
    for text in texts:
        for piece, whole in pieces(text):
            if whole:
                continue
            if len(piece) > 1 and not piece[0].isalpha() and piece[-1].isalpha():
                letters[spell(piece[1:])] += 1
                spaced[piece] += 1
            else:
                letters[spell(piece)] += 1
    plain = Tokenizer(_merges(letters, n_merges - n_late))
    return Tokenizer(plain.merges + _late(plain, spaced, words, n_late))


def _late(plain, spaced, words, n):
    """Merges of a space and a whole word, for the most frequent words that
    begin hardly any other: those others are cut differently after a space."""
    begins = collections.defaultdict(set)
    for w in words:
        begins[plain.split(spell(w))[0]].add(w)
    late = []
    for piece, _ in spaced.most_common():
        if len(late) == n:
            break
        token = plain.split(spell(piece[1:]))
        if piece[0] == " " and len(piece) > 2 and len(token) == 1 and len(begins[token[0]] - {piece[1:]}) <= 3:
            late.append((spell(" "), token[0]))
    return late


def _merges(counts, n):
    """The n most frequent pairs, merged one after the other."""
    words = [list(w) for w in counts]
    freq = list(counts.values())
    pair_count, where = collections.Counter(), collections.defaultdict(set)
    for i, w in enumerate(words):
        for pair in zip(w, w[1:]):
            pair_count[pair] += freq[i]
            where[pair].add(i)
    heap = [(-c, p) for p, c in pair_count.items()]
    heapq.heapify(heap)
    merges = []
    while len(merges) < n and heap:
        c, pair = heapq.heappop(heap)
        if pair_count[pair] != -c:
            if pair_count[pair] > 0:
                heapq.heappush(heap, (-pair_count[pair], pair))
            continue
        merges.append(pair)
        changed = set()
        for i in where.pop(pair):
            w = words[i]
            for p in zip(w, w[1:]):
                pair_count[p] -= freq[i]
                changed.add(p)
            words[i] = w = _joined(w, pair)
            for p in zip(w, w[1:]):
                pair_count[p] += freq[i]
                where[p].add(i)
                changed.add(p)
        for p in changed:
            if pair_count[p] > 0:
                heapq.heappush(heap, (-pair_count[p], p))
    return merges


def _joined(word, pair):
    out, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out
