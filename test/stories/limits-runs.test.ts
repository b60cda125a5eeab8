/**
 * Large runs do not block or crash the hub: the bytes that a run stores are limited, and responses
 * contain only previews of large values.
 */
import { LargeJson } from "@signalbox/rules/large-json.ts";
import { describe, expect, inject, it, onTestFinished, vi } from "vitest";
import type { RunProgress, Step } from "../../packages/hub/src/flows/runs/model.ts";
import {
  claimExactly,
  failed,
  sampleRun,
  sampleStep,
  save,
} from "../../packages/hub/src/flows/runs/store/contract/run-sample.ts";
import { openPostgres } from "../../packages/hub/src/kernel/backends/postgres.ts";
import { openSqlite } from "../../packages/hub/src/kernel/backends/sqlite.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import { ADMIN, type Api, type Backend, startApi } from "../support/api-client.ts";
import { eventOf468Megabytes, runBeyondItsBudget, TRIGGER } from "../support/attacks/large-runs.ts";
import { probeHealth } from "../support/health-probe.ts";
import { loadOf } from "../support/load.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { openSse } from "../support/sse.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { MAX_WAIT_MS, WAIT } from "../support/timeouts.ts";

const publish = async (api: Api, flow: object): Promise<string> => {
  await api.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
  const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
  await api.expect(200, "POST", `/api/flows/${id}/publish`);
  return id;
};
const startRun = async (api: Api, flow: string): Promise<string> =>
  (await api.expect(202, "POST", `/api/flows/${flow}/runs`, { trigger: TRIGGER })).json.id;
/** Dozens of large outputs take a minute on a busy machine. */
const LONG_WAIT = { ...WAIT, timeout: 2 * MAX_WAIT_MS };
const waitForEnd = (api: Api, id: string) =>
  vi.waitFor(async () => {
    const response = await api.expect(200, "GET", `/api/runs/${id}`);
    expect(response.json.finished_at).not.toBeNull();
    return response;
  }, LONG_WAIT);

const RUNS = loadOf(15);

/** Opens streams of a run, and never reads them. */
async function openUnreadStreams(api: Api, run: string, count: number): Promise<void> {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const headers = { authorization: `Bearer ${ADMIN}` };
  for (let opened = 0; opened < count; opened += 1)
    await fetch(`${api.hub.url}/api/runs/${run}/stream`, { headers, signal: abort.signal });
}

