import { expect, it } from "vitest";
import { isStale, mergeChange } from "./stale.ts";

const A = "01a1e34d-fd1d-706c-8f93-7b70a3f2a0c8";
const B = "01a1e34d-fcd8-7045-967e-872c87f57fe0";

it("makes lists and the queries of changed objects stale", () => {
  const changes = mergeChange(new Map(), { topic: "flows", ids: [A] });
  const stale = (...key: unknown[]) => isStale(key, changes);
  expect([stale("flows", "all"), stale("flows", A), stale("flows", A, "versions")]).toEqual([
    true,
    true,
    true,
  ]);
  expect([stale("flows", B), stale("runs", "newest"), stale("session")]).toEqual([
    false,
    false,
    false,
  ]);
});

it("makes the lists of flows that show runs stale when runs have changed", () => {
  const changes = mergeChange(new Map(), { topic: "runs", ids: [A] });
  const stale = (...key: unknown[]) => isStale(key, changes);
  expect([stale("flows", "all"), stale("flows", "triggers", A)]).toEqual([true, true]);
  expect([stale("flows", "count"), stale("flows", A)]).toEqual([false, false]);
});

it("merges the ids of changes; a change without ids concerns all objects", () => {
  const changedA = mergeChange(new Map(), { topic: "events", ids: [A] });
  const changedBoth = mergeChange(changedA, { topic: "events", ids: [B] });
  expect([isStale(["events", A], changedBoth), isStale(["events", B], changedBoth)]).toEqual([
    true,
    true,
  ]);
  const changedAll = mergeChange(mergeChange(changedBoth, { topic: "events" }), {
    topic: "events",
    ids: [A],
  });
  expect(isStale(["events", "01a1e34d-0000-7045-967e-872c87f57fe0"], changedAll)).toBe(true);
});
