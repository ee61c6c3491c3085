"""The webhook channel and the library of Standard Webhooks: it signs what the host takes in, and proves what the host posts.

webhook.py PROGRAMS FOLDER: in a network namespace of its own, or on a machine whose ports 18787 and 18788 are free."""

import datetime
import http.server
import json
import pathlib
import sys
import threading
import urllib.error
import urllib.request

from host import Failed, Host, expect, wait
from standardwebhooks.webhooks import Webhook

PROGRAMS, AT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
INGRESS, RECEIVER = 18787, 18788
# 48 bytes each.
SECRET, OTHER = ("whsec_" + text * 8 for text in ("ZmFrZWtl", "b3RoZXJr"))
heard = []


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        heard.append((dict(self.headers), self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def post(name, text, secrets=(SECRET,), minutes=0, changed=""):
    """Posts a hook of this id, signed with these secrets at a time so many minutes ago; gives the status."""
    at = datetime.datetime.now(tz=datetime.timezone.utc) - datetime.timedelta(minutes=minutes)
    body = json.dumps({"conversation": "c1", "sender": {"id": "u1", "name": "Ann"}, "text": text})
    headers = {
        "webhook-id": name,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(Webhook(secret).sign(name, at, body) for secret in secrets),
    }
    asked = urllib.request.Request(f"http://127.0.0.1:{INGRESS}/hook/in", (body + changed).encode(), headers)
    try:
        return urllib.request.urlopen(asked, timeout=30).status
    except urllib.error.HTTPError as refusal:
        return refusal.code


def linked():
    """An account is added by the command, and its owner linked by a hook."""
    config = AT / "cordon.toml"
    config.write_text('[agent.default]\nmodel = "scripted/hooks"\n')
    host = Host(PROGRAMS, AT, config, "webhook:in")
    with config.open("a") as file:
        file.write(f'[ingress]\nlisten = "127.0.0.1:{INGRESS}"\n')
    answers = f"http://127.0.0.1:{RECEIVER}/answers"
    added = host.ask("channel", "add", "webhook", "in", "--base-url", answers, "--config", config, said=SECRET + "\n")
    expect(f"the account is added: {added}", added.get("ok"))
    host.stop()
    host.start()
    host.answers("hooks", "**It is noon**")
    wait("the account is up", host.is_up)
    expect("a link is taken in", post("msg_link", "/link " + added["link"]) == 200)
    wait("the owner is linked", lambda: "webhook:in:u1" in json.dumps(host.ask("user", "list")))
    wait("the owner is told", lambda: heard)
    return host


def answered(name):
    """The answer to the hook of this id, which the library proves."""
    def found():
        proven = [Webhook(SECRET).verify(body, headers) for headers, body in heard]
        return [one for one in proven if one["reply_to"] == name]
    wait(f"{name} is answered", found)
    return found()


def check(host):
    expect("a hook that the library signed is taken in", post("msg_1", "hello") == 200)
    answer = answered("msg_1")[0]
    expect("its answer is proven by the library", (answer["conversation"], answer["text"]) == ("c1", "It is noon"))
    expect("the same hook is taken in again as nothing new", post("msg_1", "hello") == 200)
    expect("one of two signatures is enough", post("msg_2", "and now?", (OTHER, SECRET)) == 200)
    answered("msg_2")
    print("ok a hook signed by the library is answered once, and the library proves the answer")

    expect("another secret is refused", post("msg_3", "hello", (OTHER,)) == 401)
    expect("a changed body is refused", post("msg_4", "hello", changed=" ") == 401)
    expect("an old hook is refused", post("msg_5", "hello", minutes=6) == 400)
    expect("one from the future is refused", post("msg_6", "hello", minutes=-6) == 400)
    expect("two messages came", len(host.messages()) == 2)
    names = [headers["webhook-id"] for headers, _ in heard]
    expect("no answer came twice", len(set(names)) == len(names))
    print("ok a forged, a changed and an old hook are refused")


AT.mkdir(exist_ok=True)
receiver = http.server.ThreadingHTTPServer(("127.0.0.1", RECEIVER), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
try:
    check(linked())
except Failed as why:
    sys.exit(f"--- {why}; the host's log ---\n" + (AT / "log").read_text()[-6000:])
