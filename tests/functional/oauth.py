"""A server of the Model Context Protocol that wants a token, and the authorization server that gives it out (RFC 9728, 8414, 7591, 7636,
8707, 9207), or one that is hostile in one way.

usage: oauth.py ADDRESS MODE SERVER; prints the two ports, then a line for each request."""
import base64, hashlib, json, secrets, sys, threading, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

address, mode, source = sys.argv[1:]
exec(open(source).read().split("\nif len(sys.argv)")[0])
clients, codes, valid, refreshes = {}, {}, set(), set()


def url(port, path=""):
    return f"http://{address}:{port}{path}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send(self, status, document=None, **headers):
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return self.rfile.read(int(self.headers.get("content-length", 0))).decode()

    def log_message(self, *_):
        pass


class Resource(Handler):
    def do_GET(self):
        print("resource", self.path, flush=True)
        # Where the challenge leads, and nowhere else.
        place = "/published/metadata" if mode == "challenge" else "/.well-known/oauth-protected-resource/mcp"
        if self.path != place:
            return self.send(405 if self.path == "/mcp" else 404)
        if mode == "redirect":
            return self.send(302, location=url(authority.server_port, "/elsewhere"))
        if mode == "private":
            return self.send(302, location="http://169.254.169.254/latest/meta-data")
        named = "https://other.example/mcp" if mode == "resource" else url(resource.server_port, "/mcp")
        self.send(200, {"resource": named, "authorization_servers": [url(authority.server_port)],
                        "scopes_supported": ["notes:read"]})

    def do_POST(self):
        message = json.loads(self.body())
        token = self.headers.get("authorization", "-")
        print("mcp", token, message.get("method"), flush=True)
        if token.removeprefix("Bearer ") not in valid:
            challenge = 'Bearer realm="notes"'
            if mode in ("challenge", "astray"):
                server, path = (resource, "/published/metadata") if mode == "challenge" else (authority, "/elsewhere")
                challenge += f', resource_metadata="{url(server.server_port, path)}"'
            return self.send(401, {"error": "no"}, **{"www-authenticate": challenge})
        self.send(200, reply(message)) if "id" in message else self.send(202)


class Authority(Handler):
    def do_GET(self):
        place = urllib.parse.urlsplit(self.path)
        print("authority", place.path, flush=True)
        if place.path == "/.well-known/oauth-authorization-server":
            own = url(authority.server_port)
            document = {
                "issuer": "http://127.0.0.9:1" if mode == "issuer" else own,
                "authorization_endpoint": own + ("/$(touch${IFS}x)" if mode == "shell" else "/authorize"),
                "token_endpoint": "http://10.0.0.1/token" if mode == "inside" else own + "/token",
                "registration_endpoint": own + "/register",
                "code_challenge_methods_supported": ["plain"] if mode == "plain" else ["S256"],
                "authorization_response_iss_parameter_supported": True,
            }
            return self.send(200, document)
        if place.path == "/elsewhere":
            return self.send(200, {"resource": url(resource.server_port, "/mcp"), "authorization_servers": []})
        if place.path != "/authorize":
            return self.send(404)
        asked = dict(urllib.parse.parse_qsl(place.query))
        assert asked["redirect_uri"] in clients[asked["client_id"]] and asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256" and asked["resource"] == url(resource.server_port, "/mcp")
        assert asked["scope"] == "notes:read"
        code = secrets.token_urlsafe(16)
        codes[code] = asked
        answer = {"code": code, "state": "guessed" if mode == "state" else asked["state"],
                  "iss": "http://evil.example" if mode == "iss" else url(authority.server_port)}
        self.send(302, location=asked["redirect_uri"] + "?" + urllib.parse.urlencode(answer))

    def do_POST(self):
        print("authority", self.path, flush=True)
        if self.path == "/register":
            client = secrets.token_urlsafe(8)
            clients[client] = json.loads(self.body())["redirect_uris"]
            return self.send(201, {"client_id": client})
        asked = dict(urllib.parse.parse_qsl(self.body()))
        print("token", asked.get("grant_type"), flush=True)
        assert asked["resource"] == url(resource.server_port, "/mcp") and asked["client_id"] in clients
        if asked["grant_type"] == "authorization_code":
            before = codes.pop(asked["code"])
            challenge = base64.urlsafe_b64encode(hashlib.sha256(asked["code_verifier"].encode()).digest())
            assert challenge.decode().rstrip("=") == before["code_challenge"]
            assert asked["redirect_uri"] == before["redirect_uri"] and asked["client_id"] == before["client_id"]
        else:
            assert asked["refresh_token"] in refreshes
            refreshes.remove(asked["refresh_token"])
        access, refresh = "access-" + secrets.token_urlsafe(24), "refresh-" + secrets.token_urlsafe(24)
        valid.clear()
        valid.add(access)
        refreshes.add(refresh)
        # The first token ends so soon that it is renewed at once.
        seconds = 60 if asked["grant_type"] == "authorization_code" else 3600
        self.send(200, {"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": seconds})


resource = ThreadingHTTPServer((address, 0), Resource)
authority = ThreadingHTTPServer((address, 0), Authority)
print(resource.server_port, authority.server_port, flush=True)
threading.Thread(target=authority.serve_forever, daemon=True).start()
resource.serve_forever()
