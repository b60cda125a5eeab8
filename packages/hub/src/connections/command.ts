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

/** `impossible`: the host cannot start processes. Undefined: the operator does not allow commands. */
export type CommandSupport = OpenCommand | "impossible" | undefined;

/** Returns why a connection cannot run a command; undefined if it can. */
export function commandRefusal(support: Exclude<CommandSupport, OpenCommand>): string;
export function commandRefusal(support: CommandSupport): string | undefined;
export function commandRefusal(support: CommandSupport): string | undefined {
  if (typeof support === "function") return undefined;
  return support === "impossible" ? IMPOSSIBLE : NOT_ALLOWED;
}

const NOT_ALLOWED =
  "This hub runs no commands: set url instead, or start the hub with SIGNALBOX_ALLOW_COMMANDS=on.";
const IMPOSSIBLE =
  "This hub runs on Cloudflare Workers, where commands cannot run: set url instead.";
