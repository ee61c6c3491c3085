"""A program that stands for a coding agent: python3 engine.py FORMAT [--resume TOKEN]. It asks the model on its loopback as
they do, uses a tool of its own, and keeps what it heard of a session in its home. What it is told to do besides stands in
the person's message."""
import json, os, pathlib, select, subprocess, sys, time, urllib.error, urllib.request

FORMAT = sys.argv[1]
TOKEN = sys.argv[3] if len(sys.argv) > 3 else None
FIRST = sys.stdin.readline()
# One that is asked by lines of JSON says again what it has taken in, and is told more before its input ends.
LINES = FIRST.startswith('{"')
ASKED = json.loads(FIRST)["message"]["content"] if LINES else FIRST + sys.stdin.read()
SEEN = pathlib.Path(os.environ["HOME"], ".stub/seen")
with open("starts", "a") as log:
    log.write(json.dumps({"token": TOKEN, "asked": ASKED}) + "\n")
NOW = ASKED.strip().splitlines()[-1]


def say(**event):
    print(json.dumps(event), flush=True)


def begin():
    if FORMAT == "codex":
        say(type="thread.started", thread_id=TOKEN or "thread-%d" % os.getpid())
    elif FORMAT == "claude-code":
        say(type="system", subtype="init", session_id=TOKEN or "session-%d" % os.getpid())


def text(words):
    if FORMAT == "codex":
        say(type="item.completed", item={"id": "t", "type": "agent_message", "text": words})
    elif FORMAT == "claude-code":
        say(type="assistant", message={"content": [{"type": "text", "text": words}]})
    elif FORMAT == "opencode":
        say(type="text", sessionID=TOKEN or "ses_1", part={"type": "text", "text": words})
    else:
        print(words, flush=True)


def tool(command):
    item = {"id": "c", "type": "command_execution", "command": command, "status": "in_progress"}
    if FORMAT == "codex":
        say(type="item.started", item=item)
    elif FORMAT == "claude-code":
        use = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": command}}
        say(type="assistant", message={"content": [use]})
    gave = subprocess.run(["sh", "-c", command], capture_output=True, text=True).stdout
    if FORMAT == "codex":
        say(type="item.completed", item={**item, "aggregated_output": gave, "exit_code": 0, "status": "completed"})
    elif FORMAT == "claude-code":
        say(type="user", message={"content": [{"type": "tool_result", "tool_use_id": "c", "content": gave}]})
    elif FORMAT == "opencode":
        state = {"status": "completed", "input": {"command": command}, "output": gave}
        say(type="tool_use", sessionID=TOKEN or "ses_1", part={"tool": "bash", "callID": "c", "state": state})


def model(words):
    body = {"model": os.environ["CORDON_MODEL"], "messages": [{"role": "user", "content": words}]}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    try:
        return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as refused:
        sys.exit(refused.read().decode())


def taken(words):
    if LINES:
        say(type="user", message={"role": "user", "content": words}, isReplay=True)


def besides(seconds):
    """What the person says within so long."""
    while LINES and select.select([sys.stdin], [], [], seconds)[0]:
        line = sys.stdin.readline()
        if not line:
            return
        words = json.loads(line)["message"]["content"]
        taken(words)
        text("told besides: " + words)


if TOKEN and not SEEN.exists():
    sys.exit("no such session")
begin()
taken(ASKED)
if "PAUSE" in NOW:
    tool("sleep 3")
    besides(0)
if "FAIL" in NOW:
    sys.exit(3)
if "BLANK" in NOW:
    say(type="turn.failed", error={"message": ""})
    sys.exit(5)
if "MUTE" in NOW:
    time.sleep(600)
if "SLOW" in NOW and "[UNKNOWN]" not in ASKED:
    tool("sleep 600")
if "CRASH" in NOW:
    model(NOW)
    sys.exit(4)
if "OTHER" in NOW:
    os.environ["CORDON_MODEL"] = "offline/reader"
if "LEAK" in NOW:
    text([line for line in ASKED.splitlines() if line.startswith("CANARY")][0])
else:
    text("I look.")
    tool("cat note.txt")
    text(model(NOW))
if "FORGET" not in NOW:
    SEEN.parent.mkdir(exist_ok=True)
    SEEN.open("a").write(NOW + "\n")
    if "WHAT" in NOW:
        text("I have seen: " + SEEN.read_text().replace("\n", "; "))
if FORMAT == "codex":
    say(type="turn.completed", usage={})
elif FORMAT == "claude-code":
    say(type="result", subtype="success", is_error=False, result="")
