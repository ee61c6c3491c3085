"""The official MCP SDK against a host, through every tool, over standard input and output and over HTTP:
AGENTCTL SOCKET BASE KEY. Run with the SDK's first and with its second version."""

import asyncio
import json
import os
import sys
import tempfile
from contextlib import asynccontextmanager
from importlib.metadata import version

import mcp
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

AGENTCTL, SOCKET, BASE, KEY = sys.argv[1:5]
SECOND = version("mcp").startswith("2.")
BEARER = {"Authorization": f"Bearer {KEY}"}
TOOLS = [f"mem-{name}" for name in
         "find history get create revise remove export import maintenance help".split()]


def started(folder):
    return mcp.StdioServerParameters(command=AGENTCTL, args=["--socket", SOCKET, "mcp", "--project", folder])


def over_http(project):
    return streamable_http_client(f"{BASE}/mcp?project={project}", http_client=create_mcp_http_client(headers=BEARER))


@asynccontextmanager
async def first(transport):
    async with transport as streams, mcp.ClientSession(*streams[:2]) as session:
        await session.initialize()
        yield session


@asynccontextmanager
async def second(server, mode):
    async with mcp.Client(server, mode=mode) as client:
        yield client


def ways(folder):
    """Every way to connect, by name."""
    if not SECOND:
        yield "stdio", first(mcp.stdio_client(started(folder)))
        yield "http", first(over_http("conformance"))
        return
    for mode in "auto", "legacy":
        yield f"stdio, {mode}", second(started(folder), mode)
        yield f"http, {mode}", second(over_http("conformance"), mode)


async def call(session, tool, /, **arguments):
    result = await session.call_tool(tool, arguments)
    envelope = json.loads(result.content[0].text)
    structured = result.structured_content if SECOND else result.structuredContent
    failed = result.is_error if SECOND else result.isError
    assert structured == envelope and set(envelope) == {"data", "error", "meta"}, envelope
    assert bool(failed) == (envelope["error"] is not None), envelope
    return envelope


async def well(session, tool, /, **arguments):
    envelope = await call(session, tool, **arguments)
    assert envelope["error"] is None, envelope
    return envelope["data"]


async def refused(session, code, tool, /, **arguments):
    envelope = await call(session, tool, **arguments)
    assert envelope["error"] and envelope["error"]["code"] == code, envelope
    return envelope["error"]["details"]


async def the_tools_are_listed(session):
    listed = (await session.list_tools()).tools
    assert [tool.name for tool in listed] == TOOLS, listed
    assert all(len(tool.description) >= 10 for tool in listed)
    told = await well(session, "mem-help")
    assert told["contractVersion"] == "1.1.0" and len(told["tools"]) == 10, told


async def a_memory_is_kept_found_read_revised_and_removed(session, word):
    narrative = f"the {word} lamp is lit at dusk because ships come in"
    made = await well(session, "mem-create", title=f"The {word} lamp", type="decision", narrative=narrative,
                      concepts=["gotcha"], files=["src/lamp.rs"], importance=4)
    await well(session, "mem-create", title=f"The {word} buoy", type="bugfix", narrative=f"the {word} buoy drifted")
    found = await call(session, "mem-find", query=f"{word} lamp", types=["bugfix", "decision"], limit=1,
                       include={"scores": True, "relations": True})
    best = found["data"]["results"][0]
    assert best["id"] == made["id"] and "score" in best and "snippet" in best and best["trust"] == "untrusted", found
    cursor = found["meta"]["nextCursor"]
    wider = {"query": f"{word} lamp", "types": ["bugfix", "decision"], "limit": 1, "cursor": cursor,
             "include": {"scores": True, "relations": True}}
    assert (await well(session, "mem-find", **wider))["results"][0]["id"] != made["id"]
    details = await refused(session, "VALIDATION_ERROR", "mem-find", query="another", cursor=cursor)
    assert details["field"] == "cursor", details
    only = await well(session, "mem-find", query=word, types=["bugfix"])
    assert [row["type"] for row in only["results"]] == ["bugfix"], only

    revised = await well(session, "mem-revise", id=made["id"], narrative=narrative + " late", reason="the hour")
    whole = (await well(session, "mem-get", ids=[revised["id"]], includeHistory=True))["observations"][0]
    assert whole["narrative"].endswith(" late") and whole["filesModified"] == ["src/lamp.rs"], whole
    assert [row["id"] for row in whole["history"]] == [made["id"], revised["id"]], whole
    conflict = await refused(session, "CONFLICT", "mem-revise", id=made["id"], title="too late")
    assert conflict["current"] == revised["id"], conflict
    around = await well(session, "mem-history", anchor=revised["id"], depthBefore=2, depthAfter=1)
    assert revised["id"] in [row["id"] for row in around["observations"]], around
    assert "sessions" in await well(session, "mem-history", limit=3)

    document = (await well(session, "mem-export", type="decision", limit=50, format="json"))["payload"]
    exported = {row["id"]: row for row in document["observations"]}
    assert exported[made["id"]]["supersededBy"] == revised["id"], document
    again = await well(session, "mem-import", payload=json.dumps(document), mode="skip")
    assert again["skipped"] == len(document["observations"]) and again["imported"] == 0, again
    foreign = {"observations": [{"id": f"obs-{word}", "type": "feature", "title": f"{word} horn",
                                 "narrative": "it sounds in fog", "createdAt": "2024-01-02T03:04:05.000Z"}]}
    brought = await well(session, "mem-import", payload=foreign, mode="merge")
    assert brought["imported"] == 1 and brought["failed"] == [], brought
    # However old it is, it is there after the next write, which looks after what is over its time.
    await well(session, "mem-create", title=f"{word} bell", type="feature", narrative="it rings in fog")
    horns = await well(session, "mem-find", query=f"{word} horn")
    assert any(hit["title"] == f"{word} horn" for hit in horns["results"]), horns

    await well(session, "mem-remove", id=revised["id"], reason="it is gone")
    await refused(session, "NOT_FOUND", "mem-get", ids=[revised["id"]])
    await refused(session, "NOT_FOUND", "mem-remove", id=revised["id"])


