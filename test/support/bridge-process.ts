/** Runs the bridge as a child process, like Claude Code, and records the messages of its channel. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const BRIDGE = fileURLToPath(
  new URL("../../packages/bridge/bin/signalbox-bridge.js", import.meta.url),
);

interface ChannelMessage {
  content: string;
  meta: Record<string, string>;
}

export type Ending = "SIGKILL" | "SIGTERM" | "close stdin";

export interface BridgeProcess {
  messages: ChannelMessage[];
  endedBy: Ending | undefined;
  /** Ends the process. Resolves when it has exited and its output has been read. */
  end(how: Ending): Promise<void>;
}

const toLine = (message: object) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;

/** The first messages that Claude Code sends. Without the list requests, the bridge delays its channel messages. */
export const HANDSHAKE = [
  {
    id: 0,
    method: "server/discover",
    params: {
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "story", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  },
  {
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "story", version: "1" },
    },
  },
  { method: "notifications/initialized" },
  { id: 2, method: "tools/list" },
  { id: 3, method: "prompts/list" },
  { id: 4, method: "resources/list" },
]
  .map(toLine)
  .join("");

export function startBridgeProcess(env: Record<string, string>): BridgeProcess {
  const child = spawn(process.execPath, [BRIDGE], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const messages: ChannelMessage[] = [];
  const lines = createInterface(child.stdout);
  lines.on("line", (text) => {
    const message = parse(text);
    if (message?.method === "notifications/claude/channel") messages.push(message.params);
  });
  const ended = Promise.all([once(child, "exit"), once(lines, "close")]);
  // A process that was killed before it has read its input causes an error.
  child.stdin.on("error", () => {});
  child.stdin.write(HANDSHAKE);
  const bridge: BridgeProcess = {
    messages,
    endedBy: undefined,
    async end(how) {
      bridge.endedBy = how;
      if (how === "close stdin") child.stdin.end();
      else child.kill(how);
      await ended;
    },
  };
  return bridge;
}

/** A killed process may leave an incomplete line, which is not a message. */
function parse(text: string): { method?: string; params: ChannelMessage } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
