import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Notice } from "../store/sql.ts";
import { createResourceChanges, EVENT_URI_PREFIX, INBOX_URI } from "./resource-changes.ts";

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
  const notify = (notice: Notice) => {
    for (const listener of listeners) listener(notice);
  };
  let seq = 0;
  return {
    changes,
    stored: (tenant = "acme") => notify({ topic: "events", tenant, seq: ++seq }),
    changed: (ids: string[], tenant = "acme") => notify({ topic: "changed", tenant, ids }),
    gap: () => notify({ topic: "gap" }),
    listeners,
    watch(uris: string[], tenants = ["acme"]) {
      const notified: string[] = [];
      const connection = { full: false };
      const watched = new Set(uris);
      const watch = changes.watch({
        tenants,
        uris: watched,
        notify: (uri) => void notified.push(uri),
        isFull: () => connection.full,
      });
      return { ...watch, notified, connection, watched };
    },
  };
}

describe("changes of resources", () => {
  it("are sent immediately, then at most once a second, and once after a burst", () => {
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

  it("are sent only to watches of the tenant and the resource", () => {
    const { stored, changed, watch } = setup();
    const uri = `${EVENT_URI_PREFIX}one`;
    const [inbox, event, otherTenant, bothTenants] = [
      watch([INBOX_URI]),
      watch([uri, `${EVENT_URI_PREFIX}two`]),
      watch([INBOX_URI, uri], ["umbrella"]),
      watch([INBOX_URI], ["acme", "umbrella"]),
    ];
    stored();
    vi.advanceTimersByTime(1_000);
    expect([inbox, event, otherTenant, bothTenants].map(({ notified }) => notified)).toEqual([
      [INBOX_URI],
      [],
      [],
      [INBOX_URI],
    ]);
    changed(["one", "three"]);
    vi.advanceTimersByTime(1_000);
    expect([inbox, event, otherTenant, bothTenants].map(({ notified }) => notified)).toEqual([
      [INBOX_URI, INBOX_URI],
      [uri],
      [],
      [INBOX_URI, INBOX_URI],
    ]);
  });

  it("are kept while a client does not read, at most one for each resource", () => {
    const { stored, changed, watch } = setup();
    const event = `${EVENT_URI_PREFIX}one`;
    const { notified, connection, resume } = watch([INBOX_URI, event]);
    connection.full = true;
    for (let at = 0; at < 10; at += 1) {
      stored();
      changed(["one"]);
      vi.advanceTimersByTime(1_000);
    }
    expect(notified).toEqual([]);
    connection.full = false;
    resume();
    expect(notified).toEqual([INBOX_URI, event]);
  });

  it("are sent for all resources after a gap", () => {
    const { gap, watch } = setup();
    const uris = [INBOX_URI, `${EVENT_URI_PREFIX}one`];
    const { notified } = watch(uris);
    gap();
    expect(notified).toEqual(uris);
  });

  it("are not sent to stopped watches or for resources that are no longer watched", () => {
    const { stored, watch, changes, listeners } = setup();
    const [stopped, unsubscribed] = [watch([INBOX_URI]), watch([INBOX_URI])];
    stored();
    stored();
    stopped.stop();
    unsubscribed.watched.delete(INBOX_URI);
    vi.advanceTimersByTime(1_000);
    stored();
    expect([stopped.notified, unsubscribed.notified]).toEqual([[INBOX_URI], [INBOX_URI]]);
    expect(vi.getTimerCount()).toBe(0);
    changes.close();
    expect(listeners.size).toBe(0);
  });

  it("include the last change, for any sequence of changes, gaps and pauses", () => {
    const step = fc.oneof(
      fc.constantFrom("stored", "gap", "full", "drain"),
      fc.integer({ min: 1, max: 2_500 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { stored, gap, watch, changes } = setup();
        const { notified, connection, resume, stop } = watch([INBOX_URI]);
        const notifiedAt: number[] = [];
        let isPending = false;
        const recordTimes = () => {
          for (; notifiedAt.length < notified.length; notifiedAt.push(Date.now()))
            isPending = false;
        };
        for (const next of [...steps, "drain" as const, 1_000]) {
          if (next === "full") connection.full = true;
          else if (next === "drain") {
            connection.full = false;
            resume();
          } else if (typeof next === "number")
            for (let ms = 0; ms < next; ms += 1) {
              vi.advanceTimersByTime(1);
              recordTimes();
            }
          else {
            isPending = true;
            if (next === "gap") gap();
            else stored();
          }
          recordTimes();
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
