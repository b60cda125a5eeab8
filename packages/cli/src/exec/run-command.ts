/** Runs a command in its own process group, so that it can be terminated with all its children. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { createLastLine } from "./last-line.ts";
import type { CommandExit } from "./outcome.ts";

export interface CommandToRun {
  argv: readonly string[];
  env: Record<string, string | undefined>;
  /** Written to stdin, which is then closed. */
  input: string;
  /** 0 means no limit. */
  timeoutS: number;
  /** Terminates the command. */
  signal: AbortSignal;
  onOutput(stream: "stdout" | "stderr", chunk: string): void;
  /** The time between SIGTERM and SIGKILL. */
  killAfterMs?: number;
}

/** The operating system cannot start the command. */
export class CommandNotStarted extends Error {}

/**
 * A child that outlives the command can keep the output open. After this time, the rest of the output is
 * ignored.
 */
const DRAIN_MS = 1_000;
const HAS_PROCESS_GROUPS = process.platform !== "win32";

export async function runCommand(command: CommandToRun): Promise<CommandExit> {
  const { argv, env, input, timeoutS, signal, onOutput, killAfterMs = 10_000 } = command;
  const [file = "", ...args] = argv;
  const lines = { stdout: createLastLine(), stderr: createLastLine() };
  let child: ChildProcess;
  let exited: Promise<unknown[]>;
  try {
    child = spawn(file, args, { env, stdio: "pipe", detached: HAS_PROCESS_GROUPS });
    exited = once(child, "exit");
  } catch (error) {
    throw notStarted(file, error);
  }
  const closed = once(child, "close").catch(() => {});
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.setEncoding("utf8").on("data", (chunk: string) => {
      lines[name].push(chunk);
      onOutput(name, chunk);
    });
  // If the command does not read its input, writing to its stdin fails.
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);

  let hasTimedOut = false;
  let killTimer: NodeJS.Timeout | undefined;
  const terminate = () => {
    sendSignal(child, "SIGTERM");
    killTimer ??= setTimeout(() => sendSignal(child, "SIGKILL"), killAfterMs);
  };
  const onTimeout = () => {
    hasTimedOut = true;
    terminate();
  };
  const timeout = timeoutS === 0 ? undefined : setTimeout(onTimeout, timeoutS * 1_000);
  signal.addEventListener("abort", terminate);
  if (signal.aborted) terminate();
  try {
    const [code, endedBy] = (await exited) as [number | null, NodeJS.Signals | null];
    clearTimeout(timeout);
    await Promise.race([closed, sleep(DRAIN_MS, undefined, { ref: false })]);
    return {
      code,
      signal: endedBy,
      ...(hasTimedOut ? { timeoutS } : {}),
      stdout: lines.stdout.read(),
      stderr: lines.stderr.read(),
    };
  } catch (error) {
    throw notStarted(file, error);
  } finally {
    clearTimeout(timeout);
    clearTimeout(killTimer);
    signal.removeEventListener("abort", terminate);
    // Kills children that ignored SIGTERM.
    if (killTimer) sendSignal(child, "SIGKILL");
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

function sendSignal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(HAS_PROCESS_GROUPS ? -pid : pid, name);
  } catch {
    // The process has already ended.
  }
}

function notStarted(file: string, error: unknown): CommandNotStarted {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason =
    code === "ENOENT"
      ? "no such command"
      : code === "EACCES"
        ? "it is not executable"
        : (code ?? message);
  return new CommandNotStarted(`Cannot start ${file}: ${reason}.`, { cause: error });
}
