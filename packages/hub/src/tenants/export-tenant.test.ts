import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { appendEvents, START, sampleEvent, sampleEvents } from "../events/store/contract/sample.ts";
import { sampleRun } from "../flows/runs/store/contract/run-sample.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { storeDefinition } from "../store.ts";
import { exportTenant } from "./export-tenant.ts";

function setup() {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  const read = async () => {
    const text = await new Response(exportTenant(store, "acme", START)).text();
    expect(text.endsWith("\n")).toBe(true);
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown> & { kind: string });
  };
  return { store, read };
}

it("exports events with their payloads, exactly as received", async () => {
  const { store, read } = setup();
  const text = '{\n  "title": "Grüße\\u0000"\r\n}';
  const body = new TextEncoder().encode(text);
  const bytes = new Uint8Array([0xff, 0xfe, 0]);
  await appendEvents(store, [sampleEvent({ body }), sampleEvent({ body: bytes })]);
  await appendEvents(store, [sampleEvent()], "umbrella");
  const lines = await read();
  const events = lines.filter(({ kind }) => kind === "event");
  expect(events).toMatchObject([
    { seq: 1, type: "issues", body: text, received_at: new Date(START).toISOString() },
    { seq: 2, processed: false, body_base64: "//4A", content_type: "application/json" },
  ]);
  expect(lines[0]).toEqual({
    kind: "export",
    format: 1,
    tenant: "acme",
    at: new Date(START).toISOString(),
  });
  expect(lines[1]).toMatchObject({ kind: "tenant", id: "acme", quota: null });
  expect(lines.at(-1)).toEqual({ kind: "end", rows: lines.length - 2 });
});

it("exports every row of many pages, and runs with their values", async () => {
  const { store, read } = setup();
  await appendEvents(store, sampleEvents(70));
  await store.queueRuns(
    Array.from({ length: 45 }, (_, index) => sampleRun({ input: { index, text: "a\nb" } })),
  );
  const lines = await read();
  const ofKind = (kind: string) => lines.filter((line) => line.kind === kind);
  expect(ofKind("event").map(({ seq }) => seq)).toEqual(
    Array.from({ length: 70 }, (_, index) => index + 1),
  );
  const runs = ofKind("run");
  expect(runs).toHaveLength(45);
  expect(new Set(runs.map(({ input }) => JSON.stringify(input))).size).toBe(45);
});

it("contains no credentials", async () => {
  const { store } = setup();
  await store.putTenant({ id: "acme", at: START });
  const secret = { id: "s", sealed: "sealed-secret", created_at: START, expires_at: null };
  const source = { id: "src", tenant: "acme", kind: "stripe", name: "Shop", key: "secret-key" };
  await store.putSource({ ...source, config: { header: "x" }, created_at: START }, secret);
  await store.putToken({
    id: "tok",
    name: "agent",
    hash: "secret-hash",
    scopes: ["inbox:read"],
    tenants: ["acme", "other-tenant"],
    created_at: START,
    expires_at: null,
  });
  const text = await new Response(exportTenant(store, "acme", START)).text();
  expect(text).toContain('"kind":"source","id":"src"');
  expect(text).toContain('"config":{"header":"x"}');
  expect(text).toContain('"scopes":["inbox:read"]');
  expect(text).not.toMatch(/secret-|sealed|other-tenant/);
});

it("reads rows only as fast as the client reads the stream", async () => {
  const { store } = setup();
  await appendEvents(
    store,
    sampleEvents(200, () => ({ body: new Uint8Array(20_000).fill(65) })),
  );
  let payloadsRead = 0;
  const countingStore = {
    tables: store.tables,
    exportRows: store.exportRows,
    getPayload: (tenant: string, seq: number) => {
      payloadsRead += 1;
      return store.getPayload(tenant, seq);
    },
  };
  const reader = exportTenant(countingStore, "acme", START).getReader();
  await reader.read();
  expect(payloadsRead).toBeLessThan(30);
  await reader.cancel();
});
