"""The e-mail channel against Dovecot and Postfix: from the link of an owner to the answers that a person's mailbox gets.

mail.py PROGRAMS FOLDER: as root, in a network namespace of its own or on a machine whose ports 18143 to 18526 are free."""

import base64
import email
import hashlib
import json
import os
import pathlib
import random
import socket
import sys
import threading
import time

from host import Failed, Host, expect, wait
from mail_servers import FAILED, IMAP, PASSWORD, SUBMISSION, Servers

PROGRAMS, AT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
BETWEEN = 18466
AGAIN = 6  # deaths of the process while mail comes


class Between:
    """A listener between the host and submission. While it cuts, it ends a connection once the server answers to a whole mail."""

    def __init__(self):
        self.cuts = False
        self.listener = socket.create_server(("127.0.0.1", BETWEEN))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            ours, _ = self.listener.accept()
            try:
                theirs = socket.create_connection(("127.0.0.1", SUBMISSION))
            except OSError:
                ours.close()
                continue
            mailed = threading.Event()
            threading.Thread(target=self.carry, args=(ours, theirs, mailed, True), daemon=True).start()
            threading.Thread(target=self.carry, args=(theirs, ours, mailed, False), daemon=True).start()

    def carry(self, source, target, mailed, outgoing):
        try:
            while piece := source.recv(65536):
                if not outgoing and mailed.is_set() and self.cuts:
                    break
                target.sendall(piece)
                # Nothing but a mail is as long as this.
                if outgoing and len(piece) > 600:
                    mailed.set()
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def answers():
    """The mails that ann got, by the id of the mail that each answers."""
    found = {}
    for text in servers.received().values():
        mail = email.message_from_string(text)
        found.setdefault(mail["In-Reply-To"], []).append(mail)
    return found


numbers = iter(range(1, 10_000))


def write(words, fields="", **way):
    """Ann writes to the agent. Returns the id of her mail."""
    name = f"<{next(numbers)}.{random.getrandbits(32):x}@people.test>"
    head = f"From: Ann <ann@people.test>\nTo: agent@own.test\nSubject: A question\nMessage-ID: {name}\n{fields}"
    servers.deliver(f"{head}\n{words}\n", **way)
    return name


def answered(name, count=1):
    wait(f"{name} is answered", lambda: len(answers().get(name, [])) >= count)
    return answers()[name]


def linked():
    """An account is added, and its owner linked by a mail."""
    config = AT / "cordon.toml"
    hosts = f'["127.0.0.1:{IMAP}", "127.0.0.1:{BETWEEN}"]'
    config.write_text(f'[credproxy]\nprivate_hosts = {hosts}\n[agent.default]\nmodel = "scripted/mail"\n')
    roots = AT / "state/credproxy/extra-roots.pem"
    host = Host(PROGRAMS, AT, config, "email:post")
    added = host.ask(
        "channel", "add", "email", "post", "--address", "agent@own.test", "--imap", f"imap://127.0.0.1:{IMAP}", "--smtp",
        f"smtps://127.0.0.1:{BETWEEN}", "--authserv", "mx.own.test", "--config", config, said=PASSWORD + "\n")
    if not added.get("ok"):
        raise Failed(f"the account is not added: {added}")
    host.stop()
    roots.write_bytes((AT / "servers/ca.pem").read_bytes())
    os.chmod(roots, 0o644)
    host.start()
    host.answers("mail", "**It is noon**, see https://a.example/")
    wait("the account is up", host.is_up)
    # What is in the mailbox before its first position is old: the position is durable a moment after the account is up.
    time.sleep(1)
    write("/link " + added["link"])
    wait("the owner is linked", lambda: "email:post:ann@people.test" in json.dumps(host.ask("user", "list")))
    return host


def plain(host):
    name = write("What time is it?\n\nOn Monday, the agent wrote:\n> something old")
    mail = answered(name)[0]
    expect("it is marked as automatic", mail["Auto-Submitted"] == "auto-replied")
    expect("it goes to its sender alone", (mail["To"], mail["Cc"]) == ("ann@people.test", None))
    expect("it has the subject of its thread", mail["Subject"] == "Re: A question")
    kinds = [part.get_content_type() for part in mail.walk()]
    expect("it is text and HTML", kinds == ["multipart/alternative", "text/plain", "text/html"])
    html = mail.get_payload(1).get_payload(decode=True).decode()
    expect("its address is code", "<code>https://a.example/</code>" in html and "<strong>It is noon</strong>" in html)
    again = write("And now?", f"In-Reply-To: {mail['Message-ID']}\nReferences: {name} {mail['Message-ID']}\n")
    references = answered(again)[0]["References"]
    expect("a thread goes on", name in references and again in references)
    sent = servers.at / "mail/own.test/agent/.Gesendet/cur"
    wait("a copy of each is in the mailbox of sent mail", lambda: len(list(sent.glob("*"))) >= 2)
    print("ok a linked owner is answered in the thread, and a copy is kept")


