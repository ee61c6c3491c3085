"""The server that stands for Slack in the tests, judged by Slack's own client: slack.py PROGRAM."""

import queue
import subprocess
import sys
import time

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

TOKEN = "xoxb-" + "17-42-Fake3Lq8vTn5RkWc2token"
APP = "xapp-" + "1-A17-42-Fake9Hs4mPd7YbQx1token"
DIRECT, CHANNEL = "D5ANN", "C7GENERAL"

server = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
base = server.stdout.readline().strip() + "/"


def tell(line):
    server.stdin.write(line + "\n")
    server.stdin.flush()
    return server.stdout.readline().strip()


def refused(call, **arguments):
    try:
        call(**arguments)
    except SlackApiError as error:
        return error.response
    raise AssertionError("it was accepted")


def until(so, what):
    end = time.monotonic() + 20
    while not so():
        assert time.monotonic() < end, what
        time.sleep(0.05)


web = WebClient(token=TOKEN, base_url=base)
own = web.auth_test()
assert own["user_id"] == "U0BOT" and own["team_id"] and own["bot_id"]
assert refused(WebClient(token="xoxb-other", base_url=base).auth_test)["error"] == "invalid_auth"
assert refused(WebClient(token=APP, base_url=base).auth_test)["error"] == "not_allowed_token_type"

# Messages: posted, threaded, changed, and found by their metadata alone where that is asked for.
trace = {"event_type": "cordon_piece", "event_payload": {"piece": "1-0"}}
first = web.chat_postMessage(channel=DIRECT, text="one", metadata=trace, unfurl_links=False)
reply = web.chat_postMessage(channel=DIRECT, text="below", thread_ts=first["ts"])
web.chat_update(channel=DIRECT, ts=first["ts"], text="one, changed", metadata=trace)
plain = web.conversations_history(channel=DIRECT)["messages"]
assert [one["text"] for one in plain] == ["one, changed"] and "metadata" not in plain[0]
assert plain[0]["reply_count"] == 1
shown = web.conversations_history(channel=DIRECT, include_all_metadata=True)["messages"]
assert shown[0]["metadata"] == trace
below = web.conversations_replies(channel=DIRECT, ts=first["ts"])["messages"]
assert [one["text"] for one in below] == ["one, changed", "below"]
assert [one["ts"] for one in web.conversations_history(channel=DIRECT, oldest=first["ts"])["messages"]] == []
assert any(one["id"] == DIRECT for one in web.users_conversations(types="im")["channels"])

# Refusals, and a limit with its pause.
assert refused(web.chat_postMessage, channel="COUTSIDE", text="x")["error"] == "not_in_channel"
assert refused(web.chat_postMessage, channel=DIRECT, text="x" * 4001)["error"] == "msg_too_long"
assert refused(web.chat_update, channel=DIRECT, ts="1.000000", text="x")["error"] == "message_not_found"
tell("limit chat.postMessage")
limited = refused(web.chat_postMessage, channel=DIRECT, text="x")
assert limited.status_code == 429 and int(limited.headers["Retry-After"]) == 7

# A file: address, bytes, sharing.
sent = web.files_upload_v2(channel=DIRECT, filename="answer.md", content="the whole answer")
assert sent["files"][0]["id"]

# Socket Mode: events, a press, an envelope that comes again until it is acknowledged, and the next socket.
events, acknowledges = queue.Queue(), [False]
client = SocketModeClient(app_token=APP, web_client=web)


def take(client, request):
    events.put(request)
    if acknowledges[0]:
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))


client.socket_mode_request_listeners.append(take)
# The bot's own messages wait as events.
acknowledges[0] = True
client.connect()
until(lambda: tell("pending") == "0", "what waited is acknowledged")
while not events.empty():
    events.get()
ts = tell("direct hello")
event = events.get(timeout=10)
assert event.type == "events_api" and event.payload["event"]["ts"] == ts, event.payload
assert event.payload["event"]["channel_type"] == "im"
tell("mention hello")
kinds = {events.get(timeout=10).payload["event"]["type"] for _ in range(2)}
assert kinds == {"message", "app_mention"}
acknowledges[0] = False
assert tell("press " + "ab" * 16) == "true"
press = events.get(timeout=10)
assert press.type == "interactive" and press.payload["actions"][0]["value"] == "ab" * 16
again = events.get(timeout=10)
assert again.envelope_id == press.envelope_id and again.retry_attempt == 1
acknowledges[0] = True
client.send_socket_mode_response(SocketModeResponse(envelope_id=press.envelope_id))
until(lambda: tell("pending") == "0", "the press is acknowledged")
tell("warn")
time.sleep(4)
until(lambda: tell("sockets") == "1", "the client has opened the next socket")
ts = tell("direct after")
until(lambda: events.get(timeout=10).payload["event"]["ts"] == ts, "an event by the next socket")
client.close()
server.kill()
print("slack_sdk: well")
