import type { OpenCommand } from "../../connections/command.ts";

/** The SDK would also inherit these: a command gets only PATH, HOME, and what the connection sets. */
const NOT_INHERITED = ["LOGNAME", "SHELL", "TERM", "USER"];
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
const MAX_LAST_WORDS = 2_000;

/** Runs MCP servers as child processes, without a shell. */
export const openCommand: OpenCommand = async ({ command, args, env }) => {
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const removed = Object.fromEntries(NOT_INHERITED.map((name) => [name, undefined]));
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    // Node omits variables that are undefined.
    env: { ...removed, ...env } as Record<string, string>,
    stderr: "pipe",
    maxBufferSize: MAX_MESSAGE_BYTES,
  });
  let words = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    words = (words + chunk.toString()).slice(-MAX_LAST_WORDS);
  });
  return { transport, stderrTail: () => words };
};
