#!/usr/bin/env python3
"""Writes the expected output of template cases, as Python's jinja2 gives it.

    tests/tools/language_cases.py [--check] FILE...

A file of cases (tests/data/templates/*.txt) has comments, one line with the
context, then one case a line: [template], [template, output], [template, null]
where rendering fails, or [template, {"line": .., "col": .., "says": ".."}] for
the place and a word of the error, which is kept as it is.  jinja2 is set up as
in Hugging Face transformers; the clock stands at 2025-01-02 03:04:05 UTC.
"""
import datetime
import json
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox


def tojson(x, ensure_ascii=False, indent=None, separators=None,
           sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent,
                      separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def strftime_now(form):
    now = datetime.datetime(2025, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    return now.replace(tzinfo=None).strftime(form)


MISSING = object()


class Generation(jinja2.ext.Extension):
    """{% generation %}: its body, as a call block so that it has a scope."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",),
                                       drop_needle=True)
        call = self.call_method("_body")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True,
        extensions=[jinja2.ext.loopcontrols, Generation])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


def render(env, source, context):
    """The output, or None and the line of the error."""
    try:
        return env.from_string(source).render(**context), None
    except jinja2.exceptions.TemplateSyntaxError as e:
        return None, e.lineno
    except Exception:
        return None, None


def refresh(path, check):
    env = environment()
    context = None
    out = []
    changed = 0
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        text = line.rstrip("\n")
        if not text or text.startswith("#"):
            out.append(text)
            continue
        if context is None:
            context = json.loads(text)
            out.append(text)
            continue
        case = json.loads(text)
        got, at = render(env, case[0], context)
        want = case[1] if len(case) > 1 else MISSING
        if isinstance(want, dict):
            if got is not None or at not in (None, want["line"]):
                print(f"{path}:{number}: jinja2 gives "
                      f"{repr(got)[:200]}, line {at}")
                changed += 1
        elif want != got:
            changed += 1
            print(f"{path}:{number}: {case[0]!r} gives "
                  f"{repr(got)[:200]}")
            case = [case[0], got]
        out.append(json.dumps(case, ensure_ascii=False))
    if changed and not check:
        open(path, "w", encoding="utf-8").write("\n".join(out) + "\n")
    return changed


def main():
    paths = sys.argv[1:]
    check = "--check" in paths
    paths = [p for p in paths if p != "--check"]
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    return 1 if sum(refresh(p, check) for p in paths) and check else 0


if __name__ == "__main__":
    sys.exit(main())
