import { assertNoMoreArguments, type Command } from "./command.ts";

export const bridge: Command = {
  name: "bridge",
  usage: "[sign-in | sign-out]",
  summary: "connect a hub to Claude Code: its tools over stdio, and events that wake the agent",
  details:
    "An MCP client starts the bridge and exchanges messages with it on stdin and stdout. The settings of the bridge\n" +
    "are environment variables: SIGNALBOX_URL or WEBHOOK_WORKER_URL (the hub's address; default: the local\n" +
    "hub), SIGNALBOX_TOKEN (default: you sign in), WEBHOOK_CHANNEL (0 disables events, so that only the tools remain),\n" +
    "WEBHOOK_CHANNEL_SENDERS (globs of the senders who may wake the agent; default: all),\n" +
    "SIGNALBOX_BRIDGE_STATE (the state folder), SIGNALBOX_BRIDGE_REMIND_MINUTES (the delay of the reminder for\n" +
    "unprocessed events; default: 10; 0 disables it). See docs/claude-code.md.",
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
