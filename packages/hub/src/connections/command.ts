import type { Transport } from "@modelcontextprotocol/client";

interface Command {
  command: string;
  args: readonly string[];
  /** The environment of the process. The host adds PATH and HOME. */
  env: Readonly<Record<string, string>>;
}

export interface OpenedCommand {
  /** Starts the process when the client connects, and ends it on `close`. */
  transport: Transport;
  /** The last part of what the process has written to stderr. */
  stderrTail(): string;
}

/** Runs an MCP server as a process, without a shell. */
export type OpenCommand = (command: Command) => Promise<OpenedCommand>;
