/**
 * Payloads that many look into at about the same time: read and parsed once for all of them. Of one
 * tenant only one is read at a time, and only the latest are kept.
 */
import type { Json } from "@signalbox/rules/json.ts";
import type { EventRow } from "../store/store.ts";

const MOST_BYTES = 16 * 1024 * 1024;

export function createSharedPayloads(
  readPayload: (event: EventRow) => Promise<Json>,
  mostBytes = MOST_BYTES,
) {
  const kept = new Map<string, { size: number; payload: Promise<Json> }>();
  const lastOf = new Map<string, Promise<unknown>>();
  let bytes = 0;

  const drop = (id: string) => {
    bytes -= kept.get(id)?.size ?? 0;
    kept.delete(id);
  };

  return {
    read(event: EventRow): Promise<Json> {
      const { id, tenant, size } = event;
      const known = kept.get(id);
      if (known) return known.payload;
      const payload = (lastOf.get(tenant) ?? Promise.resolve()).then(() => readPayload(event));
      kept.set(id, { size, payload });
      bytes += size;
      for (const old of kept.keys()) {
        if (bytes <= mostBytes || old === id) break;
        drop(old);
      }
      const read = payload.then(
        () => {},
        () => drop(id),
      );
      lastOf.set(tenant, read);
      void read.then(() => {
        if (lastOf.get(tenant) === read) lastOf.delete(tenant);
      });
      return payload;
    },
    /** Until the next is read. */
    forget(): void {
      kept.clear();
      bytes = 0;
    },
  };
}
