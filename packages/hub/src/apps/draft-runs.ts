/**
 * Runs of drafts, and tests of single steps. Each executes a stored copy of a part of the draft. A
 * pinned node is not executed: its step is recorded as done before the run starts.
 */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { ERROR_PORT, type NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { splitParameters } from "@signalbox/rules/flows/split-parameters.ts";
import { validateFlow } from "@signalbox/rules/flows/validate.ts";
import { createSchemaValidator } from "@signalbox/rules/flows/validate-schema.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { type MaybeLarge, parseUnlessLarge, writeJson } from "@signalbox/rules/large-json.ts";
import { loadPayload } from "../ingest/sources/load-payload.ts";
import { RequestError } from "../lib/request-error.ts";
import { createTimeSlice } from "../lib/yield-to-event-loop.ts";
import { eventInput, findEvent } from "../runs/event-input.ts";
import { checkInput } from "../runs/published-trigger.ts";
import type { Runner } from "../runs/runner.ts";
import type { StartedRun } from "../runs/started-run.ts";
import type { FlowGraph, StoredFlow } from "../store/flow-store.ts";
import type { NewRun, Run, StepPage, WrittenStep } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import { type DraftPart, partBefore, partFrom } from "./draft-part.ts";
import { createFlowAnalysis } from "./flow-analysis.ts";
import { triggersOf } from "./triggers.ts";

export interface DraftRunsOptions {
  store: Store;
  runner: Pick<Runner, "start">;
  registry: NodeRegistry;
  evaluate: Evaluate;
  newId: () => string;
  now: () => number;
}

/** The output of a node that is not executed; by default, on its first port. */
export interface Pin {
  output: Json;
  port?: string | undefined;
}

/** By the id or the slug of the node. */
type Pins = Readonly<Record<string, Pin>>;

export interface DraftRunRequest {
  tenant: string;
  flow: string;
  trigger: string;
  input: JsonObject;
  /** Instead of `input`: a stored event. */
  event?: string | undefined;
  pins: Pins;
  by: string;
}

export interface NodeTestRequest {
  tenant: string;
  flow: string;
  node: string;
  /** Default: the trigger of `fromRun`; without it, a trigger that reaches the node. */
  trigger?: string | undefined;
  /** Default: the trigger input of `fromRun`; without it, `{}`. */
  input?: JsonObject | undefined;
  pins: Pins;
  /** The outputs of this run are used for nodes that `pins` does not contain. */
  fromRun?: string | undefined;
  by: string;
}

export type DraftRuns = ReturnType<typeof createDraftRuns>;

export function createDraftRuns(options: DraftRunsOptions) {
  const { store, runner, registry, evaluate, newId, now } = options;
  const withAnalysis = createFlowAnalysis({ store, evaluate, registry });
  const neverAborted = new AbortController().signal;

  const flowOf = async (tenant: string, id: string): Promise<StoredFlow> => {
    const flow = await store.getFlow(tenant, id);
    if (!flow) throw new RequestError("not_found", "flow", `There is no flow ${id}.`);
    return flow;
  };

  /** Throws if one of these nodes has an error; others may be unfinished. */
  const assertValid = (tenant: string, graph: FlowGraph, concerns: (node: string) => boolean) =>
    withAnalysis(async (requireAnalysis) => {
      const analysis = requireAnalysis(tenant, graph);
      const errors = validateFlow(graph, registry, analysis).errors.filter(
        ({ nodeId }) => nodeId !== undefined && concerns(nodeId),
      );
      if (errors.length > 0)
        throw new RequestError(
          "invalid",
          "flow",
          `The draft cannot run yet: ${errors.map(({ message }) => message).join("; ")}`,
          errors.map(({ nodeId, path, message }) => ({
            path: [nodeId, path].filter(Boolean).join("."),
            message,
          })),
        );
      return analysis;
    });

  const inputOf = async (tenant: string, id: string): Promise<NewRun["input"]> => {
    const found = await findEvent(store, tenant, id);
    if (!found) throw new RequestError("not_found", "event", `There is no event ${id}.`);
    const { event, payload } = found;
    const data = await loadPayload(evaluate, { tenant, source: event.source, payload });
    return parseUnlessLarge(writeJson(eventInput(event, data))) as NewRun["input"];
  };

  const start = async (
    { tenant, id, app }: StoredFlow,
    { graph, trigger }: DraftPart,
    input: NewRun["input"],
    pinned: readonly WrittenStep[],
    by: string,
  ): Promise<StartedRun> => {
    const at = now();
    const version = await store.saveDraftVersion({ tenant, id }, { graph, by, at });
    if (version === undefined)
      throw new RequestError("not_found", "flow", `There is no flow ${id}.`);
    const run = {
      id: newId(),
      tenant,
      app,
      flow_id: id,
      version,
      trigger_node: trigger.id,
      cause: "api" as const,
      input,
      at,
      depth: 0,
    };
    return runner.start(run, { deferred: true, pinned });
  };

  const stepOf = (node: FlowNode, nth: number, output: MaybeLarge, port: string): WrittenStep => ({
    nth,
    node_id: node.id,
    item: "",
    attempt: 1,
    status: "done",
    port,
    input: null,
    output,
    error: null,
    log: [{ level: "info", text: "Pinned data: the node was not executed." }],
    started_at: now(),
    finished_at: now(),
  });
  const portsOf = (node: FlowNode): readonly string[] =>
    registry.get(node.type)?.outPorts(splitParameters(node).config) ?? [];
  const pinnedStep = (node: FlowNode, nth: number, { output, port }: Pin): WrittenStep => {
    const ports = portsOf(node);
    if (port !== undefined && !ports.includes(port))
      throw new RequestError(
        "invalid",
        `pins.${node.slug}.port`,
        `must be one of ${ports.join(", ") || "no ports"}`,
      );
    return stepOf(node, nth, output, port ?? ports.find((one) => one !== ERROR_PORT) ?? "");
  };

  return {
    /** Runs the part of the draft that the trigger reaches. */
    async start(request: DraftRunRequest): Promise<StartedRun> {
      const { tenant, flow: id, event, pins, by } = request;
      const flow = await flowOf(tenant, id);
      const part = partFrom(flow.graph, request.trigger, registry);
      const { graph, trigger } = part;
      const pinOf = createPinOf(pins, graph.nodes, trigger);
      const analysis = await assertValid(tenant, graph, (node) => pinOf(node) === undefined);
      const stored = triggersOf(graph, registry, now(), analysis).find(
        ({ node_id }) => node_id === trigger.id,
      );
      if (!stored) throw new Error("The trigger of the draft is missing.");
      const validate = createSchemaValidator((evaluation) =>
        evaluate(evaluation, { tenant, signal: neverAborted }),
      );
      const ofFlow = { tenant, app: flow.app, flow_id: id, version: 0 };
      const checked =
        event === undefined
          ? await checkInput({ ...stored, ...ofFlow }, request.input, validate, now())
          : { ok: true as const, input: await inputOf(tenant, event) };
      if (!checked.ok)
        throw new RequestError(
          "invalid",
          "input",
          checked.errors.map(({ path, message }) => `${path}: ${message}`).join("; "),
          checked.errors,
        );
      const pinned = graph.nodes.flatMap((node) => {
        const pin = pinOf(node.id);
        return pin ? [{ node, pin }] : [];
      });
      const steps = pinned.map(({ node, pin }, nth) => pinnedStep(node, nth + 1, pin));
      return start(flow, part, checked.input, steps, by);
    },

    /** Executes one node. The nodes before it are not executed: their outputs are given. */
    async testNode(request: NodeTestRequest): Promise<StartedRun> {
      const { tenant, flow: id, pins, fromRun, by } = request;
      const flow = await flowOf(tenant, id);
      const node = flow.graph.nodes.find((one) => [one.id, one.slug].includes(request.node));
      if (!node)
        throw new RequestError("not_found", "node", `The flow has no node ${request.node}.`);
      const past = fromRun === undefined ? undefined : await readPast(store, tenant, id, fromRun);
      const wanted = request.trigger ?? past?.run.trigger_node;
      const part = partBefore(flow.graph, node, wanted, registry);
      await assertValid(tenant, part.graph, (one) => one === node.id);
      const before = part.graph.nodes.filter(
        (one) => one.id !== node.id && one.id !== part.trigger.id,
      );
      const pinOf = createPinOf(pins, before, part.trigger);
      const steps: WrittenStep[] = [];
      for (const one of before) {
        const output = pinOf(one.id)?.output ?? (await past?.outputOf(one.id));
        if (output === undefined)
          throw new RequestError(
            "invalid",
            `pins.${one.slug}`,
            `is missing: give the output of ${one.name}, or a run that has executed it`,
          );
        // A port that leads to the tested node.
        const edge = part.graph.edges.find(({ source }) => source === one.id);
        steps.push(stepOf(one, steps.length + 1, output, edge?.sourceHandle ?? ""));
      }
      const { event_id } = past?.run ?? {};
      const pastInput = event_id === undefined ? past?.input : await inputOf(tenant, event_id);
      return start(flow, part, request.input ?? pastInput ?? {}, steps, by);
    },
  };
}

/** Throws if a pin names no node that can be pinned. */
function createPinOf(
  pins: Pins,
  nodes: readonly FlowNode[],
  trigger: FlowNode,
): (node: string) => Pin | undefined {
  const byId = new Map<string, Pin>();
  for (const [name, pin] of Object.entries(pins)) {
    const node = nodes.find(({ id, slug }) => id === name || slug === name);
    if (!node || node.id === trigger.id)
      throw new RequestError(
        "invalid",
        `pins.${name.slice(0, 100)}`,
        "is no node that this run reaches after its trigger",
      );
    byId.set(node.id, pin);
  }
  return (node) => byId.get(node);
}

/** The whole values of a past run of the flow. */
async function readPast(store: Store, tenant: string, flow: string, id: string) {
  const run: Run | undefined = await store.previewRun(tenant, id);
  if (run?.flow_id !== flow)
    throw new RequestError("not_found", "from_run", `The flow has no run ${id.slice(0, 100)}.`);
  /** The numbers of the last steps of the nodes outside of loops. */
  const numbers = new Map<string, number>();
  const endSlice = createTimeSlice();
  for (let after: number | null = 0; after !== null; ) {
    await endSlice();
    const page: StepPage = await store.listSteps(tenant, id, { after });
    for (const { node_id, item, status, nth } of page.items)
      if (item === "" && status === "done") numbers.set(node_id, nth);
    after = page.next;
  }
  const read = async (nth: number | undefined, field: "input" | "output") => {
    const text = await store.readValue({ tenant, run: id, nth, field });
    return text === undefined ? undefined : parseUnlessLarge(text);
  };
  return {
    run,
    input: (await read(undefined, "input")) as NewRun["input"] | undefined,
    async outputOf(node: string): Promise<MaybeLarge | undefined> {
      const nth = numbers.get(node);
      return nth === undefined ? undefined : read(nth, "output");
    },
  };
}
