import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import type { PlannedVerdict } from "../../flows/matching/model.ts";
import { claim, sampleRun, sampleStep, save } from "../../flows/runs/store/contract/run-sample.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import type { NewEvent } from "../model.ts";
import { sampleEvent } from "./contract/sample.ts";

/** JSON as webhooks send it, half of which is random. */
const payload = (bytes: number): Uint8Array =>
  Buffer.from(
    JSON.stringify({
      text: randomBytes(bytes / 4).toString("hex"),
      rest: "lorem ipsum ".repeat(bytes / 24),
    }),
  );

const verdicts = (count: number): PlannedVerdict[] =>
  Array.from({ length: count }, (_, index) => ({
    flow_id: `01985f3c-7a3e-7b1d-9c5a-${String(index).padStart(12, "0")}`,
    node_id: "on_issue",
    version: 3,
    matched: false,
    reasons: [
      { on: "type", holds: true, message: "type is issues" },
      { on: "param", path: "issue.number", holds: false, message: "issue.number is 7, wanted 12" },
    ],
  }));

async function usedBytes(store: Store): Promise<number> {
  return (await store.measureSize()).used;
}

interface Shape {
  title: string;
  count: number;
  /** The number of requests in one transaction. */
  batch?: number;
  bytes: number;
  verdictCount?: number;
  change?: Partial<NewEvent>;
}

test.each<Shape>([
  { title: "small events in batches", count: 9_600, batch: 64, bytes: 100 },
  { title: "small events", count: 1_500, bytes: 100 },
  { title: "events of 3 KB", count: 600, bytes: 3_000 },
  { title: "events of 5 KB", count: 400, bytes: 5_000 },
  { title: "events of 10 KB", count: 400, bytes: 10_000 },
  { title: "events of 10 KB in batches", count: 1_600, batch: 20, bytes: 10_000 },
  { title: "events of 1 MB", count: 12, bytes: 1_000_000 },
  { title: "small events with 20 verdicts", count: 1_500, batch: 10, bytes: 100, verdictCount: 20 },
])("the counted bytes of $title are those of the file, within 30 %", async (shape) => {
  const { count, batch = 1, bytes, verdictCount = 0 } = shape;
  const store = openSqlite(storeDefinition, join(tempFolder(), "hub.db"));
  const empty = await usedBytes(store);
  for (let at = 0; at < count; at += batch)
    await store.appendEvents(
      await Promise.all(
        Array.from({ length: batch }, async () =>
          store.packLarge({
            tenant: "acme",
            events: [
              sampleEvent({
                external_id: crypto.randomUUID(),
                title: "The hub loses an event after a crash",
                sender: "octocat",
                repo: "acme/example",
                url: "https://github.com/acme/example/issues/1347",
                body: payload(bytes),
              }),
            ],
            plan: {
              revision: 0,
              events: verdictCount > 0 ? [{ verdicts: verdicts(verdictCount), runs: [] }] : [],
            },
          }),
        ),
      ),
      null,
    );
  const counted = (await store.getTenant("acme"))?.bytes ?? 0;
  const used = (await usedBytes(store)) - empty;
  await store.close();
  expect(counted / used).toBeGreaterThan(0.7);
  expect(counted / used).toBeLessThan(1.3);
});

interface RunShape {
  title: string;
  count: number;
  steps: number;
  bytes: number;
  /** Whether the steps are stored before the run ends, as those of long runs are. */
  isLong?: boolean;
}

test.each<RunShape>([
  { title: "small runs", count: 3_000, steps: 3, bytes: 40 },
  {
    title: "small runs whose steps are stored first",
    count: 1_000,
    steps: 3,
    bytes: 40,
    isLong: true,
  },
  { title: "runs with many steps", count: 40, steps: 200, bytes: 100 },
  { title: "runs with steps of 1 KB", count: 1_000, steps: 3, bytes: 1_000, isLong: true },
  { title: "runs with steps of 3 KB", count: 500, steps: 3, bytes: 3_000 },
  { title: "runs with steps of 5 KB", count: 300, steps: 3, bytes: 5_000 },
  { title: "runs with steps of 10 KB", count: 300, steps: 3, bytes: 10_000, isLong: true },
  { title: "runs with steps of 1 MB", count: 6, steps: 3, bytes: 1_000_000 },
])("the counted bytes of $title are those of the file, within 30 %", async (shape) => {
  const store = openSqlite(storeDefinition, join(tempFolder(), "hub.db"));
  const empty = await usedBytes(store);
  const output = { text: "x".repeat(shape.bytes) };
  for (let at = 0; at < shape.count; at += 10) {
    const steps = Array.from({ length: shape.steps }, (_, nth) =>
      sampleStep({ nth, node_id: `node_${nth}`, output }),
    );
    await store.queueRuns(Array.from({ length: 10 }, () => sampleRun({ flow_id: randomUUID() })));
    const runs = await claim(store, { limit: 10 });
    const started = { status: "running", port: null, output: null } as const;
    if (shape.isLong)
      for (const step of steps) {
        await save(store, runs, { steps: [{ ...step, ...started }] });
        await save(store, runs, { steps: [step] });
      }
    await save(store, runs, { steps, next: { status: "succeeded", output } });
  }
  const counted = (await store.getTenant("acme"))?.runs_bytes ?? 0;
  const used = (await usedBytes(store)) - empty;
  await store.close();
  expect(counted / used).toBeGreaterThan(0.7);
  expect(counted / used).toBeLessThan(1.3);
});
