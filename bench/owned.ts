/**
 * Everything that a benchmark starts or creates, so that it is gone afterwards however it ends: at
 * the end, by an error, by Ctrl+C. PostgreSQL watches over itself (test/support/postgres.ts).
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const children = new Set<ChildProcess>();
const folders = new Set<string>();

export function own<Child extends ChildProcess>(child: Child): Child {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

/** Asks it to end, and makes it where asking does not help. */
export async function end(child: ChildProcess, patienceMs = 15_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const impatience = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  await exited;
  clearTimeout(impatience);
}

/** A temporary folder on a disk: an fsync into memory would measure nothing. */
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
  const asked = process.env.SIGNALBOX_BENCH_DIR;
  if (asked) {
    mkdirSync(asked, { recursive: true });
    return asked;
  }
  const own = join(import.meta.dirname, "results");
  const isDisk = (path: string) =>
    existsSync(path) && ![TMPFS, RAMFS].includes(statfsSync(path).type);
  const found = [tmpdir(), "/var/tmp"].find(isDisk);
  if (found) return found;
  mkdirSync(own, { recursive: true });
  return own;
}

function cleanUp(): void {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) removeFolder(folder);
}

export function cleanUpAtTheEnd(): void {
  process.once("exit", cleanUp);
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)
    process.once(signal, () => process.exit(code));
}
