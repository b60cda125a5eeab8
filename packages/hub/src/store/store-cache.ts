/** What was read of a store and need not be read again, since it never changes; bounded. */
import { BoundedMap } from "@signalbox/rules/bounded-map.ts";
import { FULL_BYTES } from "./packs.ts";
import type { ClaimedRun } from "./run-store.ts";

export interface StoreCache {
  /** Unpacked: who reads one event mostly reads its neighbours too. */
  packs: BoundedMap<string, Uint8Array>;
  /** Of published versions: a flow mostly runs again and again. */
  graphs: BoundedMap<string, { graph: ClaimedRun["graph"]; created_at: number; size: number }>;
  /** What was put back from a backup may have others in their places. */
  clear(): void;
}

export function createStoreCache(): StoreCache {
  // Views hold all that they are a view of.
  const packs: StoreCache["packs"] = new BoundedMap(
    16 * FULL_BYTES,
    ({ buffer }) => buffer.byteLength,
  );
  const graphs: StoreCache["graphs"] = new BoundedMap(4 * 1024 * 1024, ({ size }) => size);
  return {
    packs,
    graphs,
    clear() {
      packs.clear();
      graphs.clear();
    },
  };
}
