/**
 * Routes of runs: start, list, get, follow, cancel, retry, and what waits. Large values are returned as
 * previews. The exceptions are the routes of single values, and a caller that waits for a run: it gets the
 * whole output.
 */

import { MAX_QUEUED, queueApi } from "@signalbox/contract/queue.ts";
import { runApi, runCursors, runValueApi, stepCursors } from "@signalbox/contract/runs.ts";
import { allows, roleHint } from "../../kernel/access/scopes.ts";
import { type StreamSlots, TOO_MANY_STREAMS } from "../../kernel/access/stream-slots.ts";
import { iso, isoOrNull } from "../../kernel/http/paging.ts";
import { rangeResponse } from "../../kernel/http/range.ts";
import { implement, type Route, type RouteRequest } from "../../kernel/http/route.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { idFloor } from "../../kernel/lib/ids.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { yieldToEventLoop } from "../../kernel/lib/yield-to-event-loop.ts";
import type { Page } from "../../kernel/store/verb.ts";
import type { Store } from "../../store.ts";
import type { DraftRuns } from "../editing/draft-runs.ts";
import type { ToolCalls } from "../editing/tool-calls.ts";
import { summarizeRun, viewRun, viewStep } from "../views.ts";
import type { RunChange } from "./follow-run.ts";
import {
  RUN_STATUSES,
  type Run,
  type RunQuery,
  type RunSummary,
  type StepPage,
  TERMINAL_STATUSES,
  type ValueKey,
} from "./model.ts";
import type { WorkerLoad } from "./run-metrics.ts";
import type { StartedRun } from "./runner.ts";

export interface RunRoutes {
  calls: ToolCalls;
  drafts: DraftRuns;
  store: Store;
  now: () => number;
  streamSlots: StreamSlots;
  /** Aborted when the hub stops. It ends `?wait=1` and streams. */
  closing: AbortSignal;
  /** How long `?wait=1` waits. */
  maxWaitMs?: number;
}

const ACTIVE_STATUSES = RUN_STATUSES.filter((status) => !TERMINAL_STATUSES.includes(status));

/** Many proxies time out after a minute. */
const MAX_WAIT_MS = 50_000;

export function runRoutes(options: RunRoutes): Route[] {
  return [
    startRoute(options),
    nodeTestRoute(options),
    ...readRoutes(options),
    ...valueRoutes(options.store),
    ...controlRoutes(options),
  ];
}

const requireRun = (run: Run | undefined, id: string): Run => {
  if (!run) throw new RequestError("not_found", "run", `There is no run ${id}.`);
  return run;
};

const stepPage = ({ items, next }: StepPage) => ({
  steps: items.map(viewStep),
  next_cursor: next === null ? null : stepCursors.of(String(next)),
});

const withSteps = async (store: RunRoutes["store"], run: Run) => ({
  ...viewRun(run),
  ...stepPage(await store.listSteps(run.tenant, run.id)),
});

function startRoute(options: RunRoutes): Route {
  const { calls, drafts, store } = options;
  return implement(runApi.start, async ({ access, tenant, param, query, body, signal }) => {
    const isAdmin = allows(access, "admin");
    const { event, pins, trigger, input } = body;
    const request = { tenant, flow: param("flow"), trigger, input };
    // Callers without the scope `admin` do not see the steps of a flow.
    const viewEnded = isAdmin ? (run: Run) => withSteps(store, run) : viewRun;
    const shouldWait = query.wait === "1";
    if (query.draft === "1") {
      if (!isAdmin)
        throw new RequestError(
          "forbidden",
          "draft",
          `Runs of drafts need the scope admin.${roleHint(access)}`,
        );
      const started = await drafts.start({ ...request, event, pins, by: access.name });
      return respond(options, tenant, started, { signal, ...(shouldWait && { viewEnded }) });
    }
    if (event !== undefined || Object.keys(pins).length > 0)
      throw new RequestError("invalid", event === undefined ? "pins" : "event", "requires draft=1");
    const call = { ...request, onlyActive: !isAdmin };
    if (shouldWait) return respond(options, tenant, await calls.start(call), { signal, viewEnded });
    const id = await calls.queue(call);
    return { status: 202, json: viewRun(requireRun(await store.previewRun(tenant, id), id)) };
  });
}

