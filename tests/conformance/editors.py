"""The official clients of the Agent Client Protocol, in Python and TypeScript, as editors against `agentctl acp`.

editors.py PROGRAMS FOLDER NODE_MODULES: with the Python that has the client; node is found in the path."""

import asyncio
import os
import pathlib
import subprocess
import sys

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse
from acp.stdio import spawn_agent_process
from host import Host, expect

PROGRAMS, AT, MODULES = (pathlib.Path(word) for word in sys.argv[1:4])
HERE = pathlib.Path(__file__).parent
COMMAND = [str(PROGRAMS / "agentctl"), "--socket", str(AT / "run/control.sock"), "acp"]


class Editor:
    """An editor that allows everything, once."""

    def __init__(self):
        self.updates, self.asked = [], []

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append(update.model_dump(by_alias=True))

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        self.asked.append([option.kind for option in options])
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=options[0].option_id))

    def heard(self):
        chunks = [it for it in self.updates if it["sessionUpdate"] == "agent_message_chunk"]
        return "".join(chunk["content"]["text"] for chunk in chunks)


async def python(folder):
    editor = Editor()
    async with spawn_agent_process(lambda _: editor, *COMMAND) as (agent, process):
        hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        expect("the version is 1, and sessions can be loaded", hello.protocol_version == 1 and hello.agent_capabilities.load_session)
        session = (await agent.new_session(cwd=str(folder), mcp_servers=[])).session_id
        ended = await agent.prompt(session_id=session, prompt=[acp.text_block("run: cat note.txt")])
        expect("the turn ends", ended.stop_reason == "end_turn")
        expect("it is asked once, with two answers", editor.asked == [["allow_once", "reject_once"]])
        expect("the answer comes", "harbour-light" in editor.heard())
        listed = await agent.list_sessions(cwd=str(folder))
        expect("the session is listed", [it.session_id for it in listed.sessions] == [session])
        late = asyncio.create_task(agent.prompt(session_id=session, prompt=[acp.text_block("run: sleep 60")]))
        while len(editor.asked) < 2:
            await asyncio.sleep(0.05)
        await agent.cancel(session_id=session)
        expect("a cancel ends the turn", (await late).stop_reason == "cancelled")
        editor.updates.clear()
        await agent.load_session(cwd=str(folder), session_id=session, mcp_servers=[])
        expect("a loaded session is shown", any(it["sessionUpdate"] == "user_message_chunk" for it in editor.updates))
        await agent.close_session(session_id=session)
    print("ok the official Python client prompts, allows, lists, cancels, loads and closes")


def main():
    AT.mkdir(parents=True)
    folder = AT / "folder"
    folder.mkdir()
    (folder / "note.txt").write_text("harbour-light")
    config = AT / "cordon.toml"
    config.write_text('[policy]\nautonomy = "supervised"\n')
    os.chmod(config, 0o644)
    Host(PROGRAMS, AT, config, "")
    asyncio.run(asyncio.wait_for(python(folder), 120))
    words = ["node", HERE / "editor.mjs", MODULES / "@agentclientprotocol/sdk/dist/v1/stable/acp.js", folder, *COMMAND]
    subprocess.run(words, check=True, timeout=120)


main()
