// OpenCode's hooks for Cordon's memory: what tools answered and what the person wrote is taken down by `agentctl hook
// opencode`, and what is remembered is put before the model. It holds no logic of its own, never throws into OpenCode, and
// never keeps it waiting for longer than LIMIT. CORDON_AGENTCTL names another agentctl than the one in PATH.
import { spawn } from "node:child_process"

// Milliseconds that an answer is waited for; agentctl itself ends before that.
const LIMIT = 2500
// Characters of an output that are passed on; memory keeps fewer.
const OUTPUT = 200_000

// The hook, with whatever goes wrong in it kept from OpenCode.
const safely = (hook) => async (...told) => {
  try {
    await hook(...told)
  } catch {}
}

export const CordonMemory = async ({ directory }) => {
  const program = process.env.CORDON_AGENTCTL || "agentctl"

  // Starts the hook with what OpenCode told; what it prints, if that is waited for.
  const tell = (hook, input, output, wait) =>
    new Promise((resolve) => {
      try {
        const told = JSON.stringify({ directory, input, output })
        const child = spawn(program, ["hook", "opencode", hook], {
          stdio: ["pipe", wait ? "pipe" : "ignore", "ignore"],
          // What is not waited for outlives OpenCode, which often ends right after it told.
          detached: !wait,
        })
        child.on("error", () => resolve(""))
        child.stdin.on("error", () => {})
        child.stdin.end(told)
        if (!wait) {
          child.unref()
          return resolve("")
        }
        let said = ""
        const late = setTimeout(() => (child.kill(), resolve("")), LIMIT)
        child.stdout.setEncoding("utf8")
        child.stdout.on("data", (piece) => (said += piece))
        child.on("close", () => (clearTimeout(late), resolve(said)))
      } catch {
        resolve("")
      }
    })

  // What is remembered, as quoted data with its label in it; nothing if there is nothing.
  const remembered = async (hook, input) => {
    try {
      const { context } = JSON.parse(await tell(hook, input, null, true))
      return typeof context === "string" && context !== "" ? [context] : []
    } catch {
      return []
    }
  }

  return {
    "tool.execute.after": safely(async (input, output) => {
      const { tool, sessionID, callID, args } = input ?? {}
      const said = typeof output?.output === "string" ? output.output.slice(0, OUTPUT) : ""
      const file = args?.filePath ?? output?.metadata?.filepath ?? output?.metadata?.filediff?.file
      await tell("tool.execute.after", { tool, sessionID, callID, file }, { title: output?.title, output: said }, false)
    }),
    "chat.message": safely(async (input, output) => {
      const { sessionID, messageID } = input ?? {}
      const parts = (Array.isArray(output?.parts) ? output.parts : [])
        .filter((part) => typeof part === "string" || part?.type === "text")
        .map((part) => (typeof part === "string" ? part : { text: part.text, synthetic: part.synthetic }))
      const message = { id: output?.message?.id, role: output?.message?.role }
      await tell("chat.message", { sessionID, messageID }, { message, parts }, false)
    }),
    "experimental.chat.system.transform": safely(async (input, output) => {
      output.system?.push(...(await remembered("experimental.chat.system.transform", { sessionID: input?.sessionID })))
    }),
    "experimental.session.compacting": safely(async (input, output) => {
      output.context?.push(...(await remembered("experimental.session.compacting", { sessionID: input?.sessionID })))
    }),
    event: safely(async ({ event }) => {
      const { type, properties } = event ?? {}
      if (!["session.created", "session.idle", "session.deleted"].includes(type)) return
      const told = { type, properties: { sessionID: properties?.sessionID ?? properties?.info?.id } }
      await tell("event", { event: told }, null, false)
    }),
  }
}