function nodeTestRoute(options: RunRoutes): Route {
  return implement(
    runApi.testNode,
    async ({ access, tenant, param, body: { from_run, ...body }, signal }) => {
      const started = await options.drafts.testNode({
        tenant,
        flow: param("flow"),
        node: param("node"),
        ...body,
        fromRun: from_run,
        by: access.name,
      });
      const viewEnded = (run: Run) => withSteps(options.store, run);
      return respond(options, tenant, started, { signal, viewEnded });
    },
  );
}

/** Waits for the end of the run if there is `viewEnded`. Otherwise, and after a timeout, returns the stored run. */
async function respond<View>(
  { store, closing, maxWaitMs = MAX_WAIT_MS }: RunRoutes,
  tenant: string,
  { id, stored, ended }: StartedRun,
  { signal, viewEnded }: { signal: AbortSignal; viewEnded?: (run: Run) => View | Promise<View> },
) {
  if (viewEnded) {
    const stopWaiting = AbortSignal.any([signal, closing, AbortSignal.timeout(maxWaitMs)]);
    const run = await Promise.race([ended, waitForAbort(stopWaiting)]);
    if (run) return { status: 200 as const, json: await viewEnded(run) };
  }
  await stored;
  return {
    status: 202 as const,
    json: viewRun(requireRun(await store.previewRun(tenant, id), id)),
  };
}

/** The maximum number of queries for one page. Each query scans a part of the runs. */
const MAX_SCANS = 10;

/** Scans further parts of the runs until a run matches. */
async function listFurther(store: RunRoutes["store"], query: RunQuery) {
  let page = await store.listRunSummaries(query);
  for (let scans = 1; scans < MAX_SCANS && page.next !== null; scans += 1) {
    if (page.items.length > 0) break;
    await yieldToEventLoop();
    page = await store.listRunSummaries({ ...query, before: page.next });
  }
  return page;
}

function readRoutes({ calls, store, streamSlots, closing }: RunRoutes): Route[] {
  const withValues = async (run: RunSummary) => {
    const { input, output } = (await store.previewRun(run.tenant, run.id)) ?? {};
    return { ...summarizeRun(run), input, output };
  };
  return [
    implement(
      runApi.list,
      async ({ tenant, query: { limit, cursor, since, until, values, status, ...filter } }) => {
        const end = until === undefined ? undefined : idFloor(Date.parse(until));
        const runQuery = {
          tenant,
          limit,
          before: cursor !== undefined && (end === undefined || cursor < end) ? cursor : end,
          from: since === undefined ? undefined : idFloor(Date.parse(since)),
          ...filter,
        };
        // The index contains the status: one query per active status is cheaper than a scan of all runs.
        const { items, next } =
          status === "active"
            ? mergePages(
                await Promise.all(
                  ACTIVE_STATUSES.map((activeStatus) =>
                    listFurther(store, { ...runQuery, status: activeStatus }),
                  ),
                ),
                limit,
              )
            : await listFurther(store, { ...runQuery, status });
        return {
          json: {
            items:
              values === "1" ? await Promise.all(items.map(withValues)) : items.map(summarizeRun),
            next_cursor: next === null ? null : runCursors.of(next),
          },
        };
      },
    ),
    implement(runApi.get, async ({ tenant, param }) => {
      const id = param("run");
      const run = requireRun(await store.previewRun(tenant, id), id);
      return { json: await withSteps(store, run) };
    }),
    implement(runApi.listSteps, async ({ tenant, param, query: { cursor } }) => {
      const id = param("run");
      requireRun(await store.previewRun(tenant, id), id);
      if (cursor !== undefined && !/^\d{1,9}$/.test(cursor))
        throw new RequestError("invalid", "cursor", "is not a cursor of this list");
      const after = cursor === undefined ? undefined : Number(cursor);
      const { steps: items, next_cursor } = stepPage(await store.listSteps(tenant, id, { after }));
      return { json: { items, next_cursor } };
    }),
    implement(runApi.follow, async ({ access, tenant, param, signal }) => {
      const id = param("run");
      requireRun(await store.previewRun(tenant, id), id);
      const slotEnd = new AbortController();
      const release = streamSlots.open(access, () => slotEnd.abort());
      if (!release) throw new RequestError("busy", "streams", TOO_MANY_STREAMS);
      return streamRun((ended) => calls.follow(tenant, id, ended), {
        stopSignal: AbortSignal.any([signal, closing, slotEnd.signal]),
        onEnd: release,
      });
    }),
  ];
}

