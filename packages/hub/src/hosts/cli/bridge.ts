import { assertNoMoreArguments, type Command } from "./command.ts";

export const bridge: Command = {
  name: "bridge",
  usage: "",
  summary: "connect a hub to Claude Code: its tools over stdio, and events that wake the agent",
  details:
    "An MCP client starts it and exchanges messages with it on stdin and stdout. Its settings are environment variables:\n" +
    "WEBHOOK_WORKER_URL (the hub's address, required), SIGNALBOX_TOKEN, WEBHOOK_CHANNEL=0 (tools only),\n" +
    "WEBHOOK_CHANNEL_SENDERS (globs of senders who may wake the agent), SIGNALBOX_BRIDGE_STATE (a folder),\n" +
    "SIGNALBOX_BRIDGE_REMIND_MINUTES (10; 0 for never). See docs/claude-code.md.",
  options: {},
  settings: [],
  async run({ positionals }) {
    assertNoMoreArguments(positionals);
    const { runBridge } = await import("@signalbox/bridge");
    await runBridge();
  },
};
