/**
 * A journal of finished events, with one file for each event. An event whose command succeeded is recorded
 * before the hub marks it as processed. If the marking fails because of a crash or an outage, the next
 * start of `signalbox exec` marks the event, and the command does not run again.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

interface FinishedEvent {
  id: string;
  note: string;
}

export interface FinishedEvents {
  /** Creates the folder; throws if no file can be written to it. */
  checkWritable(): void;
  add(event: FinishedEvent): void;
  remove(id: string): void;
  read(): FinishedEvent[];
}

/** Older records are deleted: their hub may no longer exist, or retention may have deleted the event. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1_000;
const FILE_NAME = /^([0-9a-f-]{36})\.json$/;

export function createFinishedEvents(folder: string, now = Date.now): FinishedEvents {
  const pathOf = (id: string) => join(folder, `${id}.json`);
  const writeTemporary = (text: string): string => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const temporary = join(folder, `${randomUUID()}.tmp`);
    const file = openSync(temporary, "w", 0o600);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    return temporary;
  };
  return {
    checkWritable: () => rmSync(writeTemporary("")),
    add({ id, note }) {
      renameSync(writeTemporary(`${JSON.stringify({ id, note })}\n`), pathOf(id));
    },
    remove: (id) => rmSync(pathOf(id), { force: true }),
    read() {
      return listFolder(folder).flatMap((name) => {
        const id = FILE_NAME.exec(name)?.[1];
        if (id === undefined) return [];
        const path = pathOf(id);
        const note = readNote(path);
        if (note !== undefined && statSync(path).mtimeMs > now() - MAX_AGE_MS)
          return [{ id, note }];
        rmSync(path, { force: true });
        return [];
      });
    },
  };
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}

/** Returns undefined if the file is damaged, or if another process has removed it. */
function readNote(path: string): string | undefined {
  try {
    const { note } = JSON.parse(readFileSync(path, "utf8")) as { note?: unknown };
    return typeof note === "string" ? note : undefined;
  } catch {
    return undefined;
  }
}
