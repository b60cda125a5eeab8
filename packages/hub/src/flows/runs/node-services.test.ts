import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import { CHAIN_HEADER, DEPTH_HEADER, RUN_HEADER } from "../matching/event-input.ts";
import {
  createFixture,
  edges,
  type Fixture,
  gate,
  noConnections,
  node,
  probe,
  start,
  TENANT,
} from "./contract/fixture.ts";
import type { NewRun, Run } from "./model.ts";
import { createNodeServices } from "./node-services.ts";
import type { Runner } from "./runner.ts";
import { noAgent } from "./test-agent.ts";

let store: Store;
let fixture: Fixture;
let runner: Runner;
const newId = createIds();

beforeEach(() => {
  store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  fixture = createFixture(store);
  runner = fixture.openRunner();
});
afterEach(async () => {
  await fixture.close();
  await store.close();
});

const unexpected = () => {
  throw new Error("unexpected call");
};
const createServices = (quota: number | null = null) =>
  createNodeServices({
    store,
    append: async (request) => {
      const [appended] = await store.appendEvents([request], quota);
      if (!appended || appended.outcome === "stale") throw new Error("not stored");
      return appended;
    },
    start: (run, options) => runner.start(run, options),
    fetch: unexpected,
    runJob: unexpected,
    agent: noAgent,
    newId,
    now: Date.now,
    maxChain: 5,
    connections: noConnections,
  });

const callingRun = (overrides: Partial<Run> = {}) =>
  ({
    id: "parent",
    tenant: TENANT,
    flow_id: "a flow",
    depth: 2,
    chain: ["b flow"],
    ...overrides,
  }) as Run;
const caller = (attempt = 1) => ({
  key: "parent:a",
  attempt,
  abandoned: new AbortController().signal,
});

describe("emit", () => {
  test("stores an event with headers that name its run and chain", async () => {
    const data = { title: "It rains", url: "https://example.com/7", n: 1 };
    const { id } = await createServices().emit(callingRun(), { type: "rain", data }, caller());
    const event = await store.getEvent(TENANT, id);
    expect(event).toMatchObject({ source: "signalbox", type: "rain", title: "It rains" });
    const payload = await store.getPayload(TENANT, event?.seq ?? 0);
    expect(payload?.headers).toMatchObject({
      [DEPTH_HEADER]: "2",
      [RUN_HEADER]: "parent",
      [CHAIN_HEADER]: '["b flow","a flow"]',
    });
    expect(JSON.parse(new TextDecoder().decode(payload?.body))).toEqual(data);
  });

  test("stores one event for each step and id, even if the step is repeated", async () => {
    const event = { type: "rain", data: {} };
    const first = await createServices().emit(callingRun(), event, caller());
    expect(await createServices().emit(callingRun(), event, caller(2))).toEqual(first);
    const other = await createServices().emit(callingRun(), { ...event, id: "second" }, caller());
    expect(other.id).not.toBe(first.id);
    expect((await store.pendingStatus(TENANT)).pending_count).toBe(2);
  });

  test("rejects an event that is too large to be read, and stores nothing", async () => {
    const data = { text: "x".repeat(8 * 1024 * 1024) };
    const emitted = createServices().emit(callingRun(), { type: "rain", data }, caller());
    await expect(emitted).rejects.toMatchObject({ name: "Permanent", code: "event_too_large" });
    expect((await store.pendingStatus(TENANT)).pending_count).toBe(0);
  });

  test("fails with the number of pending events and the quota if the quota is exceeded", async () => {
    await expect(
      createServices(0).emit(callingRun(), { type: "rain", data: {} }, caller()),
    ).rejects.toThrow("0 events are pending, and the quota is 0.");
  });
});

const startWith = (...parameters: JsonObject[]) =>
  node("start", "UserIntent", { ...start.parameters, parameters });

