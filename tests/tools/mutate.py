#!/usr/bin/env python3
"""Plant faults in a room, one at a time, and count those that its tests notice.

usage: mutate.py ROOM [-n N] [--seed S] [--all] [--tests PATTERN] [--list]

ROOM is a folder of sources, such as core/tools, or one file.  N faults (40) are drawn with
the seed S (1) from all places where one can be planted: a comparison, a connective, a sign,
a constant, a condition that is negated, a call or a jump that is left out, a truth value
that is returned.  Faults that do not compile are drawn again.

Each is planted in a copy of the tree, which is removed at the end.  The changed source is
compiled alone, with the command that make would use, and linked ahead of the archives of
build/release, which are built first: use the same CFLAGS as there.

Tests run until one notices the fault: those named after the file, those of its folder and
of the room's, and for a file of tui the likeliest of those that drive the program, which
lie in tests/screen/tui and tests/unit/tui/cli.  --all adds the rest of the top folder (core,
templates, storage or tui); --tests takes those whose path matches instead.
A fault is killed when a program fails, crashes or takes much longer than without it.

Each line is a fault: killed or SURVIVED, its place, the change, how many programs ran, and
which of them noticed.  A survivor is a test that is missing or a fault that changes nothing;
which of the two has to be judged by reading.  Left-out releases of memory are marked "leak":
only a build with sanitizers can notice them.  The last line is "killed K of N".
"""
import argparse
import contextlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILT = "build/release/"
SECONDS = 120  # a program may take; then the fault has made it endless
MEMORY = 8 << 30  # bytes of address space likewise
DRIVING = 8  # programs that run confab, for a file of tui

SWAPS = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \+= ", " -= "), (r" -= ", " += "),
    (r"\+\+", "--"), (r"(?<![\w.])0(?![\w.])", "1"), (r"(?<![\w.])1(?![\w.])", "2"),
    (r"(?<![\w.])2(?![\w.])", "3"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
]  # fmt: skip
CALL = re.compile(r"^(\s+)(?!return\b|if\b|for\b|while\b|switch\b|else\b)[a-z_]\w*\([^;{}]*\);$")
IF = re.compile(r"^(\s*(?:\} else )?if )\((.*)\) \{$")
JUMP = re.compile(r"^(\s+)(break|continue);$")
RELEASE = re.compile(r"_free\(|_deinit\(|_close\(|json_decref\(")


def code_lines(path):
    """The lines of a file with their numbers, without comments, directives and tables
    of text; strings are blanked so that nothing in them is changed."""
    in_comment = False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', lambda m: "\x01" * len(m[0]), line)
        if in_comment or bare.lstrip().startswith(("/*", "*", "//", "#")):
            in_comment = "*/" not in bare if in_comment or "/*" in bare else False
            continue
        bare = re.sub(r"/\*.*?\*/", lambda m: "\x01" * len(m[0]), bare)
        if "/*" in bare:
            in_comment = True
            bare = bare[: bare.index("/*")]
        yield number, line, bare


def sites_of(path):
    """Every fault that can be planted in a file: (path, line number, new line, is a leak)."""
    for number, line, bare in code_lines(path):
        if not line.startswith(" ") or "static const" in bare or "enum" in bare:
            continue
        for pattern, new in SWAPS:
            for m in re.finditer(pattern, bare):
                yield path, number, line[: m.start()] + new + line[m.end() :], False
        if m := IF.match(line):
            yield path, number, f"{m[1]}(!({m[2]})) {{", False
        if m := CALL.match(bare):
            yield path, number, m[1] + "(void)0;", bool(RELEASE.search(bare))
        if m := JUMP.match(bare):
            yield path, number, m[1] + ("continue;" if m[2] == "break" else "break;"), False