function controlRoutes({ store, now }: RunRoutes): Route[] {
  return [
    implement(runApi.changeMany, async ({ tenant, body: { action, ids } }) => {
      const changed: string[] = [];
      for (const id of new Set(ids)) {
        const run = await (action === "retry"
          ? store.retryRun(tenant, id, now())
          : store.cancelRun(tenant, id, now()));
        if (run) changed.push(id);
      }
      return { json: { ids: changed, unchanged: ids.filter((id) => !changed.includes(id)) } };
    }),
    implement(runApi.cancel, async ({ tenant, param }) => {
      const id = param("run");
      const run = await store.cancelRun(tenant, id, now());
      if (run) return { json: viewRun(run) };
      const ended = requireRun(await store.previewRun(tenant, id), id);
      throw new RequestError("conflict", "run", `${describeEnd(ended)}; it cannot be cancelled.`);
    }),
    implement(runApi.retry, async ({ tenant, param }) => {
      const id = param("run");
      const before = requireRun(await store.previewRun(tenant, id), id);
      const run = await store.retryRun(tenant, id, now());
      if (!run)
        throw new RequestError(
          "conflict",
          "run",
          `The run is ${before.status}: only a failed or cancelled run can be retried.`,
        );
      return { json: viewRun(run) };
    }),
  ];
}

function describeEnd({ status, error, finished_at }: Run): string {
  const at = new Date(finished_at ?? 0).toISOString();
  const verb = status === "cancelled" ? "was cancelled" : status;
  return `The run ${verb} at ${at}${error ? ` (${error.message})` : ""}`;
}

const waitForAbort = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });

/** Routes that return the whole inputs and outputs of runs and steps. */
function valueRoutes(store: Pick<Store, "measureValue" | "readValue">): Route[] {
  const read = async (
    { tenant, header, reserveBytes }: Pick<RouteRequest, "tenant" | "header" | "reserveBytes">,
    { run, nth, field }: { run: string; nth?: string; field: ValueKey["field"] },
  ): Promise<Response> => {
    const owner = nth === undefined ? `run ${run}` : `step ${nth} of the run ${run}`;
    const notFound = () => new RequestError("not_found", "run", `There is no ${owner}.`);
    if (nth !== undefined && !/^\d{1,9}$/.test(nth)) throw notFound();
    const key = { tenant, run, nth: nth === undefined ? undefined : Number(nth), field };
    const bytes = await store.measureValue(key);
    if (bytes === undefined) throw notFound();
    await reserveBytes(bytes);
    const text = await store.readValue(key);
    if (text === undefined) throw notFound();
    return rangeResponse(utf8(text), "application/json", header("range"));
  };
  return [
    implement(runValueApi.input, (request) =>
      read(request, { run: request.param("run"), field: "input" }),
    ),
    implement(runValueApi.inputOfStep, (request) =>
      read(request, { run: request.param("run"), nth: request.param("nth"), field: "input" }),
    ),
    implement(runValueApi.output, (request) =>
      read(request, { run: request.param("run"), field: "output" }),
    ),
    implement(runValueApi.outputOfStep, (request) =>
      read(request, { run: request.param("run"), nth: request.param("nth"), field: "output" }),
    ),
  ];
}

interface RunStreamOptions {
  /** Its abort ends the stream, even if the client does not read. */
  stopSignal: AbortSignal;
  /** Called once, when either side has ended the stream. */
  onEnd(): void;
}

/**
 * Sends the changes of a run as Server-Sent Events. The first event `run` has the whole run with its first
 * steps. Each later event has the fields of the run that can change, further steps, and the steps that
 * changed. The store is read only when the client reads, so that no messages accumulate in memory.
 *
 * The generator of `follow` must end when its signal is aborted.
 */
