import type { Queue } from "@signalbox/contract";
import { expect, it } from "vitest";
import { describeRunWait, summarizeQueue, waitingFlows } from "./queue-words.ts";

const NOW = Date.parse("2026-11-19T12:00:30Z");
const since = "2026-11-19T12:00:18Z";
const prices = { app: "desk", flow_id: "f1", flow_name: "Fetch prices" };
const wait: Queue["waits"][number] = {
  ...prices,
  kind: "response",
  target: "https://api.example.com",
  runs: 12,
  since,
  run_ids: ["r1"],
};
const empty: Queue = {
  queued: 0,
  queued_more: false,
  held: 0,
  held_more: false,
  oldest_queued_since: null,
  flows: [],
  waits: [],
  waits_more: false,
  slots: { busy: 3, total: 64, waiting: 0 },
};
const flow = {
  ...prices,
  queued: 24,
  queued_more: false,
  held: 2,
  held_more: false,
  oldest_queued_since: since,
};
const busy: Queue = {
  ...empty,
  queued: 24,
  held: 2,
  oldest_queued_since: since,
  flows: [flow],
  waits: [wait, { ...wait, kind: "run", target: "Other", flow_id: "f2", flow_name: null, runs: 1 }],
};

it("summarizes what waits, and nothing while no run waits", () => {
  expect(summarizeQueue(empty, NOW)).toEqual([]);
  expect(summarizeQueue(busy, NOW)).toEqual([
    "24 queued, oldest 12 s",
    "2 held by a concurrency limit",
    "12 runs of Fetch prices wait for a response of api.example.com, and 1 more",
    "3 of 64 slots busy",
  ]);
  expect(summarizeQueue({ ...busy, waits_more: true }, NOW)).toContain(
    "12 runs of Fetch prices wait for a response of api.example.com, and more than 1 more",
  );
  const capped = { ...empty, queued: 1_000, queued_more: true, oldest_queued_since: since };
  expect(summarizeQueue({ ...capped, slots: null }, NOW)).toEqual([
    "more than 1,000 queued, oldest 12 s",
  ]);
});

it("lists flows with queued runs and flows whose runs wait", () => {
  expect(waitingFlows(busy, NOW)).toMatchObject([
    { flow_name: "Fetch prices", queued: "24", held: "2", oldest: "12 s", waits: [{ runs: 12 }] },
    { flow_name: null, queued: "0", held: "0", oldest: "", waits: [{ target: "Other" }] },
  ]);
});

it("describes what one run waits for", () => {
  const run = { id: "r1", flow_id: "f1", status: "running" };
  const limit: Queue = { ...busy, waits: [{ ...wait, kind: "limit", runs: 1 }] };
  const listed: Queue = { ...busy, waits: [{ ...wait, runs: 2, run_ids: ["r1", "r2"] }] };
  expect(
    [
      describeRunWait(run, [], busy, NOW),
      describeRunWait(run, [], limit, NOW),
      describeRunWait({ ...run, id: "another" }, [], busy, NOW),
      describeRunWait({ ...run, id: "another" }, [], listed, NOW),
      describeRunWait({ ...run, status: "queued" }, [], busy, NOW),
      describeRunWait({ ...run, status: "held" }, [], busy, NOW),
      describeRunWait({ ...run, flow_id: "f3" }, [], busy, NOW),
      describeRunWait({ ...run, status: "waiting" }, [], busy, NOW),
    ].map((text) => text ?? ""),
  ).toEqual([
    "Waits for a response of api.example.com, like 11 other runs of this flow (the oldest for 12 s).",
    "Waits for its share of the open requests to api.example.com (for 12 s).",
    "12 runs of this flow wait for a response of api.example.com, possibly also this one.",
    "",
    "Waits for a worker: 24 of this flow are queued, the oldest for 12 s.",
    "Waits for the concurrency limit of its trigger.",
    "",
    "",
  ]);
});

it("describes when a suspended run continues", () => {
  const run = { id: "r1", flow_id: "f1", status: "waiting" };
  const at = (seconds: number) => NOW + seconds * 1_000;
  const wait = { status: "waiting" as const, output: { until: at(7_200) } };
  const retry = { status: "failed" as const, output: { retry_at: at(60) } };
  const past = { status: "failed" as const, output: { retry_at: at(-60) } };
  expect(describeRunWait(run, [past, wait], empty, NOW)).toMatch(/^Waits until .*\d\d:00:30\.$/);
  expect(describeRunWait(run, [past, wait, retry], empty, NOW)).toMatch(
    /^Waits for the next attempt at .*\d\d:01:30\.$/,
  );
  expect(describeRunWait(run, [past], empty, NOW)).toBeUndefined();
});
