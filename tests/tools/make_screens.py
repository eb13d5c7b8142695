#!/usr/bin/env python3
"""Takes the screens of the documents again.

  make_screens.py PAGE ...

A page says in a comment how the screen after it is made:

  <!-- screen
  open 100x24 build/confab     a fresh home folder and a new terminal (tmux)
  keys iHello<Enter>           typed; then waits until nothing changes any more
  type iHello<Enter>           typed; does not wait
  pause 0.5                    seconds
  rows 1-14                    shows only these
  svg docs/screens/x.svg       has the program write the screen as a picture
  -->
  ```text
  (replaced)
  ```

After "svg" the page shows the picture instead of a text block, as an image
(![...](...)) in the line after the comment, which stays as it is.

Clock and ids are fixed, so the same model gives the same screens except for
speeds.  Run it in the root of the repository, after make.
"""
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


def take(directions, folder):
    """The lines of the screen that the directions lead to."""
    first, last = 1, None
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
            keys(":screen! " + os.path.abspath(rest) + "<Enter>")
            settle()
            if not os.path.exists(rest):
                sys.exit(f"make_screens.py: {rest} was not written")
        elif word == "rows":
            first, last = map(int, rest.split("-"))
        else:
            sys.exit(f"make_screens.py: no direction '{word}'")
    return [line.rstrip() for line in screen()][first - 1:last]


def main():
    image = re.compile(r"<!-- screen\n((?:(?!-->).)*)-->\n!\[", re.S)
    form = re.compile(r"(<!-- screen\n((?:(?!-->).)*)-->\n)```text\n.*?^```$", re.S | re.M)
    with tempfile.TemporaryDirectory() as folder:
        for page in sys.argv[1:]:
            with open(page, encoding="utf-8") as f:
                text = f.read()
            for m in image.finditer(text):
                take(m[1], folder)
            text = form.sub(lambda m: m[1] + "```text\n" + "\n".join(take(m[2], folder)) + "\n```", text)
            with open(page, "w", encoding="utf-8") as f:
                f.write(text)
    if SERVER:
        tmux("kill-server")


if __name__ == "__main__":
    main()
