/** Two bounded caches of values that never change. */

import type { FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { FULL_BYTES } from "./packs.ts";

export interface StoreCache {
  /** Unpacked packs. A client that reads one event usually reads the events next to it too. */
  packs: BoundedMap<string, Uint8Array>;
  /**
   * The graphs of versions, by flow and version. `created_at` is that of the version: a removed flow can
   * be created again with the same id.
   */
  graphs: BoundedMap<
    string,
    { graph: { nodes: FlowNode[]; edges: FlowEdge[] }; created_at: number; size: number }
  >;
  /** Must be called when the database may have been replaced, for example by a backup. */
  clear(): void;
}

export function createStoreCache(): StoreCache {
  // Weighed by the whole buffer, since a view keeps all of it in memory.
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
