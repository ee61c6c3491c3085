"""The client that the protocol's own suite runs: a host whose agent uses the suite's server as one of its own.

protocol_client.py PROGRAMS URL: the suite puts the URL behind the command, and the scenario's calls in the environment."""

import json
import os
import pathlib
import sys
import tempfile
import threading
import time
import urllib.parse

from host import Failed, Host, expect

PROGRAMS, URL = pathlib.Path(sys.argv[1]), sys.argv[2]
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
# The arguments of the tools that a scenario calls; those of other scenarios get what their schemas ask for.
ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
SAMPLES = {"string": "us-west1", "integer": 1, "number": 1.5, "boolean": True, "object": {}, "array": [], "null": None}


def arguments(tool):
    schema = tool["schema"]
    asked = {name: schema.get("properties", {}).get(name, {}) for name in schema.get("required", [])}
    return {name: SAMPLES.get(own.get("type"), "x") for name, own in asked.items()}


def calls(tools):
    """The calls of this scenario, in order."""
    if "toolCalls" in CONTEXT:
        return [(call["name"], call["arguments"]) for call in CONTEXT["toolCalls"]]
    ARGUMENTS["json_schema_echo"] = {"schema": next((tool["schema"] for tool in tools if "2020_12" in tool["name"]), {})}
    return [(tool["name"], ARGUMENTS.get(tool["name"], arguments(tool))) for tool in tools]


def answers(host, over):
    """The person: says yes to each form of the server, with the form's own values."""
    while not over.is_set():
        for question in host.ask("approvals", "list").get("approvals", []):
            if question["tool"] == "mcp_ask":
                print("answered", host.ask("approvals", "approve", question["id"], "--yes"), flush=True)
        time.sleep(0.1)


def main(at):
    port = urllib.parse.urlsplit(URL).port
    config = at / "cordon.toml"
    config.write_text(
        f'[agent.default]\nmodel = "offline/hijackable"\nprofile = "power-user"\n[egress]\nprivate_hosts = ["localhost:{port}"]\n'
        f'[mcp.suite]\nurl = "{URL}"\nagents = ["default"]\nseconds = 10\n'
    )
    host = Host(PROGRAMS, at, config, "none:none")
    over = threading.Event()
    person = threading.Thread(target=answers, args=(host, over))
    person.start()
    try:
        used(host)
    finally:
        over.set()
        person.join()


def used(host):
    said = host.ask("mcp", "approve", "suite", "--yes")
    expect(f"the server is spoken with: {said}", "approved" in said)
    tools = host.ask("mcp", "tools", "suite").get("tools", [])
    for number, (name, given) in enumerate(calls(tools)):
        # A session of its own: what a stranger answered makes the next call in the same one an owner's to approve.
        words = f"echo: please !!CALL suite__{name} {json.dumps(given)}!!"
        print(name, host.ask("chat", "--session", f"s{number}", "-m", words), flush=True)
    for kind in ("resource", "prompt"):
        for one in host.ask("mcp", kind, "suite").get(kind + "s", []):
            print(host.ask("mcp", kind, "suite", one["name"]))


with tempfile.TemporaryDirectory(prefix="cordon-protocol-") as folder:
    os.chmod(folder, 0o755)
    try:
        main(pathlib.Path(folder))
    except Failed as failed:
        sys.exit(f"protocol: {failed}")
