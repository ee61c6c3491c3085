"""Real servers of the protocol as a host's: added, installed by pip and npm from a registry, approved, and used by an agent.

servers.py PROGRAMS FOLDER WHEELS TARBALLS: as root, where /etc/hosts has the registries' names at ADDRESS and port 443 of it is free."""

import json
import os
import pathlib
import subprocess
import sys

from host import Failed, Host, expect, wait

PROGRAMS, AT, WHEELS, TARBALLS = map(pathlib.Path, sys.argv[1:])
# An address of this machine that no program takes for its own jail's.
ADDRESS = "127.0.0.2"
NAMES = ["pypi.org", "files.pythonhosted.org", "registry.npmjs.org"]
HERE = pathlib.Path(__file__).parent
NODE = "npm:@modelcontextprotocol/server-"
VERSIONS = json.loads((HERE / "servers.json").read_text())["dependencies"]
# For each server its package, the options that it is added with, and the arguments of its program.
SERVERS = {
    "time": ("pypi:mcp-server-time", [], ["--local-timezone=Europe/Berlin"]),
    "git": ("pypi:mcp-server-git", ["--workspace"], []),
    "fetch": ("pypi:mcp-server-fetch", ["--network", "pypi.org:443"], ["--ignore-robots-txt"]),
    "everything": (NODE + "everything", [], []),
    "filesystem": (NODE + "filesystem", ["--workspace"], ["/workspace"]),
}
# For each server a file of its own below the state directory.
INSTALLED = {
    "time": "site/mcp_server_time/server.py",
    "git": "site/mcp_server_git/server.py",
    "fetch": "site/mcp_server_fetch/server.py",
    "everything": "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
    "filesystem": "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
}
# Raw: where there is Node, the server else runs `npm install` in its own folder as it meets its first page.
PAGE = {"url": "https://pypi.org/a-page", "raw": True}
REFUSED = "its files are not those that were installed"


def versioned(package):
    """The package in the version that the lists of this suite fix."""
    kind, name = package.split(":")
    if kind == "npm":
        return f"{package}@{VERSIONS[name]}"
    lines = (HERE / "servers.txt").read_text().split()
    return f"{kind}:" + next(line for line in lines if line.startswith(name + "=="))


