import type { PackLarge } from "./packs.ts";
import type { Table } from "./schema.ts";
import type { Notice } from "./sql.ts";

/** Calls the listener for each notice, or only for those of some topics. Returns a function that unsubscribes. */
type Subscribe = (
  listener: (notice: Notice) => void,
  topics?: readonly Notice["topic"][],
) => () => void;

/** What a store has besides its verbs. */
export interface Engine {
  readonly backend: "sqlite" | "postgres" | "durable-object";
  /** The tables of the database. */
  readonly tables: readonly Table[];
  /** Subscribes to the notices of this process and of other replicas. */
  subscribe: Subscribe;
  /** Like `subscribe`, but only for the notices of this store's commits, not of other replicas. */
  onCommit: Subscribe;
  /**
   * Compresses large payloads in another thread, so that `appendEvents` does not block for long. Returns
   * the request unchanged on backends without threads, and if no payload is large.
   */
  packLarge: PackLarge;
  /** Undefined if the engine manages its files itself. */
  readonly file?: DatabaseFile;
  measureSize(): Promise<DatabaseSize>;
  /** Whether the data of one request caused the error, so that the rest of its batch can be stored. */
  isDataError(error: unknown): boolean;
  close(): Promise<void>;
}

export interface DatabaseSize {
  /**
   * What the database takes on disk: on SQLite the file and its WAL. On PostgreSQL without the WAL, which all
   * databases of the server share.
   */
  disk: number;
  /** The size of the data with its indexes, and on PostgreSQL also the free space in its files. */
  used: number;
  /** The size of the pages without data, which new data uses first. Null if the engine does not report it. */
  free: number | null;
  /** The part of `disk` that the WAL takes. It may contain newer versions of pages. Null if there is none. */
  wal: number | null;
}

/** The parts of the database for metrics; only those that the engine reports. */
export const partsOf = ({ used, free, wal }: DatabaseSize): [part: string, bytes: number][] => [
  ["used", used],
  ...(free === null ? [] : [["free", free] as [string, number]]),
  ...(wal === null ? [] : [["wal", wal] as [string, number]]),
];

/** Only SQLite has it: PostgreSQL and Durable Objects manage their files themselves. */
export interface DatabaseFile {
  /**
   * False if the file was created by a version that did not prepare it: then only `signalbox compact`
   * returns its free space to the file system.
   */
  readonly canShrink: boolean;
  /** Why the start did not convert such a file, with the fix. */
  readonly notConverted?: string | undefined;
  /**
   * During a job that writes much, the WAL is copied to the file more often. Each time blocks the event
   * loop more briefly.
   */
  keepWalShort(isShort: boolean): void;
  /**
   * Returns up to `maxPages` free pages at the end of the file to the file system. Keeps a reserve of free
   * pages for new data. Returns whether more pages can be returned.
   */
  compact(maxPages: number): Promise<boolean>;
  /** Truncates the WAL file if little was written since the last call. Then the pause affects no request. */
  truncateWal(): Promise<void>;
}

/** Listeners of notices. If a listener throws, the others are still called; a microtask rethrows. */
export function createListeners() {
  const entries = new Set<Parameters<Subscribe>>();
  const subscribe: Subscribe = (...entry) => {
    entries.add(entry);
    return () => entries.delete(entry);
  };
  return {
    subscribe,
    notify(notices: readonly Notice[]): void {
      for (const notice of notices)
        for (const [listener, topics] of entries) {
          if (topics && !topics.includes(notice.topic)) continue;
          try {
            listener(notice);
          } catch (error) {
            queueMicrotask(() => {
              throw error;
            });
          }
        }
    },
  };
}
