import { expect, it } from "vitest";
import { isStale, mergeChange } from "./stale.ts";

const A = "01a1e34d-fd1d-706c-8f93-7b70a3f2a0c8";
const B = "01a1e34d-fcd8-7045-967e-872c87f57fe0";

it("finds lists and the things that have changed", () => {
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

it("finds the lists of flows that show runs when runs have changed", () => {
  const changes = mergeChange(new Map(), { topic: "runs", ids: [A] });
  const stale = (...key: unknown[]) => isStale(key, changes);
  expect([stale("flows", "all"), stale("flows", "triggers", A)]).toEqual([true, true]);
  expect([stale("flows", "count"), stale("flows", A)]).toEqual([false, false]);
});

it("merges changes, and any change beats single ones", () => {
  const one = mergeChange(new Map(), { topic: "events", ids: [A] });
  const two = mergeChange(one, { topic: "events", ids: [B] });
  expect([isStale(["events", A], two), isStale(["events", B], two)]).toEqual([true, true]);
  const all = mergeChange(mergeChange(two, { topic: "events" }), { topic: "events", ids: [A] });
  expect(isStale(["events", "01a1e34d-0000-7045-967e-872c87f57fe0"], all)).toBe(true);
});
