/**
 * Tracks the processes and folders of a benchmark and removes them when it ends, even by an error
 * or by Ctrl+C. PostgreSQL has its own cleanup (test/support/postgres.ts).
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const children = new Set<ChildProcess>();
const folders = new Set<string>();

export function trackProcess<Child extends ChildProcess>(child: Child): Child {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

/** Sends SIGTERM, and SIGKILL after the timeout. */
export async function stopProcess(child: ChildProcess, timeoutMs = 15_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timeout = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  await exited;
  clearTimeout(timeout);
}

/** Creates a temporary folder on a disk, because fsync on tmpfs costs nothing. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(diskFolder(), "signalbox-bench-"));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  folders.delete(folder);
}

const TMPFS = 0x01021994;
const RAMFS = 0x858458f6;

function diskFolder(): string {
  const configured = process.env.SIGNALBOX_BENCH_DIR;
  if (configured) {
    mkdirSync(configured, { recursive: true });
    return configured;
  }
  const fallback = join(import.meta.dirname, "results");
  const isDisk = (path: string) =>
    existsSync(path) && ![TMPFS, RAMFS].includes(statfsSync(path).type);
  const onDisk = [tmpdir(), "/var/tmp"].find(isDisk);
  if (onDisk) return onDisk;
  mkdirSync(fallback, { recursive: true });
  return fallback;
}

function cleanUp(): void {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) removeFolder(folder);
}

export function cleanUpOnExit(): void {
  process.once("exit", cleanUp);
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)
    process.once(signal, () => process.exit(code));
}
