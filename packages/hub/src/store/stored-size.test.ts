import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { openSqlite } from "./backends/sqlite.ts";
import { sampleEvent } from "./contract/sample.ts";
import type { PlannedVerdict } from "./run-store.ts";
import type { NewEvent } from "./store.ts";

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
  const store = openSqlite(join(tempFolder(), "hub.db"));
  const usedBytes = async () => {
    const size = await store.measureSize();
    return size.bytes - (size.free ?? 0);
  };
  const empty = await usedBytes();
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
  const used = (await usedBytes()) - empty;
  await store.close();
  expect(counted / used).toBeGreaterThan(0.7);
  expect(counted / used).toBeLessThan(1.3);
});
