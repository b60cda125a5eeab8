/** The state that the bridge saves: its cursor in the hub's log, and the announced events. */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "./stream-event.ts";

export interface Announced {
  id: string;
  /** The time of the announcement in ms. */
  at: number;
  /** The repository. Only the stream contains it, not `get_event`. */
  repo?: string;
}

export interface BridgeState {
  /** The `id:` of the last processed message; null before the first one. */
  cursor: string | null;
  /** Announced events that are not yet known to be processed, and for which no reminder was sent. */
  announced: readonly Announced[];
}

export const MAX_ANNOUNCED = 500;

export interface StateFile {
  /** `replaced`: the saved state belongs to a replaced log; `cursor` is the start of the new log. */
  read(): BridgeState & { replaced?: boolean };
  write(state: BridgeState): void;
}

export interface StateFileOptions {
  folder: string;
  url: string;
  /**
   * The hub's name of the log, `TENANTS@DATABASE`. Cursors of two logs are unrelated. The second part
   * changes when the database is replaced, and its last two digits when the database fails over.
   */
  log: string;
  onError: (message: string) => void;
}

const emptyState: BridgeState = { cursor: null, announced: [] };

export function createStateFile({ folder, url, log, onError }: StateFileOptions): StateFile {
  const name = createHash("sha256")
    .update(JSON.stringify([url, log.split("@")[0]]))
    .digest("hex")
    .slice(0, 32);
  const path = join(folder, `${name}.json`);
  let hasWarned = false;

  return {
    read() {
      let text: string;
      try {
        text = readFileSync(path, "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT")
          onError(`cannot read ${path} (${(error as Error).message}): continuing with new events.`);
        return emptyState;
      }
      const state = parseState(text);
      if (!state)
        onError(`${path} is damaged or was not written by the bridge: continuing with new events.`);
      if (state?.log !== undefined && state.log !== log) {
        const { cursor, announced } = state;
        if (databaseOf(state.log) === undefined || databaseOf(state.log) !== databaseOf(log))
          return { cursor: "0", announced: [], replaced: true };
        // With the former name, the hub reports that events may be missing, and continues after the cursor.
        const isNamed = cursor === null || cursor.includes("@");
        return { cursor: isNamed ? cursor : `${cursor}@${state.log.split("@")[1]}`, announced };
      }
      return state ? { cursor: state.cursor, announced: state.announced } : emptyState;
    },
    /**
     * Atomic: a reader sees the old state or the new one. Synchronous: no other work runs between an
     * announcement and its state. Without fsync: after a power failure, announcements may be repeated,
     * or be missed if the file is empty then.
     */
    write(state) {
      const announced = state.announced.slice(-MAX_ANNOUNCED);
      const saved = { version: 1, url, log, cursor: state.cursor, announced };
      const temporary = `${path}.${process.pid}.${randomUUID().slice(0, 8)}.tmp`;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(temporary, `${JSON.stringify(saved)}\n`, { mode: 0o600 });
        renameSync(temporary, path);
        hasWarned = false;
      } catch (error) {
        removeIfExists(temporary);
        // The channel continues without saved state: a full disk must not stop it.
        if (!hasWarned) onError(`cannot save its state: ${(error as Error).message}`);
        hasWarned = true;
      }
    },
  };
}

/** Returns the digits that stay the same when the database fails over. */
const databaseOf = (log: string): string | undefined => /@([0-9a-f]{6})[0-9a-f]{2}$/.exec(log)?.[1];

function removeIfExists(path: string): void {
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
  // The cursor becomes a header, so it must be one line of printable ASCII. Its length grows with the
  // number of tenants of the token.
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
