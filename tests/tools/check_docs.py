#!/usr/bin/env python3
"""Checks README.md, the rooms' READMEs and docs/.

  check_docs.py [--list] [--run [--model FILE] [PAGE ...]]

Always: links between pages lead to a file and a heading, and a file of this
repository that is named in code style is there; the README.md of a room names all
its folders, docs/architecture.md those of core and tui, and docs/threading.md the
files that start threads; texts of pictures in docs/screens fill the cells that they
were drawn for; numbers of NUMBERS are those of the sources.

--run also takes the pictures of a page again (make_screens.py --check), where there is
tmux, measures the program, and runs the blocks that are fenced as

  ```sh run           each command must end with 0, or be confab's and end with 1 (a finding)
  ```sh screen        each line opens the workbench: Q must leave it, status 0
  ... model           as the third word: only where there is a model

in a temporary folder that shows the repository, with a home folder of its own;
model.gguf there is --model FILE, else the bundled model.  --list shows the
other sh blocks, which must be run by hand.
"""
import argparse
import html
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CELL = 9  # the width of a cell in a picture: tui/grid/grid_svg.c
ROOMS = ("core/", "templates/", "storage/", "tui/", "tests/", "docs/", ".ci/")
STRICT = """trap 'r=$?; if [ $r != 1 ] || [[ $BASH_COMMAND != *confab* ]]; then
  echo "status $r: $BASH_COMMAND" >&2; exit 99; fi' ERR
"""


def tracked():
    return subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                          capture_output=True, text=True, check=True).stdout.split()


def blocks(text):
    """(line, words of the fence, body) of each fenced block."""
    for m in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.M | re.S):
        yield text.count("\n", 0, m.start()) + 1, m[1].split(), m[2]


def prose(text):
    """The text with blocks blanked and line ends kept."""
    return re.sub(r"^```.*?^```$", lambda m: re.sub(r"[^\n]", "", m[0]), text, flags=re.M | re.S)


