import type { OpenCommand } from "../../connections/command.ts";

/** Variables that the SDK would also pass on. A command gets only PATH, HOME, and those of its connection. */
const NOT_INHERITED = ["LOGNAME", "SHELL", "TERM", "USER"];
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
const MAX_STDERR_TAIL = 2_000;

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
  let stderrTail = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    stderrTail = (stderrTail + chunk.toString()).slice(-MAX_STDERR_TAIL);
  });
  return { transport, stderrTail: () => stderrTail };
};
