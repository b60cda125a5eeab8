/**
 * A lock between processes: a file that only one of them can create. A stale lock, whose holder has
 * crashed, is removed after `staleMs`, which must exceed the longest critical section.
 */
import { randomUUID } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 50;

export interface LockOptions {
  /** The time after which the holder counts as dead. `work` must take less. */
  staleMs: number;
}

export async function withFileLock<Result>(
  path: string,
  { staleMs }: LockOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const mine = randomUUID();
  while (!tryCreate(path, mine)) {
    removeStale(path, staleMs);
    await sleep(POLL_MS);
  }
  try {
    return await work();
  } finally {
    if (read(path) === mine) rmSync(path, { force: true });
  }
}

function tryCreate(path: string, id: string): boolean {
  try {
    writeFileSync(path, id, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Renames before it removes: of several processes, one gets the stale lock. If another process has
 * replaced it in between, the renamed file is a new lock, and is put back.
 */
function removeStale(path: string, staleMs: number): void {
  const id = read(path);
  const age = ageOf(path);
  if (id === undefined || age === undefined || age < staleMs) return;
  const aside = `${path}.${randomUUID().slice(0, 8)}.stale`;
  try {
    if (read(path) !== id) return;
    renameSync(path, aside);
    if (read(aside) !== id) linkSync(aside, path);
    rmSync(aside, { force: true });
  } catch {
    // Another process was faster.
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function ageOf(path: string): number | undefined {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return undefined;
  }
}
