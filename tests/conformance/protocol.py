"""The protocol's own suite for clients, in both of its current versions, against hosts of real processes.

protocol.py PROGRAMS NODE_MODULES: each scenario has a host of its own, in which an agent uses the scenario's server."""

import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PROGRAMS, MODULES = map(pathlib.Path, sys.argv[1:])
# Node 22, of the package `node`: the suite asks for it.
CONFORMANCE = [MODULES / "node/bin/node", MODULES / "@modelcontextprotocol/conformance/dist/index.js"]
VERSIONS = ["2025-11-25", "2026-07-28"]
# What is not run, by the beginning of its name. The suite marks these as extensions of the protocol, or as its authorization.
LEFT_OUT = {
    "auth/": "authorization, which is the part of a login and not of the client of a server",
    "sep-2640-": "an extension, skills in resources: no skill is taken from a server",
}


def run(*words):
    return subprocess.run([*CONFORMANCE, *words], capture_output=True, text=True, timeout=120)


def listed():
    """Every scenario for clients, with the versions that it is for."""
    lines = run("list", "--client").stdout.splitlines()
    found = [re.fullmatch(r"\s*- (\S+) \[(.*)\]", line) for line in lines]
    return {one[1]: one[2].split(",") for one in found if one}


def passes(scenario, version):
    """Runs one scenario; gives what it says where it does not pass. One without a check has not passed."""
    command = shlex.join([sys.executable, str(HERE / "protocol_client.py"), str(PROGRAMS)])
    with tempfile.TemporaryDirectory(prefix="cordon-results-") as results:
        words = ["--command", command, "--scenario", scenario, "--spec-version", version, "-o", results, "--timeout", "60000"]
        done = run("client", *words)
        passed = re.search(r"Passed: (\d+)/(\d+), 0 failed", done.stdout + done.stderr)
        if done.returncode == 0 and passed and 0 < int(passed[1]) == int(passed[2]):
            return None
        return done.stdout[-2000:] + done.stderr[-2000:] + "\n".join(details(pathlib.Path(results)))


def details(results):
    """The checks that failed, and what the client said."""
    for file in results.glob("*/checks.json"):
        yield from (json.dumps(check) for check in json.loads(file.read_text()) if check["status"] == "FAILURE")
    for file in results.glob("*/std*.txt"):
        yield file.read_text()[-4000:]


def main():
    scenarios, failed, ran = listed(), [], []
    left_out = {start: [name for name in scenarios if name.startswith(start)] for start in LEFT_OUT}
    for start, names in left_out.items():
        if not names:
            sys.exit(f"protocol: the suite has no scenario {start}; take it off the list")
        print(f"left out: {len(names)} scenarios {start}*, {LEFT_OUT[start]}")
    hidden = {name for names in left_out.values() for name in names}
    for name in sorted(scenarios.keys() - hidden):
        versions = [version for version in VERSIONS if version in scenarios[name]]
        if not versions:
            sys.exit(f"protocol: {name} is for {scenarios[name]}, which is neither run nor left out")
        ran += [(name, version) for version in versions]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for (name, version), why in zip(ran, pool.map(lambda one: passes(*one), ran)):
            print("ok" if why is None else "FAILED", name, version, flush=True)
            failed += [] if why is None else [f"--- {name} {version} ---\n{why}"]
    if failed or len(ran) < 12:
        sys.exit("\n".join(failed) + f"\nprotocol: {len(failed)} of {len(ran)} scenarios failed")


main()
