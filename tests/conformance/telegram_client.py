"""python-telegram-bot against the server that stands for Telegram: PROGRAM. Each check is one that the host's own channel needs as well."""

import asyncio
import json
import subprocess
import sys
import time
from datetime import timedelta

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageEntity
from telegram.error import BadRequest, ChatMigrated, Conflict, InvalidToken, NetworkError, RetryAfter

TOKEN = "42:" + "fake-Xh3LqZ8vTn5RkWc2-token"
ANN = 5
KINDS = ["message", "callback_query"]
server = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
address = server.stdout.readline().strip()


def tell(line):
    server.stdin.write(line + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def bot_of(token):
    return Bot(token, base_url=address + "/bot", base_file_url=address + "/file/bot")


async def refused(kind, words, call):
    try:
        await call
    except kind as refusal:
        assert words in str(refusal).lower(), refusal
        return refusal
    raise AssertionError("it was accepted")


async def unhurried(call):
    """Calls, and waits as long as the server says."""
    while True:
        try:
            return await call()
        except RetryAfter as refusal:
            wait = refusal.retry_after
            await asyncio.sleep(wait.total_seconds() if isinstance(wait, timedelta) else wait)


class Polled:
    """Updates, one by one, each acknowledged by the poll that follows it."""

    def __init__(self, bot):
        self.bot, self.offset = bot, None

    async def next(self, timeout=10):
        updates = await self.bot.get_updates(self.offset, limit=1, timeout=timeout, allowed_updates=KINDS)
        if not updates:
            return None
        self.offset = updates[0].update_id + 1
        return updates[0]


async def polls(bot, updates):
    assert tell("pending") == 0
    number = tell("direct hello")
    message = (await updates.next()).message
    assert (message.message_id, message.text) == (number, "hello"), message
    assert message.chat.type == "private" and message.chat.id == message.from_user.id == ANN
    assert tell("pending") == 1, "a poll alone acknowledges nothing"
    assert await updates.next(timeout=0) is None and tell("pending") == 0
    print("ok an update comes until the next poll acknowledges it")

    began = time.monotonic()
    held = asyncio.create_task(updates.next())
    await asyncio.sleep(0.5)
    assert not held.done()
    tell("direct while it waits")
    assert (await held).message.text == "while it waits" and time.monotonic() - began < 5
    print("ok a poll is held until something comes")

    held = asyncio.create_task(refused(Conflict, "other getupdates", updates.next()))
    await asyncio.sleep(0.5)
    async with bot_of(TOKEN) as rival:
        await rival.get_updates(updates.offset, timeout=0)
    await held
    tell("hook")
    assert (await bot.get_webhook_info()).url
    await refused(Conflict, "webhook is active", updates.next())
    tell("unhook")
    print("ok a second poll and a webhook are conflicts")


async def sends(bot):
    bold = [MessageEntity(MessageEntity.BOLD, 0, 3)]
    quiet = LinkPreviewOptions(is_disabled=True)
    sent = await bot.send_message(ANN, "one two", entities=bold, link_preview_options=quiet)
    assert sent.text == "one two" and sent.from_user.id == 42 and sent.parse_entities() == {bold[0]: "one"}
    edited = await bot.edit_message_text("three", ANN, sent.message_id)
    assert (edited.message_id, edited.text, edited.entities) == (sent.message_id, "three", ())
    await refused(BadRequest, "not modified", bot.edit_message_text("three", ANN, sent.message_id))
    await refused(BadRequest, "not found", bot.edit_message_text("x", ANN, 10_000))
    print("ok a text is sent with its entities, and edited")

    longest = await bot.send_message(ANN, "\N{WHALE}" * 2048)
    await refused(BadRequest, "too long", bot.send_message(ANN, "\N{WHALE}" * 2048 + "x"))
    await refused(BadRequest, "too long", bot.edit_message_text("x" * 4097, ANN, longest.message_id))
    await refused(BadRequest, "empty", bot.send_message(ANN, " "))
    outside = [MessageEntity(MessageEntity.BOLD, 0, 4)]
    await refused(BadRequest, "entity", bot.send_message(ANN, "one", entities=outside))
    assert await bot.send_chat_action(ANN, "typing") and await bot.send_message_draft(ANN, 7, "so far")
    await refused(BadRequest, "peer", bot.send_message_draft(-100, 7, "so far"))
    print("ok what is over a limit, or not there, is refused")


async def presses(bot, updates):
    buttons = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="ab" * 16)]])
    asked = await unhurried(lambda: bot.send_message(ANN, "do it?", reply_markup=buttons))
    assert asked.reply_markup == buttons
    tell(f"press {asked.message_id} " + "ab" * 16)
    press = (await updates.next()).callback_query
    assert (press.data, press.from_user.id, press.message.message_id) == ("ab" * 16, ANN, asked.message_id)
    assert await press.answer("noted")
    changed = await press.edit_message_text("done")
    assert changed.reply_markup is None
    print("ok a press is noticed and answered, and its buttons go")