describe.each<Backend>(["SQLite", "PostgreSQL"])("a run with large values, on %s", (backend) => {
  it("fails at the step that exceeds its byte budget", async () => {
    const api = await startApi(backend);
    const flow = await publish(api, runBeyondItsBudget());
    const probe = probeHealth(api.hub, `60 outputs of 3.9 MB on ${backend}`);
    const { json } = await waitForEnd(api, await startRun(api, flow));
    expect(json).toMatchObject({ status: "failed", error: { code: "run_too_large" } });
    expect(json.error.message).toContain("SIGNALBOX_RUN_BYTES");
    expect(json.steps.length).toBeLessThan(40);
    await probe.expectHealthy();
  });

  it("is returned with previews of its values, which can be read whole or in ranges", async () => {
    const output = "x".repeat(3_900_000);
    const { env, id } = await storeRun(backend, 39, 1, (nth) =>
      sampleStep({ nth, node_id: `n${nth}`, output }),
    );
    const api = await startApi(backend, env);
    const probe = probeHealth(api.hub, `reads of a run of 152 MB on ${backend}`);
    await openUnreadStreams(api, id, 10);
    const { json, text } = await api.expect(200, "GET", `/api/runs/${id}`);
    expect(text.length).toBeLessThan(100_000);
    expect(json).toMatchObject({ status: "succeeded", output: { ok: true } });
    const step = json.steps.find(({ node_id }: { node_id: string }) => node_id === "n3");
    expect(step.output).toEqual({ $preview: expect.stringMatching(/^"x+$/), bytes: 3_900_002 });
    const path = `/api/runs/${id}/steps/${step.nth}/output`;
    expect((await api.expect(200, "GET", path)).json).toHaveLength(3_900_000);
    const headers = { authorization: `Bearer ${ADMIN}`, range: "bytes=3900000-" };
    const lastBytes = await fetch(api.hub.url + path, { headers });
    expect([lastBytes.status, await lastBytes.text()]).toEqual([206, 'x"']);
    await probe.expectHealthy();
  });

  it("does not block the hub when runs are listed, read and streamed", async () => {
    const output = new LargeJson(`"${"x".repeat(15_000_000)}"`) as never;
    const { env, ids } = await storeRuns(backend, RUNS, {
      steps: [1, 2, 3].map((nth) => sampleStep({ nth, node_id: `n${nth}`, output })),
      next: { status: "succeeded", output },
    });
    const api = await startApi(backend, env);
    const probe = probeHealth(api.hub, `lists of ${RUNS} runs of 60 MB on ${backend}`);
    await openUnreadStreams(api, ids[0] as string, 60);
    const preview = { $preview: expect.stringMatching(/^"x+$/), bytes: 15_000_002 };
    const lists = ids.map(() => api.expect(200, "GET", "/api/runs?limit=100&values=1"));
    for (const { json } of await Promise.all(lists))
      expect(json.items.map((run: { output: object }) => run.output)).toEqual(
        ids.map(() => preview),
      );
    for (const id of ids) {
      const { json } = await api.expect(200, "GET", `/api/runs/${id}`);
      expect(json.steps.map((step: { output: object }) => step.output)).toContainEqual(preview);
    }
    await probe.expectHealthy();
  });

  it("does not block the hub when it is claimed together with other large runs", async () => {
    const output = "x".repeat(15_000);
    const steps = Array.from({ length: 2_000 }, (_, index) =>
      sampleStep({ nth: index + 1, node_id: "n", item: `each:${index}`, output }),
    );
    const { env, ids } = await storeRuns(backend, RUNS, { steps, next: failed }, 10_000);
    const api = await startApi(backend, env);
    const probe = probeHealth(api.hub, `a claim of ${RUNS} runs of 30 MB on ${backend}`);
    await vi.waitFor(async () => {
      const { json } = await api.expect(200, "GET", "/api/runs?limit=100");
      // The trigger of the sample runs does not exist, so they fail when they are executed.
      const errors = ids.map(() => expect.objectContaining({ code: "no_trigger" }));
      expect(json.items.map((run: { error: object }) => run.error)).toEqual(errors);
    }, LONG_WAIT);
    await probe.expectHealthy();
  });

  it("fails if it emits an event of 468 MB, and the event is not stored", async () => {
    const api = await startApi(backend);
    const flow = await publish(api, eventOf468Megabytes());
    const probe = probeHealth(api.hub, `an event of 468 MB on ${backend}`);
    const { json } = await waitForEnd(api, await startRun(api, flow));
    expect(json).toMatchObject({
      status: "failed",
      error: { code: "input_too_large", node_id: "emit" },
    });
    expect((await api.expect(200, "GET", "/api/events")).json.items).toEqual([]);
    await probe.expectHealthy();
  });
});

async function callMcpTool(api: Api, name: string, args: object): Promise<string> {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
  const headers = { accept: "application/json, text/event-stream" };
  return (await api.expect(200, "POST", "/mcp", call, { headers })).text;
}

const STEPS = loadOf(100_000);

/** Opens an empty store. Returns it with the settings of a hub that uses it. */
async function openStore(backend: Backend) {
  const data = tempFolder();
  const env: Record<string, string> = {
    SIGNALBOX_DATA: data,
    // The sample runs ended long ago, and retention would delete them during a long test.
    SIGNALBOX_KEEP_RUNS_DAYS: "36500",
  };
  if (backend === "SQLite")
    return { store: openSqlite(storeDefinition, `${data}/signalbox.db`), env };
  const databaseUrl = await createMigratedDatabase(inject("postgresUrl"));
  const store = await openPostgres(storeDefinition, databaseUrl, { idleTimeoutMs: MAX_WAIT_MS });
  return { store, env: { ...env, DATABASE_URL: databaseUrl } };
}

/** Stores runs with the same progress. With `retryInMs`, they become due again after that time. */
async function storeRuns(
  backend: Backend,
  count: number,
  progress: Partial<RunProgress>,
  retryInMs?: number,
) {
  const { store, env } = await openStore(backend);
  const ids: string[] = [];
  for (let stored = 0; stored < count; stored += 1) {
    await store.queueRuns([sampleRun({ tenant: "local" })]);
    const claimed = await claimExactly(store, 1);
    await save(store, claimed, progress);
    ids.push(claimed[0].run.id);
  }
  if (retryInMs !== undefined) {
    const due = Date.now() + retryInMs;
    for (const id of ids) await store.retryRun("local", id, due);
  }
  await store.close();
  return { env, ids };
}

/** Stores a run with its steps. Returns the id of the run, and the settings of a hub that has it. */
async function storeRun(
  backend: Backend,
  stepCount: number,
  batchSize: number,
  createStep: (nth: number) => Step,
): Promise<{ env: Record<string, string>; id: string }> {
  const { store, env } = await openStore(backend);
  await store.queueRuns([sampleRun({ tenant: "local" })]);
  const [claimed] = await claimExactly(store, 1);
  for (let first = 1; first <= stepCount; first += batchSize)
    await save(store, [claimed], {
      steps: Array.from({ length: batchSize }, (_, index) => createStep(first + index)),
    });
  await save(store, [claimed]);
  await store.close();
  return { env, id: claimed.run.id };
}

it.each<Backend>(["SQLite", "PostgreSQL"])(
  "a run with very many steps is read in pages, on %s",
  async (backend) => {
    const { env, id } = await storeRun(backend, STEPS, 2_000, (nth) =>
      sampleStep({ nth, node_id: "n", item: `each:${nth}` }),
    );
    const api = await startApi(backend, env);
    const getRun = () => callMcpTool(api, "AUTOMATION_RUN_GET", { run_id: id });
    await getRun(); // loads the MCP SDK before the measurement
    const probe = probeHealth(api.hub, `reads of ${STEPS} steps on ${backend}`);
    await openUnreadStreams(api, id, 10);
    const first = await api.expect(200, "GET", `/api/runs/${id}`);
    expect(first.json.steps).toHaveLength(500);
    expect(first.text.length).toBeLessThan(1_100_000);
    let { next_cursor } = first.json;
    let count = 500;
    while (next_cursor !== null) {
      const path = `/api/runs/${id}/steps?cursor=${next_cursor}`;
      const { json } = await api.expect(200, "GET", path);
      count += json.items.length;
      next_cursor = json.next_cursor;
    }
    expect(count).toBe(STEPS);
    const openStream = () =>
      openSse(`${api.hub.url}/api/runs/${id}/stream`, { authorization: `Bearer ${ADMIN}` });
    let reader = await openStream();
    await reader.ended;
    // The hub breaks a stream when the database fails. On a busy machine, PostgreSQL can be so slow
    // that the hub takes it for a failure.
    while (reader.isBroken()) {
      reader = await openStream();
      await reader.ended;
    }
    const stepCounts = reader.messages.map(({ data }) => (data.steps as object[]).length);
    expect(Math.max(...stepCounts)).toBeLessThanOrEqual(100);
    expect(stepCounts.reduce((sum, count) => sum + count, 0)).toBe(STEPS);
    const text = await getRun();
    expect(text).toMatch(new RegExp(`"omitted_steps\\\\?":${STEPS - 60}`));
    expect(text.length).toBeLessThan(100_000);
    await probe.expectHealthy();
  },
);