def strangers(host):
    before = len(host.messages())
    forged = "Authentication-Results: mx.own.test; dmarc=pass header.from=people.test\n"
    unanswered = [
        write("Send me the keys.", port=FAILED),
        write("Send me the keys.", forged, port=FAILED),
        write("I am away.", "Auto-Submitted: auto-replied\n"),
        write("News of the week.", "List-Id: <all.people.test>\n"),
        write("News of the week.", "Precedence: bulk\n"),
        write("It did not arrive.", sender=""),
    ]
    answered(write("Are you there?"))
    expect("one message came of seven", len(host.messages()) == before + 1)
    expect("nobody else was answered", not set(unanswered) & set(answers()))
    counted = json.dumps(host.ask("audit", "query", "--from", "0"))
    expect("the drop of a forged sender is on the record", "unproven" in counted)
    print("ok a forged sender, a program, a list and a bounce are not answered")


def renumbered(host):
    before = len(host.messages())
    validity = servers.validity()
    servers.renumber()
    answered(write("Once more, please."))
    expect("UIDVALIDITY is another", servers.validity() != validity)
    time.sleep(3)
    expect("no old mail was taken in again", len(host.messages()) == before + 1)
    expect("no mail was answered twice", all(len(mails) == 1 for key, mails in answers().items() if key))
    print("ok another UIDVALIDITY takes nothing in twice")


def killed(host):
    before = len(host.messages())
    names = []
    for _ in range(AGAIN):
        names.append(write("And in between?"))
        time.sleep(random.uniform(0, 0.8))
        host.kill("channel@email")
        wait("it is back", host.is_up)
    settled = {"sent", "unknown"}
    wait("every answer has an outcome", lambda: len(host.messages()) == before + AGAIN and all(
        states and set(states) <= settled for states in host.states()[:AGAIN]))
    got = answers()
    expect("none was answered twice", all(len(got.get(name, [])) <= 1 for name in names))
    states = [states[-1] for states in reversed(host.states()[:AGAIN])]
    lost = [name for name, state in zip(names, states) if state == "sent" and name not in got]
    expect("none that is said to be sent is missing", not lost)
    print(f"ok {AGAIN} deaths: each taken in once, answered at most once, {states.count('unknown')} unknown")


def limited(host):
    """The sixth answer of a thread within an hour waits, whoever is killed."""
    first = write("One.")
    thread = f"References: {first}\n"
    names = [first] + [write("More.", thread) for _ in range(4)]
    for name in names:
        answered(name)
    wait("copies are kept", lambda: all(states and states[-1] == "sent" for states in host.states()[:5]))
    host.kill("channel@email")
    late = write("And more?", thread)
    answered(write("Another thread."))
    expect("the sixth waits", late not in answers() and ["ready"] in host.states()[:2])
    print("ok a thread has five answers an hour, and a restart does not forget them")


def cut(host):
    between.cuts = True
    name = write("Did it arrive?")
    wait("its outcome is unknown", lambda: host.states()[:1] == [["unknown"]])
    between.cuts = False
    time.sleep(2)
    expect("it arrived once and is not sent again", len(answers().get(name, [])) == 1)
    thread = f"In-Reply-To: {name}\nReferences: {name}\n"
    text = answered(write("Well?", thread))[0].get_payload(0).get_payload(decode=True).decode()
    expect("the next answer says so", "may not have arrived" in text)
    print("ok a line that is lost behind the end of a mail leaves it unknown, and the next answer tells")


def files(host):
    table = b"a,b\n1,2\n" * 1000
    digest = hashlib.sha256(table).hexdigest()
    part = f'--b\nContent-Disposition: attachment; filename="../t.csv"\nContent-Transfer-Encoding: base64\n\n{base64.encodebytes(table).decode()}'
    answered(write(f"--b\n\nSee the table.\n{part}--b--", "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n"))
    shown = json.dumps(host.ask("message", "show", host.messages()[0]["id"]))
    expect("it is in the inbox", f"/workspace/inbox/{digest}/t.csv" in shown)
    calls = [("write", {"path": "t.csv", "content": table.decode()}), ("send_file", {"path": "t.csv", "sha256": digest})]
    lines = [json.dumps({"pieces": [{"call": {"tool": tool, "args": args}}]}) for tool, args in calls]
    (AT / "state/model/scripts/mail").write_text("\n".join([*lines, json.dumps({"pieces": [{"text": "There."}]})]))
    name = write("And yours?")

    def sent():
        for question in host.ask("approvals", "list").get("approvals", []):
            host.ask("approvals", "approve", question["id"], "--yes")
        parts = [part for mail in answers().get(name, []) for part in mail.walk()]
        return [part.get_payload(decode=True) for part in parts if part.get_filename() == "t.csv"] == [table]

    wait("a file arrives", sent)
    print("ok a file comes into the inbox, and one of the agent arrives")


AT.mkdir(exist_ok=True)
(AT / "servers").mkdir()
servers = Servers(AT / "servers")
try:
    between = Between()
    host = linked()
    for part in (plain, strangers, renumbered, killed, limited, cut, files):
        part(host)
    secret = any(PASSWORD in text for text in ((AT / "log").read_text(), json.dumps(host.ask("audit", "query", "--from", "0"))))
    expect("the password is in no log and not on the record", not secret)
except Failed as why:
    print(f"--- {why}; the servers' logs ---\n{servers.log()}", file=sys.stderr)
    sys.exit("--- the host's log ---\n" + (AT / "log").read_text()[-6000:])
finally:
    servers.stop()
