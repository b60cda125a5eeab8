/**
 * Operations on automations, for agents that set them up over MCP. An automation is a flow: each change
 * edits the flow, and publishes it immediately unless the caller wants a draft.
 */
import { issuesOf } from "@signalbox/rules/flows/issues.ts";
import type {
  EventSelection,
  NodeRegistry,
  TriggerSchedule,
} from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { mergePatch } from "@signalbox/rules/merge-patch.ts";
import type { ConnectionEditor } from "../connections/connection-editor.ts";
import type { Connection, Offers } from "../connections/model.ts";
import type { DescribedFlow, FlowChange, Flows } from "../flows/editing/flows.ts";
import type { ToolCalls } from "../flows/editing/tool-calls.ts";
import type { Explainer, TriggerTest } from "../flows/matching/explain.ts";
import type { FlowGraph } from "../flows/model.ts";
import { RequestError, validationError } from "../kernel/lib/request-error.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { Store } from "../store.ts";
import { assertAgent, assertTrigger, triggersIn } from "./automation-checks.ts";
import {
  type AutomationTrigger,
  agentNode,
  agentOf,
  TRIGGERS,
  type TriggerInput,
  triggerNode,
} from "./automation-graph.ts";
import { createAutomationRuns } from "./automation-runs.ts";
import { type Automation, createAutomationView } from "./automation-view.ts";

export interface AutomationsOptions {
  store: Store;
  flows: Flows;
  calls: Pick<ToolCalls, "start">;
  explainer: Pick<Explainer, "test">;
  connections: Pick<ConnectionEditor, "find" | "check">;
  registry: NodeRegistry;
  newId: () => string;
  timers: Pick<Timers, "now" | "after">;
}

export interface ChangeOptions {
  /** The author of the change. */
  by: string;
  /** Whether the change is not published. */
  draft: boolean;
}

export type Automations = ReturnType<typeof createAutomations>;

/** The app of automations, unless the caller names another one. */
export const DEFAULT_APP = "automations";

const EDIT_ATTEMPTS = 3;

