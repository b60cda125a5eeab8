import type { DatabaseFile, DatabaseSize } from "./database-file.ts";
import type { PackLarge } from "./packs.ts";
import type { Table } from "./schema.ts";
import type { Notice } from "./sql.ts";

/** What a store has besides its verbs. */
export interface Engine {
  readonly backend: "sqlite" | "postgres" | "durable-object";
  /** The tables of the database. */
  readonly tables: readonly Table[];
  /**
   * Calls the listener for each notice of this process or another replica. Returns a function that
   * unsubscribes.
   */
  subscribe(listener: (notice: Notice) => void): () => void;
  /** Like `subscribe`, but only for the notices of this store's commits, not of other replicas. */
  onCommit(listener: (notice: Notice) => void): () => void;
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
