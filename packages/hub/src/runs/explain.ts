/**
 * Explains which triggers fired for an event and why, replays events, and tests triggers on past
 * events.
 */
import type { EventSelection } from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Reason } from "@signalbox/rules/match/match-trigger.ts";
import type { LargeReads } from "../inbox/large-reads.ts";
import { RequestError } from "../lib/request-error.ts";
import { createTimeSlice } from "../lib/yield-to-event-loop.ts";
import type { StoredTrigger } from "../store/flow-store.ts";
import type { EventRow, NewEvent, Payload, Store } from "../store/store.ts";
import { compareTriggers } from "./compare-triggers.ts";
import { type PlanOptions, planEvent } from "./matcher.ts";

export interface ExplainOptions extends Omit<PlanOptions, "cause"> {
  store: Pick<
    Store,
    | "getEvent"
    | "listEvents"
    | "getPayload"
    | "getFlow"
    | "previewRun"
    | "listVerdicts"
    | "listEventTriggers"
    | "findTriggers"
    | "getTrigger"
    | "queueRuns"
  >;
  largeReads: LargeReads;
}

export interface ExplainedTrigger {
  /** The name of the flow and the name of the node. */
  trigger: string;
  flow_id: string;
  node_id: string;
  matched: boolean;
  reasons: readonly Reason[];
  /** The conditions that failed, or all conditions if none failed. */
  reason: string;
  /**
   * When the event and the trigger were compared: "now" if the trigger was not a candidate on
   * arrival.
   */
  decided: "on arrival" | "now";
  run_id: string | null;
  run_status: string | null;
}

/** An event that was compared with the tested trigger. */
interface TestedEvent {
  event: EventRow;
  matched: boolean;
  reasons: readonly Reason[];
  reason: string;
}

interface ReplayScope {
  flow?: string | undefined;
  /** The id of a trigger node of `flow`. */
  trigger?: string | undefined;
}

interface TestOptions {
  limit: number;
  /** The id of the only event to compare. */
  event?: string | undefined;
  /** The maximum total size of the payloads. Older events beyond it are not compared. */
  maxBytes?: number;
}

export interface TriggerTest {
  tested: TestedEvent[];
  /** Describes to users which events were compared. */
  compared: string;
}

export type Explainer = ReturnType<typeof createExplainer>;

const MAX_EXPLAINED = 200;
/** A page scans at most 5,000 events. */
const MAX_PAGES = 20;