describe("callFlow", () => {
  const call = (createRun: () => NewRun, trigger = "start", input = {}) => ({
    flow: createRun().flow_id,
    trigger,
    input,
  });
  const children = () => store.listRuns({ tenant: TENANT, limit: 9 });

  test("returns the result of the called run and records the calling run", async () => {
    const createRun = await fixture.publish(
      [
        startWith({ name: "x", type: "number" }),
        node("end", "Return", { value: "{{ trigger.x }}" }),
      ],
      edges("start > end"),
    );
    const called = createServices().callFlow(
      callingRun(),
      call(createRun, "start", { x: 7 }),
      caller(),
    );
    expect(await called).toBe(7);
    expect(await children()).toMatchObject([
      {
        cause: "flow",
        parent_run: "parent",
        depth: 3,
        chain: ["b flow", "a flow"],
        key: "call:parent:a",
      },
    ]);
  });

  test("applies default values, and rejects invalid arguments with their names", async () => {
    const createRun = await fixture.publish(
      [
        startWith({ name: "x", type: "number" }, { name: "unit", type: "string", default: "°C" }),
        node("end", "Return", { value: "{{ trigger.x }} {{ trigger.unit }}" }),
      ],
      edges("start > end"),
    );
    const callWith = (input: JsonObject) =>
      createServices().callFlow(callingRun(), call(createRun, "start", input), caller());
    await expect(callWith({ x: "seven", y: 1 })).rejects.toMatchObject({
      code: "invalid_input",
      message:
        "Invalid input for start: x: must be a number, but is a string; y: unexpected argument; the tool has x, unit.",
      details: [{ path: "x" }, { path: "y" }],
    });
    await expect(callWith({})).rejects.toThrow("x: is missing");
    expect(await children()).toEqual([]);
    expect(await callWith({ x: 7 })).toBe("7 °C");
  });

  test("finds the trigger by the slugs of the published version, not of the draft", async () => {
    const createRun = await fixture.publish([start, probe("a", { value: 1 })], edges("start > a"));
    const { flow } = call(createRun);
    await store.editFlow({ tenant: TENANT, id: flow }, 2, ({ flow: stored }) => {
      const { nodes = [], edges: lines = [] } = stored?.graph ?? {};
      const renamed = nodes.map((node) =>
        node.id === "start" ? { ...node, slug: "later" } : node,
      );
      // Ids change too, so that `start` exists only in the published version.
      const graph = {
        nodes: renamed.map((node) => ({ ...node, id: `new_${node.id}` })),
        edges: lines,
      };
      return { name: "Flow", description: "", graph, toolNames: [] };
    });
    expect(await createServices().callFlow(callingRun(), call(createRun, "start"), caller())).toBe(
      1,
    );
    const other = { ...caller(), key: "parent:b" };
    await expect(
      createServices().callFlow(callingRun(), call(createRun, "later"), other),
    ).rejects.toMatchObject({
      code: "no_such_trigger",
    });
  });

  test("finds a trigger by its former slug until another trigger has that slug", async () => {
    const triggerNode = (id: string, slug: string) => ({ ...start, id, slug });
    const child = await fixture.publish([triggerNode("start", "old")], []);
    const publish = (...triggers: FlowNode[]) =>
      store.publishFlow({ tenant: TENANT, id: child().flow_id }, () => ({
        graph: {
          nodes: [...triggers, node("end", "Return")],
          edges: edges(...triggers.map(({ id }) => `${id} > end`)),
        },
        triggers: triggers.map(({ id }) => ({
          node_id: id,
          kind: "intent",
          tool_name: null,
          source: null,
          type: null,
          active: true,
          config: { parameters: [] },
        })),
        note: "",
        by: "test",
        at: 2,
        aliasUntil: 2,
      }));
    const calledTrigger = async (key: string, slug: string) => {
      await createServices().callFlow(callingRun(), call(child, slug), { ...caller(), key });
      return (await store.findRun(TENANT, `call:${key}`))?.trigger_node;
    };
    await publish(triggerNode("start", "newer"), triggerNode("other", "beside"));
    await publish(triggerNode("start", "newest"), triggerNode("other", "beside"));
    expect(await calledTrigger("1", "newer")).toBe("start");
    expect(await calledTrigger("2", "old")).toBe("start");
    await publish(triggerNode("start", "newest"), triggerNode("other", "old"));
    expect(await calledTrigger("3", "old")).toBe("other");
    expect(await calledTrigger("4", "newer")).toBe("start");
    await publish(triggerNode("other", "old"));
    await expect(calledTrigger("5", "newest")).rejects.toMatchObject({ code: "no_such_trigger" });
  });

  test("rejects a trigger that is switched off and a flow that is not published", async () => {
    const createRun = await fixture.publish([start], []);
    const { flow } = call(createRun);
    const publish = (active: boolean) =>
      store.publishFlow({ tenant: TENANT, id: flow }, ({ graph }) => ({
        graph,
        triggers: [
          {
            node_id: "start",
            kind: "intent",
            tool_name: null,
            source: null,
            type: null,
            active,
            config: { parameters: [] },
          },
        ],
        note: "",
        by: "test",
        at: 2,
        aliasUntil: 2,
      }));
    await publish(false);
    await expect(
      createServices().callFlow(callingRun(), call(createRun), caller()),
    ).rejects.toMatchObject({
      code: "inactive_trigger",
      message: "The trigger start is switched off.",
    });
    const id = newId();
    const draft = {
      name: "Draft",
      description: "",
      graph: { nodes: [], edges: [] },
      toolNames: [],
    };
    await store.createFlow({ id, tenant: TENANT, app: "app", at: 1 }, () => draft);
    await expect(
      createServices().callFlow(callingRun(), { flow: id, trigger: "start", input: {} }, caller()),
    ).rejects.toMatchObject({
      code: "not_published",
      message: "The flow Draft is not published. Publish it first.",
    });
    expect(await children()).toEqual([]);
  });

  test("returns the result of the same called run if the step is repeated", async () => {
    const createRun = await fixture.publish([start, gate("a", { value: 1 })], edges("start > a"));
    const first = createServices().callFlow(callingRun(), call(createRun), caller());
    const second = createServices().callFlow(callingRun(), call(createRun), caller());
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    fixture.open("a");
    expect(await Promise.all([first, second])).toEqual([1, 1]);
    expect(await createServices().callFlow(callingRun(), call(createRun), caller())).toBe(1);
    expect((await children()).length).toBe(1);
  });

  test("fails with the error of the called run, and retries that run on the next attempt", async () => {
    const createRun = await fixture.publish(
      [start, probe("a"), probe("b", { fail: 1, value: 2 })],
      edges("start > a > b"),
    );
    await expect(
      createServices().callFlow(callingRun(), call(createRun), caller()),
    ).rejects.toMatchObject({
      message: "no luck",
      code: "failed",
      name: "Error",
    });
    // The same attempt is repeated after a crash, and returns the same error.
    await expect(
      createServices().callFlow(callingRun(), call(createRun), caller()),
    ).rejects.toThrow("no luck");
    expect(await createServices().callFlow(callingRun(), call(createRun), caller(2))).toBe(2);
    expect(fixture.calls).toEqual(["a a 1", "b b 1", "b b 2"]);
  });

  test("cancels the called run when the step is abandoned, and retries it on the next attempt", async () => {
    const createRun = await fixture.publish([start, gate("a", { value: 1 })], edges("start > a"));
    const firstStep = new AbortController();
    const first = createServices().callFlow(callingRun(), call(createRun), {
      ...caller(),
      abandoned: firstStep.signal,
    });
    first.catch(() => {});
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    firstStep.abort();
    // The called run has not ended yet.
    const secondStep = new AbortController();
    const second = createServices().callFlow(callingRun(), call(createRun), {
      ...caller(2),
      abandoned: secondStep.signal,
    });
    const third = createServices().callFlow(callingRun(), call(createRun), caller(3));
    secondStep.abort();
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    await expect(first).rejects.toMatchObject({ code: "cancelled", name: "Permanent" });
    fixture.open("a");
    expect(await third).toBe(1);
    expect(fixture.calls).toEqual(["a begins", "a aborted", "a begins"]);
    expect((await children()).map(({ status }) => status)).toEqual(["succeeded"]);
  });

  test("does not cancel the called run if the caller is released to another worker", async () => {
    const createRun = await fixture.publish([start, gate("a", { value: 1 })], edges("start > a"));
    const parent = await fixture.publish(
      [start, node("call", "CallFlow", call(createRun))],
      edges("start > call"),
    );
    const { id } = await runner.start(parent());
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    await runner.close();
    fixture.open("a");
    fixture.openRunner();
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect((await fixture.run(id)).output).toBe(1);
  });

  test("does not cancel the called run if the caller has lost its lease", async () => {
    const createRun = await fixture.publish([start, gate("a", { value: 1 })], edges("start > a"));
    const parent = await fixture.publish(
      [start, node("call", "CallFlow", call(createRun)), gate("x"), node("end", "Return")],
      edges("start > call > end", "start > x"),
    );
    const run = parent();
    // While true, the store rejects the progress of the calling run.
    let isLost = false;
    const losingStore: Store = {
      ...store,
      saveProgress: async (batch) =>
        isLost && batch.some((progress) => progress.run === run.id)
          ? batch.map(() => "lost" as const)
          : store.saveProgress(batch),
    };
    await fixture.openRunner({ store: losingStore }).start(run);
    await expect.poll(() => fixture.calls.toSorted()).toEqual(["a begins", "x begins"]);
    isLost = true;
    fixture.open("x");
    await expect.poll(() => fixture.calls).not.toContain("a aborted");
    fixture.openRunner({ now: () => Date.now() + 60_000 });
    await expect.poll(() => fixture.calls.filter((call) => call === "x begins").length).toBe(2);
    expect((await children()).map(({ cancel_requested }) => cancel_requested)).toEqual([
      false,
      false,
    ]);
    fixture.open("a");
    await expect.poll(() => fixture.status(run.id)).toBe("succeeded");
    expect((await fixture.run(run.id)).output).toBe(1);
  });

  test("rejects a chain that exceeds the limit, an unknown flow, and an unknown trigger", async () => {
    const createRun = await fixture.publish([start], []);
    const expectRejection = (run: Run, config: ReturnType<typeof call>) =>
      expect(createServices().callFlow(run, config, caller())).rejects;
    await expectRejection(callingRun({ depth: 5 }), call(createRun)).toMatchObject({
      code: "too_deep",
    });
    await expectRejection(callingRun(), call(createRun, "nothing")).toMatchObject({
      code: "no_such_trigger",
      message: "The published version of the flow Flow has no trigger nothing.",
    });
    await expectRejection(callingRun({ tenant: "other" }), call(createRun)).toMatchObject({
      code: "no_such_flow",
    });
  });
});
