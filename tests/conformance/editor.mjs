// The official TypeScript client of the Agent Client Protocol: editor.mjs SDK FOLDER COMMAND...
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [sdk, cwd, ...command] = process.argv.slice(2);
const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import(sdk);
const { session } = methods.agent;
const updates = [];
const asked = [];
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const editor = client({ name: "conformance" })
  .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    asked.push(params.options.map((option) => option.kind));
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  });
const heard = () =>
  updates.filter((it) => it.sessionUpdate === "agent_message_chunk").map((it) => it.content.text).join("");

await editor.connectWith(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (peer) => {
  const hello = await peer.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
  assert.equal(hello.protocolVersion, 1);
  const { sessionId, configOptions } = await peer.request(session.new, { cwd, mcpServers: [] });
  assert.deepEqual(configOptions.map((option) => option.id), ["agent", "model"]);
  const say = (text) => peer.request(session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  assert.equal((await say("run: cat note.txt")).stopReason, "end_turn");
  assert.deepEqual(asked, [["allow_once", "reject_once"]]);
  assert.match(heard(), /harbour-light/);
  assert.ok(updates.some((it) => it.sessionUpdate === "tool_call" && it.kind === "execute"));
  const late = say("run: sleep 60");
  while (asked.length < 2) await new Promise((done) => setTimeout(done, 50));
  await peer.notify(session.cancel, { sessionId });
  assert.equal((await late).stopReason, "cancelled");
  await peer.request(session.resume, { sessionId, cwd, mcpServers: [] });
  await peer.request(session.close, { sessionId });
  await assert.rejects(say("hello"), /session/);
});
agent.kill();
console.log("ok the official TypeScript client prompts, allows, cancels, resumes and closes");
