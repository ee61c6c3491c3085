"""The registries of Python and Node over TLS, with what lies in two folders: wheels as a simple index, tarballs as packuments.

package_registry.py LOCK: prints the packages of npm's lock, each with its version.
package_registry.py ADDRESS CERTIFICATE KEY WHEELS TARBALLS: prints a line once it listens. On port 443 at that address."""

import base64
import hashlib
import http.server
import json
import pathlib
import re
import ssl
import sys
import tarfile
import urllib.parse

FILES, NPM = "https://files.pythonhosted.org", "https://registry.npmjs.org"
# What npm looks at in a version.
KEPT = ["name", "version", "dependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta", "bin", "engines", "os", "cpu"]


def indices(folder):
    """Each project's page of the simple index."""
    pages = {}
    for wheel in sorted(folder.glob("*.whl")):
        project = re.sub(r"[-_.]+", "-", wheel.name.split("-")[0]).lower()
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        pages.setdefault(project, []).append(f'<a href="{FILES}/{wheel.name}#sha256={digest}">{wheel.name}</a>')
    return {name: "<!doctype html>" + "<br>".join(links) for name, links in pages.items()}


def described(tarball):
    """The package.json of a tarball, whose folder is not the same in all."""
    with tarfile.open(tarball) as opened:
        named = [entry for entry in opened if re.fullmatch(r"[^/]+/package\.json", entry.name)]
        return json.load(opened.extractfile(named[0]))


def packuments(folder):
    """Each package's versions."""
    found = {}
    for tarball in sorted(folder.glob("*.tgz")):
        own = described(tarball)
        version = {key: own[key] for key in KEPT if key in own}
        integrity = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
        version["dist"] = {"tarball": f"{NPM}/-/{tarball.name}", "integrity": f"sha512-{integrity}"}
        package = found.setdefault(own["name"], {"name": own["name"], "dist-tags": {}, "versions": {}})
        package["versions"][own["version"]] = version
        package["dist-tags"]["latest"] = own["version"]
    return found


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = urllib.parse.unquote(self.path.split("?")[0])
        name = path.rsplit("/", 1)[-1]
        if path.startswith("/simple/") and path.endswith("/") and path[8:-1] in INDICES:
            return self.give(INDICES[path[8:-1]].encode(), "text/html")
        if path[1:] in PACKUMENTS:
            return self.give(json.dumps(PACKUMENTS[path[1:]]).encode(), "application/json")
        if path == "/a-page":
            return self.give(b"<html><head><title>Tides</title></head><body><p>High water is at noon.</p></body></html>", "text/html")
        for folder, suffix in ((WHEELS, ".whl"), (TARBALLS, ".tgz")):
            if name.endswith(suffix) and (folder / name).is_file():
                return self.give((folder / name).read_bytes(), "application/octet-stream")
        return self.give(b"not here\n", "text/plain", 404)

    def give(self, body, kind, status=200):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def locked(lock):
    packages = json.loads(pathlib.Path(lock).read_text())["packages"]
    return sorted({f"{path.rsplit('node_modules/', 1)[1]}@{own['version']}" for path, own in packages.items() if path})


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print("\n".join(locked(sys.argv[1])))
        sys.exit()
    address, certificate, key, *folders = sys.argv[1:]
    WHEELS, TARBALLS = map(pathlib.Path, folders)
    INDICES, PACKUMENTS = indices(WHEELS), packuments(TARBALLS)
    server = http.server.ThreadingHTTPServer((address, 443), Registry)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *_: None
    print("ready", flush=True)
    server.serve_forever()
