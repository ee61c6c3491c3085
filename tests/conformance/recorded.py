"""A listener between a client and the gateway: passes each request on as it is, and keeps what was asked. It changes
nothing; it is there because a client does not tell what it gave to a model.

recorded.py PORT GATEWAY FILE: listens on 127.0.0.1:PORT until it is ended; FILE gets one line of JSON for each request."""

import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, gateway, kept = int(sys.argv[1]), sys.argv[2], sys.argv[3]


class Between(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(kept, "ab") as file:
            file.write(body.replace(b"\n", b" ") + b"\n")
        names = ("Content-Type", "Authorization")
        headers = {name: self.headers[name] for name in names if self.headers[name]}
        try:
            reply = urllib.request.urlopen(urllib.request.Request(gateway + self.path, body, headers), timeout=60)
        except urllib.error.HTTPError as refused:
            reply = refused
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.headers.get("Content-Type", "application/json"))
        self.end_headers()
        while piece := reply.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", port), Between).serve_forever()
