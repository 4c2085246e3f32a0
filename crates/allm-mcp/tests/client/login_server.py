"""An MCP server by HTTP that wants a login, and the login server beside it, on one port that it says on its first line."""

import base64
import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

STATE = {"challenge": None, "tokens": 0}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, value=None, **headers):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content_Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        here = f"http://127.0.0.1:{self.server.server_address[1]}"
        if self.path.startswith("/.well-known/oauth-protected-resource"):
            self.reply(200, {"resource": f"{here}/mcp", "authorization_servers": [here]})
        elif self.path == "/.well-known/oauth-authorization-server":
            self.reply(200, {
                "issuer": here,
                "authorization_endpoint": f"{here}/authorize",
                "token_endpoint": f"{here}/token",
                "registration_endpoint": f"{here}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
            })
        elif self.path.startswith("/authorize?"):
            asked = parse_qs(self.path.partition("?")[2])
            STATE["challenge"] = asked["code_challenge"][0]
            self.reply(302, Location=f"{asked['redirect_uri'][0]}?code=opensesame&state={asked['state'][0]}")
        else:
            self.reply(405 if self.path == "/mcp" else 404)

    def do_DELETE(self):
        self.reply(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/register":
            asked = json.loads(body)
            self.reply(201, {**asked, "client_id": "registered"})
        elif self.path == "/token":
            self.token({name: values[0] for name, values in parse_qs(body.decode()).items()})
        elif self.headers.get("Authorization") != f"Bearer token-{STATE['tokens']}":
            here = f"http://127.0.0.1:{self.server.server_address[1]}"
            where = f"{here}/.well-known/oauth-protected-resource"
            self.reply(401, WWW_Authenticate=f'Bearer resource_metadata="{where}"')
        else:
            self.message(json.loads(body))

    def token(self, asked):
        if asked["grant_type"] == "authorization_code":
            digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
            proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            if asked["code"] != "opensesame" or proof != STATE["challenge"]:
                self.reply(400, {"error": "invalid_grant"})
                return
        STATE["tokens"] += 1
        self.reply(200, {
            "access_token": f"token-{STATE['tokens']}", "token_type": "Bearer",
            "refresh_token": "again", "expires_in": 3600,
        })

    def message(self, message):
        method = message.get("method")
        if method == "server/discover":
            self.reply(400)
        elif method == "initialize":
            self.result(message, {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            })
        elif method == "tools/list":
            self.result(message, {"tools": [{"name": "forget", "inputSchema": {"type": "object"}}]})
        elif method == "tools/call":
            token = self.headers["Authorization"]
            # What was given out before is good no more.
            STATE["tokens"] += 1
            self.result(message, {"content": [{"type": "text", "text": token}]})
        else:
            self.reply(202)

    def result(self, message, result):
        self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
