import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Notice } from "../store/sql.ts";
import { createResourceChanges, EVENT_URIS, INBOX_URI } from "./resource-changes.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setup() {
  const listeners = new Set<(notice: Notice) => void>();
  const changes = createResourceChanges(
    {
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    Date.now,
  );
  const notice = (one: Notice) => {
    for (const listener of listeners) listener(one);
  };
  let seq = 0;
  return {
    changes,
    stored: (tenant = "acme") => notice({ topic: "events", tenant, seq: ++seq }),
    worked: (ids: string[], tenant = "acme") => notice({ topic: "changed", tenant, ids }),
    gap: () => notice({ topic: "gap" }),
    listeners,
    watch(uris: string[], tenants = ["acme"]) {
      const notified: string[] = [];
      const reader = { full: false };
      const watched = new Set(uris);
      const watcher = changes.watch({
        tenants,
        uris: watched,
        notify: (uri) => void notified.push(uri),
        isFull: () => reader.full,
      });
      return { ...watcher, notified, reader, watched };
    },
  };
}

describe("changes of resources", () => {
  it("are sent immediately, in a burst once a second, and once after it", () => {
    const { stored, watch } = setup();
    const { notified } = watch([INBOX_URI]);
    for (let at = 0; at < 100; at += 1) stored();
    expect(notified).toHaveLength(1);
    vi.advanceTimersByTime(999);
    expect(notified).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(notified).toHaveLength(2);
    vi.advanceTimersByTime(10_000);
    expect(notified).toHaveLength(2);
    stored();
    expect(notified).toHaveLength(3);
  });

  it("reach only watchers of the tenant and the resource", () => {
    const { stored, worked, watch } = setup();
    const event = `${EVENT_URIS}one`;
    const [inbox, one, others, both] = [
      watch([INBOX_URI]),
      watch([event, `${EVENT_URIS}two`]),
      watch([INBOX_URI, event], ["umbrella"]),
      watch([INBOX_URI], ["acme", "umbrella"]),
    ];
    stored();
    vi.advanceTimersByTime(1_000);
    expect([inbox, one, others, both].map(({ notified }) => notified)).toEqual([
      [INBOX_URI],
      [],
      [],
      [INBOX_URI],
    ]);
    worked(["one", "three"]);
    vi.advanceTimersByTime(1_000);
    expect([inbox, one, others, both].map(({ notified }) => notified)).toEqual([
      [INBOX_URI, INBOX_URI],
      [event],
      [],
      [INBOX_URI, INBOX_URI],
    ]);
  });

  it("are kept while a client does not read, one for each resource", () => {
    const { stored, worked, watch } = setup();
    const event = `${EVENT_URIS}one`;
    const { notified, reader, resume } = watch([INBOX_URI, event]);
    reader.full = true;
    for (let at = 0; at < 10; at += 1) {
      stored();
      worked(["one"]);
      vi.advanceTimersByTime(1_000);
    }
    expect(notified).toEqual([]);
    reader.full = false;
    resume();
    expect(notified).toEqual([INBOX_URI, event]);
  });

  it("are sent for all resources after a gap", () => {
    const { gap, watch } = setup();
    const uris = [INBOX_URI, `${EVENT_URIS}one`];
    const { notified } = watch(uris);
    gap();
    expect(notified).toEqual(uris);
  });

  it("are not sent to stopped watchers, nor for resources that are no longer watched", () => {
    const { stored, watch, changes, listeners } = setup();
    const [left, changed] = [watch([INBOX_URI]), watch([INBOX_URI])];
    stored();
    stored();
    left.stop();
    changed.watched.delete(INBOX_URI);
    vi.advanceTimersByTime(1_000);
    stored();
    expect([left.notified, changed.notified]).toEqual([[INBOX_URI], [INBOX_URI]]);
    expect(vi.getTimerCount()).toBe(0);
    changes.close();
    expect(listeners.size).toBe(0);
  });

  it("always include the last change, in any order of changes, gaps and pauses", () => {
    const step = fc.oneof(
      fc.constantFrom("stored", "gap", "full", "drain"),
      fc.integer({ min: 1, max: 2_500 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { stored, gap, watch, changes } = setup();
        const { notified, reader, resume, stop } = watch([INBOX_URI]);
        const notifiedAt: number[] = [];
        let isPending = false;
        const look = () => {
          for (; notifiedAt.length < notified.length; notifiedAt.push(Date.now()))
            isPending = false;
        };
        for (const one of [...steps, "drain" as const, 1_000]) {
          if (one === "full") reader.full = true;
          else if (one === "drain") {
            reader.full = false;
            resume();
          } else if (typeof one === "number")
            for (let ms = 0; ms < one; ms += 1) {
              vi.advanceTimersByTime(1);
              look();
            }
          else {
            isPending = true;
            if (one === "gap") gap();
            else stored();
          }
          look();
        }
        expect(isPending).toBe(false);
        for (const [at, time] of notifiedAt.entries())
          expect(time - (notifiedAt[at - 1] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(
            1_000,
          );
        stop();
        changes.close();
      }),
      { numRuns: 50 },
    );
  });
});
