#!/usr/bin/env python3
"""Takes the screens of the documents again.

  make_screens.py [--check] PAGE ...

--check takes only the pictures, beside the ones that are there, and ends with 1
where one differs.  A page says in a comment how the screen after it is made:

  <!-- screen
  open 100x24 build/confab     a fresh home folder and a new terminal (tmux)
  keys iHello<Enter>           typed; then waits until nothing changes any more
  type iHello<Enter>           typed; does not wait
  pause 0.5                    seconds
  rows 1-14                    shows only these
  svg docs/screens/x.svg       has the program write the screen as a picture
  shot 1.5                     likewise, to be shown for so many seconds of
  film docs/screens/x.svg      a moving picture of all shots
  -->
  ```text
  (replaced)
  ```

After "svg" and "film" the page shows the picture instead of a text block, as an image
(![...](...)) in the line after the comment, which stays as it is.

Clock and ids are fixed, so the same model gives the same screens except for
speeds.  Run it in the root of the repository, after make.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

SERVER = []  # the socket of the tmux server in use; one a terminal, as a server takes a while to go
NAMES = {"Enter": "Enter", "Esc": "Escape", "Tab": "Tab", "S-Tab": "BTab", "Space": "Space", "BS": "BSpace",
         "Up": "Up", "Down": "Down", "Left": "Left", "Right": "Right", "lt": "<"}


def tmux(*args):
    return subprocess.run(["tmux", "-L", SERVER[-1], "-f", "/dev/null", *args],
                          capture_output=True, text=True).stdout


def screen():
    return tmux("capture-pane", "-p").rstrip("\n").split("\n")


def settle(seconds=1.0, most=90):
    """Waits until the screen has not changed for a while."""
    last, since, end = None, time.monotonic(), time.monotonic() + most
    while time.monotonic() < end:
        now = screen()
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > seconds:
            return
        time.sleep(0.1)


def open_terminal(size, command, folder):
    if SERVER:
        tmux("kill-server")
    SERVER.append(f"confab-{os.getpid()}-{len(SERVER)}")
    home = tempfile.mkdtemp(dir=folder)
    width, height = size.split("x")
    fixed = "CONFAB_NOW=2026-01-02T12:37:00Z CONFAB_SEED_IDS=1 TZ=UTC LC_ALL=C.UTF-8"
    tmux("new-session", "-d", "-x", width, "-y", height,
         f"env -u XDG_DATA_HOME -u XDG_STATE_HOME -u XDG_CONFIG_HOME HOME={home} {fixed} {command}")
    tmux("set-option", "-g", "status", "off")


def keys(text):
    for named, plain in re.findall(r"<([\w-]+)>|([^<]+)", text):
        if not named:
            tmux("send-keys", "-l", "--", plain)
        elif named.startswith("C-"):
            tmux("send-keys", named)
        else:
            tmux("send-keys", NAMES[named])
        time.sleep(0.3 if named == "Esc" else 0.05)


def write_svg(path):
    """Has the program write its screen."""
    keys(":screen! " + os.path.abspath(path) + "<Enter>")
    settle()
    if not os.path.exists(path):
        sys.exit(f"make_screens.py: {path} was not written")


def rows_of(picture):
    """The elements of a picture by the row of cells that they lie in, after those of the ground."""
    head, ground, *elements = picture.rstrip().removesuffix("</svg>").splitlines(keepends=True)
    rows = {}
    for element in elements:
        y = int(re.search(r' y="(\d+)"', element)[1])
        rows.setdefault((y - 12) // 19, []).append(element)
    return head + ground, {y: "".join(row) for y, row in rows.items()}


def film(shots):
    """One picture of many: a row of cells is drawn once for all shots that show it, and is
    visible while they do.  Without animation it is the last shot."""
    frames = [rows_of(picture) for picture, _ in shots]
    total = sum(seconds for _, seconds in shots)
    begins = [100 * sum(s for _, s in shots[:i]) / total for i in range(len(shots))]
    seen = {}
    for i, (_, rows) in enumerate(frames):
        for y, row in rows.items():
            seen.setdefault((y, row), set()).add(i)
    rules, body, names = [], [], {}
    for (y, row), in_shots in sorted(seen.items(), key=lambda item: (item[0][0], min(item[1]))):
        pattern = tuple(i in in_shots for i in range(len(shots)))
        if all(pattern):
            body.append(row)
            continue
        if pattern not in names:
            name = names[pattern] = f"f{len(names)}"
            steps = [f"{begins[i]:.2f}%{{visibility:{'visible' if shows else 'hidden'}}}"
                     for i, shows in enumerate(pattern) if i == 0 or shows != pattern[i - 1]]
            last = "visible" if pattern[-1] else "hidden"
            rules.append(f"@keyframes {name}{{{''.join(steps)}}}\n"
                         f".{name}{{visibility:{last};animation:{name} {total:g}s step-end infinite}}\n")
        body.append(f'<g class="{names[pattern]}">\n{row}</g>\n')
    still = "@media (prefers-reduced-motion){*{animation:none!important}}\n"
    return f"{frames[0][0]}<style>\n{''.join(rules)}{still}</style>\n{''.join(body)}</svg>\n"


def take(directions, folder, pictures=""):
    """The lines of the screen that the directions lead to; pictures are written below a folder."""
    first, last = 1, None
    shots = []
    for line in directions.strip().splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "open":
            size, command = rest.split(" ", 1)
            open_terminal(size, command, folder)
            settle()
        elif word == "keys":
            keys(rest)
            settle()
        elif word == "type":
            keys(rest)
        elif word == "pause":
            time.sleep(float(rest))
        elif word == "svg":
            write_svg(os.path.join(pictures, rest))
        elif word == "shot":
            name = f"{folder}/shot.svg"
            write_svg(name)
            with open(name, encoding="utf-8") as f:
                shots.append((f.read(), float(rest)))
            os.remove(name)
        elif word == "film":
            with open(os.path.join(pictures, rest), "w", encoding="utf-8") as f:
                f.write(film(shots))
        elif word == "rows":
            first, last = map(int, rest.split("-"))
        else:
            sys.exit(f"make_screens.py: no direction '{word}'")
    return [line.rstrip() for line in screen()][first - 1:last]


IMAGE = re.compile(r"<!-- screen\n((?:(?!-->).)*)-->\n!\[", re.S)
FORM = re.compile(r"(<!-- screen\n((?:(?!-->).)*)-->\n)```text\n.*?^```$", re.S | re.M)


def words_of(name):
    """A still picture as it is; of a moving one the rows of words, with speeds blanked."""
    with open(name, encoding="utf-8") as f:
        picture = f.read()
    if "@keyframes" not in picture:
        return picture
    texts = re.findall(r' y="(\d+)" [^>]*>([^<]*)</text>', picture)
    return {(y, re.sub(r"[\d.]+ (?=t/s|ms)|(?<=prefill )\d+", "", words)) for y, words in texts}


def check(text, folder):
    """The pictures of a page that are not as the program draws them now."""
    for m in IMAGE.finditer(text):
        name = re.search(r"^(?:svg|film) (.*)$", m[1], re.M)[1]
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        take(m[1], folder, folder)
        if words_of(name) != words_of(f"{folder}/{name}"):
            yield name


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--check", action="store_true")
    options.add_argument("page", nargs="+")
    args = options.parse_args()
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        for page in args.page:
            with open(page, encoding="utf-8") as f:
                text = f.read()
            if args.check:
                stale += check(text, folder)
                continue
            for m in IMAGE.finditer(text):
                take(m[1], folder)
            text = FORM.sub(lambda m: m[1] + "```text\n" + "\n".join(take(m[2], folder)) + "\n```", text)
            with open(page, "w", encoding="utf-8") as f:
                f.write(text)
    if SERVER:
        tmux("kill-server")
    for name in stale:
        print(f"{name} is not what the program draws: take it again with make_screens.py", file=sys.stderr)
    return len(stale) > 0


if __name__ == "__main__":
    sys.exit(main())
