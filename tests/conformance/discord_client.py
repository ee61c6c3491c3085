"""discord.py against the server that stands for Discord: PROGRAM. Each check is one that the host's own channel needs as well."""

import asyncio
import functools
import json
import subprocess
import sys

import discord
import yarl
from discord.gateway import DiscordWebSocket

TOKEN = "MTk4NjIyNDgzNDcx.Cl2FMQ.fake-Xh3LqZ8vTn5RkWc2-token"
server = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
address = server.stdout.readline().strip()
discord.http.Route.BASE = address + "/api/v10"
DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(address.replace("http", "ws", 1))
# The server knows no compression, as the host's channel asks for none.
DiscordWebSocket.from_client = functools.partial(DiscordWebSocket.from_client, compress=False)


def ask(line):
    server.stdin.write(line + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


class Buttons(discord.ui.View):
    @discord.ui.button(label="Yes", custom_id="yes")
    async def yes(self, interaction, _button):
        await interaction.response.defer()
        await interaction.followup.send("noted", ephemeral=True)


class Client(discord.Client):
    def __init__(self):
        super().__init__(intents=discord.Intents(messages=True, message_content=True, guilds=True))
        self.came, self.resumed, self.begun = asyncio.Queue(), asyncio.Event(), 0

    async def on_ready(self):
        self.begun += 1

    async def on_resumed(self):
        self.resumed.set()

    async def on_message(self, message):
        if message.author.id != self.user.id:
            await self.came.put(message)


async def next_message(client, text):
    message = await asyncio.wait_for(client.came.get(), 30)
    assert message.content == text, message.content
    return message


async def main():
    client = Client()
    running = asyncio.create_task(client.start(TOKEN))
    await asyncio.wait_for(client.wait_until_ready(), 30)

    ask("direct hello")
    message = await next_message(client, "hello")
    assert message.guild is None and message.author.id == 5
    print("ok a direct message arrives")

    answer = await message.channel.send("x" * 2000, nonce="7-0", suppress_embeds=True)
    again = await message.channel.send("x" * 2000, nonce="7-0", suppress_embeds=True)
    assert answer.author.id == 42 and answer.nonce == "7-0"
    assert again.id == answer.id, "the mark makes one message of two"
    await answer.edit(content="changed")
    found = [one async for one in message.channel.history(limit=10)]
    assert [one.content for one in found] == ["changed", "hello"] and found[0].nonce is None
    print("ok a message is sent once under its mark, changed, and read back without its mark")

    try:
        await message.channel.send("x" * 2001)
        raise AssertionError("a text over the limit was taken")
    except discord.HTTPException as refusal:
        assert refusal.status == 400 and refusal.code == 50035, refusal
    try:
        await (await message.channel.fetch_message(1)).edit(content="x")
        raise AssertionError("a message was found that is none")
    except discord.NotFound:
        pass
    print("ok what is over a limit, or not there, is refused")

    asked = await message.channel.send("do it?", view=Buttons())
    token = ask(f"press {asked.id}")
    for _ in range(100):
        if ask(f"asides {token}") == ["noted"]:
            break
        await asyncio.sleep(0.1)
    assert ask(f"asides {token}") == ["noted"]
    print("ok a press is noticed and answered")

    sent = await message.channel.send(file=discord.File(fp=__file__, filename="answer.md"))
    assert sent.attachments[0].filename == "answer.md"
    async with message.channel.typing():
        pass
    print("ok a file and a sign of typing are sent")

    ask("cut")
    ask("direct while it was away")
    await next_message(client, "while it was away")
    await asyncio.wait_for(client.resumed.wait(), 30)
    begun, resumed = ask("beginnings")
    assert (begun, resumed) == (1, 1), (begun, resumed)
    print("ok a connection that is cut is resumed, and what was missed comes")

    ask("end")
    for _ in range(300):
        if ask("beginnings")[0] == 2:
            break
        await asyncio.sleep(0.1)
    ask("direct after that")
    await next_message(client, "after that")
    print("ok a session that is over is begun anew")

    for number in range(12):
        await message.channel.send(f"{number}")
    assert ask("exceeded") == 0, "the client holds the buckets that it is told"
    print("ok the buckets that the server tells are held")
    await client.close()
    await asyncio.wait_for(running, 10)


try:
    asyncio.run(main())
finally:
    server.kill()
