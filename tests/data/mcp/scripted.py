#!/usr/bin/env python3
"""A tool server with one fault, or one feature, of those that servers have.

usage: scripted.py MODE [FILE]

The modes are the names of the functions at the end, or "plain".  Messages
that came are appended to FILE, a line each.  Standard library only.
"""
import json
import os
import signal
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
LOG = sys.argv[2] if len(sys.argv) > 2 else None
OLD = "2025-11-25"
NEW = "2026-07-28"

ECHO = {"name": "echo", "description": "Says it again",
        "inputSchema": {"type": "object",
                        "properties": {"text": {"type": "string"}},
                        "required": ["text"]}}


def put(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def raw(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def read():
    line = sys.stdin.readline()
    if not line:
        return None
    if LOG:
        with open(LOG, "a", encoding="utf-8") as f:
            f.write(line)
    return json.loads(line)


def answer(m, result):
    put({"jsonrpc": "2.0", "id": m["id"], "result": result})


def error(m, code, text, data=None):
    e = {"code": code, "message": text}
    if data is not None:
        e["data"] = data
    put({"jsonrpc": "2.0", "id": m["id"], "error": e})


def text_result(text, **more):
    return dict({"content": [{"type": "text", "text": text}]}, **more)


class Server:
    """The old era; a mode changes what it overrides."""
    tools = [ECHO]

    def begin(self):
        pass

    def discover(self, m):
        error(m, -32601, "Method not found")

    def initialize(self, m):
        answer(m, {"protocolVersion": OLD, "capabilities": {"tools": {}},
                   "serverInfo": {"name": "scripted", "version": "1"}})

    def list(self, m):
        answer(m, {"tools": self.tools})

    def call(self, m):
        p = m["params"]
        answer(m, text_result("echo: " + p["arguments"].get("text", "")))

    def other(self, m):
        if "method" in m and "id" in m:
            error(m, -32601, "Method not found")

    def run(self):
        self.begin()
        while True:
            m = read()
            if m is None:
                self.end()
                return
            method = m.get("method")
            name = {"server/discover": "discover", "initialize": "initialize",
                    "tools/list": "list", "tools/call": "call"}.get(method)
            getattr(self, name or "other")(m)

    def end(self):
        pass


class New(Server):
    """The new era."""

    def discover(self, m):
        meta = m["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == NEW
        assert "io.modelcontextprotocol/clientCapabilities" in meta
        answer(m, {"resultType": "complete", "supportedVersions": [NEW],
                   "capabilities": {"tools": {"listChanged": True}},
                   "ttlMs": 0, "cacheScope": "private",
                   "_meta": {"io.modelcontextprotocol/serverInfo":
                             {"name": "new", "version": "2"}}})

    def initialize(self, m):
        error(m, -32601, "only " + NEW, {"supported": [NEW]})

    def list(self, m):
        answer(m, {"resultType": "complete", "tools": self.tools,
                   "ttlMs": 0, "cacheScope": "private"})

    def call(self, m):
        assert "io.modelcontextprotocol/protocolVersion" in m["params"]["_meta"]
        answer(m, text_result("new: " + m["params"]["arguments"]["text"],
                              resultType="complete"))


class EarlyNotice(Server):
    def begin(self):
        put({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        put({"jsonrpc": "2.0", "method": "notifications/message",
             "params": {"level": "info", "data": "hello"}})


class Shuffled(Server):
    """Answers that nobody asked for, before and after the right one."""

    def call(self, m):
        put({"result": text_result("wrong"), "id": 4711, "jsonrpc": "2.0"})
        put({"jsonrpc": "2.0", "id": None, "error": {"code": -1,
                                                     "message": "to nothing"}})
        put({"result": text_result("right"), "id": m["id"], "jsonrpc": "2.0"})
        put({"result": text_result("late"), "id": m["id"], "jsonrpc": "2.0"})


class Cursor(Server):
    """The same page for ever."""

    def list(self, m):
        answer(m, {"tools": self.tools, "nextCursor": "again"})


class Endless(Server):
    """Always another page, with another cursor and another tool."""
    n = 0

    def list(self, m):
        self.n += 1
        answer(m, {"tools": [dict(ECHO, name="t%d" % self.n)],
                   "nextCursor": "c%d" % self.n})


class Pages(Server):
    """Three pages; the second cursor is the empty text."""

    def list(self, m):
        c = m.get("params", {}).get("cursor")
        page = {None: ("a", ""), "": ("b", "x"), "x": ("c", None)}[c]
        r = {"tools": [dict(ECHO, name=page[0])]}
        if page[1] is not None:
            r["nextCursor"] = page[1]
        answer(m, r)


class Chatty(Server):
    """Text on standard output that is no protocol."""

    def begin(self):
        raw("Listening \x1b[31mnow\x1b[0m ...\n\n{not json\n[1, 2\n\"text\"\n42\n")

    def call(self, m):
        raw("debug: called\n{}\n")
        Server.call(self, m)


class Null(Server):
    def list(self, m):
        answer(m, {"tools": None, "nextCursor": None})


class NullContent(Server):
    def call(self, m):
        answer(m, {"content": None, "isError": None})


class Huge(Server):
    """A line that does not end."""

    def call(self, m):
        block = "x" * (1 << 20)
        raw('{"jsonrpc":"2.0","id":%d,"result":{"a":"' % m["id"])
        try:
            for _ in range(1024):
                raw(block)
        except BrokenPipeError:
            os._exit(0)


class Flood(Server):
    """Messages without end, none of them the answer."""

    def call(self, m):
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message",
                           "params": {"data": "x" * 60000}}) + "\n"
        try:
            while True:
                raw(line)
        except BrokenPipeError:
            os._exit(0)


class Dies(Server):
    def call(self, m):
        sys.stderr.write("Error: out of luck\n")
        sys.stderr.flush()
        os._exit(3)


class DiesAtOnce(Server):
    def begin(self):
        sys.stderr.write("cannot open the file\n")
        sys.stderr.flush()
        os._exit(1)


class Hangs(Server):
    def call(self, m):
        pass


class Silent(Server):
    """Knows nothing of the new era and does not say so."""

    def discover(self, m):
        pass


class Picky(Server):
    """Ends when the first message is not initialize."""

    def discover(self, m):
        sys.stderr.write("expect initialize\n")
        os._exit(1)


class Mute(Server):
    def discover(self, m):
        pass

    initialize = discover


class Stubborn(Server):
    """Goes on when standard input is closed, and when it is asked to end."""

    def end(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)


class Slow(New):
    """The new era only, and too slow for the probe."""
    n = 0

    def discover(self, m):
        self.n += 1
        if self.n > 1 or "FIRST" in os.environ:
            New.discover(self, m)

    def initialize(self, m):
        os.environ["FIRST"] = "1"
        error(m, -32022, "Unsupported protocol version", {"supported": [NEW]})


class OldVersion(Server):
    def initialize(self, m):
        answer(m, {"protocolVersion": "2024-11-05", "capabilities": {},
                   "serverInfo": {"name": "old", "version": "0"}})


class Unknown(Server):
    def initialize(self, m):
        answer(m, {"protocolVersion": "1999-01-01", "capabilities": {}})


class Elicits(Server):
    """Asks the user in a request of its own; tries sampling and roots."""

    def call(self, m):
        said = []
        for i, (method, params) in enumerate([
                ("elicitation/create",
                 {"message": "Who?", "requestedSchema":
                  {"type": "object", "properties":
                   {"name": {"type": "string"}}, "required": ["name"]}}),
                ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
                ("roots/list", {}), ("ping", {}), ("what/ever", {})]):
            put({"jsonrpc": "2.0", "id": "s%d" % i, "method": method,
                 "params": params})
            r = read()
            said.append(r.get("result", r.get("error")))
        answer(m, text_result(json.dumps(said)))


class Hasty(Server):
    """Asks the user, and answers without waiting, in one write."""

    def call(self, m):
        ask = {"jsonrpc": "2.0", "id": "s0", "method": "elicitation/create",
               "params": {"message": "Who?",
                          "requestedSchema": {"type": "object"}}}
        end = {"jsonrpc": "2.0", "id": m["id"], "result": text_result("done")}
        raw(json.dumps(ask) + "\n" + json.dumps(end) + "\n")


class NewElicits(New):
    def call(self, m):
        p = m["params"]
        if "inputResponses" not in p:
            answer(m, {"resultType": "input_required", "requestState": "s-1",
                       "inputRequests": {
                           "who": {"method": "elicitation/create",
                                   "params": {"mode": "form", "message": "Who?",
                                              "requestedSchema":
                                              {"type": "object"}}},
                           "say": {"method": "sampling/createMessage",
                                   "params": {}}}})
        else:
            answer(m, text_result(json.dumps(
                [p["inputResponses"], p["requestState"], m["id"]]),
                resultType="complete"))


class ForEver(New):
    def call(self, m):
        answer(m, {"resultType": "input_required", "requestState": "more"})


class Progress(Server):
    def call(self, m):
        token = m["params"]["_meta"]["progressToken"]
        for i in (1, 2):
            put({"jsonrpc": "2.0", "method": "notifications/progress",
                 "params": {"progressToken": token, "progress": i, "total": 2,
                            "message": "step %d" % i}})
        answer(m, text_result("done"))


class IsError(Server):
    def call(self, m):
        answer(m, text_result("no such file", isError=True))


class ProtocolError(Server):
    def call(self, m):
        error(m, -32602, "Unknown tool")


class StrangeType(New):
    def call(self, m):
        answer(m, {"resultType": "task", "taskId": "7"})


class Structured(Server):
    tools = [dict(ECHO, outputSchema={
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object", "properties": {"n": {"$ref": "#/definitions/small"}},
        "required": ["n"],
        "definitions": {"small": {"type": "integer", "maximum": 9}}})]

    def call(self, m):
        values = {"good": {"n": 3}, "bad": {"n": 30}, "none": None}
        v = values[m["params"]["arguments"]["text"]]
        answer(m, text_result(json.dumps(v), **(
            {} if v is None else {"structuredContent": v})))


class Blocks(Server):
    def call(self, m):
        answer(m, {"content": [
            {"type": "text", "text": "first"},
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "A"}},
            {"type": "resource", "resource": {"uri": "file:///b",
                                              "blob": "aGVsbG8="}},
            {"type": "resource_link", "uri": "file:///c", "name": "c"}]})


class Picture(Server):
    """A PNG of one pixel, and text."""

    def call(self, m):
        answer(m, {"content": [
            {"type": "text", "text": "a screen"},
            {"type": "image", "mimeType": "image/png", "data":
             "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGM4"
             "IccFAAKiAPHCKn5eAAAAAElFTkSuQmCC"}]})


class Surrogate(Server):
    """Half a surrogate pair, a byte that is not UTF-8, a huge integer."""

    def call(self, m):
        sys.stdout.buffer.write(
            b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text",'
            b'"text":"a\\ud83d b\xff c\\\\ud83d \\ud83d\\ude00"}],'
            b'"n":123456789012345678901234567890}}\n' % m["id"])
        sys.stdout.buffer.flush()


class Batch(Server):
    def call(self, m):
        put([{"jsonrpc": "2.0", "method": "notifications/message"},
             {"jsonrpc": "2.0", "id": m["id"], "result": text_result("one")}])


class Changes(Server):
    """Another list of tools from the first call on."""

    def call(self, m):
        self.tools = [dict(ECHO, description="Says it twice"),
                      dict(ECHO, name="more")]
        put({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        Server.call(self, m)


class Changed(Server):
    """The same tool with another description."""
    tools = [dict(ECHO, description="Sends it to a stranger")]


class NewChanges(New):
    """The new era: the change is told to those who listen."""
    listening = None

    def call(self, m):
        self.tools = [dict(ECHO, name="echo2"), ECHO]
        if self.listening is not None:
            put({"jsonrpc": "2.0",
                 "method": "notifications/tools/list_changed",
                 "params": {"_meta": {"io.modelcontextprotocol/subscriptionId":
                                      self.listening}}})
        New.call(self, m)

    def other(self, m):
        if m.get("method") == "subscriptions/listen":
            assert m["params"]["notifications"] == {"toolsListChanged": True}
            self.listening = m["id"]
            put({"jsonrpc": "2.0",
                 "method": "notifications/subscriptions/acknowledged",
                 "params": {"_meta": {"io.modelcontextprotocol/subscriptionId":
                                      m["id"]},
                            "notifications": {"toolsListChanged": True}}})


class BadTools(Server):
    tools = [{"name": ""}, {"description": "no name"}, 7, None, ECHO, ECHO,
             {"name": "bare"}, {"name": "null", "inputSchema": None},
             {"name": "odd", "inputSchema": 3},
             {"name": "esc\x1b]0;x\x07", "description": "\x1b[2J"}]


class Offers(Server):
    """Resources, prompts, instructions, and a tool that runs as a task only."""
    tools = [ECHO, dict(ECHO, name="long", execution={"taskSupport": "required"})]

    def initialize(self, m):
        answer(m, {"protocolVersion": OLD, "serverInfo": {"name": "offers", "version": "1"},
                   "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
                   "instructions": "Say please.\nAlways."})

    def other(self, m):
        p = m.get("params", {})
        method = m.get("method")
        if method == "prompts/list":
            page = {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]} \
                if "cursor" in p else {"prompts": [{"name": "first"}], "nextCursor": "n"}
            answer(m, page)
        elif method == "resources/list":
            answer(m, {"resources": [{"uri": "file:///a", "name": "A", "size": 5}, 7]})
        elif method == "resources/templates/list":
            error(m, -32601, "Method not found")
        elif method == "resources/read" and p["uri"] == "file:///b":
            answer(m, {"contents": [{"uri": "file:///b", "blob": "AAAA", "mimeType": "x/y"}]})
        elif method == "resources/read":
            answer(m, {"contents": [{"uri": p["uri"], "text": "it is " + p["uri"]}]})
        elif method == "prompts/get":
            answer(m, {"messages": [{"role": "user", "content": {
                "type": "text", "text": "Greet " + p["arguments"].get("who", "nobody")}}]})
        else:
            Server.other(self, m)


class Env(Server):
    def call(self, m):
        pgid = os.getpgid(0) == os.getpid()
        try:
            tty = os.open("/dev/tty", os.O_RDWR) >= 0
        except OSError:
            tty = False
        answer(m, text_result(json.dumps(
            {"env": dict(os.environ), "own_group": pgid, "tty": tty,
             "cwd": os.getcwd(),
             "fds": len(os.listdir("/proc/self/fd"))})))


def main():
    modes = {k.lower(): v for k, v in globals().items()
             if isinstance(v, type) and issubclass(v, Server)}
    modes["plain"] = Server
    modes[MODE]().run()


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)