function streamRun(
  follow: (ended: AbortSignal) => AsyncGenerator<RunChange>,
  { stopSignal, onEnd }: RunStreamOptions,
): Response {
  const ended = new AbortController();
  const changes = follow(ended.signal);
  const encoder = new TextEncoder();
  /** The JSON of the run's fields in the last event. */
  let lastFields: string | undefined;
  let stop = () => {};
  const end = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    stopSignal.removeEventListener("abort", stop);
    changes.return(undefined).catch(() => {}); // a pending `next` reports the error
    onEnd();
  };
  const next = async () => {
    try {
      return await changes.next();
    } catch (error) {
      end();
      throw error;
    }
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        stop = () => {
          end();
          controller.close();
        };
        if (stopSignal.aborted) stop();
        else stopSignal.addEventListener("abort", stop);
      },
      async pull(controller) {
        for (;;) {
          const { done, value } = await next();
          if (ended.signal.aborted) return;
          if (done) {
            end();
            return controller.close();
          }
          const { run, steps } = value;
          const fields = JSON.stringify(viewChangingFields(run));
          if (fields === lastFields && steps.length === 0) continue;
          const view = lastFields === undefined ? viewRun(run) : viewChangingFields(run);
          lastFields = fields;
          const data = JSON.stringify({ ...view, steps: steps.map(viewStep) });
          return controller.enqueue(encoder.encode(`event: run\ndata: ${data}\n\n`));
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

function viewChangingFields(run: Run) {
  const { id, status, output, error, started_at, finished_at } = viewRun(run);
  return { id, status, output, error, started_at, finished_at };
}

/**
 * Merges one page of each of several lists into one page. The lists are ordered by id, newest
 * first.
 */
export function mergePages<Item extends { id: string }>(
  pages: readonly Page<Item, string>[],
  limit: number,
): Page<Item, string> {
  // A list was read down to its `next`, so items below the highest `next` may be missing.
  const lowestRead = pages.reduce(
    (highest, { next }) => (next && next > highest ? next : highest),
    "",
  );
  // An item that moves from one list to another between two reads is in both.
  const byId = new Map(pages.flatMap(({ items }) => items.map((item) => [item.id, item] as const)));
  const items = [...byId.values()]
    .filter(({ id }) => id >= lowestRead)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  if (items.length <= limit) return { items, next: lowestRead || null };
  const firstItems = items.slice(0, limit);
  return { items: firstItems, next: firstItems.at(-1)?.id ?? null };
}

interface QueueRoutes {
  store: Pick<Store, "readQueue">;
  now: () => number;
  /** Undefined if several tenants share the hub: they must not see each other's load. */
  readLoad: (() => WorkerLoad) | undefined;
}

/** Which runs wait, and for what. The cost does not grow with the number of runs. */
export const queueRoutes = ({ store, now, readLoad }: QueueRoutes): Route[] => [
  implement(queueApi.get, async ({ tenant }) => {
    // One more than is shown, to find out whether there are more.
    const { flows, more_flows, more_held_flows, waits, more_waits } = await store.readQueue(
      tenant,
      now(),
      MAX_QUEUED + 1,
    );
    const sum = (field: "queued" | "held") =>
      flows.reduce((total, flow) => total + Math.min(flow[field], MAX_QUEUED), 0);
    const sinceTimes = flows.flatMap(({ since }) => since ?? []);
    return {
      json: {
        queued: sum("queued"),
        queued_more: more_flows || flows.some(({ queued }) => queued > MAX_QUEUED),
        held: sum("held"),
        held_more: more_held_flows || flows.some(({ held }) => held > MAX_QUEUED),
        oldest_queued_since: isoOrNull(sinceTimes.length > 0 ? Math.min(...sinceTimes) : null),
        flows: flows.map(({ since, ...flow }) => ({
          ...flow,
          queued: Math.min(flow.queued, MAX_QUEUED),
          queued_more: flow.queued > MAX_QUEUED,
          held: Math.min(flow.held, MAX_QUEUED),
          held_more: flow.held > MAX_QUEUED,
          oldest_queued_since: isoOrNull(since),
        })),
        waits: waits.map((wait) => ({ ...wait, since: iso(wait.since) })),
        waits_more: more_waits,
        slots: readLoad ? readLoad().slots : null,
      },
    };
  }),
];
