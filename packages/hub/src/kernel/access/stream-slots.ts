/**
 * Limits the open streams of all clients, whatever their transport: `GET /events`, WebSockets, streams of
 * runs and `events/stream`. A stream ends when its token is no longer valid. If the limit is reached, a
 * tenant with fewer streams than the others gets a slot of the tenant with the most streams.
 */
import { findEvictable, ownerOfAccess } from "../lib/fair-share.ts";
import type { Access, Authorizer } from "./authorizer.ts";

/** `revoked`: the token is no longer valid. `evicted`: another tenant needs the slot. */
type StreamEnd = "revoked" | "evicted";

export interface StreamSlots {
  readonly max: number;
  hasCapacity(access: Access): boolean;
  /**
   * Acquires a slot. Returns a function that releases it; undefined if there is no capacity. Calls `end`
   * at most once, when the slot is lost.
   */
  open(access: Access, end: (reason: StreamEnd) => void): (() => void) | undefined;
}

export interface StreamSlotsOptions {
  authorizer: Pick<Authorizer, "watch">;
  max: number;
}

interface OpenSlot {
  access: Access;
  end(reason: StreamEnd): void;
}

export const TOO_MANY_STREAMS =
  "The hub has as many open streams as SIGNALBOX_MAX_STREAMS allows, and your tenant has its share of them. Close one, or try again later.";

export function createStreamSlots({ authorizer, max }: StreamSlotsOptions): StreamSlots {
  const slots = new Set<OpenSlot>();
  const findEvictableFor = (access: Access) =>
    findEvictable(slots, {
      owner: ownerOfAccess(access),
      ownerOf: (slot) => ownerOfAccess(slot.access),
      isIdle: () => false,
    });
  return {
    max,
    hasCapacity: (access) => slots.size < max || findEvictableFor(access) !== undefined,
    open(access, onEnd) {
      if (slots.size >= max) {
        const evicted = findEvictableFor(access);
        if (!evicted) return undefined;
        evicted.end("evicted");
      }
      const release = () => {
        if (slots.delete(slot)) stopWatching();
      };
      const slot: OpenSlot = {
        access,
        end(reason) {
          release();
          onEnd(reason);
        },
      };
      slots.add(slot);
      const stopWatching = authorizer.watch(access, () => slot.end("revoked"));
      return release;
    },
  };
}
