#!/usr/bin/env python3
"""A tool server over HTTP; prints its port on standard output.

usage: scripted_http.py MODE

  old      revision 2025-11-25 with a session; refuses what lacks it; forgets
           the session once, before the second call
  new      revision 2026-07-28; refuses what lacks a header or mirrors wrongly
  strict   like new, and its tool wants an argument as a header
  resume   like old without sessions; the stream of a call ends at once, and its
           answer comes to whoever goes on from the last event, once it was
           asked for twice
  asks     like old without sessions; a call is answered once a question on the
           stream of GET was
  pings    like old without sessions; a call asks as often as its text says
           before its answer comes
  older    of the transport HTTP+SSE: an address takes no messages
  shy      like new; refuses the first request with its own revision
  cut      like new; the stream of an answer ends too early
  slow     like new; the answer of a call takes too long
  big      like new; the answer of a call does not end
  early    like new; asks something before it says its era, and wants the
           token "t2" for the answer
  key      refuses what lacks the header "Authorization: Bearer k"

Ends when standard input is closed.  Standard library only.
"""
import base64
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[1]
NEW = "2026-07-28"
OLD = "2025-11-25"
STATE = {"session": None, "calls": 0, "closed": 0}
ASKED, ANSWERED = threading.Event(), threading.Event()
TOOL = {"name": "écho", "description": "Says it again", "inputSchema":
        {"type": "object", "properties": {"text": {"type": "string"}}}}
BAD = {"name": "bad", "inputSchema": {"type": "object", "properties": {
    "a": {"type": "number", "x-mcp-header": "A"}}}}
if MODE == "strict":
    TOOL["inputSchema"]["properties"]["text"]["x-mcp-header"] = "Text"
    TOOL["inputSchema"]["properties"]["n"] = {"type": "integer",
                                              "x-mcp-header": "N"}


