/**
 * Explains which triggers fired for an event and why, replays events, and tests triggers on past
 * events.
 */
import type { EventSelection } from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Reason, Verdict } from "@signalbox/rules/match/match-trigger.ts";
import type { LargeReads } from "../../events/inbox/large-reads.ts";
import type { EventRow, NewEvent } from "../../events/model.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { createTimeSlice } from "../../kernel/lib/yield-to-event-loop.ts";
import type { Payload } from "../../kernel/store/packs.ts";
import type { Store } from "../../store.ts";
import type { RevisedTrigger, StoredTrigger, TriggerPage } from "../model.ts";
import { compareTriggers, indexTriggers, selectCandidates } from "./compare-triggers.ts";
import { type PlanOptions, planEvent, textOf } from "./matcher.ts";
import type { StoredVerdict } from "./model.ts";

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
    | "countVerdicts"
    | "listDeferred"
    | "findTriggers"
    | "getTrigger"
    | "queueRuns"
  >;
  largeReads: LargeReads;
}

interface TriggerNames {
  /** The name of the flow and the name of the node, as one text. */
  trigger: string;
  /** Null if the flow was deleted. */
  flow_name: string | null;
  /** Null if the flow was deleted, or if its draft has no such node any more. */
  node_name: string | null;
}

interface ExplainedTrigger extends TriggerNames {
  flow_id: string;
  node_id: string;
  matched: boolean;
  reasons: readonly Reason[];
  /** The conditions that failed, or all conditions if none failed. */
  reason: string;
  /**
   * `on arrival`: the stored verdict. `computed`: not stored, but the trigger has not changed since the event
   * arrived. `now`: the verdict of the present trigger, which may differ from the one that was compared.
   * `pending`: the trigger is compared after the event was stored; see deferred-matching.ts.
   */
  decided: "on arrival" | "computed" | "now" | "pending";
  run_id: string | null;
  run_status: string | null;
}

/** The order of the triggers in an explanation. */
const SECTIONS = ["matched", "missed", "listening", "others"] as const;
type Section = (typeof SECTIONS)[number];

/** A position in an explanation: after a trigger of a section. */
interface ExplainCursor {
  section: Section;
  after?: TriggerPage["after"];
}

interface ExplainQuery {
  /** Explains only the triggers of this flow. */
  flow?: string | undefined;
  cursor?: string | undefined;
  limit: number;
}

export interface Explanation {
  items: ExplainedTrigger[];
  /** For each item, the cursor of the items after it. */
  cursors: string[];
  next_cursor: string | null;
  /** The number of triggers on all pages (above 1,000 a lower bound), and of those that started a run. */
  total: number;
  started: number;
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
  /** Which events were compared: those of the source and type, or of the source with any type. */
  found: "type" | "source" | "none";
}

