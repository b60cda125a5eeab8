/**
 * Stores the state in one JSON file. Each change is written to a temporary file, synced and renamed.
 * After a crash, the file therefore has the content before or after a change, never a part of it.
 * Concurrent changes share one write. Only one process may use the file.
 */
import { readFileSync } from "node:fs";
import { mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { isObject } from "./json.ts";
import { createMemoryStorage, type StorageState } from "./memory-storage.ts";
import type { TriggerStorage } from "./storage.ts";

export function fileStorage(path: string): TriggerStorage {
  let takeSnapshot: (() => StorageState) | undefined;
  let currentWrite: Promise<void> | undefined;
  let nextWrite: Promise<void> | undefined;

  const write = async () => {
    if (takeSnapshot) await replaceFile(path, JSON.stringify({ version: 1, ...takeSnapshot() }));
  };
  // A change during a write waits for the next write, which contains all changes up to its start.
  const persist = (snapshot: () => StorageState): Promise<void> => {
    takeSnapshot = snapshot;
    nextWrite ??= (async () => {
      await currentWrite?.catch(() => {}); // the callers of that write get its error
      currentWrite = nextWrite;
      nextWrite = undefined;
      await write();
    })();
    return nextWrite;
  };
  return {
    ...createMemoryStorage(readState(path), persist),
    async close() {
      await (nextWrite ?? currentWrite)?.catch(() => {});
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
  const state = parseJson(text);
  if (!isObject(state) || state.version !== 1 || !Array.isArray(state.outbox))
    throw new Error(
      `${path} is not a file of trigger subscriptions. Move the file, or pass another path.`,
    );
  return state as unknown as StorageState;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function replaceFile(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.new`;
  // The file contains callback tokens, so only its owner may read it.
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  // The folder is synced so that the rename survives a crash. Windows cannot open folders.
  if (process.platform === "win32") return;
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
