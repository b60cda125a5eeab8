/**
 * Routes of runs: start, list, get, follow, cancel, retry. Large values are returned as previews. The
 * exception is a caller that waits for a run: it gets the whole output.
 */
import { runApi, runCursors, stepCursors } from "@signalbox/contract/runs.ts";
import { allows, roleHint } from "../../kernel/access/authorizer.ts";
import { type StreamSlots, TOO_MANY_STREAMS } from "../../kernel/access/stream-slots.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import { idFloor } from "../../kernel/lib/ids.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { yieldToEventLoop } from "../../kernel/lib/yield-to-event-loop.ts";
import type { Store } from "../../store.ts";
import type { DraftRuns } from "../editing/draft-runs.ts";
import type { ToolCalls } from "../editing/tool-calls.ts";
import { summarizeRun, viewRun, viewStep } from "../views.ts";
import { mergePages } from "./merge-pages.ts";
import {
  RUN_STATUSES,
  type Run,
  type RunQuery,
  type RunSummary,
  type StepPage,
  TERMINAL_STATUSES,
} from "./model.ts";
import { streamRun } from "./run-stream.ts";
import { runValueRoutes } from "./run-value-routes.ts";
import type { StartedRun } from "./started-run.ts";

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
    ...runValueRoutes(options.store),
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