export function createAutomations(options: AutomationsOptions) {
  const { store, flows, connections, registry, newId, timers } = options;
  const describe = createAutomationView(options);

  const publish = (flow: DescribedFlow, { by, draft }: ChangeOptions): Promise<DescribedFlow> =>
    draft
      ? Promise.resolve(flow)
      : flows.publish(
          { tenant: flow.tenant, id: flow.id, ifRevision: flow.revision },
          { note: "", by },
        );

  /** Applies the change once to the newest draft, even if other clients edit the flow concurrently. */
  const edit = async (
    tenant: string,
    id: string,
    change: (graph: FlowGraph) => FlowChange,
    changeOptions: ChangeOptions,
    triggerArgument: NodeArguments = new Map(),
  ): Promise<Automation> => {
    const nodeArguments = new Map(triggerArgument);
    return withArgumentNames(nodeArguments, async () => {
      const edited = await retryChanged(async () => {
        const flow = await flows.get(tenant, id);
        nodeArguments.set(assertAgent(flow).id, "");
        return flows.change({ tenant, id, ifRevision: flow.revision }, change(flow.graph));
      });
      return describe(await publishEdited(edited, changeOptions));
    });
  };

  /** If other clients have changed the draft since the edit, publishes it with their changes. */
  const publishEdited = async (
    edited: DescribedFlow,
    changeOptions: ChangeOptions,
  ): Promise<DescribedFlow> => {
    let newest = edited;
    try {
      return await retryChanged(
        () => publish(newest, changeOptions),
        async () => {
          newest = await flows.get(edited.tenant, edited.id);
        },
      );
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      throw new RequestError(
        error.code,
        error.field,
        `The change is saved as a draft, but it is not published. ${error.message}`,
        error.errors,
      );
    }
  };

  return {
    ...createAutomationRuns(options),

    /** If the automation cannot be published, its flow is removed again. */
    async create(
      tenant: string,
      fields: {
        name: string;
        description?: string | undefined;
        app?: string | undefined;
        agent: JsonObject;
        triggers: readonly TriggerInput[];
      },
      changeOptions: ChangeOptions,
    ): Promise<Automation> {
      const { name, description, app = DEFAULT_APP } = fields;
      const agentId = newId();
      const triggers = fields.triggers.map((trigger, row) => {
        const id = newId();
        return { id, ...triggerNode(trigger, { id, row, agentId }) };
      });
      if (fields.app === undefined) {
        const at = timers.now();
        const texts = { name: "Automations", description: "Set up by agents." };
        await store.createApp({ tenant, slug: app, ...texts, created_at: at, updated_at: at });
      }
      const nodeArguments = new Map([
        [agentId, ""],
        ...triggers.map(({ id }, index) => [id, `triggers[${index}]`] as const),
      ]);
      return withArgumentNames(nodeArguments, async () => {
        const flow = await flows.create(tenant, app, {
          name,
          description,
          nodes: [agentNode(agentId, fields.agent), ...triggers.map(({ node }) => node)],
          edges: triggers.map(({ edge }) => edge),
        });
        try {
          return await describe(await publish(flow, changeOptions));
        } catch (error) {
          // If the removal fails too, the caller gets the first error.
          await flows.remove({ tenant, id: flow.id }).catch(() => {});
          throw error;
        }
      });
    },

    get: async (tenant: string, id: string): Promise<Automation> =>
      describe(await flows.get(tenant, id)),

    /**
     * Returns the automations among the next `limit` flows. `next` is the id after which the list
     * continues; null at its end.
     */
    async list(
      tenant: string,
      query: { app?: string | undefined; after?: string | undefined; limit: number },
    ): Promise<{ items: Automation[]; next: string | null }> {
      const { flows: page, hasMore } = await flows.list(tenant, query);
      const items: Automation[] = [];
      for (const flow of page) if (agentOf(flow.graph)) items.push(await describe(flow));
      return { items, next: hasMore ? (page.at(-1)?.id ?? null) : null };
    },

    /**
     * Replaces the given fields of the flow and of its agent; null removes a field of the agent.
     * Without fields, publishes the draft.
     */
    update: (
      tenant: string,
      id: string,
      { name, description, agent }: { name?: string; description?: string; agent: JsonObject },
      changeOptions: ChangeOptions,
    ): Promise<Automation> =>
      edit(
        tenant,
        id,
        (graph) => ({
          name,
          description,
          nodes: graph.nodes.map((node) =>
            node.id === agentOf(graph)?.id
              ? { ...node, parameters: withoutNulls({ ...node.parameters, ...agent }) }
              : node,
          ),
        }),
        changeOptions,
      ),

    async remove(tenant: string, id: string): Promise<void> {
      assertAgent(await flows.get(tenant, id));
      await flows.remove({ tenant, id });
    },

    async addTrigger(
      tenant: string,
      id: string,
      trigger: TriggerInput,
      changeOptions: ChangeOptions,
    ): Promise<Automation & { triggerId: string }> {
      const triggerId = newId();
      const automation = await edit(
        tenant,
        id,
        (graph) => {
          const agentId = agentOf(graph)?.id ?? "";
          const row = triggersIn(graph, registry).length;
          const { node, edge } = triggerNode(trigger, { id: triggerId, row, agentId });
          return { nodes: [...graph.nodes, node], edges: [...graph.edges, edge] };
        },
        changeOptions,
        new Map([[triggerId, "trigger"]]),
      );
      return { ...automation, triggerId };
    },

    /** Merges `config`, as in a JSON Merge Patch. */
    updateTrigger: (
      tenant: string,
      id: string,
      trigger: string,
      { name, config }: { name?: string | undefined; config: JsonObject },
      changeOptions: ChangeOptions,
    ): Promise<Automation> =>
      edit(
        tenant,
        id,
        (graph) => {
          const { kind } = assertTrigger(graph, trigger, registry);
          return {
            nodes: graph.nodes.map((node) => {
              if (node.id !== trigger) return node;
              const parameters = mergePatch(node.parameters, config);
              if (kind !== "other") assertValidConfig(kind, parameters);
              return { ...node, name: name ?? node.name, parameters };
            }),
          };
        },
        changeOptions,
        new Map([[trigger, "changes"]]),
      ),

    removeTrigger: (
      tenant: string,
      id: string,
      trigger: string,
      changeOptions: ChangeOptions,
    ): Promise<Automation> =>
      edit(
        tenant,
        id,
        (graph) => {
          assertTrigger(graph, trigger, registry);
          return {
            nodes: graph.nodes.filter((node) => node.id !== trigger),
            edges: graph.edges.filter(({ source }) => source !== trigger),
          };
        },
        changeOptions,
      ),

    /** Returns a trigger of the draft. */
    async getTrigger(tenant: string, id: string, trigger: string): Promise<AutomationTrigger> {
      const flow = await flows.get(tenant, id);
      assertAgent(flow);
      return assertTrigger(flow.graph, trigger, registry);
    },

    /** Reads the schedule from the config of a schedule trigger. `field`: the argument with the config. */
    getSchedule(config: JsonObject, field: string): TriggerSchedule {
      const schedule = TRIGGERS.schedule.schedule(config);
      if (!schedule) throw configError("schedule", config, field);
      return schedule;
    },

    /** Compares an event trigger with the newest events of its source, or with one event. */
    async testTrigger(
      tenant: string,
      config: JsonObject,
      field: string,
      events: { limit: number; event?: string | undefined },
    ): Promise<TriggerTest> {
      const selection: EventSelection | undefined = TRIGGERS.event.listensTo(config);
      if (!selection) throw configError("event", config, field);
      return options.explainer.test(tenant, selection, events);
    },

    /** Lists the names to which `{{ secrets.NAME }}` can refer. */
    async listSecretNames(tenant: string): Promise<string[]> {
      return (await store.listSecretNames(tenant)).map(({ name }) => name);
    },

    async listConnections(
      tenant: string,
      after: string,
      limit: number,
    ): Promise<{ connection: Connection; offers: Offers | undefined }[]> {
      const page = await store.listConnections(tenant, after, limit);
      const withOffers = page.map(async (connection) => ({
        connection,
        offers: await store.getOffers(tenant, connection.id),
      }));
      return Promise.all(withOffers);
    },

    async checkConnection(
      tenant: string,
      id: string,
      signal: AbortSignal,
    ): Promise<{ connection: Connection; offers: Offers | undefined }> {
      const connection = await connections.check(tenant, id, signal);
      return { connection, offers: await store.getOffers(tenant, id) };
    },

    /** Returns what the last check has found. */
    async getConnection(
      tenant: string,
      id: string,
    ): Promise<{ connection: Connection; offers: Offers | undefined }> {
      const connection = await connections.find(tenant, id);
      return { connection, offers: await store.getOffers(tenant, id) };
    },
  };
}

