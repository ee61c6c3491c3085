"""A host of its own for a suite, with its state in a folder, and waiting for what it does."""

import atexit
import json
import os
import signal
import subprocess
import time

PATIENCE = 60


class Failed(Exception):
    """What was waited for in vain, or is not so."""


def wait(what, so):
    until = time.monotonic() + PATIENCE
    while not so():
        if time.monotonic() > until:
            raise Failed(f"waited in vain: {what}")
        time.sleep(0.1)


def expect(what, so):
    if not so:
        raise Failed(f"it is not so: {what}")


class Host:
    """A host of built programs in a folder, and the channel that is asked about. It ends with the suite."""

    def __init__(self, programs, at, config, channel):
        self.programs, self.at, self.channel = programs, at, channel
        self.log = open(at / "log", "ab")
        self.run = [programs / "agentd", "run", "--state-dir", at / "state", "--runtime-dir", at / "run", "--config", config]
        self.child = None
        atexit.register(self.stop)
        self.start()

    def start(self):
        self.child = subprocess.Popen(self.run, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        wait("the host is ready", self.is_ready)

    def is_ready(self):
        expect("the host runs", self.child.poll() is None)
        return self.ask("status").get("host", {}).get("state") == "ready"

    def stop(self):
        if self.child:
            self.child.send_signal(signal.SIGTERM)
            self.child.wait(30)
        self.child = None

    def ask(self, *words, said=""):
        words = [self.programs / "agentctl", "--socket", self.at / "run/control.sock", "--json", *words]
        done = subprocess.run(words, input=said, capture_output=True, text=True)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {}

    def answers(self, name, text):
        """Has the model `scripted/NAME` say this text in every turn."""
        script = self.at / "state/model/scripts" / name
        script.write_text(json.dumps({"pieces": [{"text": text}]}))
        os.chmod(script, 0o644)

    def is_up(self):
        return self.ask("channel", "show", self.channel.split(":")[1]).get("channel", {}).get("link") == "up"

    def messages(self):
        """The messages that came by the channel, newest first."""
        return self.ask("message", "list", "--channel", self.channel).get("messages", [])

    def states(self):
        """The states of the deliveries of each message, newest first."""
        shown = [self.ask("message", "show", message["id"])["message"] for message in self.messages()]
        return [[delivery["state"] for delivery in message.get("deliveries", [])] for message in shown]

    def kill(self, name):
        for process in self.ask("status").get("processes", []):
            if process["name"] == name and process["pid"]:
                os.kill(process["pid"], signal.SIGKILL)