async def limits(bot):
    tell("limit sendMessage")
    refusal = await refused(RetryAfter, "", unlimited_send(bot))
    assert refusal.retry_after == timedelta(seconds=7) or refusal.retry_after == 7
    await asyncio.sleep(5)
    for number in range(5):
        await bot.send_message(ANN, f"{number}")
    await refused(RetryAfter, "", bot.send_message(ANN, "and one more"))
    await unhurried(lambda: bot.send_message(ANN, "and one more"))
    print("ok too many messages are refused, with the seconds to wait")


async def unlimited_send(bot):
    return await bot.send_message(ANN, "x")


async def files(bot, updates):
    tell("file 5000")
    document = (await updates.next()).message.document
    assert (document.file_name, document.file_size) == ("given.txt", 5000)
    assert await (await document.get_file()).download_as_bytearray() == b"x" * 5000
    tell(f"file {20 * 1024 * 1024 + 1}")
    await refused(BadRequest, "too big", (await updates.next()).message.document.get_file())
    print("ok a file of a person is fetched, and one over 20 MB is not")

    sent = await unhurried(lambda: bot.send_document(ANN, b"all of it", filename="answer.md", caption="17"))
    assert (sent.document.file_name, sent.document.file_size, sent.caption) == ("answer.md", 9, "17")
    assert (await unhurried(lambda: bot.send_photo(ANN, b"a picture"))).photo[0].file_size == 9
    await refused(BadRequest, "caption", bot.send_document(ANN, b"x", caption="x" * 1025))
    await refused(BadRequest, "too big", bot.send_photo(ANN, b"x" * (10 * 1024 * 1024 + 1)))
    await refused(NetworkError, "too large", bot.send_document(ANN, b"x" * (50 * 1024 * 1024)))
    print("ok a file and a photo are sent, and what is over a limit is refused")


async def moves(bot, updates):
    tell("migrate -7 -1007")
    assert (await updates.next()).message.migrate_to_chat_id == -1007
    assert (await updates.next()).message.migrate_from_chat_id == -7
    refusal = await refused(ChatMigrated, "", bot.send_message(-7, "hello"))
    assert refusal.new_chat_id == -1007
    assert (await bot.send_message(refusal.new_chat_id, "hello")).chat.type == "supergroup"
    print("ok a group that became another chat is named")


async def main():
    async with bot_of(TOKEN) as bot:
        assert (bot.id, bot.username) == (42, "cordon_bot")
        await refused(InvalidToken, "", bot_of("42:other").initialize())
        print("ok a token is known, and another is refused")
        updates = Polled(bot)
        await polls(bot, updates)
        await sends(bot)
        await presses(bot, updates)
        await limits(bot)
        await files(bot, updates)
        await moves(bot, updates)


try:
    asyncio.run(main())
finally:
    server.kill()
