#!/usr/bin/env python3
"""Apply the examples of docs/extending.md to a copy of the tree, and run their tests.

usage: apply_examples.py [NAME ...]     architecture family view rule option

The code is taken from the page as it stands there; this file says only where a block goes.
The copy is build/examples; each example is applied to it alone.  Prints a line for each,
then "N passed, N failed"; exits 1 where one fails.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
COPY = TOP / "build/examples"
PAGE = (TOP / "docs/extending.md").read_text(encoding="utf-8")


def block(section, begin):
    """The fenced block of a section that has a line which begins so."""
    text = PAGE.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    for code in re.findall(r"```[a-z ]*\n(.*?)```", text, re.S):
        if any(line.strip().startswith(begin) for line in code.split("\n")):
            return code
    raise SystemExit(f"docs/extending.md: no block in '{section}' begins a line with {begin!r}")


def edit(name, old, new):
    """Replaces the first `old` of a file of the copy."""
    path = COPY / name
    text = path.read_text(encoding="utf-8")
    if old not in text:
        raise SystemExit(f"{name}: no {old!r}: mend apply_examples.py")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def after(name, old, new):
    edit(name, old, old + new)


def before(name, old, new):
    edit(name, old, new + old)


def architecture():
    before("core/model/arch.c", "\n};\n\nconst cf_arch *cf_arch_find", "\n" + block("An architecture", ".name = ").rstrip())
    for which in ("cf_tiny_archs[] = {", "cf_tiny_plain_archs[] = {"):
        after("tests/support/tiny_gguf.c", which, '"internlm2", ')
    return "test_forward", {}


def family():
    code = block("A family of tool calls", "[CF_TOOLS_EXAMPLE]")
    before("core/tools/families.c", "        [CF_TOOLS_LLAMA_JSON] =", "    " + code.lstrip())
    before("core/api/tool.h", "    CF_TOOLS_LLAMA_JSON,", "    CF_TOOLS_EXAMPLE,\n")
    return "core/tools/test_tool_(roundtrip|split)", {}


def view():
    folder = COPY / "tui/view/families"
    folder.mkdir()
    (folder / "view_families.c").write_text(block("A view", "* view_families.c"), encoding="utf-8")
    app = (COPY / "tui/app/app.h").read_text(encoding="utf-8")
    last = re.search(r"(    X\(\w+, \w+\))\n/\* clang-format on \*/", app)[1]
    edit("tui/app/app.h", last, last + " \\\n" + block("A view", "X(FAMILIES").rstrip())
    after("tests/tools/check_layers.sh", "view/log        kit\n", block("A view", "view/families"))
    before("tui/app/command.c", '    {"log", CF_IN_ALL', block("A view", '{"families"'))
    script = COPY / "tests/screen/families"
    script.mkdir()
    (script / "script").write_text(block("A view", "# The families"), encoding="utf-8")
    return "test_screens|test_keys", {"UPDATE_SCREENS": "1", "UPDATE_KEYS": "1"}


def rule():
    code = block("A lint rule", '{{"I006"')
    before("templates/lint/lint.c", '    {{"I007"', code)
    check = block("A lint rule", "cf_status cf_lint__order(")
    before("templates/lint/lint_impl.h", "cf_status cf_lint__chance(", check.split("\n{", 1)[0] + ";\n")
    with open(COPY / "templates/lint/rules_basic.c", "a", encoding="utf-8") as f:
        f.write("\n" + check)
    before("tests/unit/templates/lint/test_lint.c", '    finds("I007"', block("A lint rule", 'finds("I006"'))
    return "templates/lint/test_lint$", {}


def option():
    code = block("An option of a command", "/* in the state")
    member, row, use = re.split(r"    /\* in .*? \*/\n", code)[1:]
    name = "tui/cli/about/cmd_version.c"
    before(name, "} asked;", member)
    before(name, "    CF_OPT_ROWS_END,", row)
    after(name, "    cf_about_get(&about);\n", use)
    return "test_man|test_completion", {}


EXAMPLES = {f.__name__: f for f in (architecture, family, view, rule, option)}


def prepare():
    """The tree as it is, beside what a build has left there."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True)
    for name in filter(None, names.stdout.decode().split("\0")):
        source, target = TOP / name, COPY / name
        if source.is_file() and not (target.is_file() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    for added in ("tui/view/families", "tests/screen/families"):
        shutil.rmtree(COPY / added, ignore_errors=True)


def make(*arguments, env=None):
    done = subprocess.run(
        ["make", "-s", f"-j{os.cpu_count()}", *arguments],
        cwd=COPY, env=dict(os.environ, **(env or {})), capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode == 0, done.stdout + done.stderr


def run(name):
    prepare()
    only, update = EXAMPLES[name]()
    ok, said = make("all")
    if ok:
        man = subprocess.run(["build/confab", "help", "--man"], cwd=COPY, capture_output=True, check=False)
        (COPY / "docs/confab.1").write_bytes(man.stdout)
    if ok and update:  # the first run writes what the second compares with
        make("check", f"ONLY={only}", env=update)
    if ok:
        ok, said = make("check", f"ONLY={only}")
    print(f"{'ok    ' if ok else 'FAILED'} {name}", flush=True)
    if not ok:
        print(said[-3000:])
    return ok


def main():
    names = sys.argv[1:] or list(EXAMPLES)
    if unknown := [n for n in names if n not in EXAMPLES]:
        raise SystemExit(f"no example {unknown[0]}: {' '.join(EXAMPLES)}")
    results = [run(name) for name in names]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    sys.exit(not all(results))


main()
