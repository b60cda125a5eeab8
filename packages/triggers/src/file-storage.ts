/**
 * Keeps the state in one JSON file. Each change is written to a temporary file, synced and renamed,
 * so that a crash leaves the former or the new content. Changes at the same time share one write.
 * The file belongs to one process.
 */
import { readFileSync } from "node:fs";
import { mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { isObject } from "./json.ts";
import { createMemoryStorage, type StorageState } from "./memory-storage.ts";
import type { TriggerStorage } from "./storage.ts";

export function fileStorage(path: string): TriggerStorage {
  let latest: (() => StorageState) | undefined;
  let writing: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const write = async () => {
    const snapshot = latest;
    if (snapshot) await replaceFile(path, JSON.stringify({ version: 1, ...snapshot() }));
  };
  // A change during a write waits for the next write, which contains all changes up to its start.
  const persist = (snapshot: () => StorageState): Promise<void> => {
    latest = snapshot;
    next ??= (async () => {
      await writing?.catch(() => {});
      writing = next;
      next = undefined;
      await write();
    })();
    return next;
  };
  return {
    ...createMemoryStorage(readState(path), persist),
    async close() {
      await (next ?? writing)?.catch(() => {});
    },
  };
}

function readState(path: string): StorageState | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (isObject(error) && error.code === "ENOENT") return undefined;
    throw error;
  }
  const state = parse(text);
  if (!isObject(state) || state.version !== 1 || !Array.isArray(state.outbox))
    throw new Error(
      `${path} is not a file of trigger subscriptions. Move it away, or name another.`,
    );
  return state as unknown as StorageState;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function replaceFile(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.new`;
  // It contains callback tokens: only its owner may read it.
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  if (process.platform === "win32") return;
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