def fill(copy):
    """Copies the sources as they are now, and links what is built."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=TOP, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (TOP / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, copy / name)
    (copy / "build").symlink_to(TOP / "build")
    (copy / "out/release").mkdir(parents=True)  # a test looks for the variant in a path
    (copy / "tmp").mkdir()


def environment(copy):
    """That of the caller, with a compiler cache where this machine has one."""
    env = dict(os.environ, CONFAB_BIN=str(copy / "out/release/confab"), TMPDIR=str(copy / "tmp"))
    if Path("/usr/lib/ccache").is_dir():
        env["PATH"] = "/usr/lib/ccache:" + env["PATH"]
        if "CCACHE_DIR" not in env and Path("/var/cache/ccache").is_dir():
            env["CCACHE_DIR"] = "/var/cache/ccache"
    return env


def commands_of_make():
    """The commands that compile, by object, and those that link, by program."""
    listed = subprocess.run(
        ["make", "-n", "-B", "build-tests"], cwd=TOP, capture_output=True, text=True, check=True
    )
    compiles, links = {}, {}
    for line in listed.stdout.split("\n"):
        if m := re.search(r" -o (" + BUILT + r"\S+)$", line):
            if " -c " in line:
                compiles[m[1]] = line[: m.start()]
            elif ".a " in line:
                links[m[1].removeprefix(BUILT)] = line[: m.start()]
    return compiles, links


def text_of(name):
    return (TOP / (name + ".c")).read_text(encoding="utf-8")


def drives_confab(name):
    return '/program.h"' in text_of(name) or '/pty.h"' in text_of(name)


def stages_of(room, pattern, with_top, names):
    """A function from a source's path to the tests that shall run, the likeliest first."""
    top = room.split("/", 1)[0]
    folder = str(Path(room).parent) if Path(room).suffix else room
    texts = {n: text_of(n) for n in names if re.match(r"tests/(screen/tui|unit/tui/cli)/", n)}

    def likely(rel):
        """The programs that run confab, those first that name what few others name."""
        words = {w for w in re.split(r"[/_.]", str(rel)) if len(w) > 2}
        weight = {w: 1 / (1 + sum(w in t for t in texts.values())) for w in words}
        is_command = rel.parts[1] == "cli"

        def rank(name):
            found = sum(weight[w] for w in words if w in texts[name])
            return is_command == ("/screen/" in name), -found

        return sorted(texts, key=rank)[:DRIVING] if top == "tui" else []

    def stages(path):
        rel = path.relative_to(TOP)
        stem = path.stem.replace("cmd_", "")
        here = [n for n in names if re.search(pattern or f"/{rel.parent}/", n)]
        like = [n for n in here if stem in n or n.rsplit("/test_", 1)[1] in stem]
        if pattern:
            return list(dict.fromkeys([*like, *here]))
        named = [n for n in names if n.rsplit("/test_", 1)[1] == stem and f"/{top}/" in n]
        near = [n for n in names if f"/{folder}/" in n] if folder != top else []
        rest = [n for n in names if f"/{top}/" in n] if with_top else []
        return list(dict.fromkeys([*named, *like, *here, *near, *likely(rel), *rest]))

    return stages


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Tester:
    """Builds programs around a faulty object and runs them, in a copy of the tree."""

    def __init__(self, copy):
        fill(copy)
        self.copy = copy
        self.env = environment(copy)
        self.compiles, self.links = commands_of_make()
        self.confab_of = None  # the objects that confab is linked with
        self.limit = {}  # seconds that each program may take; 0: it fails without a fault

    def shell(self, command):
        done = subprocess.run(command, shell=True, cwd=self.copy, env=self.env, capture_output=True)
        return done.returncode == 0

    def build(self, names):
        """What the tests named are linked from."""
        objects = [f"{BUILT}{n}.o" for n in names]
        parts = ["confab", "libcf_support.a"]
        parts += ["tests/support/link/bundled_file.o", "tests/support/helper/confab-llama"]
        command = ["make", "-s", f"-j{os.cpu_count()}", *[BUILT + p for p in parts], *objects]
        return subprocess.run(command, cwd=TOP, env=self.env, check=False).returncode == 0

    def compile(self, rel):
        """The objects that a source is part of, as (what make builds, what lies in the copy)."""
        objects = []
        for built, command in self.compiles.items():
            depends = (TOP / built).with_suffix(".d")
            is_own = command.endswith(f" {rel}")
            if not is_own and (rel.suffix == ".c" or not depends.is_file()):
                continue
            if is_own or str(rel) in depends.read_text().split():
                to = f"out/{len(objects)}.o"
                if not self.shell(f"{command} -o {to}"):
                    return None
                objects.append((built, to))
        return objects

    def link(self, name, objects):
        """Links a program with objects in place of those of the archives; where it lies."""
        command = self.links[name]
        for built, to in objects:
            if f" {built} " in command:
                command = command.replace(f" {built} ", f" {to} ")
            else:
                command = command.replace(f" {BUILT}libcf_", f" {to} {BUILT}libcf_", 1)
        out = f"out/release/{Path(name).name}"
        return out if self.shell(f"{command} -o {out}") else None

    def fails(self, program, seconds):
        """Whether a program fails, crashes, or takes too long or too much memory."""
        child = subprocess.Popen(
            [program],
            cwd=self.copy,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=limit_memory,
        )
        try:
            return child.wait(seconds) != 0
        except subprocess.TimeoutExpired:
            return True
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # it and all that it started
            child.wait()

    def run(self, name, objects):
        """Whether a test fails with these objects; None where it cannot be built."""
        if drives_confab(name) and self.confab_of is not objects:
            if not self.link("confab", objects):
                return None
            self.confab_of = objects
        program = self.link(name, objects)
        if not program:
            return None
        failed = self.fails(program, self.limit.get(name, SECONDS))
        (self.copy / program).unlink()
        return failed

    def notices(self, name, objects):
        """Whether a test that passes without a fault fails with these objects."""
        if name not in self.limit:
            began = time.monotonic()
            failed = self.run(name, [])
            passes = failed is False
            self.limit[name] = 20 + 5 * (time.monotonic() - began) if passes else 0
            if not passes:
                print(f"left out, fails without a fault: {name}", flush=True)
        return self.run(name, objects) if self.limit[name] else None


