"""Dovecot and Postfix on loopback, of a folder of their own: the mailboxes of two domains, a server that authenticates what comes,
and an authority of one folder that signs for both. Nothing of the machine's own mail is read or changed."""

import os
import pathlib
import shutil
import smtplib
import subprocess
import tempfile
import time

NOBODY = 65534
# IMAP with STARTTLS, submission with TLS from the beginning, and mail that comes: with a passing result of DMARC, and with a failing one.
IMAP, SUBMISSION, PASSED, FAILED = 18143, 18465, 18525, 18526
PASSWORD = "harbour-light-7Qm2"

DOVECOT = """
base_dir = {at}/dovecot
log_path = {at}/dovecot.log
listen = 127.0.0.1
protocols = imap
ssl = required
ssl_cert = <{at}/cert.pem
ssl_key = <{at}/key.pem
mail_location = maildir:{at}/mail/%d/%n
first_valid_uid = 1
passdb {{
  driver = passwd-file
  args = {at}/users
}}
userdb {{
  driver = passwd-file
  args = {at}/users
}}
service imap-login {{
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service auth {{
  unix_listener {at}/spool/private/auth {{
    mode = 0666
  }}
}}
namespace inbox {{
  inbox = yes
  mailbox Gesendet {{
    special_use = \\Sent
    auto = create
  }}
}}
"""

POSTFIX = """
compatibility_level = 3.6
queue_directory = {at}/spool
data_directory = {at}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
maillog_file = {at}/postfix.log
maillog_file_prefixes = {at}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.own.test
mydestination =
alias_maps =
local_recipient_maps =
virtual_mailbox_domains = own.test, people.test
virtual_mailbox_base = {at}/mail
virtual_mailbox_maps = texthash:{at}/boxes
virtual_uid_maps = static:{nobody}
virtual_gid_maps = static:{nobody}
virtual_minimum_uid = 1
smtpd_peername_lookup = no
smtpd_tls_cert_file = {at}/cert.pem
smtpd_tls_key_file = {at}/key.pem
smtpd_sasl_type = dovecot
smtpd_sasl_path = private/auth
smtpd_relay_restrictions = permit_sasl_authenticated, reject_unauth_destination
"""

MASTER = """
{passed} inet n - n - - smtpd -o smtpd_recipient_restrictions=check_client_access,texthash:{at}/passed
{failed} inet n - n - - smtpd -o smtpd_recipient_restrictions=check_client_access,texthash:{at}/failed
{submission} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes -o smtpd_sasl_auth_enable=yes
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
proxymap unix - - n - - proxymap
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
"""

EXTENSIONS = "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n"


class Servers:
    """Both servers. `at` is an empty folder."""

    def __init__(self, at):
        self.at = pathlib.Path(at)
        names = {"at": at, "nobody": NOBODY, "imap": IMAP, "submission": SUBMISSION, "passed": PASSED, "failed": FAILED}
        self.authority()
        self.write("dovecot.conf", DOVECOT.format(**names))
        self.write("users", f"agent@own.test:{{PLAIN}}{PASSWORD}:{NOBODY}:{NOBODY}::{at}/mail::\n", 0o644)
        self.write("boxes", "agent@own.test own.test/agent/\nann@people.test people.test/ann/\n")
        for name, result in (("passed", "pass"), ("failed", "fail")):
            added = f"Authentication-Results: mx.own.test; dmarc={result} header.from=people.test"
            self.write(name, f"127.0.0.1 PREPEND {added}\n")
        self.write("postfix/main.cf", POSTFIX.format(**names))
        self.write("postfix/master.cf", MASTER.format(**names))
        for folder in ("dovecot", "spool", "data", "mail", "mail/own.test", "mail/people.test"):
            (self.at / folder).mkdir(exist_ok=True)
        for folder in ("mail", "mail/own.test", "mail/people.test"):
            os.chown(self.at / folder, NOBODY, NOBODY)
        shutil.chown(self.at / "data", "postfix")
        run("postfix", "-c", f"{at}/postfix", "check")
        run("dovecot", "-c", f"{at}/dovecot.conf")
        run("postfix", "-c", f"{at}/postfix", "start")

    def write(self, name, text, mode=0o644):
        path = self.at / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def authority(self):
        """An authority, and the certificate of both servers by it."""
        self.write("extensions", EXTENSIONS)
        make = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        at = self.at
        run(*make, "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", at / "ca.key", "-out", at / "ca.pem")
        run(*make, "-subj", "/CN=mx", "-keyout", at / "key.pem", "-out", at / "request")
        run("openssl", "x509", "-req", "-days", "2", "-in", at / "request", "-CA", at / "ca.pem", "-CAkey", at / "ca.key",
            "-CAcreateserial", "-extfile", at / "extensions", "-out", at / "cert.pem")

    def deliver(self, text, port=PASSED, sender="ann@people.test"):
        """Hands a mail to the server as another server would. It waits for its TCP port."""
        for attempt in range(100):
            try:
                with smtplib.SMTP("127.0.0.1", port, timeout=20) as smtp:
                    smtp.sendmail(sender, ["agent@own.test"], text.replace("\n", "\r\n"))
                return
            except ConnectionRefusedError:
                time.sleep(0.1)
        raise SystemExit("Postfix does not listen: " + self.log())

    def received(self):
        """The mails in the mailbox of ann, by name of their file."""
        found = {}
        for file in (self.at / "mail/people.test/ann/new").glob("*"):
            found[file.name] = file.read_text()
        return found

    def validity(self):
        """The UIDVALIDITY of the agent's mailbox."""
        return (self.at / "mail/own.test/agent/dovecot-uidlist").read_text().split()[1]

    def renumber(self):
        """Has the mailbox of the agent get another UIDVALIDITY, and every session end."""
        run("doveadm", "-c", self.at / "dovecot.conf", "kick", "agent@own.test", may_fail=True)
        box = self.at / "mail/own.test/agent"
        for file in [*box.glob("dovecot-uid*"), *box.glob("dovecot.index*"), *box.glob("dovecot.list*")]:
            file.unlink()
        run("doveadm", "-c", self.at / "dovecot.conf", "kick", "agent@own.test", may_fail=True)

    def log(self):
        """The end of what both have said."""
        texts = [(self.at / name).read_text()[-3000:] for name in ("dovecot.log", "postfix.log") if (self.at / name).exists()]
        return "\n".join(texts)

    def stop(self):
        run("postfix", "-c", f"{self.at}/postfix", "stop", may_fail=True)
        run("doveadm", "-c", f"{self.at}/dovecot.conf", "stop", may_fail=True)


def run(*words, may_fail=False):
    """Runs a command. Its output goes to a file: a server that it starts keeps a pipe open."""
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=60)
        output.seek(0)
        said = output.read()
    if done.returncode and not may_fail:
        raise SystemExit(f"{words}: {said}")
    return said
