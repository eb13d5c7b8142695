#!/usr/bin/env python3
"""A tool server that wants a sign-in, and its authorization server, on one
port, which it prints on standard output.

usage: signing.py MODE

  plain          as the specification has it; a token refreshes once, and one
                 that comes again revokes the whole family
  stepup         a call needs the scope "write", which the first token lacks
  forever        like stepup, and "write" is never granted
  refuses        no refresh token is good
  otherresource  the metadata speaks for another server
  otherissuer    the metadata of the issuer names another one
  nopkce         the issuer does not offer S256
  wrongstate     the browser comes back with another state
  wrongissuer    the browser comes back from another issuer
  noissuer       the issuer's name was promised to come back, and does not
  moved          the metadata of the issuer is elsewhere
  big            the metadata of the issuer is too long
  far            the metadata of the server is at another origin

POST /expire ends all access tokens; GET /seen says what was counted and which
secrets were given out.  Ends when standard input is closed.  Standard library
only.
"""
import base64
import hashlib
import json
import os
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[1]
LOCK = threading.Lock()
SEEN = {"register": 0, "authorize": 0, "refresh": 0, "revoked": 0, "secrets": [], "elsewhere": 0}
CODES, ACCESS, REFRESH, SPENT = {}, {}, {}, {}


def secret():
    text = base64.urlsafe_b64encode(os.urandom(18)).decode()
    SEEN["secrets"].append(text)
    return text


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def send(self, status, body=None, **headers):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        self.wfile.write(data)

    def base(self):
        return "http://127.0.0.1:%d" % self.server.server_address[1]

    # ---- metadata

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        if parts.path == "/seen":
            self.send(200, SEEN)
        elif parts.path == "/.well-known/oauth-protected-resource/mcp":
            of = "http://127.0.0.1:1" if MODE == "otherresource" else self.base()
            self.send(200, {"resource": of + "/mcp", "authorization_servers": [self.base()],
                            "scopes_supported": ["read"]})
        elif parts.path == "/.well-known/oauth-authorization-server":
            self.metadata()
        elif parts.path == "/elsewhere":
            SEEN["elsewhere"] += 1
            self.send(200, {})
        elif parts.path == "/authorize":
            self.authorize(dict(urllib.parse.parse_qsl(parts.query)))
        else:
            self.send(404)

    def metadata(self):
        b = self.base()
        if MODE == "moved":
            self.send(302, Location=b + "/elsewhere")
            return
        self.send(200, {
            "issuer": "https://other.example" if MODE == "otherissuer" else b,
            "authorization_endpoint": b + "/authorize", "token_endpoint": b + "/token",
            "registration_endpoint": b + "/register",
            "code_challenge_methods_supported": ["plain" if MODE == "nopkce" else "S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "scopes_supported": ["read", "write", "offline_access"],
            "authorization_response_iss_parameter_supported": True,
            "padding": "x" * (100000 if MODE == "big" else 0)})

    def authorize(self, q):
        SEEN["authorize"] += 1
        assert q["response_type"] == "code" and q["code_challenge_method"] == "S256"
        assert q["resource"] == self.base() + "/mcp" and q["client_id"].startswith("client-")
        assert "offline_access" in q["scope"].split()
        code = secret()
        CODES[code] = q
        back = {"code": code, "state": "no" if MODE == "wrongstate" else q["state"]}
        if MODE != "noissuer":
            back["iss"] = "https://other.example" if MODE == "wrongissuer" else self.base()
        self.send(302, Location=q["redirect_uri"] + "?" + urllib.parse.urlencode(back))

    # ---- tokens

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/expire":
            with LOCK:
                ACCESS.clear()
            self.send(200)
        elif self.path == "/register":
            SEEN["register"] += 1
            self.send(201, dict(json.loads(body), client_id="client-%d" % SEEN["register"]))
        elif self.path == "/token":
            with LOCK:
                self.token(dict(urllib.parse.parse_qsl(body.decode())))
        else:
            self.mcp(json.loads(body))

    def token(self, q):
        assert q["resource"] == self.base() + "/mcp" and q["client_id"].startswith("client-")
        if q["grant_type"] == "authorization_code":
            asked = CODES.pop(q["code"])
            digest = hashlib.sha256(q["code_verifier"].encode()).digest()
            SEEN["secrets"].append(q["code_verifier"])
            assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
            assert q["redirect_uri"] == asked["redirect_uri"]
            self.grant(secret(), asked["scope"])
            return
        SEEN["refresh"] += 1
        token = q["refresh_token"]
        if token in SPENT:  # stolen: nothing of the family is good any more
            SEEN["revoked"] += 1
            for tokens in (ACCESS, REFRESH):
                for k in [k for k, v in tokens.items() if v[0] == SPENT[token]]:
                    del tokens[k]
        if MODE == "refuses" or token not in REFRESH:
            self.send(400, {"error": "invalid_grant", "error_description": "it was revoked"})
            return
        family, scope = REFRESH.pop(token)
        SPENT[token] = family
        self.grant(family, scope)

    def grant(self, family, scope):
        access, refresh = secret(), secret()
        if MODE == "forever":
            scope = "read"
        ACCESS[access] = family, scope
        REFRESH[refresh] = family, scope
        self.send(200, {"access_token": access, "token_type": "Bearer", "expires_in": 3600,
                        "refresh_token": refresh, "scope": scope})

    # ---- the server

    def mcp(self, m):
        token = self.headers.get("Authorization", "").partition("Bearer ")[2]
        with LOCK:
            held = ACCESS.get(token)
        if held is None:
            where = "https://far.example/x" if MODE == "far" else \
                self.base() + "/.well-known/oauth-protected-resource/mcp"
            self.send(401, WWW_Authenticate='Bearer resource_metadata="%s"' % where)
            return
        result = {"resultType": "complete"}
        if m["method"] == "server/discover":
            result.update(supportedVersions=["2026-07-28"], capabilities={"tools": {}})
        elif m["method"] == "tools/list":
            result["tools"] = [{"name": "add", "inputSchema": {"type": "object"}}]
        elif MODE in ("stepup", "forever") and "write" not in held[1].split():
            self.send(403, WWW_Authenticate='Bearer error="insufficient_scope", scope="write"')
            return
        else:
            result["content"] = [{"type": "text", "text": "scopes: " + held[1]}]
        self.send(200, {"jsonrpc": "2.0", "id": m.get("id"), "result": result})


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    os._exit(0)


main()
