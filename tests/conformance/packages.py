"""pip and npm in a jail with a way out, against a registry: pip over TLS, npm without, since it takes no address for a name in TLS.

packages.py PROGRAMS FOLDER: in a network namespace of its own, or on any machine."""

import pathlib
import subprocess
import sys

from host import Failed, Host, expect

PROGRAMS, AT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
# An address of this machine that no program takes for its own jail's.
ADDRESS = "127.0.0.2"
HERE = pathlib.Path(__file__).parent


def registry():
    """Starts a registry; gives its process and its two ports, that of TLS first."""
    certificate, key = AT / "certificate.pem", AT / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9"]
    words += ["-subj", "/CN=registry", "-addext", f"subjectAltName=IP:{ADDRESS}", "-addext", "basicConstraints=critical,CA:false"]
    subprocess.run([*words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    script = HERE.parent / "functional/registry.py"
    words = [sys.executable, script, ADDRESS, certificate, key, AT]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    return child, *map(int, child.stdout.readline().split())


def installed(what, script, said):
    """Runs a script in a jail, in a workspace of its own, and expects what it says."""
    words = [PROGRAMS / "agentctl", "--socket", AT / "run/control.sock", "run", "--", "sh", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    expect(f"{what}: {done.stdout} {done.stderr}", said in done.stdout)
    print(f"ok {what} installs a package in a jail, through the proxy, gate and egress")


def main():
    AT.mkdir(parents=True, exist_ok=True)
    served, port, plain = registry()
    try:
        config = AT / "cordon.toml"
        config.write_text(
            f'[agent.default.network]\nmode = "proxy"\nallow = ["{ADDRESS}:{port}", "{ADDRESS}:{plain}"]\n'
            f'[egress]\nauthorities_file = "certificate.pem"\nprivate_hosts = ["{ADDRESS}:{port}", "{ADDRESS}:{plain}"]\n'
        )
        Host(PROGRAMS, AT, config, "none:none")
        at = f"https://{ADDRESS}:{port}"
        pip = f"python3 -m venv v && v/bin/pip install -q --index-url {at}/simple harbour"
        installed("pip", f"{pip} && v/bin/python -c 'import harbour; print(harbour.TIDE)'", "high")
        npm = f"npm install --registry http://{ADDRESS}:{plain}/ --silent harbour >/dev/null"
        installed("npm", f"{npm} && node -e 'console.log(require(\"harbour\"))'", "high")
    finally:
        served.kill()


try:
    main()
except Failed as failed:
    sys.exit(f"packages: {failed}")
