import { toolName, uniqueToolName } from "@signalbox/rules/flows/tool-name.ts";
import { DAY, START } from "../../../events/store/contract/sample.ts";
import { createIds } from "../../../kernel/lib/ids.ts";
import type { Store } from "../../../store.ts";
import type {
  EditFlow,
  EditResult,
  FlowGraph,
  NewTrigger,
  Publication,
  StoredApp,
  StoredFlow,
} from "../../model.ts";

const newId = createIds({ now: () => START });

export const sampleApp = (overrides: Partial<StoredApp> = {}): StoredApp => ({
  tenant: "acme",
  slug: "desk",
  name: "Desk",
  description: "",
  created_at: START,
  updated_at: START,
  ...overrides,
});

/** Returns a graph with one intent for each name. */
export const intents = (...names: string[]): FlowGraph => ({
  nodes: names.map((name) => ({
    id: `node ${name}`,
    type: "UserIntent",
    name,
    slug: toolName(name),
    position: { x: 0, y: 0 },
    parameters: { toolName: toolName(name) },
  })),
  edges: [],
});

/** Returns an edit that replaces the draft. Each intent gets its own tool name, or the next free one. */
export const setDraft =
  (name: string, graph: FlowGraph): EditFlow =>
  ({ takenNames }) => {
    const used = new Set(takenNames);
    const nodes = graph.nodes.map((node) => {
      const name = uniqueToolName(String(node.parameters.toolName), used);
      used.add(name);
      return { ...node, parameters: { ...node.parameters, toolName: name } };
    });
    return {
      name,
      description: "",
      graph: { ...graph, nodes },
      toolNames: toolNamesOf({ ...graph, nodes }).map((toolName) => ({ name: toolName })),
    };
  };

export const toolNamesOf = ({ nodes }: FlowGraph): string[] =>
  nodes.map(({ parameters }) => String(parameters.toolName));

export function savedFlow(edited: EditResult): StoredFlow {
  if (edited.outcome !== "saved") throw new Error(`not saved: ${edited.outcome}`);
  return edited.flow;
}

/** Creates a flow, and its app if needed. */
export async function makeFlow(
  store: Store,
  graph: FlowGraph = intents("Go"),
  { tenant = "acme", app = "desk", id = newId() } = {},
): Promise<StoredFlow> {
  await store.createApp(sampleApp({ tenant, slug: app }));
  return savedFlow(
    await store.createFlow({ id, tenant, app, at: START }, setDraft("A flow", graph)),
  );
}

export const triggersOf = ({ nodes }: FlowGraph): NewTrigger[] =>
  nodes.map(({ id, parameters }) => ({
    node_id: id,
    kind: "intent",
    tool_name: String(parameters.toolName),
    source: null,
    type: null,
    active: true,
    config: {},
  }));

export const publication =
  (overrides: Partial<Publication> = {}) =>
  ({ graph }: StoredFlow): Publication => ({
    graph,
    triggers: triggersOf(overrides.graph ?? graph),
    note: "",
    by: "ada",
    at: START,
    aliasUntil: START + DAY,
    ...overrides,
  });

export const eventTrigger = (overrides: Partial<NewTrigger> = {}): NewTrigger => ({
  node_id: "on event",
  kind: "event",
  tool_name: null,
  source: "github",
  type: "issues",
  active: true,
  config: {},
  ...overrides,
});

/** Publishes the draft, or the graph in `overrides`. */
export const publish = async (
  store: Store,
  { tenant, id }: Pick<StoredFlow, "tenant" | "id">,
  overrides: Partial<Publication> = {},
): Promise<StoredFlow> =>
  savedFlow(await store.publishFlow({ tenant, id }, publication(overrides)));

/** Replaces the graph of the draft. */
export const edit = async (
  store: Store,
  { tenant, id }: Pick<StoredFlow, "tenant" | "id">,
  graph: FlowGraph,
  at = START,
): Promise<StoredFlow> =>
  savedFlow(await store.editFlow({ tenant, id }, at, setDraft("A flow", graph)));