def registry():
    """Starts the registry; gives its process."""
    certificate, key = AT / "certificate.pem", AT / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9"]
    named = ",".join(f"DNS:{name}" for name in NAMES)
    words += ["-subj", "/CN=registry", "-addext", f"subjectAltName={named}", "-addext", "basicConstraints=critical,CA:false"]
    subprocess.run([*words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    words = [sys.executable, HERE / "package_registry.py", ADDRESS, certificate, key, WHEELS, TARBALLS]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    expect("the registry listens", child.stdout.readline() == "ready\n")
    return child


def configured():
    reached = json.dumps([f"{name}:443" for name in NAMES])
    config = AT / "cordon.toml"
    config.write_text(
        '[agent.default]\nmodel = "offline/hijackable"\nprofile = "power-user"\n'
        f'[egress]\nauthorities_file = "certificate.pem"\nprivate_hosts = {reached}\n'
    )
    for name, (package, options, arguments) in SERVERS.items():
        words = [PROGRAMS / "agentctl", "mcp", "add", name, "--config", config, *options, "--", versioned(package), *arguments]
        done = subprocess.run(words, capture_output=True, text=True)
        expect(f"{name} is added: {done.stdout} {done.stderr}", done.returncode == 0)
    return config


class Agent:
    """An agent of the host, each of whose calls is a session of its own."""

    def __init__(self, host, workspace):
        self.host, self.workspace, self.sessions = host, workspace, 0

    def call(self, tool, args):
        """Has the agent call a tool; gives the call, and the end of the reply, which is what the tool gave back."""
        self.sessions += 1
        words = f"echo: please !!CALL {tool} {json.dumps(args)}!!"
        session = ["--session", f"s{self.sessions}", "--workspace", self.workspace]
        ended = self.host.ask("chat", *session, "-m", words)
        calls = ended.get("calls") or [{}]
        return calls[0], ended.get("reply", "").split("!!\n", 1)[-1]

    def gets(self, tool, args, *said):
        call, reply = self.call(tool, args)
        expect(f"{tool} {args} gives {said}: {call} {reply}", call.get("outcome") == "success" and all(part in reply for part in said))

    def fails(self, tool, args, *said):
        call, reply = self.call(tool, args)
        expect(f"{tool} {args} fails with {said}: {call} {reply}", call.get("outcome") == "error" and all(part in reply for part in said))


def install(host):
    for name in SERVERS:
        said = host.ask("mcp", "approve", name, "--yes")
        expect(f"{name} is installed and approved: {said}", said.get("approved"))
        tools = host.ask("mcp", "tools", name).get("tools", [])
        expect(f"{name} lists tools: {tools}", tools)
        print(f"ok {name} is installed and has {len(tools)} tools, of which {sum(tool['state'] == 'approved' for tool in tools)} are approved")


def used(agent, workspace):
    agent.gets("time__get_current_time", {"timezone": "Asia/Tokyo"}, '"timezone": "Asia/Tokyo"', "+09:00")
    agent.fails("time__get_current_time", {"timezone": "Nowhere/Else"}, "Nowhere/Else")
    agent.gets("everything__echo", {"message": "a word"}, "a word")
    agent.gets("mcp_read", {"server": "everything"}, "://")
    agent.gets("everything__get-sum", {"a": 19, "b": 23}, "42")
    agent.gets("filesystem__read_text_file", {"path": "/workspace/note.txt"}, "harbour-light")
    agent.gets("filesystem__write_file", {"path": "/workspace/made.txt", "content": "by a server"}, "made.txt")
    expect("the file is written", (workspace / "made.txt").read_text() == "by a server")
    agent.fails("filesystem__read_text_file", {"path": "/etc/passwd"}, "outside allowed directories")
    agent.gets("git__git_status", {"repo_path": "/workspace"}, "On branch main", "made.txt")
    agent.gets("fetch__fetch", PAGE, "High water is at noon")
    agent.fails("fetch__fetch", {**PAGE, "url": "https://files.pythonhosted.org/a-page"})
    print("ok an agent uses each of them, and one that may not reach a file or a host does not")


def changed(host, agent):
    """A byte of one file of each is another. Those that run are ended first, with the gate."""
    host.kill("gate")
    wait("the gate is back", lambda: host.is_ready() and host.ask("mcp", "list").get("ok"))
    for name, file in INSTALLED.items():
        found = [path for path in (AT / "state/runner").glob(f"*/{file}")]
        expect(f"{name} is installed below the state directory: {found}", len(found) == 1)
        text = found[0].read_bytes()
        found[0].write_bytes(text + b"\n")
        call, reply = agent.call(*USE[name])
        expect(f"{name} is refused: {call} {reply}", REFUSED in reply and call.get("outcome") == "error")
        found[0].write_bytes(text)
    print("ok none of them is started once a byte of its files is another")


USE = {
    "time": ("time__get_current_time", {"timezone": "Asia/Tokyo"}),
    "git": ("git__git_status", {"repo_path": "/workspace"}),
    "fetch": ("fetch__fetch", PAGE),
    "everything": ("everything__echo", {"message": "a word"}),
    "filesystem": ("filesystem__read_text_file", {"path": "/workspace/note.txt"}),
}


def made():
    """The workspace, which is a repository."""
    workspace = AT / "workspace"
    workspace.mkdir()
    (workspace / "note.txt").write_text("harbour-light\n")
    git = ["git", "-C", workspace, "-c", "user.name=a", "-c", "user.email=a@a.example"]
    for words in (["init", "-q", "-b", "main"], ["add", "note.txt"], ["commit", "-q", "-m", "a note"]):
        subprocess.run([*git, *words], check=True)
    return workspace


def main():
    AT.mkdir(parents=True, exist_ok=True)
    os.chmod(AT, 0o755)
    served = registry()
    try:
        host = Host(PROGRAMS, AT, configured(), "none:none")
        install(host)
        workspace = made()
        agent = Agent(host, workspace)
        used(agent, workspace)
        changed(host, agent)
    finally:
        served.kill()


try:
    main()
except Failed as failed:
    sys.exit(f"mcp-servers: {failed}")
