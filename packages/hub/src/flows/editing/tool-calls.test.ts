import type { Json } from "@signalbox/rules/json.ts";
import { expect, it } from "vitest";
import type { StoredTrigger } from "../model.ts";
import type { Run } from "../runs/model.ts";
import { createToolCalls } from "./tool-calls.ts";

const trigger: StoredTrigger = {
  tenant: "acme",
  app: "desk",
  flow_id: "f",
  node_id: "n",
  version: 3,
  kind: "intent",
  tool_name: "ask",
  source: null,
  type: null,
  active: true,
  config: { parameters: [{ name: "x", type: "number", default: 1 }] },
};
const setup = (fields: Partial<StoredTrigger> = {}, { alias = false, isFull = false } = {}) => {
  const started: object[] = [];
  const inLane: object[] = [];
  const stored = { ...trigger, ...fields };
  const calls = createToolCalls({
    store: {
      findTool: async (_, __, name) => (name === "none" ? undefined : { trigger: stored, alias }),
      getFlow: async () => ({ version: 3 }) as never,
      listVersions: async () => [],
      getVersion: async () => ({ nodes: [{ id: "n", slug: "ask", name: "Ask" }] }) as never,
      getTrigger: async () => stored,
    },
    runner: {
      start: async (run) => {
        started.push(run);
        return { id: run.id, stored: Promise.resolve(), ended: new Promise(() => {}) };
      },
      startInLane: async (run) => {
        inLane.push(run);
        return isFull
          ? "full"
          : { id: run.id, stored: Promise.resolve(), ended: new Promise(() => {}) };
      },
      queue: async (runs) => {
        inLane.push(...runs);
        return runs.map(({ id }) => (isFull ? null : id));
      },
      async *follow() {},
    },
    runJob: () => Promise.reject(new Error("not expected")),
    newId: () => "run",
    now: () => 5,
  });
  return { calls, started, inLane };
};

it("starts a run of the published version, with default arguments", async () => {
  const { calls, started } = setup();
  expect(await calls.call("acme", "desk", "ask", {})).toMatchObject({ renamedTo: undefined });
  expect(started).toEqual([
    {
      id: "run",
      tenant: "acme",
      app: "desk",
      flow_id: "f",
      version: 3,
      trigger_node: "n",
      cause: "tool",
      input: { x: 1 },
      at: 5,
      depth: 0,
    },
  ]);
});

it("returns the new name to a caller that uses an alias", async () => {
  const { calls } = setup({}, { alias: true });
  expect(await calls.call("acme", "desk", "old", {})).toMatchObject({ renamedTo: "ask" });
});

it("rejects unknown and inactive tools, and invalid input", async () => {
  const { calls, started } = setup({ active: false });
  await expect(calls.call("acme", "desk", "none", {})).rejects.toThrow("There is no tool none.");
  await expect(calls.call("acme", "desk", "ask", {})).rejects.toThrow("not active");
  const request = { tenant: "acme", flow: "f", trigger: "ask", input: {} };
  await expect(calls.start({ ...request, onlyActive: true })).rejects.toThrow("not active");
  await expect(calls.queue({ ...request, trigger: "x", onlyActive: false })).rejects.toThrow(
    "no trigger x",
  );
  const active = setup();
  await expect(active.calls.call("acme", "desk", "ask", { x: "1", y: 2 })).rejects.toMatchObject({
    code: "invalid",
    errors: [{ path: "x" }, { path: "y" }],
  });
  expect([...started, ...active.started]).toEqual([]);
  await calls.start({ ...request, onlyActive: false });
  expect(started).toHaveLength(1);
  const event = setup({ kind: "event" });
  const eventRequest = { ...request, trigger: "n", onlyActive: true };
  await expect(event.calls.start({ ...eventRequest, input: [] })).rejects.toThrow(
    "must be an object",
  );
});

it("starts a run in the lane of its concurrency key, or rejects it if the lane is full", async () => {
  const config = { ...trigger.config, concurrency: { most: 2, key: "x", whenFull: "skip" } };
  const { calls, started, inLane } = setup({ config });
  await calls.call("acme", "desk", "ask", { x: 1 }, { token: "ada" });
  await calls.call("acme", "desk", "ask", { x: 2 });
  const request = { tenant: "acme", flow: "f", trigger: "ask", input: { x: 1 }, onlyActive: true };
  await calls.start(request);
  await calls.queue(request);
  const limit = (x: number) => ({ limit: { lane: `f:n:[${x}]`, max: 2, whenFull: "skip" } });
  expect(inLane).toMatchObject([
    { at: 5, cause: "tool", token_id: "ada", ...limit(1) },
    { cause: "tool", ...limit(2) },
    { cause: "api", ...limit(1) },
    { cause: "api", ...limit(1) },
  ]);
  expect(started).toEqual([]);
  const full = setup({ config }, { isFull: true });
  const busy = {
    code: "busy",
    message: "busy: 2 runs of this tool are active; try again later.",
  };
  await expect(full.calls.call("acme", "desk", "ask", {})).rejects.toMatchObject(busy);
  await expect(full.calls.start(request)).rejects.toMatchObject(busy);
  await expect(full.calls.queue(request)).rejects.toMatchObject(busy);
});

it("reads the concurrency key of an event from its data", async () => {
  const config = { concurrency: { most: 1, key: "issue.number" } };
  const { calls, inLane } = setup({ kind: "event", config });
  const request = { tenant: "acme", flow: "f", trigger: "ask", onlyActive: true };
  await calls.queue({ ...request, input: { data: { issue: { number: 7 } } } });
  expect(inLane).toMatchObject([{ limit: { lane: "f:n:[7]", max: 1 } }]);
});

it("reports an output that does not match the schema of the tool's version", async () => {
  const outputSchema = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
  const { calls } = setup({ config: { outputSchema } });
  const check = (output: Json, version = 3) =>
    calls.resultError({
      tenant: "acme",
      flow_id: "f",
      trigger_node: "n",
      version,
      output,
    } as Run & {
      output: Json;
    });
  expect(await check({ a: 1 })).toBeUndefined();
  expect(await check({ a: "x" })).toBe("a: must be a number, but is a string");
  expect(await check([])).toBe("(root): must be an object, but is an array");
  expect(await check({ a: "x" }, 2)).toBeUndefined();
});