def anchors(page):
    out = set()
    for title in re.findall(r"^#+ (.*)$", prose(page.read_text()), re.M):
        out.add(re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-"))
    return out


def dead_links(page, text):
    for m in re.finditer(r"\]\(([^)\s]+)\)", text):
        target, _, anchor = m[1].partition("#")
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists():
            yield m.start(), f"no file {m[1]}"
        elif anchor and anchor not in anchors(file):
            yield m.start(), f"no heading {m[1]}"


def lost_names(page, text, files):
    """Sources named as `core/x/y.c`, `x/y.c` or `y_*.c`, and folders of rooms;
    capitals are placeholders, and "made here:" in a comment names what a page
    asks its reader to make."""
    made = " ".join(re.findall(r"<!-- made here: (.*?) -->", text)).split()
    for m in re.finditer(r"`([\w./*-]+)`", text):
        name = m[1]
        if name in made:
            continue
        is_source = re.search(r"\w\.(c|h|py|sh|sql|jinja|inc)$", name)
        if not (is_source or name.startswith(ROOMS)) or re.search(r"[A-Z]{4}|ROOM|confab-tiny", name):
            continue
        suffix = re.compile("(^|/)" + re.escape(name).replace(r"\*", "[^/]*") + "$")
        if not (ROOT / name).exists() and not any(suffix.search(f) for f in files):
            yield m.start(), f"no file {name}"


def folders(files, room, depth):
    """Folders of a room with files of their own, as paths below the room."""
    found = {tuple(f.split("/")[1:-1])[:depth] for f in files if f.startswith(room + "/")}
    return sorted("/".join(f) for f in found if f)


def unnamed_folders(page, text, files):
    """A room's README names `a` or `a/`, `a/b` or `a/b/`, or files in them; folders inside
    folders where they hold code."""
    name = str(page.relative_to(ROOT))
    rooms = {"docs/architecture.md": ("core", "tui")}.get(name, [name.removesuffix("/README.md")])
    sources = [f for f in files if (ROOT / f).exists()]
    for room in rooms:
        if room not in ("core", "templates", "storage", "tui", "tests"):
            continue
        wanted = folders(sources, room, 1)
        if room == "tui" and name.startswith("tui/"):
            wanted = folders([f for f in sources if f.endswith(".c")], room, 2)
        for folder in wanted:
            if not re.search(r"`(%s/)?%s(/[^`]*)?`" % (room, re.escape(folder)), text):
                yield 0, f"no word about the folder {room}/{folder}"


STARTS = re.compile(r"\b((cf_os_thread|pthread_create|cf_runner_init|cf_worker_new)\(&?\w|MHD_start_daemon\()")
STARTER = "core/base/os.c core/base/task.c core/base/worker.c".split()  # what they start belongs to the caller


def thread_faults(page, text, files):
    """The table of threads names the files that start one, and no others."""
    if page != ROOT / "docs/threading.md":
        return
    cells = [row.split("|")[2] for row in text.splitlines() if row.startswith("| ") and row.count("|") == 5]
    named = set(re.findall(r"`([\w/]+\.c)`", " ".join(cells))) - {"tui/main.c"}
    sources = [f for f in files if f.endswith(".c") and not f.startswith(("tests/", "docs/")) and (ROOT / f).exists()]
    start = {f for f in sources if STARTS.search((ROOT / f).read_text())} - set(STARTER)
    for f in sorted(start - named):
        yield 0, f"no word about the thread of {f}"
    for f in sorted(named - start):
        yield 0, f"{f} starts no thread"


def rows(name, pattern):
    return len(re.findall(pattern, (ROOT / name).read_text(), re.M))


def runs_text():
    """Architectures that write text; the others embed."""
    return rows("core/model/arch.c", r'^ {8}\.name = "(?![^"]*(?:bert|embedding))')


WORDS = {"seven": 7, "eight": 8, "nine": 9, "sixty": 60}
# A page, what it says with a number in brackets, and that number.
NUMBERS = (
    ("README.md", r"of (\d+) architectures, among", runs_text),
    ("docs/changelog.md", r"\[(\d+) architectures\]", runs_text),
    ("docs/engines.md", r"in place of (\d+), and", runs_text),
    ("README.md", r"of (\w+) families, parsed", lambda: rows("core/tools/families.c", r'^\s+\.name = "')),
    ("README.md", r"\[(\w+) demonstration tools\]", lambda: rows("tui/demo/tools.json", r'"type": *"function"')),
    ("docs/templates-survey.md", r"over (\d+) published", lambda: rows("docs/templates-survey.md", r"^\| \S+ \| \d+ of \d+ \| \w")),
    ("docs/templates-survey.md", r"with (\d+) versions", lambda: rows("templates/catalogue/catalogue.inc", r'^ {4}\{"')),
)


def number_faults(page, text):
    for name, says, actual in NUMBERS:
        found = re.search(says, text) if page == ROOT / name else None
        if page == ROOT / name and not found:
            yield 0, f"no words like '{says}': mend NUMBERS"
        elif found and WORDS.get(found[1], found[1].replace(",", "")) not in (actual(), str(actual())):
            yield found.start(), f"'{found[0]}': there are {actual()}"


def size_faults(page, text):
    """The size of the program without symbols, where it is built."""
    said = re.search(r"the program has (\d+) MB", text)
    built = ROOT / "build/release/confab"
    if said and built.exists() and shutil.which("strip"):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["strip", "-o", f"{folder}/confab", str(built)], check=True)
            size = os.path.getsize(f"{folder}/confab") / 1e6
        if abs(size - int(said[1])) > 1:
            yield said.start(), f"the program has {size:.1f} MB"


def picture_faults(page, text):
    """Pictures that somebody edited: a text has the width of its cells."""
    for name in re.findall(r"\]\((docs/screens/[\w.-]+\.svg)\)", text):
        picture = (ROOT / name).read_text() if (ROOT / name).exists() else ""
        for width, words in re.findall(r'textLength="(\d+)"[^>]*>([^<]*)</text>', picture):
            words = html.unescape(words)
            if words.isascii() and int(width) != CELL * len(words):
                yield text.index(name), f"{name}: '{words}' is not {width} units wide; take it again"


