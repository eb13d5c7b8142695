"""hello.py - a question to the bundled model, which may call a tool."""

import sys

import confab

TOOL = {
    "name": "get_weather",
    "description": "Weather at a place.",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}},
}


def weather(arguments):
    return {"temperature": 21, "unit": "celsius", "condition": "sunny"}


with confab.open("bundled") as model:
    model.tool(TOOL, weather)
    print(model.chat(" ".join(sys.argv[1:]) or "How is the weather in Oslo?"))