/** Repeats `work` if it fails because another client has changed the flow. */
async function retryChanged<Result>(
  work: () => Promise<Result>,
  beforeRetry: () => Promise<void> = async () => {},
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await work();
    } catch (error) {
      const isChanged = error instanceof RequestError && error.code === "changed";
      if (!isChanged || attempt === EDIT_ATTEMPTS) throw error;
      await beforeRetry();
    }
}

/**
 * By the id of a node: the argument of the tool that contains the parameters of the node; "" if each
 * parameter is an argument.
 */
type NodeArguments = ReadonlyMap<string, string>;

/**
 * In the errors of flows, the path of a field begins with the id of its node. The caller may not know
 * this id, so it is replaced by the argument.
 */
async function withArgumentNames<Result>(
  nodeArguments: NodeArguments,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const rename = (path: string): string => {
      const [node = "", ...rest] = path.split(".");
      const argument = nodeArguments.get(node);
      return argument === undefined
        ? path
        : [argument, ...rest].filter(Boolean).join(".") || "agent";
    };
    const errors = error.errors.map(({ path, message }) => ({ path: rename(path), message }));
    const [first, second] = errors;
    const field = first && !second ? first.path : rename(error.field);
    throw new RequestError(error.code, field, error.message, errors);
  }
}

const withoutNulls = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

function assertValidConfig(kind: TriggerInput["kind"], parameters: JsonObject): void {
  const { settings: _, ...config } = parameters;
  if (!TRIGGERS[kind].config.safeParse(config).success) throw configError(kind, config, "changes");
}

/** The error of an invalid config; its paths begin with `field`. */
function configError(kind: TriggerInput["kind"], config: JsonObject, field: string): RequestError {
  const { error } = TRIGGERS[kind].config.safeParse(config);
  return validationError(
    (error ? issuesOf(error) : []).map(({ path, message }) => ({
      path: `${field}.${path}`,
      message,
    })),
  );
}