def measure(args, sites, tester):
    names = [n for n in tester.links if re.match(r"tests/(unit|prop|fault|screen)/", n)]
    stages = stages_of(args.room, args.tests, args.all, names)
    if not tester.build({n for path, *_ in sites[: 2 * args.n] for n in stages(path)}):
        sys.exit("mutate: the tree does not build")
    killed = tried = 0
    for path, number, new, is_leak in sites:
        if tried == args.n:
            break
        rel = path.relative_to(TOP)
        lines = path.read_text(encoding="utf-8").split("\n")
        old = lines[number]
        lines[number] = new
        (tester.copy / rel).write_text("\n".join(lines), encoding="utf-8")
        objects = tester.compile(rel)
        if objects is None:
            shutil.copy2(path, tester.copy / rel)
            continue
        by, ran = "", 0
        for name in stages(path):
            result = tester.notices(name, objects)
            ran += result is not None
            if result:
                by = ", " + name
                break
        shutil.copy2(path, tester.copy / rel)
        tried += 1
        killed += by != ""
        verdict = "killed  " if by else "SURVIVED" if ran else "UNTESTED"
        change = f"{old.strip()}  ->  {new.strip()}"
        leak = " (leak)" if is_leak else ""
        print(f"{verdict} {rel}:{number + 1}{leak}: {change}  [{ran} ran{by}]", flush=True)
    print(f"killed {killed} of {tried}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("room")
    parser.add_argument("-n", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--tests")
    parser.add_argument("--list", action="store_true", help="print the faults and stop")
    args = parser.parse_args()
    room = TOP / args.room
    paths = [room] if room.is_file() else sorted([*room.rglob("*.c"), *room.rglob("*.inc")])
    sites = [s for p in paths for s in sites_of(p)]
    if not sites:
        sys.exit(f"mutate: nothing to change in {args.room}")
    random.Random(args.seed).shuffle(sites)
    if args.list:
        for path, number, new, _ in sites[: args.n]:
            print(f"{path.relative_to(TOP)}:{number + 1}: {new.strip()}")
        return
    with tempfile.TemporaryDirectory(prefix="mutants-") as copy:
        measure(args, sites, Tester(Path(copy)))


main()
