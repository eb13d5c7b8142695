"""What a model shows of itself, as Python values that draw themselves in a notebook."""

from __future__ import annotations

import dataclasses
import html
from typing import Any

_COLOURS = {
    "template": "#e8e8e8",
    "message": "#cfe8ff",
    "tool": "#ffe3c2",
    "variable": "#d9f2d0",
    "computed": "#f6d5ea",
}


@dataclasses.dataclass(frozen=True)
class Origin:
    """A range of the prompt and where it came from."""

    text: str
    start: int  #: bytes of the prompt
    end: int
    source: str  #: "template", "message", "tool", "variable" or "computed"
    index: int  #: of the message or the tool
    path: str  #: the field, such as "messages[0].content"
    line: int  #: of the template
    column: int


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A token that could have come, with its probability before the sampler."""

    id: int
    text: str
    p: float


@dataclasses.dataclass(frozen=True)
class Token:
    """A token of a reply, and what could have come in its place."""

    id: int
    text: str
    p: float  #: with which it was drawn; -1 where a server did not say
    p_raw: float  #: before the sampler
    is_forced: bool  #: not drawn: a constraint left nothing else, or it was given
    top: tuple[Candidate, ...]


@dataclasses.dataclass(frozen=True)
class Prompt:
    """The prompt that a message would send, with the origin of every byte."""

    text: str
    origins: tuple[Origin, ...]
    tokens: tuple[dict[str, int], ...]  #: {"id", "off", "len"}
    losses: tuple[str, ...]  #: what was said and is not in it

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        parts = []
        for o in self.origins:
            where = f"{o.source} {o.path}".strip() + f", template line {o.line}"
            colour = _COLOURS.get(o.source, "#ffffff")
            parts.append(
                f'<span style="background:{colour};color:#111" '
                f'title="{html.escape(where)}">{html.escape(o.text)}</span>'
            )
        lost = "".join(f"<li>{html.escape(line)}</li>" for line in self.losses)
        return (
            f'<pre style="white-space:pre-wrap">{"".join(parts)}</pre>'
            + (f"<ul>{lost}</ul>" if lost else "")
        )


def read_prompt(shown: dict[str, Any]) -> Prompt:
    raw = shown["text"].encode("utf-8")

    def origin(s: dict[str, Any]) -> Origin:
        end = s["off"] + s["len"]
        piece = raw[s["off"] : end].decode("utf-8", "replace")
        return Origin(
            piece, s["off"], end, s["source"], s["index"], s["path"], s["line"], s["column"]
        )

    return Prompt(
        shown["text"],
        tuple(origin(s) for s in shown["spans"]),
        tuple(shown["tokens"]),
        tuple(shown["losses"]),
    )


def read_tokens(all_tokens: list[dict[str, Any]]) -> list[Token]:
    def candidate(c: dict[str, Any]) -> Candidate:
        return Candidate(c.get("id", -1), c["text"], c["p"])

    return [
        Token(
            t["id"],
            t["text"],
            t.get("p", -1.0),
            t.get("p_raw", -1.0),
            t.get("forced", False),
            tuple(candidate(c) for c in t["top"]),
        )
        for t in all_tokens
    ]


def tokens_html(tokens: list[Token]) -> str:
    """Tokens shaded by how unlikely they were; the alternatives are their titles."""
    parts = []
    for t in tokens:
        p = t.p_raw if t.p_raw >= 0 else t.p
        surprise = 0.0 if p < 0 else 1.0 - p
        title = "\n".join(f"{c.p:6.1%}  {c.text!r}" for c in t.top)
        parts.append(
            f'<span style="background:rgba(255,140,0,{0.65 * surprise:.2f})" '
            f'title="{html.escape(title)}">{html.escape(t.text)}</span>'
        )
    return f'<pre style="white-space:pre-wrap">{"".join(parts)}</pre>'