async def any_text_at_all_is_a_query(session):
    await well(session, "mem-create", title="a medlar", type="discovery", narrative="medlars are ripe in november")
    for text in "medlar " + "w\u00f6rter " * 2000, "\u706f" * 3000, "\" OR (*) -- medlar":
        found = await call(session, "mem-find", query=text, scope="all")
        assert found["error"] is None, found
        assert ("notes" in found["meta"]) == (len(text.encode()) > 2048), found["meta"]
    assert "results" in (await call(session, "mem-find", query="medlar"))["data"]


async def what_is_bounded_by_its_schema_is_bounded_alike_by_the_tool(session):
    """A schema counts characters and the tools count bytes: none may let through what the other refuses."""
    for tool in (await session.list_tools()).tools:
        schema = json.dumps(tool.input_schema if SECOND else tool.inputSchema)
        assert "maxLength" not in schema, tool.name


async def what_is_wrong_is_said_by_its_field(session):
    for tool, field, arguments in [
        ("mem-find", "limit", {"query": "x", "limit": 99}),
        ("mem-find", "colour", {"query": "x", "colour": "red"}),
        ("mem-get", "ids", {"ids": []}),
        ("mem-create", "type", {"title": "t", "narrative": "n", "type": "guess"}),
        ("mem-export", "format", {"format": "xml"}),
        ("mem-import", "payload.observations[0].title", {"payload": {"observations": [{"id": "a", "title": 1}]}}),
        ("mem-maintenance", "action", {"action": "everything"}),
    ]:
        details = await refused(session, "VALIDATION_ERROR", tool, **arguments)
        assert details["field"] == field and "valid" in details, details
    await refused(session, "NOT_FOUND", "mem-unknown")


async def a_folder_is_kept_where_there_is_one(session, folder):
    if folder is None:
        await refused(session, "LOCKED_BY_ENV", "mem-maintenance", action="folderContextClean")
        return
    page = os.path.join(folder, "AGENTS.md")
    with open(page, "w") as file:
        file.write("mine\n")
    await well(session, "mem-maintenance", action="folderContextDryRun")
    assert open(page).read() == "mine\n"
    await well(session, "mem-maintenance", action="folderContextRebuild")
    written = open(page).read()
    assert written.startswith("mine\n") and "open-mem-context" in written, written
    await well(session, "mem-maintenance", action="folderContextClean")
    assert "open-mem-context" not in open(page).read()
    await well(session, "mem-maintenance", action="folderContextPurge")
    assert open(page).read().strip() == "mine"


async def main():
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, connection) in enumerate(ways(folder)):
            async with connection as session:
                await the_tools_are_listed(session)
                word = f"w{'second' if SECOND else 'first'}{number}"
                await a_memory_is_kept_found_read_revised_and_removed(session, word)
                await any_text_at_all_is_a_query(session)
                await what_is_bounded_by_its_schema_is_bounded_alike_by_the_tool(session)
                await what_is_wrong_is_said_by_its_field(session)
                await a_folder_is_kept_where_there_is_one(session, folder if name.startswith("stdio") else None)
            print(f"ok mcp {version('mcp')} over {name}: every tool")


asyncio.run(main())
