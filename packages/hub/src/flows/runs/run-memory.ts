/**
 * The memory of the runs that this process executes. A run that waits has no slot, so this budget bounds
 * how many runs wait in memory. A run takes more as it loads and produces values, even if the budget is
 * used up then; only claims respect it.
 */
import { createShares, type GroupPath, type Shares } from "../../kernel/lib/shares.ts";

/** What a run takes apart from its values: measured for a run that waits for a server, without the socket. */
export const RUN_BYTES = 32 * 1024;

export interface RunMemory {
  shares: Pick<Shares, "room" | "countFull" | "draft" | "free">;
  /** Counts a run that begins to execute. */
  open(run: string, path: GroupPath): OpenRun;
  /**
   * Stops counting a run while it waits for a run that it has called: callers could otherwise use up the
   * budget, and the called runs could not be claimed. The returned function counts it again.
   */
  pause(run: string): () => void;
  /** The bytes of all runs that count. */
  readonly used: number;
}

interface OpenRun {
  /** Counts a value that the run keeps in memory. */
  add(bytes: number): void;
  close(): void;
}

interface Entry {
  path: GroupPath;
  bytes: number;
  /** The number of calls that the run waits for. */
  calls: number;
  giveBack: () => void;
}

export function createRunMemory(capacity: number): RunMemory {
  const shares = createShares(capacity);
  const entries = new Map<string, Entry>();
  const count = (entry: Entry) => {
    entry.giveBack();
    entry.giveBack = entry.calls > 0 ? () => {} : shares.take(entry.path, entry.bytes);
  };
  return {
    shares,
    open(run, path) {
      // If the lease expired, the run may execute here a second time. Both executions count.
      const entry: Entry = { path, bytes: RUN_BYTES, calls: 0, giveBack() {} };
      count(entry);
      entries.set(run, entry);
      return {
        add(bytes) {
          entry.bytes += bytes;
          count(entry);
        },
        close() {
          entry.giveBack();
          entry.giveBack = () => {};
          entry.bytes = 0;
          if (entries.get(run) === entry) entries.delete(run);
        },
      };
    },
    pause(run) {
      const entry = entries.get(run);
      if (!entry) return () => {};
      entry.calls += 1;
      count(entry);
      return () => {
        entry.calls -= 1;
        if (entries.get(run) === entry) count(entry);
      };
    },
    get used() {
      return capacity - shares.free;
    },
  };
}
