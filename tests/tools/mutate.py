#!/usr/bin/env python3
"""Plant faults in a room, one at a time, and count those that its tests notice.

usage: mutate.py ROOM [-n N] [--seed S] [--all] [--tests PATTERN] [--list]

ROOM is a folder of sources, such as core/tools, or one file.  N faults (40) are drawn with
the seed S (1) from all places where one can be planted: a comparison, a connective, a sign,
a constant, a condition that is negated, a call or a jump that is left out, a truth value
that is returned.  Faults that do not compile are drawn again.

Each is planted in a copy of the tree, build/mutants, which is kept; its first build takes
the objects of build/release, so build that first with the same CFLAGS.  The tests of the room's own folder run; with --all those of its
top folder follow (core, templates, storage or tui), and --tests takes those whose path
matches instead.  A fault is killed when a program fails, crashes or takes too long.

Each line is a fault: killed or SURVIVED, its place, and the change.  A survivor is a test
that is missing or a fault that changes nothing; which of the two has to be judged by
reading.  Left-out releases of memory are marked "leak": only a build with sanitizers can
notice them.  The last line is "killed K of N".
"""
import argparse
import contextlib
import filecmp
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
COPY = TOP / "build/mutants"
SECONDS = 120  # a program may take; then the fault has made it endless
MEMORY = 8 << 30  # bytes of address space likewise

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


def prepare():
    """A copy of the tree, which takes its first objects from build/release.

    A file keeps its time when it is copied for the first time, so that the objects count
    as built from it; one that differs later gets the time of now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=TOP,
        capture_output=True,
        check=True,
    )
    names = [n for n in listed.stdout.decode().split("\0") if n and (TOP / n).is_file()]
    is_new = not COPY.exists()
    for name in names:
        to = COPY / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if is_new:
            shutil.copy2(TOP / name, to)
        elif not to.exists() or not filecmp.cmp(TOP / name, to, shallow=False):
            shutil.copy(TOP / name, to)
    kept = set(names)
    for folder in ("core", "templates", "storage", "tui", "tests"):
        for old in (COPY / folder).rglob("*.c"):
            if str(old.relative_to(COPY)) not in kept:
                old.unlink()
    built = TOP / "build/release"
    if is_new and built.is_dir():
        # Not the test programs, which are large: those that are needed are linked again.
        programs = [p for p in (built / "tests").rglob("*") if p.suffix == "" and p.is_file()]
        skipped = {p for p in programs if p.name[0] != "."}

        def skip(folder, entries):
            return [e for e in entries if Path(folder) / e in skipped]

        shutil.copytree(built, COPY / "build/release", symlinks=True, ignore=skip)


def make(*targets):
    """Builds in the copy.  The flags name the folder of the tree, and another name would
    build everything again, so the copy goes by the name of the original."""
    command = ["make", "-s", f"-j{os.cpu_count()}", f"CURDIR={TOP}", *targets]
    done = subprocess.run(command, cwd=COPY, capture_output=True, text=True, env=ENV, check=False)
    return done.returncode == 0


def environment():
    """That of the caller, with a compiler cache where this machine has one."""
    env = dict(os.environ, CONFAB_BIN=str(COPY / "build/release/confab"))
    if Path("/usr/lib/ccache").is_dir():
        env["PATH"] = "/usr/lib/ccache:" + env["PATH"]
        if "CCACHE_DIR" not in env and Path("/var/cache/ccache").is_dir():
            env["CCACHE_DIR"] = "/var/cache/ccache"
    return env


def tests_of(room, pattern, with_top):
    """The test programs by their nearness to a source: a function from the source's path to
    lists that run one after another."""
    kinds = ("unit", "prop", "fault", "screen")
    sources = sorted(p for kind in kinds for p in (TOP / "tests" / kind).rglob("test_*.c"))
    names = [str(p.relative_to(TOP).with_suffix("")) for p in sources]
    folder = str(Path(room).parent) if Path(room).suffix else room
    top = folder.split("/", 1)[0]
    if pattern:
        near = [n for n in names if re.search(pattern, n)]
    else:
        near = [n for n in names if f"/{folder}/" in n]
    rest = [n for n in names if with_top and n not in near and f"/{top}/" in n]

    def stages(path):
        stem = path.stem.replace("cmd_", "")
        first = [n for n in near if stem in n or n.rsplit("/test_", 1)[1] in stem]
        return [first, [n for n in near if n not in first], rest]

    return stages


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def fails(program):
    """Whether a test program fails, crashes, or takes too long or too much memory."""
    child = subprocess.Popen(
        [program],
        cwd=COPY,
        env=ENV,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=limit_memory,
    )
    try:
        return child.wait(SECONDS) != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # it and all that it started
        child.wait()


def build(names):
    whole = ["build/release/confab"] if any("/tui/" in n for n in names) else []
    return not names or make(*whole, *[f"build/release/{n}" for n in names])


def is_killed(stages):
    for names in stages:
        if not build(names):
            return None  # it does not compile
        for name in names:
            if fails(f"build/release/{name}"):
                return name
    return ""


ENV = environment()


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
    prepare()
    stages_of = tests_of(args.room, args.tests, args.all)
    names = [n for stage in stages_of(room) for n in stage]
    if not build(names):
        sys.exit("mutate: the tree does not build")
    broken = {n for n in names if fails(f"build/release/{n}")}
    for name in sorted(broken):
        print(f"left out, fails without a fault: {name}", flush=True)
    killed = tried = 0
    for path, number, new, is_leak in sites:
        if tried == args.n:
            break
        name = path.relative_to(TOP)
        lines = path.read_text(encoding="utf-8").split("\n")
        old = lines[number]
        lines[number] = new
        (COPY / name).write_text("\n".join(lines), encoding="utf-8")
        try:
            by = is_killed([[n for n in s if n not in broken] for s in stages_of(path)])
        finally:
            shutil.copy(path, COPY / name)
        if by is None:
            continue
        tried += 1
        killed += by != ""
        verdict = "killed  " if by else "SURVIVED"
        leak = " (leak)" if is_leak else ""
        print(f"{verdict} {name}:{number + 1}{leak}: {old.strip()}  ->  {new.strip()}", flush=True)
    print(f"killed {killed} of {tried}")


main()