export type Explainer = ReturnType<typeof createExplainer>;

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
  const createNamesOf = (tenant: string) => {
    const flows = new Map<string, { name: string; nodes: Map<string, string> } | undefined>();
    const endSlice = createTimeSlice();
    const read = async (id: string) => {
      await endSlice();
      const flow = await store.getFlow(tenant, id);
      const nodes = new Map(flow?.graph.nodes.map((node) => [node.id, node.name]));
      flows.set(id, flow && { name: flow.name, nodes });
    };
    return async (flow_id: string, node_id: string): Promise<TriggerNames> => {
      if (!flows.has(flow_id)) await read(flow_id);
      const flow = flows.get(flow_id);
      if (!flow) return { trigger: "a flow that was deleted", flow_name: null, node_name: null };
      const node_name = flow.nodes.get(node_id) ?? null;
      return { trigger: `${flow.name} / ${node_name ?? node_id}`, flow_name: flow.name, node_name };
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
  ): Promise<{ events: EventRow[]; compared: string; found: TriggerTest["found"] }> => {
    const origin = source ?? "";
    const ofType = type === null ? [] : await listNewest({ tenant, origin, type, limit });
    if (ofType.length > 0) {
      const compared = `The newest events from ${origin} of type ${type}`;
      return { events: ofType, compared, found: "type" };
    }
    const events = await listNewest({ tenant, origin, limit });
    if (events.length === 0)
      return { events, compared: `No recent event is from ${origin}`, found: "none" };
    const noneOfType = type === null ? "" : `; none of the recent ones has the type ${type}`;
    return { events, compared: `The newest events from ${origin}${noneOfType}`, found: "source" };
  };

  return {
    /**
     * Returns a page of the tenant's event triggers: those with a stored verdict, matches first, then those
     * that listen to the event's source and type, then the others. The verdicts that are not stored are
     * computed.
     */
    async explain(
      tenant: string,
      id: string,
      { flow, cursor, limit }: ExplainQuery,
    ): Promise<Explanation> {
      const start = parseCursor(cursor);
      const event = await getEvent(tenant, id);
      const counts = await store.countVerdicts(tenant, id, flow);
      if (!counts) throw noEvent();
      const { revision, started, total } = counts;
      const origin = { id, sources: [event.source, event.source_id], type: event.type };
      const entries: { section: Section; row: StoredVerdict | RevisedTrigger }[] = [];
      for (const section of SECTIONS.slice(SECTIONS.indexOf(start.section))) {
        const after = section === start.section ? start.after : undefined;
        // One more than the page has: whether there is a next page.
        const page = { flow, after, limit: limit + 1 - entries.length };
        if (page.limit === 0) break;
        const rows =
          section === "matched" || section === "missed"
            ? await store.listVerdicts(tenant, id, { ...page, matched: section === "matched" })
            : await store.listEventTriggers(tenant, origin, {
                ...page,
                listening: section === "listening",
              });
        entries.push(...rows.map((row) => ({ section, row })));
      }
      const shown = entries.slice(0, limit);
      const pending = new Set((await store.listDeferred(tenant, id)).map(textOf));
      const triggers = shown.flatMap(({ row }) =>
        "config" in row && !pending.has(textOf(row)) ? [row] : [],
      );
      const compared =
        triggers.length === 0
          ? []
          : await withPayload(event, (withBody) =>
              compareTriggers({ tenant, event: withBody }, triggers, options),
            );
      const computed = compared.values();
      const namesOf = createNamesOf(tenant);
      const items: ExplainedTrigger[] = [];
      for (const { row } of shown) {
        const { flow_id, node_id } = row;
        const run =
          "config" in row || row.run_id === null
            ? undefined
            : await store.previewRun(tenant, row.run_id);
        items.push({
          ...(await namesOf(flow_id, node_id)),
          flow_id,
          node_id,
          ...(!("config" in row)
            ? explainStored(row)
            : pending.has(textOf(row))
              ? PENDING
              : explainComputed(row, computed.next().value as Verdict, revision)),
          run_status: run?.status ?? null,
        });
      }
      const cursors = shown.map(({ section, row }) => formatCursor(section, row));
      const next_cursor = entries.length > limit ? (cursors.at(-1) ?? null) : null;
      return { items, cursors, next_cursor, total, started };
    },

    /** Compares a trigger with the newest events of its source, or with one event. Starts no run. */
    async test(
      tenant: string,
      selection: EventSelection,
      { limit, event: eventId, maxBytes = Number.POSITIVE_INFINITY }: TestOptions,
    ): Promise<TriggerTest> {
      const trigger = toTrigger(tenant, selection);
      const { events, compared, found } =
        eventId === undefined
          ? await listNewestFor(tenant, trigger, limit)
          : {
              events: [await getEvent(tenant, eventId)],
              compared: `The event ${eventId}`,
              found: "type" as const,
            };
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
      return { tested, compared, found };
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
      const index = await indexTriggers(considered);
      const { runs } = await withPayload(event, async (withBody) => {
        const compared = { tenant, event: withBody };
        const candidates = await selectCandidates(compared, index, options);
        return planEvent(compared, candidates, {
          ...options,
          cause: "replay",
          decidesPaused: true,
        });
      });
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

type ExplainedVerdict = Pick<
  ExplainedTrigger,
  "matched" | "reasons" | "reason" | "decided" | "run_id"
>;

const explainStored = ({ matched, reasons, run_id }: StoredVerdict): ExplainedVerdict => ({
  matched,
  reasons,
  reason: describeReasons(reasons),
  decided: "on arrival",
  run_id,
});

const PENDING: ExplainedVerdict = {
  matched: false,
  reasons: [],
  reason: "is not compared with the event yet, because filters are still being evaluated",
  decided: "pending",
  run_id: null,
};

/** `revision`: that of the triggers with which the event was compared; 0 if unknown. */
function explainComputed(
  trigger: RevisedTrigger,
  { matched, reasons }: Verdict,
  revision: number,
): ExplainedVerdict {
  const isSame = trigger.revision > 0 && trigger.revision <= revision;
  const verdict = { matched, reasons, reason: describeReasons(reasons), run_id: null };
  // All matches are stored. So a match of the same version is not that of the arrival: a filter, for example,
  // may have exceeded its deadline.
  if (isSame && !matched) return { ...verdict, decided: "computed" };
  const before = isSame
    ? "did not match when the event arrived"
    : revision > 0
      ? "was published or changed after the event arrived"
      : matched
        ? "was not a candidate when the event arrived"
        : undefined;
  const reason = before === undefined ? verdict.reason : `${before}; now: ${verdict.reason}`;
  return { ...verdict, reason, decided: "now" };
}

const formatCursor = (section: Section, { flow_id, node_id }: StoredVerdict | StoredTrigger) =>
  [section, flow_id, node_id].map(encodeURIComponent).join("/");

function parseCursor(text: string | undefined): ExplainCursor {
  if (text === undefined) return { section: SECTIONS[0] };
  const [name, flow_id, node_id, ...rest] = text.split("/").map(decodePart);
  const section = SECTIONS.find((known) => known === name);
  if (!section || flow_id === undefined || node_id === undefined || rest.length > 0)
    throw new RequestError(
      "invalid",
      "cursor",
      "is not a cursor of this list: start again without it",
    );
  return { section, after: { flow_id, node_id } };
}

/** Undefined if the text is not encoded. */
function decodePart(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const describeReasons = (reasons: readonly Pick<Reason, "holds" | "message">[]): string => {
  const failed = reasons.filter(({ holds }) => !holds);
  return (failed.length > 0 ? failed : reasons).map(({ message }) => message).join("; ");
};
