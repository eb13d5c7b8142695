"""notebook.py - what a notebook shows of a prompt and a reply, as a page of HTML.

usage: notebook.py FILE
"""

import sys

import confab

with confab.open("bundled") as model:
    prompt = model.prompt("What is confab?")
    reply = model.chat("What is confab?")
    with open(sys.argv[1], "w", encoding="utf-8") as page:
        page.write("<!doctype html><meta charset=utf-8><title>confab</title>")
        page.write(prompt._repr_html_())  # a cell that ends with `prompt` shows this
        page.write(reply._repr_html_())
