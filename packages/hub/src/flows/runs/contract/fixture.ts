/** Publishes flows, opens runners that execute them, and defines nodes that record their calls. */
import { RetryAt } from "@signalbox/rules/flows/errors.ts";
import type { FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";
import {
  createRegistry,
  defineNode,
  type NodeDefinition,
} from "@signalbox/rules/flows/node-type.ts";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { z } from "zod";
import type { RunJob } from "../../../kernel/jobs/job.ts";
import { createIds } from "../../../kernel/lib/ids.ts";
import type { Timers } from "../../../kernel/lib/timers.ts";
import type { Store } from "../../../store.ts";
import { testRunJob } from "../../test-run-job.ts";
import { loadInput } from "../load-input.ts";
import type { NewRun, Run, WrittenStep } from "../model.ts";
import { createNodeServices, type NodeServicesOptions } from "../node-services.ts";
import { createRunner, type Runner, type RunnerOptions } from "../runner.ts";
import { allSteps } from "../store/contract/run-sample.ts";
import { noAgent } from "../test-agent.ts";

export const TENANT = "local";
export const HOUR = 3_600_000;

const newId = createIds();

export const node = (slug: string, type: string, parameters: JsonObject = {}): FlowNode => ({
  id: slug,
  slug,
  name: slug,
  type,
  position: { x: 0, y: 0 },
  parameters,
});
export const probe = (slug: string, parameters: JsonObject = {}) => node(slug, "Probe", parameters);
export const gate = (slug: string, parameters: JsonObject = {}) => node(slug, "Gate", parameters);
export const start = node("start", "UserIntent", { toolName: "t", toolDescription: "d" });

/**
 * Parses edges. `a > b` is an edge from the port `out` of `a`, and `a.error > b` is an edge from its
 * port `error`. `a > b > c` is two edges.
 */
export const edges = (...lines: string[]): FlowEdge[] =>
  lines.flatMap((line) => {
    const nodes = line.split(" > ").map((node) => node.split("."));
    return nodes.slice(1).map(([target = ""], index) => {
      const [source = "", sourceHandle = "out"] = nodes[index] ?? [];
      return {
        id: `${source}.${sourceHandle}-${target}`,
        source,
        target,
        sourceHandle,
        targetHandle: "in",
      };
    });
  });

const sample = { config: {}, result: { output: null }, rejects: { config: { x: 1 }, path: "x" } };

export interface FixtureRunnerOptions extends Partial<RunnerOptions> {
  now?: () => number;
  connections?: NodeServicesOptions["connections"];
  agent?: NodeServicesOptions["agent"];
}

/** The connections of a test that calls no tools. */
export const noConnections: NodeServicesOptions["connections"] = {
  callTool: () => Promise.reject(new Error("unexpected call of a tool")),
  loadOffers: () => Promise.reject(new Error("unexpected list of tools")),
};

/** Real timers, some of which a test can replace. */
export const systemTimers = (options: Partial<Timers> = {}): Timers => ({
  now: Date.now,
  monotonic: () => performance.now(),
  defer: (work) => void setTimeout(work, 0),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
  ...options,
});

/** A store that calls `onStep` for every step that it saves. */
export const withSavedSteps = (store: Store, onStep: (step: WrittenStep) => void): Store => ({
  ...store,
  async saveProgress(batch) {
    const outcomes = await store.saveProgress(batch);
    for (const [index, { steps }] of batch.entries())
      if (outcomes[index] === "saved") for (const step of steps) onStep(step);
    return outcomes;
  },
});

export function createFixture(store: Store) {
  const calls: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gateOf = (name: string) => {
    const gate = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, gate);
    return gate;
  };
  /** Adds each attempt to `calls`, as "slug key attempt". The key is the idempotency key without the run. */
  const probeNode = defineNode({
    type: "Probe",
    title: "Probe",
    description: "Records its attempts.",
    icon: "Eye",
    kind: "action",
    config: z.strictObject({
      value: z.json().optional(),
      /** How many attempts fail. */
      fail: z.number().optional(),
      /** The server of a failed attempt asks to retry after this time. */
      retryAfterMs: z.number().optional(),
      /** The output is a list of this many values. */
      times: z.number().optional(),
    }),
    secretFields: ["value"],
    ports: { in: ["in"], out: ["out"] },
    sample,
    run({ config, run, idempotencyKey, now }) {
      calls.push(`${run.slug} ${idempotencyKey.split(":").slice(1).join(":")} ${run.attempt}`);
      const { value = null, times, fail = 0, retryAfterMs } = config;
      if (run.attempt <= fail)
        throw retryAfterMs === undefined
          ? new Error("no luck")
          : new RetryAt(now() + retryAfterMs, "no luck", { code: "http_429" });
      return { output: times === undefined ? value : Array(times).fill(value) };
    },
  });
  /** Adds its start to `calls`, and waits until the test opens the gate. */
  const gateNode = defineNode({
    type: "Gate",
    title: "Gate",
    description: "Waits for the test.",
    icon: "Fence",
    kind: "action",
    config: z.strictObject({ value: z.json().optional() }),
    ports: { in: ["in"], out: ["out"] },
    sample,
    async run({ config, run, signal }) {
      calls.push(`${run.slug} begins`);
      signal.addEventListener("abort", () => void calls.push(`${run.slug} aborted`), {
        once: true,
      });
      await gateOf(run.slug).promise;
      return { output: config.value ?? null };
    },
  });
  /** Records its parts in order, and returns their outputs. Adds each call of a part to `calls`. */
  const partsNode = defineNode({
    type: "Parts",
    title: "Parts",
    description: "Records its parts.",
    icon: "ListOrdered",
    kind: "action",
    config: z.strictObject({
      parts: z.array(z.string()),
      /** The parts that wait until the test opens them. */
      hold: z.array(z.string()).default([]),
      /** How many attempts fail. */
      fail: z.number().default(0),
      /** The part that fails. By default, the node fails after the last part. */
      failAt: z.string().optional(),
      output: z.json().optional(),
      /** The output of each part is a list of this many `output`s. */
      times: z.number().optional(),
      secret: z.string().optional(),
    }),
    secretFields: ["secret"],
    ports: { in: ["in"], out: ["out"] },
    sample: { config: { parts: [] }, rejects: { config: { x: 1 }, path: "x" } },
    async run({ config, run, signal, record }) {
      const shouldFail = run.attempt <= config.fail;
      const outputs: Json[] = [];
      for (const part of config.parts) {
        const output = await record(part, { part, secret: config.secret ?? null }, async () => {
          calls.push(`${part} ${run.attempt}`);
          if (config.hold.includes(part)) {
            const onAbort = () => void calls.push(`${part} aborted`);
            signal.addEventListener("abort", onAbort, { once: true });
            await gateOf(part).promise;
          }
          if (shouldFail && config.failAt === part)
            throw new Error(`no luck ${config.secret ?? ""}`);
          const { output = `${part} of ${run.attempt}`, times } = config;
          return times === undefined ? output : Array(times).fill(output);
        });
        outputs.push(output);
      }
      if (shouldFail && config.failAt === undefined) throw new Error("no luck");
      return { output: outputs };
    },
  });
  const registry = createRegistry([
    ...(nodeTypes.values() as Iterable<NodeDefinition>),
    probeNode,
    gateNode,
    partsNode,
  ]);

  const runners: Runner[] = [];
  const errors: unknown[] = [];
  const unexpected = () => {
    throw new Error("unexpected call");
  };
  const openRunner = (
    {
      now = Date.now,
      connections = noConnections,
      agent = noAgent,
      ...overrides
    }: FixtureRunnerOptions = {},
    runJob: RunJob = testRunJob,
    { maxChain = 5 } = {},
  ): Runner => {
    const runner: Runner = createRunner({
      store,
      registry,
      worker: newId(),
      loadSecrets: async () => ({}),
      loadInput: (run) => loadInput({ store, runJob }, run),
      services: createNodeServices({
        store,
        append: unexpected,
        start: (run, options) => runner.start(run, options),
        fetch: unexpected,
        runJob,
        agent,
        newId,
        now,
        maxChain,
        connections,
      }),
      timers: systemTimers({ now }),
      onError: (error) => errors.push(error),
      ...overrides,
    });
    runners.push(runner);
    return runner;
  };

  return {
    store,
    calls,
    /** The errors that runners have reported. */
    errors,
    openRunner,
    /**
     * Opens a runner that `crash` stops like a killed process: its leases remain, and it stores nothing
     * more. It also crashes right after it has saved a step for which `shouldCrashAfter` returns true.
     */
    openCrashable(
      runnerOptions: FixtureRunnerOptions = {},
      shouldCrashAfter: (step: WrittenStep) => boolean = () => false,
    ): Runner & { crash(): void } {
      let hasCrashed = false;
      const saveAndCrash: Store["saveProgress"] = async (batch) => {
        const saved = await store.saveProgress(batch);
        if (batch.some(({ steps }) => steps.some(shouldCrashAfter))) hasCrashed = true;
        return hasCrashed ? new Promise(() => {}) : saved;
      };
      const crashable = new Proxy(store, {
        get: (target, name) => {
          const method = name === "saveProgress" ? saveAndCrash : Reflect.get(target, name);
          if (typeof method !== "function") return method;
          return (...args: unknown[]) =>
            hasCrashed && name !== "subscribe" ? new Promise(() => {}) : method.apply(target, args);
        },
      });
      const runner = openRunner({ ...runnerOptions, store: crashable });
      runners.pop(); // a crashed runner is not closed
      const crash = () => {
        hasCrashed = true;
      };
      return { ...runner, crash };
    },
    /** Opens the gate of a node or of a part. */
    open(name: string): void {
      gateOf(name).resolve();
    },
    /** Publishes a flow. Returns a function that creates runs of the flow, which are not stored yet. */
    async publish(nodes: FlowNode[], flowEdges: FlowEdge[]) {
      const graph = { nodes, edges: flowEdges };
      const id = newId();
      await store.createApp({
        tenant: TENANT,
        slug: "app",
        name: "App",
        description: "",
        created_at: 1,
        updated_at: 1,
      });
      await store.createFlow({ id, tenant: TENANT, app: "app", at: 1 }, () => ({
        name: "Flow",
        description: "",
        graph,
        toolNames: [],
      }));
      await store.publishFlow({ tenant: TENANT, id }, () => ({
        graph,
        triggers: [
          {
            node_id: "start",
            kind: "intent",
            tool_name: null,
            source: null,
            type: null,
            active: true,
            config: {
              parameters: nodes.find(({ id }) => id === "start")?.parameters.parameters ?? [],
            },
          },
        ],
        note: "",
        by: "test",
        at: 1,
        aliasUntil: 1,
      }));
      return (overrides: Partial<NewRun> = {}): NewRun => ({
        id: newId(),
        tenant: TENANT,
        app: "app",
        flow_id: id,
        version: 1,
        trigger_node: "start",
        cause: "api",
        input: {},
        at: Date.now(),
        due_at: Date.now(),
        depth: 0,
        ...overrides,
      });
    },
    run: async (id: string): Promise<Run> => (await store.getRun(TENANT, id)) as Run,
    status: async (id: string) => (await store.getRun(TENANT, id))?.status,
    /** Lists steps as `node@item#attempt status`, without `@item` outside of loops and without `#1`. */
    async steps(id: string): Promise<string[]> {
      return (await allSteps(store, TENANT, id)).map(
        ({ node_id, item, attempt, status }) =>
          `${node_id}${item && `@${item}`}${attempt > 1 ? `#${attempt}` : ""} ${status}`,
      );
    },
    async close(): Promise<void> {
      for (const { resolve } of gates.values()) resolve();
      for (const runner of runners) await runner.close();
    },
  };
}

export type Fixture = ReturnType<typeof createFixture>;
