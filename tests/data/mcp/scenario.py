#!/usr/bin/env python3
"""The client that the official conformance suite drives: confab's commands.

usage: scenario.py CONFAB URL

The suite says in MCP_CONFORMANCE_SCENARIO what is played, and in
MCP_CONFORMANCE_CONTEXT what the client knows.  The status is that of the first
command that failed.  Standard library only.
"""
import json
import os
import subprocess
import sys
import tempfile

CONFAB, URL = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
NAME = os.environ["MCP_CONFORMANCE_SCENARIO"]
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
CALLS = {
    "tools_call": [("add_numbers", {"a": 2, "b": 3})],
    "sse-retry": [("test_reconnection", {})],
    "sep-2322-client-request-state": [
        (t, {}) for t in ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state",
                          "test_mrtr_no_result_type")],
    "http-standard-headers": [("test_headers", {}), ("my-hyphenated-tool", {})],
    # Where the suite says null, the argument is left out: the schema wants a boolean.
    "http-custom-headers": [
        (c["name"], {k: v for k, v in c["arguments"].items() if v is not None})
        for c in CONTEXT.get("toolCalls", [])],
}


def main():
    with tempfile.TemporaryDirectory() as home:
        server = {"url": URL}
        if CONTEXT.get("client_id"):
            server["oauth"] = {"clientId": CONTEXT["client_id"]}
            if CONTEXT.get("client_secret"):
                server["oauth"]["clientSecret"] = CONTEXT["client_secret"]
        if NAME == "auth/basic-cimd":
            server["oauth"] = {
                "clientMetadataUrl": "https://conformance-test.local/client-metadata.json"}
        path = os.path.join(home, "servers.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"mcpServers": {"t": server}}, f)
        env = dict(os.environ, HOME=home, BROWSER="python3 %s/browser.py" % HERE)
        for k in [k for k in env if k.startswith("XDG_")]:
            del env[k]

        def run(*args):
            p = subprocess.run([CONFAB, "mcp", "--mcp", path, "--yes", "--trust-addresses",
                                "--json", "--tool-timeout", "15", *args], env=env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
            return p.returncode, p.stdout.decode()

        status, out = 0, ""
        calls = CALLS.get(NAME, [("test-tool", {})] if NAME.startswith("auth/") else [])
        if not calls:
            status, out = run("list")
        if NAME == "http-invalid-tool-headers":
            kinds = {"integer": 1, "boolean": True}
            for t in json.loads(out)["tools"]:
                s = t["inputSchema"]
                calls.append((t["name"], {
                    k: kinds.get(s["properties"][k].get("type"), "x") for k in s.get("required", [])}))
        for tool, arguments in calls:
            status = status or run("call", tool, json.dumps(arguments))[0]
        return status


sys.exit(main())
