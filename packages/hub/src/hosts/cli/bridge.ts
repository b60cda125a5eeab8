import { assertNoMoreArguments, type Command } from "./command.ts";

export const bridge: Command = {
  name: "bridge",
  usage: "[sign-in | sign-out]",
  summary: "connect a hub to Claude Code: its tools over stdio, and events that wake the agent",
  details:
    "An MCP client starts it and exchanges messages with it on stdin and stdout. Its settings are\n" +
    "environment variables: SIGNALBOX_URL or WEBHOOK_WORKER_URL (the hub's address; default: the local\n" +
    "hub), SIGNALBOX_TOKEN (default: you sign in), WEBHOOK_CHANNEL=0 (tools only), WEBHOOK_CHANNEL_SENDERS (globs of senders who\n" +
    "may wake the agent), SIGNALBOX_BRIDGE_STATE (a folder), SIGNALBOX_BRIDGE_REMIND_MINUTES (10; 0 for\n" +
    "never). See docs/claude-code.md.",
  options: {
    device: {
      type: "boolean",
      help: "with sign-in: enter a code in a browser on any machine",
    },
  },
  settings: [],
  async run({ positionals, flags }) {
    assertNoMoreArguments(positionals.slice(1));
    const { runBridge } = await import("@signalbox/bridge");
    await runBridge([...positionals, ...(flags.device ? ["--device"] : [])]);
  },
};
