/**
 * Runs drafts, and tests single nodes. Each run executes a stored copy of a subgraph of the draft. A
 * pinned node is not executed: its step is recorded as done before the run starts.
 */

import { triggerOf } from "@signalbox/rules/flows/check-calls.ts";
import { ancestorsOf, graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { ERROR_PORT, ITEM_PORT, type NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { splitParameters } from "@signalbox/rules/flows/split-parameters.ts";
import { validateFlow } from "@signalbox/rules/flows/validate.ts";
import { createSchemaValidator } from "@signalbox/rules/flows/validate-schema.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { type MaybeLarge, parseUnlessLarge, writeJson } from "@signalbox/rules/large-json.ts";
import { loadPayload } from "../../events/sources/read-payload.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { createTimeSlice } from "../../kernel/lib/yield-to-event-loop.ts";
import type { Store } from "../../store.ts";
import { eventInput, findEvent } from "../matching/event-input.ts";
import type { FlowGraph, StoredFlow } from "../model.ts";
import type { NewRun, Run, StepPage, WrittenStep } from "../runs/model.ts";
import { checkInput } from "../runs/published-trigger.ts";
import type { Runner, StartedRun } from "../runs/runner.ts";
import { createFlowAnalysis } from "./flow-analysis.ts";
import { triggersOf } from "./publication.ts";

export interface DraftRunsOptions {
  store: Store;
  runner: Pick<Runner, "start">;
  registry: NodeRegistry;
  runJob: RunJob;
  newId: () => string;
  now: () => number;
}

/** The output of a node that is not executed. By default, it is on the first port besides `error`. */
export interface Pin {
  output: Json;
  port?: string | undefined;
}

/** Pins by the id or the slug of their node. */
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
  const { store, runner, registry, runJob, newId, now } = options;
  const withAnalysis = createFlowAnalysis({ store, runJob, registry });
  const neverAborted = new AbortController().signal;

  const requireFlow = async (tenant: string, id: string): Promise<StoredFlow> => {
    const flow = await store.getFlow(tenant, id);
    if (!flow) throw new RequestError("not_found", "flow", `There is no flow ${id}.`);
    return flow;
  };

  /**
   * Throws if a node for which `isChecked` returns true has an error. Other nodes may be unfinished, but
   * their edges must leave through ports that exist, because the run follows them.
   */
  const assertValid = (tenant: string, graph: FlowGraph, isChecked: (node: string) => boolean) =>
    withAnalysis(async (requireAnalysis) => {
      const analysis = requireAnalysis(tenant, graph);
      const errors = validateFlow(graph, registry, analysis).errors.filter(
        ({ nodeId, code }) =>
          nodeId !== undefined && (isChecked(nodeId) || code === "missing_port"),
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

  const inputFromEvent = async (tenant: string, id: string): Promise<NewRun["input"]> => {
    const stored = await findEvent(store, tenant, id);
    if (!stored) throw new RequestError("not_found", "event", `There is no event ${id}.`);
    const { event, payload } = stored;
    const data = await loadPayload(runJob, { tenant, source: event.source, payload });
    return parseUnlessLarge(writeJson(eventInput(event, data))) as NewRun["input"];
  };

  const start = async (
    { tenant, id, app }: StoredFlow,
    { graph, trigger }: DraftSubgraph,
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

  const doneStep = (
    node: FlowNode,
    nth: number,
    output: MaybeLarge,
    port: string,
  ): WrittenStep => ({
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
  /** If the config determines the ports but is invalid, returns the ports that have edges. */
  const portsOf = (node: FlowNode, { edges }: FlowGraph): readonly string[] =>
    registry.get(node.type)?.outPorts(splitParameters(node).config) ??
    edges.filter(({ source }) => source === node.id).map(({ sourceHandle }) => sourceHandle);
  const pinnedStep = (
    { node, pin: { output, port } }: { node: FlowNode; pin: Pin },
    nth: number,
    graph: FlowGraph,
  ): WrittenStep => {
    const ports = portsOf(node, graph);
    if (port !== undefined && !ports.includes(port))
      throw new RequestError(
        "invalid",
        `pins.${node.slug}.port`,
        ports.length > 0
          ? `must be one of ${[...new Set(ports)].join(", ")}`
          : `must be omitted: ${node.name} has no output ports`,
      );
    return doneStep(node, nth, output, port ?? ports.find((name) => name !== ERROR_PORT) ?? "");
  };

  return {
    /** Runs the nodes of the draft that the trigger reaches. */
    async start(request: DraftRunRequest): Promise<StartedRun> {
      const { tenant, flow: id, event, pins, by } = request;
      const flow = await requireFlow(tenant, id);
      const subgraph = subgraphFrom(flow.graph, request.trigger, registry);
      const { graph, trigger } = subgraph;
      const pinOf = createPinLookup(pins, graph.nodes, trigger);
      const analysis = await assertValid(tenant, graph, (node) => pinOf(node) === undefined);
      const triggerRow = triggersOf(graph, registry, now(), analysis).find(
        ({ node_id }) => node_id === trigger.id,
      );
      if (!triggerRow) throw new Error("The trigger of the draft is missing.");
      const validate = createSchemaValidator((evaluation) =>
        runJob(evaluation, { tenant, signal: neverAborted }),
      );
      const flowFields = { tenant, app: flow.app, flow_id: id, version: 0 };
      const checked =
        event === undefined
          ? await checkInput({ ...triggerRow, ...flowFields }, request.input, validate, now())
          : { ok: true as const, input: await inputFromEvent(tenant, event) };
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
      const steps = pinned.map((each, index) => pinnedStep(each, index + 1, graph));
      return start(flow, subgraph, checked.input, steps, by);
    },

    /** Executes one node. The outputs of the nodes before it come from `pins` or from a past run. */
    async testNode(request: NodeTestRequest): Promise<StartedRun> {
      const { tenant, flow: id, pins, fromRun, by } = request;
      const flow = await requireFlow(tenant, id);
      const node = flow.graph.nodes.find(({ id, slug }) => [id, slug].includes(request.node));
      if (!node)
        throw new RequestError("not_found", "node", `The flow has no node ${request.node}.`);
      const past =
        fromRun === undefined ? undefined : await readPastRun(store, tenant, id, fromRun);
      const triggerName = request.trigger ?? past?.run.trigger_node;
      const subgraph = subgraphBefore(flow.graph, node, triggerName, registry);
      const { graph, trigger } = subgraph;
      await assertValid(tenant, graph, (checked) => checked === node.id);
      const nodesBefore = graph.nodes.filter(({ id }) => id !== node.id && id !== trigger.id);
      const pinOf = createPinLookup(pins, nodesBefore, trigger);
      const steps: WrittenStep[] = [];
      for (const before of nodesBefore) {
        const output = pinOf(before.id)?.output ?? (await past?.outputOf(before.id));
        if (output === undefined)
          throw new RequestError(
            "invalid",
            `pins.${before.slug}`,
            `is missing: give the output of ${before.name}, or a run that has executed it`,
          );
        // A port that leads to the tested node.
        const edge = graph.edges.find(({ source }) => source === before.id);
        steps.push(doneStep(before, steps.length + 1, output, edge?.sourceHandle ?? ""));
      }
      const { event_id } = past?.run ?? {};
      const pastInput =
        event_id === undefined ? past?.input : await inputFromEvent(tenant, event_id);
      return start(flow, subgraph, request.input ?? pastInput ?? {}, steps, by);
    },
  };
}

/** Throws if a pin does not name a node that can be pinned. */
function createPinLookup(
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
        "is not a node that this run reaches after its trigger",
      );
    byId.set(node.id, pin);
  }
  return (node) => byId.get(node);
}

/** Reads the complete input and outputs of a past run of the flow. */
async function readPastRun(store: Store, tenant: string, flow: string, id: string) {
  const run: Run | undefined = await store.previewRun(tenant, id);
  if (run?.flow_id !== flow)
    throw new RequestError("not_found", "from_run", `The flow has no run ${id.slice(0, 100)}.`);
  /** The number of the last completed step of each node outside of loops. */
  const stepNumbers = new Map<string, number>();
  const endSlice = createTimeSlice();
  for (let after: number | null = 0; after !== null; ) {
    await endSlice();
    const page: StepPage = await store.listSteps(tenant, id, { after });
    for (const { node_id, item, status, nth } of page.items)
      if (item === "" && status === "done") stepNumbers.set(node_id, nth);
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
      const nth = stepNumbers.get(node);
      return nth === undefined ? undefined : read(nth, "output");
    },
  };
}

/** The nodes and edges of a draft that a test executes. */
interface DraftSubgraph {
  graph: FlowGraph;
  trigger: FlowNode;
}

/** Returns the nodes that a run from this trigger can reach. */
function subgraphFrom(draft: FlowGraph, name: string, registry: NodeRegistry): DraftSubgraph {
  const trigger = triggerOf(triggersIn(draft, registry), name);
  if (!trigger)
    throw new RequestError("invalid", "trigger", `The draft has no trigger ${name.slice(0, 100)}.`);
  return { trigger, graph: restrict(draft, reachableFrom(graphOf(draft), trigger.id)) };
}

/** Returns the node, a trigger that reaches it, and the nodes between them. */
function subgraphBefore(
  draft: FlowGraph,
  node: FlowNode,
  triggerName: string | undefined,
  registry: NodeRegistry,
): DraftSubgraph {
  if (registry.get(node.type)?.kind === "trigger")
    throw new RequestError("invalid", "node", "is a trigger: run the draft from it instead");
  const graph = graphOf(draft);
  const ancestors = ancestorsOf(graph, node.id);
  const triggers = triggersIn(draft, registry).filter(({ id }) => ancestors.has(id));
  const trigger = triggerName === undefined ? triggers[0] : triggerOf(triggers, triggerName);
  if (!trigger)
    throw new RequestError(
      "invalid",
      "trigger",
      triggerName === undefined
        ? `${node.name} cannot be reached from a trigger: connect it first`
        : `${triggerName.slice(0, 100)} is not a trigger that reaches ${node.name}`,
    );
  const reachable = reachableFrom(graph, trigger.id);
  const ids = new Set([...ancestors].filter((id) => reachable.has(id)).concat(node.id));
  const subgraph = restrict(draft, ids);
  const loopEdge = subgraph.edges.find(
    ({ source, sourceHandle }) =>
      sourceHandle === ITEM_PORT &&
      isLoop(
        draft.nodes.find(({ id }) => id === source),
        registry,
      ),
  );
  if (loopEdge)
    throw new RequestError(
      "invalid",
      "node",
      `${node.name} is inside of a loop: run the draft instead, with pinned data`,
    );
  return { graph: subgraph, trigger };
}

const isLoop = (node: FlowNode | undefined, registry: NodeRegistry): boolean =>
  (registry.get(node?.type ?? "")?.locals[ITEM_PORT] ?? []).length > 0;

const triggersIn = ({ nodes }: FlowGraph, registry: NodeRegistry): FlowNode[] =>
  nodes.filter(({ type }) => registry.get(type)?.kind === "trigger");

const restrict = ({ nodes, edges }: FlowGraph, ids: ReadonlySet<string>): FlowGraph => ({
  nodes: nodes.filter(({ id }) => ids.has(id)),
  edges: edges.filter(({ source, target }) => ids.has(source) && ids.has(target)),
});