def plain(v):
    if v is not None and v.startswith("=?base64?") and v.endswith("?="):
        return base64.b64decode(v[9:-2]).decode()
    return v


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def send(self, status, body=None, kind="application/json", **headers):
        data = b"" if body is None else (
            body if isinstance(body, bytes) else json.dumps(body).encode())
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, code, text, m=None):
        self.send(status, {"jsonrpc": "2.0", "id": m and m.get("id"),
                           "error": {"code": code, "message": text}})

    def stream(self, messages, end=True):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for m in messages:
            self.wfile.write(b": comment\r\nid: 1\ndata:\n\nevent: message\n"
                             b"data: " + json.dumps(m).encode() + b"\n\n")
            self.wfile.flush()
        self.close_connection = True

    def event(self, text, message):
        self.wfile.write(text.encode() + b"data: " +
                         (b"" if message is None else json.dumps(message).encode()) + b"\n\n")
        self.wfile.flush()

    def do_GET(self):
        last = self.headers.get("Last-Event-ID")
        if MODE == "asks":
            self.stream([])
            ASKED.wait(10)
            self.event("", {"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": {
                "message": "well?", "requestedSchema": {"type": "object", "properties": {}}}})
            ANSWERED.wait(10)
        elif MODE == "resume" and last is not None:
            STATE["resumed"] = STATE.get("resumed", 0) + 1
            self.stream([])
            if STATE["resumed"] == 1 and last == "e-1":
                self.event("id: e-2\nretry: 50\n", None)
            elif last == "e-2":
                self.event("id: e-3\n", self.result(STATE["call"]))
        else:
            self.refuse(405, -32000, "no")

    def do_DELETE(self):
        STATE["session"] = None
        self.send(200)

    def do_POST(self):
        if MODE == "older":
            self.send(405, b"", "text/plain")
            self.close_connection = True
            return
        m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if MODE == "key" and self.headers.get("Authorization") != "Bearer k":
            self.send(401, b"who?", "text/plain")
            return
        if MODE == "early" and m.get("id") == "q1":
            known = self.headers.get("Authorization") == "Bearer t2"
            if known:
                ANSWERED.set()
            self.send(202 if known else 401)
            return
        if MODE == "early" and m.get("method") == "server/discover":
            self.stream([{"jsonrpc": "2.0", "id": "q1", "method": "ping"}])
            ANSWERED.wait(10)
            return
        accept = self.headers.get("Accept", "")
        assert "application/json" in accept and "text/event-stream" in accept
        {"old": self.old, "resume": self.loose, "asks": self.loose,
         "pings": self.loose}.get(MODE, self.new)(m)

    # ---- the old era

    def loose(self, m):
        """The old era without sessions."""
        method = m.get("method")
        answer = {"jsonrpc": "2.0", "id": m.get("id")}
        if method == "initialize":
            self.send(200, dict(answer, result={"protocolVersion": OLD, "capabilities": {"tools": {}},
                                                "serverInfo": {"name": "old", "version": "1"}}))
        elif method == "tools/list":
            self.send(200, dict(answer, result={"tools": [TOOL]}))
        elif method == "server/discover":
            self.refuse(400, -32601, "Method not found", m)
        elif method == "tools/call" and MODE == "resume":
            STATE["call"] = m
            self.stream([])
            self.event("id: e-1\nretry: 50\n", None)
        elif method == "tools/call" and MODE == "pings":
            asks = [{"jsonrpc": "2.0", "id": i, "method": "ping"}
                    for i in range(int(m["params"]["arguments"]["text"]))]
            self.send(200, b"".join(b"data: " + json.dumps(x).encode() + b"\n\n"
                                    for x in asks + [self.result(m)]), "text/event-stream")
        elif method == "tools/call":
            ASKED.set()
            self.send(200, self.result(m) if ANSWERED.wait(10) else answer)
        else:
            if m.get("id") == "q1":
                ANSWERED.set()
            self.send(202)

    def old(self, m):
        method = m.get("method")
        if method == "initialize":
            STATE["session"] = "s-%d" % time.monotonic_ns()
            self.send(200, {"jsonrpc": "2.0", "id": m["id"], "result": {
                "protocolVersion": OLD, "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"}}},
                Mcp_Session_Id=STATE["session"])
            return
        session = self.headers.get("Mcp-Session-Id")
        if session is None:
            self.send(400, b"Bad Request: no session", "text/plain")
        elif session != STATE["session"]:
            self.send(404, b"no such session", "text/plain")
        elif self.headers.get("MCP-Protocol-Version") != OLD:
            self.send(400, b"no version", "text/plain")
        elif "id" not in m:
            self.send(202)
        elif method == "tools/list":
            self.send(200, {"jsonrpc": "2.0", "id": m["id"],
                            "result": {"tools": [TOOL]}})
        elif method == "tools/call":
            STATE["calls"] += 1
            if STATE["calls"] == 2:
                STATE["session"] = "forgotten"
                self.send(404, b"no such session", "text/plain")
                return
            token = m["params"]["_meta"]["progressToken"]
            self.stream([
                {"jsonrpc": "2.0", "method": "notifications/progress",
                 "params": {"progressToken": token, "progress": 1}},
                {"jsonrpc": "2.0", "id": "q1", "method": "roots/list"},
                self.result(m)])
        elif "result" in m or "error" in m:
            self.send(202)

    def result(self, m):
        text = m["params"]["arguments"].get("text", "")
        return {"jsonrpc": "2.0", "id": m["id"], "result": {
            "resultType": "complete",
            "content": [{"type": "text", "text": "http: " + text}]}}

    # ---- the new era

    def new(self, m):
        h, p = self.headers, m.get("params", {})
        if h.get("Mcp-Session-Id") is not None:
            self.refuse(400, -32600, "a session", m)
        elif "io.modelcontextprotocol/protocolVersion" not in p.get("_meta",
                                                                    {}):
            self.refuse(400, -32602, "no _meta", m)
        elif h.get("MCP-Protocol-Version") != NEW or \
                h.get("Mcp-Method") != m["method"] or \
                plain(h.get("Mcp-Name")) != p.get("name"):
            self.refuse(400, -32020, "the headers differ", m)
        elif MODE == "shy" and STATE.setdefault("was", 0) == 0:
            STATE["was"] = 1
            self.send(400, {"jsonrpc": "2.0", "id": m["id"], "error": {
                "code": -32022, "message": "no", "data": {"supported": [NEW]}}})
        elif m["method"] == "server/discover":
            self.send(200, {"jsonrpc": "2.0", "id": m["id"], "result": {
                "resultType": "complete", "supportedVersions": [NEW],
                "capabilities": {"tools": {}}}})
        elif m["method"] == "tools/list":
            self.stream([{"jsonrpc": "2.0", "id": m["id"], "result": {
                "resultType": "complete", "tools": [TOOL, BAD],
                "ttlMs": 1000}}])
        elif m["method"] == "tools/call":
            self.call(m)
        else:
            self.refuse(404, -32601, "Method not found", m)

    def call(self, m):
        args = m["params"]["arguments"]
        if MODE == "strict":
            want = args.get("text"), str(args["n"]) if "n" in args else None
            got = (plain(self.headers.get("Mcp-Param-Text")),
                   self.headers.get("Mcp-Param-N"))
            if want != got:
                self.refuse(400, -32020, "%r is not %r" % (got, want), m)
                return
        if MODE == "cut":
            self.stream([])
        elif MODE == "slow":
            try:
                self.stream([])
                self.close_connection = False
                while True:
                    self.wfile.write(b": alive\n\n")
                    self.wfile.flush()
                    time.sleep(0.05)
            except OSError:
                STATE["closed"] += 1
        elif MODE == "big":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            try:
                self.wfile.write(b'{"a":"')
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                pass
        else:
            self.send(200, self.result(m))


def main():
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    os._exit(0)


main()