def stale_pictures(page, text):
    """Pictures that are not what the program draws now."""
    if "<!-- screen" not in text or ".svg" not in text:
        return
    if not shutil.which("tmux"):
        print(f"{page.relative_to(ROOT)}: pictures not taken without tmux")
        return
    done = subprocess.run([sys.executable, "tests/tools/make_screens.py", "--check", str(page)],
                          cwd=ROOT, text=True, capture_output=True)
    if done.returncode != 0:
        yield 0, done.stderr.strip()


def opens(command, cwd, env):
    """Opens the workbench in a pseudo-terminal and leaves it again."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execvpe("bash", ["bash", "-c", f"stty rows 24 cols 100; {command}"], {**env, "TERM": "xterm-256color"})
    seen, asked, end = b"", False, time.monotonic() + 20
    while time.monotonic() < end:
        if not asked and b"Chat" in seen and b"Library" in seen:
            os.write(fd, b"Q")
            asked = True
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                break
    else:
        os.kill(pid, 9)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b" ", seen).decode(errors="replace")
    return None if status == 0 and asked else f"status {status}: {command}\n{text[-500:]}"


def run_block(words, body, cwd, env):
    if words[1] == "run":
        done = subprocess.run(["bash", "-c", STRICT + body], cwd=cwd, env=env, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
        return None if done.returncode in (0, 1) else done.stderr[-1000:]
    for line in body.splitlines():
        if line.split("#")[0].strip():
            fault = opens(line, cwd, env)
            if fault:
                return fault
    return None


def run_page(page, text, model):
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for entry in ROOT.iterdir():
            if entry.name != ".git":
                os.symlink(entry, f"{folder}/{entry.name}")
        if model:
            os.symlink(model, f"{folder}/model.gguf")
        home = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "CONFAB_"))}
        env = {**home, "HOME": f"{folder}/home", "TMPDIR": folder}
        os.mkdir(env["HOME"])
        for line, words, body in blocks(text):
            if words[:1] != ["sh"] or words[1:2] not in (["run"], ["screen"]):
                continue
            if "model" in words and not model:
                print(f"{page.relative_to(ROOT)}:{line}: not run without a model")
                continue
            fault = run_block(words, body, folder, env)
            if fault:
                faults.append((line, fault))
            else:
                print(f"{page.relative_to(ROOT)}:{line}: ran")
    return faults


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--list", action="store_true")
    options.add_argument("--run", action="store_true")
    options.add_argument("--model")
    options.add_argument("page", nargs="*")
    args = options.parse_args()
    bundled = ROOT / "core/bundled/confab-tiny.gguf"
    model = os.path.abspath(args.model) if args.model else str(bundled) if bundled.exists() else None
    files = tracked()
    wanted = [pathlib.Path(p).resolve() for p in args.page] or [ROOT / f for f in files if f.endswith(".md")]
    n_faults = 0
    for page in wanted:
        text = page.read_text()
        plain = prose(text)
        faults = [(plain.count("\n", 0, at) + 1, what)
                  for found in (dead_links(page, plain), lost_names(page, plain, files),
                                unnamed_folders(page, plain, files), thread_faults(page, plain, files),
                                picture_faults(page, plain), number_faults(page, plain))
                  for at, what in found]
        if args.list:
            for line, words, body in blocks(text):
                if words == ["sh"]:
                    print(f"{page.relative_to(ROOT)}:{line}: by hand\n{body}", end="")
        if args.run:
            faults += [*run_page(page, text, model), *stale_pictures(page, text), *size_faults(page, text)]
        for line, what in faults:
            print(f"{page.relative_to(ROOT)}:{line}: {what}", file=sys.stderr)
        n_faults += len(faults)
    print(f"{len(wanted)} pages, {n_faults} faults")
    return n_faults > 0


if __name__ == "__main__":
    sys.exit(main())