export function createExplainer({ store, largeReads, ...options }: ExplainOptions) {
  const getEvent = async (tenant: string, id: string): Promise<EventRow> => {
    const event = await store.getEvent(tenant, id);
    if (!event) throw noEvent();
    return event;
  };
  const requireScope = async (tenant: string, { flow, trigger }: ReplayScope): Promise<void> => {
    if (flow === undefined) return;
    const stored = await store.getFlow(tenant, flow);
    if (!stored)
      throw new RequestError("not_found", "flow", `There is no flow ${flow.slice(0, 100)}.`);
    if (trigger === undefined) return;
    const published = await store.getTrigger(tenant, flow, trigger);
    if (published?.kind !== "event")
      throw new RequestError(
        "not_found",
        "trigger",
        `The published version of ${stored.name} has no event trigger with the id ${trigger.slice(0, 100)}.`,
      );
  };
  /** Calls `work` with the event and its payload. */
  const withPayload = <Result>(
    event: EventRow,
    work: (event: NewEvent) => Promise<Result>,
  ): Promise<Result> =>
    largeReads(event, async () => {
      const payload = await store.getPayload(event.tenant, event.seq);
      if (!payload) throw noEvent();
      return work({ ...event, ...payload });
    });
  /** Returns a function that names a trigger. It reads each flow once, because flows can be large. */
  const createNameOf = (tenant: string) => {
    const flows = new Map<string, { name: string; nodes: Map<string, string> } | undefined>();
    const endSlice = createTimeSlice();
    const read = async (id: string) => {
      await endSlice();
      const flow = await store.getFlow(tenant, id);
      const nodes = new Map(flow?.graph.nodes.map((node) => [node.id, node.name]));
      flows.set(id, flow && { name: flow.name, nodes });
    };
    return async (flow_id: string, node_id: string): Promise<string> => {
      if (!flows.has(flow_id)) await read(flow_id);
      const flow = flows.get(flow_id);
      return flow
        ? `${flow.name} / ${flow.nodes.get(node_id) ?? node_id}`
        : "a flow that was deleted";
    };
  };

  /** The newest events of an origin, as far as `MAX_PAGES` pages contain them. */
  const listNewest = async (query: {
    tenant: string;
    origin: string;
    type?: string | undefined;
    limit: number;
  }): Promise<EventRow[]> => {
    const events: EventRow[] = [];
    const endSlice = createTimeSlice();
    let cursor: number | undefined;
    for (let page = 0; page < MAX_PAGES && events.length < query.limit; page += 1) {
      await endSlice();
      const limit = query.limit - events.length;
      const { items, next } = await store.listEvents({ ...query, limit, cursor });
      events.push(...items);
      if (next === null) break;
      cursor = next;
    }
    return events;
  };

  /**
   * The newest events of a trigger's source and type, or of its source, and a description of them.
   */
  const listNewestFor = async (
    tenant: string,
    { source, type }: Pick<StoredTrigger, "source" | "type">,
    limit: number,
  ): Promise<{ events: EventRow[]; compared: string }> => {
    const origin = source ?? "";
    const ofType = type === null ? [] : await listNewest({ tenant, origin, type, limit });
    if (ofType.length > 0)
      return { events: ofType, compared: `The newest events from ${origin} of type ${type}` };
    const events = await listNewest({ tenant, origin, limit });
    if (events.length === 0) return { events, compared: `No recent event is from ${origin}` };
    const noneOfType = type === null ? "" : `; none of the recent ones has the type ${type}`;
    return { events, compared: `The newest events from ${origin}${noneOfType}` };
  };

  return {
    /** Returns every trigger that was a candidate, then the tenant's other event triggers. */
    async explain(tenant: string, id: string): Promise<ExplainedTrigger[]> {
      const event = await getEvent(tenant, id);
      const nameOf = createNameOf(tenant);
      const explained: ExplainedTrigger[] = [];
      const explainedKeys = new Set<string>();
      for (const { flow_id, node_id, matched, reasons, run_id } of await store.listVerdicts(
        tenant,
        id,
      )) {
        explainedKeys.add(`${flow_id} ${node_id}`);
        const run = run_id === null ? undefined : await store.previewRun(tenant, run_id);
        explained.push({
          trigger: await nameOf(flow_id, node_id),
          flow_id,
          node_id,
          matched,
          reasons,
          reason: describeReasons(reasons),
          decided: "on arrival",
          run_id,
          run_status: run?.status ?? null,
        });
      }
      const others = (await store.listEventTriggers(tenant, MAX_EXPLAINED)).filter(
        ({ flow_id, node_id }) => !explainedKeys.has(`${flow_id} ${node_id}`),
      );
      const verdicts = await withPayload(event, (withBody) =>
        compareTriggers({ tenant, event: withBody }, others, options),
      );
      for (const [index, { matched, reasons }] of verdicts.entries()) {
        const { flow_id, node_id } = others[index] as StoredTrigger;
        explained.push({
          trigger: await nameOf(flow_id, node_id),
          flow_id,
          node_id,
          matched,
          reasons,
          reason: matched
            ? `was not a candidate when the event arrived; now: ${describeReasons(reasons)}`
            : describeReasons(reasons),
          decided: "now",
          run_id: null,
          run_status: null,
        });
      }
      return explained;
    },

    /** Compares a trigger with the newest events of its source, or with one event. Starts no run. */
    async test(
      tenant: string,
      selection: EventSelection,
      { limit, event: eventId, maxBytes = Number.POSITIVE_INFINITY }: TestOptions,
    ): Promise<TriggerTest> {
      const trigger = toTrigger(tenant, selection);
      const { events, compared } =
        eventId === undefined
          ? await listNewestFor(tenant, trigger, limit)
          : { events: [await getEvent(tenant, eventId)], compared: `The event ${eventId}` };
      const tested: TestedEvent[] = [];
      const endSlice = createTimeSlice();
      let bytes = 0;
      for (const event of events) {
        await endSlice();
        bytes += event.size;
        if (bytes > maxBytes && tested.length > 0) break;
        const isCandidate =
          [event.source, event.source_id].includes(selection.source) &&
          (trigger.type === null || trigger.type === event.type);
        // Only the payload of a candidate is read: others do not match anyway, and may be large.
        const [verdict] = await largeReads(event, async () => {
          const payload = isCandidate ? await store.getPayload(tenant, event.seq) : undefined;
          const compared = payload
            ? { event: { ...event, ...payload } }
            : { event: { ...event, ...NO_PAYLOAD }, data: null };
          return compareTriggers({ tenant, ...compared }, [trigger], options);
        });
        const reasons = (verdict?.reasons ?? []).filter(
          ({ on }) => isCandidate || on === "source" || on === "type",
        );
        const matched = verdict?.matched ?? false;
        tested.push({ event, matched, reasons, reason: describeReasons(reasons) });
      }
      return { tested, compared };
    },

    /**
     * Starts new runs of the triggers that match a stored event: of all triggers, of those of one flow,
     * or of one trigger of that flow.
     */
    async replay(
      tenant: string,
      id: string,
      scope: ReplayScope = {},
    ): Promise<{ runs: { run_id: string; flow_id: string }[]; considered: number }> {
      const event = await getEvent(tenant, id);
      await requireScope(tenant, scope);
      const { flow, trigger } = scope;
      const sources = [event.source, event.source_id];
      const { triggers } = await store.findTriggers(tenant, sources, event.type);
      const considered = triggers.filter(
        ({ flow_id, node_id }: StoredTrigger) =>
          (flow === undefined || flow_id === flow) &&
          (trigger === undefined || node_id === trigger),
      );
      const { runs } = await withPayload(event, (withBody) =>
        planEvent({ tenant, event: withBody }, considered, {
          ...options,
          cause: "replay",
          decidesPaused: true,
        }),
      );
      const ids = await store.queueRuns(runs);
      return {
        runs: runs.map(({ flow_id }, index) => ({ run_id: ids[index] as string, flow_id })),
        considered: considered.length,
      };
    },
  };
}

const noEvent = () => new RequestError("not_found", "event_id", "There is no such event.");

const NO_PAYLOAD: Payload = { content_type: "", headers: {}, body: new Uint8Array() };

/** Converts a selection that is not published to an active trigger. */
const toTrigger = (tenant: string, { source, type, ...config }: EventSelection): StoredTrigger => ({
  tenant,
  app: "",
  flow_id: "",
  node_id: "",
  version: 0,
  kind: "event",
  tool_name: null,
  source,
  type: type?.trim() ? type : null,
  active: true,
  config: config as JsonObject,
});

const describeReasons = (reasons: readonly Pick<Reason, "holds" | "message">[]): string => {
  const failed = reasons.filter(({ holds }) => !holds);
  return (failed.length > 0 ? failed : reasons).map(({ message }) => message).join("; ");
};
