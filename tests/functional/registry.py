"""A registry, over TLS and without: a Python package and those in the folder `wheels`, an npm package, a git repository, and a file
that takes its time.

usage: registry.py ADDRESS CERTIFICATE KEY FOLDER; prints its two ports, then a line for each request."""
import base64, hashlib, http.server, io, json, os, ssl, subprocess, sys, tarfile, threading, time, zipfile

address, certificate, key, folder = sys.argv[1:]


def wheel():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        out.writestr("harbour.py", "TIDE = 'high'\n")
        out.writestr("harbour-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: harbour\nVersion: 1.0\n")
        out.writestr("harbour-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        out.writestr("harbour-1.0.dist-info/RECORD", "harbour.py,,\n")
    return made.getvalue()


def tarball():
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as out:
        for name, text in (("package.json", '{"name":"harbour","version":"1.0.0"}'), ("index.js", "module.exports = 'high'\n")):
            entry = tarfile.TarInfo("package/" + name)
            entry.size = len(text)
            out.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


def repository():
    work, bare = os.path.join(folder, "work"), os.path.join(folder, "harbour.git")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@a.example", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q", work], ["-C", work, "commit", "-q", "--allow-empty", "-m", "tide"],
                  ["clone", "-q", "--bare", work, bare], ["-C", bare, "update-server-info"]):
        subprocess.run(git + words, check=True)
    return bare


def indices():
    """Each project's page of the simple index."""
    pages, wheels = {}, os.path.join(folder, "wheels")
    for name in sorted(os.listdir(wheels)) if os.path.isdir(wheels) else ():
        digest = hashlib.sha256(open(os.path.join(wheels, name), "rb").read()).hexdigest()
        project = name.split("-")[0].replace("_", "-").lower()
        pages[project] = pages.get(project, "") + f'<a href="/{name}#sha256={digest}">{name}</a>'
    return pages


LARGE = bytes(256 * 1024)
WHEEL, TARBALL, REPOSITORY, INDICES = wheel(), tarball(), repository(), indices()


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        print(self.command, self.path, flush=True)
        port = self.server.server_address[1]
        path = self.path.split("?")[0]
        if path == "/simple/harbour/":
            digest = hashlib.sha256(WHEEL).hexdigest()
            self.send(200, f'<a href="/harbour-1.0-py3-none-any.whl#sha256={digest}">x</a>'.encode(), "text/html")
        elif path.startswith("/simple/") and path.split("/")[2] in INDICES:
            self.send(200, INDICES[path.split("/")[2]].encode(), "text/html")
        elif os.path.isfile(os.path.join(folder, "wheels", path.lstrip("/"))):
            self.send(200, open(os.path.join(folder, "wheels", path.lstrip("/")), "rb").read())
        elif path.endswith(".whl"):
            self.send(200, WHEEL)
        elif path == "/harbour":
            dist = {"tarball": f"{self.server.scheme}://{address}:{port}/harbour-1.0.0.tgz",
                    "integrity": "sha512-" + base64.b64encode(hashlib.sha512(TARBALL).digest()).decode()}
            version = {"name": "harbour", "version": "1.0.0", "dist": dist}
            document = {"name": "harbour", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
            self.send(200, json.dumps(document).encode(), "application/json")
        elif path.endswith(".tgz"):
            self.send(200, TARBALL)
        elif path.startswith("/harbour.git/"):
            file = os.path.join(folder, path.lstrip("/"))
            self.send(200, open(file, "rb").read()) if os.path.isfile(file) else self.send(404, b"")
        elif path == "/ws":
            self.echo()
        elif path == "/slow":
            self.send_response(200)
            self.send_header("content-length", str(64 * 1024 * 1024))
            self.end_headers()
            for _ in range(1024):
                self.wfile.write(b"x" * 65536)
                time.sleep(0.02)
        elif path == "/large":
            self.send_response(200)
            self.send_header("content-length", str(256 * 1024 * 1024))
            self.end_headers()
            for _ in range(1024):
                self.wfile.write(LARGE)
        else:
            self.send(200, b"here\n")

    def echo(self):
        key = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send_response(101)
        for name, value in (("upgrade", "websocket"), ("connection", "Upgrade"), ("sec-websocket-accept", accept)):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        while head := self.rfile.read(2):
            length, extended = head[1] & 127, b""
            if length == 126:
                extended = self.rfile.read(2)
                length = int.from_bytes(extended, "big")
            mask, body = self.rfile.read(4), self.rfile.read(length)
            body = bytes(byte ^ mask[at % 4] for at, byte in enumerate(body))
            self.wfile.write(bytes([head[0], head[1] & 127]) + extended + body)
            if head[0] & 15 == 8:
                return

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        print(self.command, self.path, body.decode(), flush=True)
        self.send(200, b"taken\n")

    def send(self, status, body, kind="application/octet-stream"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer((address, 0), Registry)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.handle_error = lambda *_: None
plain = http.server.ThreadingHTTPServer((address, 0), Registry)
server.scheme, plain.scheme = "https", "http"
threading.Thread(target=plain.serve_forever, daemon=True).start()
print(server.server_address[1], plain.server_address[1], flush=True)
server.serve_forever()
