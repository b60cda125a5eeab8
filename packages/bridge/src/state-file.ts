/** What the bridge remembers between two starts: its place in the hub's log, and what it announced. */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "./stream-event.ts";

export interface Announced {
  id: string;
  /** When it was announced, in ms. */
  at: number;
  /** Where it happened: the hub tells of it only in the stream. */
  repo?: string;
}

export interface BridgeState {
  /** The `id:` of the last message that was dealt with; null before the first one ever. */
  cursor: string | null;
  /** Announced, and not yet known to be processed or named a second time; oldest first. */
  announced: readonly Announced[];
}

export const MOST_ANNOUNCED = 500;

export interface StateFile {
  /** `replaced`: what was remembered is of a log that is gone, and its place the beginning of this one. */
  read(): BridgeState & { replaced?: boolean };
  write(state: BridgeState): void;
}

export interface StateFileOptions {
  folder: string;
  url: string;
  /**
   * In the hub's words: places in two logs have nothing to do with each other. What stands before an
   * `@` says whose it is; what comes after is another when the hub has lost what it had.
   */
  log: string;
  onError: (words: string) => void;
}

const nothing: BridgeState = { cursor: null, announced: [] };

export function createStateFile({ folder, url, log, onError }: StateFileOptions): StateFile {
  const name = createHash("sha256")
    .update(JSON.stringify([url, log.split("@")[0]]))
    .digest("hex")
    .slice(0, 32);
  const path = join(folder, `${name}.json`);
  let complained = false;

  return {
    read() {
      let text: string;
      try {
        text = readFileSync(path, "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT")
          onError(`cannot read ${path} (${(error as Error).message}): starting from now on.`);
        return nothing;
      }
      const state = parseState(text);
      if (!state) onError(`${path} is not a file of ours or is damaged: starting from now on.`);
      if (state?.log !== undefined && state.log !== log)
        return { cursor: "0", announced: [], replaced: true };
      return state ? { cursor: state.cursor, announced: state.announced } : nothing;
    },
    /**
     * At once and whole: a reader sees the old state or the new one. Synchronous, so that nothing
     * comes between an announcement and its memory; without fsync, since after a power cut the
     * worst is that events are announced twice.
     */
    write(state) {
      const announced = state.announced.slice(-MOST_ANNOUNCED);
      const kept = { version: 1, url, log, cursor: state.cursor, announced };
      const temporary = `${path}.${process.pid}.${randomUUID().slice(0, 8)}.tmp`;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(temporary, `${JSON.stringify(kept)}\n`, { mode: 0o600 });
        renameSync(temporary, path);
        complained = false;
      } catch (error) {
        tidy(temporary);
        // The channel goes on without a memory; a full disk must not silence it.
        if (!complained) onError(`cannot remember its place: ${(error as Error).message}`);
        complained = true;
      }
    },
  };
}

/** Where nothing can be written, there may be nothing to remove. */
function tidy(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

function parseState(text: string): (BridgeState & { log: string | undefined }) | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || value.version !== 1) return undefined;
  const { cursor, announced, log } = value;
  // It becomes a header: one line of printable ASCII, or it was not written by us. Its length is
  // the hub's choice, and grows with the tenants that the token opens.
  if (cursor !== null && !(typeof cursor === "string" && /^[\x21-\x7e]{1,65536}$/.test(cursor)))
    return undefined;
  return {
    cursor,
    announced: Array.isArray(announced) ? announced.flatMap(readAnnounced) : [],
    log: typeof log === "string" ? log : undefined,
  };
}

function readAnnounced(value: unknown): Announced[] {
  if (!isRecord(value) || typeof value.id !== "string" || typeof value.at !== "number") return [];
  const { id, at, repo } = value;
  return [typeof repo === "string" ? { id, at, repo } : { id, at }];
}
