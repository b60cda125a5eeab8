import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import type { FlowEdge, FlowNode } from "../flows/model.ts";
import { createRegistry, defineNode, type NodeDefinition } from "../flows/node-type.ts";
import { nodeTypes } from "../flows/nodes/index.ts";
import { createIds } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import type { NewRun } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import { createRunner, type Runner } from "./runner.ts";

const newId = createIds();
let store: Store;
let runner: Runner;
let calls: string[];

const probe = defineNode({
  type: "Probe",
  title: "Probe",
  description: "Tells the test.",
  icon: "Eye",
  kind: "action",
  config: z.strictObject({ value: z.json().optional(), fail: z.number().optional() }),
  ports: { in: ["in"], out: ["out"] },
  sample: { config: {}, result: { output: null }, refuses: { config: { x: 1 }, path: "x" } },
  run({ config, run, idempotencyKey }) {
    calls.push(`${run.slug} ${idempotencyKey.split(":").slice(1).join(":")} ${run.attempt}`);
    if (config.fail !== undefined && run.attempt <= config.fail) throw new Error("no luck");
    return { output: config.value ?? null };
  },
});
const each = defineNode({
  type: "ForEach",
  title: "For each",
  description: "",
  icon: "Repeat",
  kind: "logic",
  config: z.strictObject({ items: z.array(z.json()) }),
  ports: { in: ["in"], out: ["done", "item"] },
  locals: { item: ["item", "index"] },
  sample: { config: { items: [] }, result: { output: [] }, refuses: { config: {}, path: "items" } },
  run: ({ config }) => ({ each: { items: config.items, atOnce: 2 } }),
});
const registry = createRegistry([...(nodeTypes.values() as Iterable<NodeDefinition>), probe, each]);

const node = (slug: string, type: string, parameters: JsonObject = {}): FlowNode => ({
  id: slug,
  slug,
  name: slug,
  type,
  position: { x: 0, y: 0 },
  parameters,
});
const edge = (source: string, target: string, sourceHandle = "out"): FlowEdge => ({
  id: `${source}-${target}`,
  source,
  target,
  sourceHandle,
  targetHandle: "in",
});

async function publish(
  nodes: FlowNode[],
  edges: FlowEdge[],
): Promise<(input?: JsonObject) => NewRun> {
  const graph = { nodes, edges };
  const id = newId();
  await store.createApp({
    tenant: "local",
    slug: "app",
    name: "App",
    description: "",
    created_at: 1,
    updated_at: 1,
  });
  await store.createFlow({ id, tenant: "local", app: "app", at: 1 }, () => ({
    name: "Flow",
    description: "",
    graph,
    toolNames: [],
  }));
  await store.publishFlow({ tenant: "local", id }, () => ({
    graph,
    triggers: [],
    note: "",
    by: "test",
    at: 1,
    aliasUntil: 1,
  }));
  return (input = {}) => ({
    id: newId(),
    tenant: "local",
    app: "app",
    flow_id: id,
    version: 1,
    trigger_node: "start",
    cause: "api",
    input,
    at: Date.now(),
    due_at: Date.now(),
    depth: 0,
  });
}

const open = () =>
  createRunner({
    store,
    registry,
    worker: newId(),
    secrets: async () => ({}),
    loadInput: async (run) => run.input,
    reach: {
      fetch: undefined,
      emit: undefined,
      callFlow: undefined,
      callTool: undefined,
      listTools: undefined,
      log: () => {},
    } as never,
    leaseMs: 500,
    onError: (error) => console.error(error),
  });

beforeEach(() => {
  store = openSqlite(`${tempFolder()}/runs.db`);
  calls = [];
  runner = open();
});
afterEach(async () => {
  await runner.close();
  await store.close();
});

const start = node("start", "UserIntent", { toolName: "t", toolDescription: "d" });

describe("a run", () => {
  test("goes from its trigger to its result, with every step on record", async () => {
    const make = await publish(
      [
        start,
        node("a", "Probe", { value: "{{ trigger.x }}" }),
        node("b", "Probe", { value: "{{ a }}!" }),
        node("end", "Return", { value: { got: "{{ b }}" } }),
      ],
      [edge("start", "a"), edge("a", "b"), edge("b", "end")],
    );
    const { id, ended } = await runner.start(make({ x: "hello" }));
    expect(await ended).toMatchObject({ status: "succeeded", output: { got: "hello!" } });
    expect(
      (await store.listSteps("local", id))
        .map(({ node_id, status }) => `${node_id} ${status}`)
        .toSorted(),
    ).toEqual(["a done", "b done", "end done", "start done"]);
  });

  test("runs branches side by side, skips those that are not taken, and waits where they meet", async () => {
    const make = await publish(
      [
        start,
        node("fork", "Condition", {
          conditions: [{ left: "{{ trigger.x }}", op: "gt", right: 5 }],
        }),
        node("yes", "Probe", { value: 1 }),
        node("no", "Probe", { value: 2 }),
        node("side", "Probe", { value: 3 }),
        node("meet", "Merge"),
        node("end", "Return"),
      ],
      [
        edge("start", "fork"),
        edge("fork", "yes", "true"),
        edge("fork", "no", "false"),
        edge("start", "side"),
        edge("yes", "meet"),
        edge("no", "meet"),
        edge("side", "meet"),
        edge("meet", "end"),
      ],
    );
    const { id, ended } = await runner.start(make({ x: 7 }));
    const run = await ended;
    expect(run.error).toBeNull();
    expect(run.output).toEqual({ yes: 1, side: 3 });
    const steps = await store.listSteps("local", id);
    expect(steps.find(({ node_id }) => node_id === "no")?.status).toBe("skipped");
  });

  test("tries again, with the same key, and fails with the node's own words when that does not help", async () => {
    const make = await publish(
      [
        start,
        node("a", "Probe", { fail: 2, settings: { retries: { attempts: 3, backoffMs: 1 } } }),
        node("b", "Probe", { fail: 9 }),
      ],
      [edge("start", "a"), edge("a", "b")],
    );
    const { ended } = await runner.start(make());
    expect(await ended).toMatchObject({
      status: "failed",
      error: { message: "no luck", node_id: "b" },
    });
    expect(calls).toEqual(["a a 1", "a a 2", "a a 3", "b b 1"]);
  });

  test("goes round a loop, once for each item", async () => {
    const make = await publish(
      [
        start,
        node("each", "ForEach", { items: "{{ trigger.list }}" }),
        node("a", "Probe", { value: "{{ item }}-{{ index }}" }),
        node("end", "Return", { value: "{{ each }}" }),
      ],
      [edge("start", "each"), edge("each", "a", "item"), edge("each", "end", "done")],
    );
    const { ended } = await runner.start(make({ list: ["x", "y", "z"] }));
    expect(await ended).toMatchObject({ status: "succeeded", output: ["x-0", "y-1", "z-2"] });
    expect(calls.toSorted()).toEqual(["a a:each:0 1", "a a:each:1 1", "a a:each:2 1"]);
  });

  test("that was queued is taken by the runner, without anybody asking", async () => {
    const make = await publish([start, node("a", "Probe", { value: 1 })], [edge("start", "a")]);
    const runs = Array.from({ length: 50 }, () => make());
    await runner.queue(runs);
    await expect
      .poll(
        async () =>
          (await store.listRuns({ tenant: "local", limit: 100, status: "succeeded" })).length,
      )
      .toBe(50);
  });
});
