/**
 * Routes of runs: start, list, get, follow, cancel, retry. Large values are returned as previews. The
 * exception is a caller that waits for a run: it gets the whole output.
 */
import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { z } from "zod";
import { allows, roleHint } from "../../kernel/access/authorizer.ts";
import { type StreamSlots, TOO_MANY_STREAMS } from "../../kernel/access/stream-slots.ts";
import { cursorFor, limitQuery, pageOf } from "../../kernel/http/paging.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import { idFloor } from "../../kernel/lib/ids.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { yieldToEventLoop } from "../../kernel/lib/yield-to-event-loop.ts";
import type { Store } from "../../store.ts";
import type { ToolCalls } from "../editing/call-tool.ts";
import type { DraftRuns } from "../editing/draft-runs.ts";
import { runSummary, runView, stepView, summarizeRun, viewRun, viewStep } from "../views.ts";
import { nodeTestBody, pinsSchema } from "./draft-run-schema.ts";
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

const tag = "runs";
const cursors = cursorFor("run");
const time = z.iso.datetime({ offset: true, error: "must be a time such as 2026-11-15T12:00:00Z" });
const listedRun = runSummary.extend({ input: z.json().optional(), output: z.json().optional() });
const stepCursors = cursorFor("step");
const stepFields = {
  steps: z.array(stepView).describe("The first steps: up to 500, or 1 MiB."),
  next_cursor: z
    .string()
    .nullable()
    .describe("Send it to `GET /api/runs/:run/steps`; null if these are all steps."),
};
export const runWithSteps = runView.extend(stepFields);
const waitedRun = runView.extend({
  steps: stepFields.steps.optional().describe("Only with the scope `admin`."),
  next_cursor: stepFields.next_cursor.optional(),
});

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
  return defineRoute({
    method: "post",
    path: "/api/flows/:flow/runs",
    summary:
      "Start a run from a trigger; with ?wait=1 the response is the ended run, or 202 if the run takes too long",
    tag,
    scope: "flows:call",
    query: z.strictObject({
      wait: z.enum(["0", "1"], "must be 0 or 1").default("0"),
      draft: z
        .enum(["0", "1"], "must be 0 or 1")
        .default("0")
        .describe("1: run the draft, not the published version. Needs the scope `admin`."),
    }),
    body: z.strictObject({
      trigger: z.string("must be the id or slug of a trigger").min(1, "must not be empty"),
      input: jsonObject("must be an object").default({}),
      event: z
        .string()
        .max(100)
        .optional()
        .describe("With draft=1: the id of an event, which is the input."),
      pins: pinsSchema,
    }),
    response: {
      status: 202,
      schema: runView,
      or: { status: 200, schema: waitedRun, when: "With ?wait=1: the ended run" },
    },
    async handle({ access, tenant, param, query, body, signal }) {
      const isAdmin = allows(access, "admin");
      const { event, pins, trigger, input } = body;
      const request = { tenant, flow: param("flow"), trigger, input };
      const shouldWait = query.wait === "1";
      if (query.draft === "1") {
        if (!isAdmin)
          throw new RequestError(
            "forbidden",
            "draft",
            `Runs of drafts need the scope admin.${roleHint(access)}`,
          );
        const started = await drafts.start({ ...request, event, pins, by: access.name });
        return respond(options, tenant, started, { shouldWait, isAdmin, signal });
      }
      if (event !== undefined || Object.keys(pins).length > 0)
        throw new RequestError(
          "invalid",
          event === undefined ? "pins" : "event",
          "requires draft=1",
        );
      const call = { ...request, onlyActive: !isAdmin };
      if (shouldWait)
        return respond(options, tenant, await calls.start(call), { shouldWait, isAdmin, signal });
      const id = await calls.queue(call);
      return { status: 202, json: viewRun(requireRun(await store.previewRun(tenant, id), id)) };
    },
  });
}

function nodeTestRoute(options: RunRoutes): Route {
  return defineRoute({
    method: "post",
    path: "/api/flows/:flow/nodes/:node/test",
    summary:
      "Execute one node of the draft, with pinned outputs of the nodes before it; the response is the ended run, or 202 if the run takes too long",
    tag,
    scope: "admin",
    body: nodeTestBody,
    response: {
      status: 200,
      schema: runWithSteps,
      or: { status: 202, schema: runView, when: "The run takes too long" },
    },
    async handle({ access, tenant, param, body: { from_run, ...body }, signal }) {
      const started = await options.drafts.testNode({
        tenant,
        flow: param("flow"),
        node: param("node"),
        ...body,
        fromRun: from_run,
        by: access.name,
      });
      return respond(options, tenant, started, { shouldWait: true, isAdmin: true, signal });
    },
  });
}

/** Returns the ended run if the caller waits for it. Otherwise, and after a timeout, returns the stored run. */
async function respond(
  { store, closing, maxWaitMs = MAX_WAIT_MS }: RunRoutes,
  tenant: string,
  { id, stored, ended }: StartedRun,
  { shouldWait, isAdmin, signal }: { shouldWait: boolean; isAdmin: boolean; signal: AbortSignal },
) {
  if (shouldWait) {
    const stopWaiting = AbortSignal.any([signal, closing, AbortSignal.timeout(maxWaitMs)]);
    const run = await Promise.race([ended, waitForAbort(stopWaiting)]);
    // Callers without the scope `admin` do not see the steps of a flow.
    if (run) return { json: isAdmin ? await withSteps(store, run) : viewRun(run) };
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
    defineRoute({
      method: "get",
      path: "/api/runs",
      summary: "List runs, newest first, without their values",
      tag,
      scope: "runs:read",
      query: z.strictObject({
        limit: limitQuery,
        cursor: cursors.query,
        flow: z.string().optional(),
        app: z.string().optional(),
        event: z.string().optional(),
        status: z
          .enum([...RUN_STATUSES, "active"])
          .optional()
          .describe("`active`: runs that have not ended, whatever their status."),
        cause: runView.shape.cause.optional(),
        since: time.optional().describe("Only runs created at this time or later."),
        until: time.optional().describe("Only runs created before this time."),
        values: z
          .enum(["0", "1"], "must be 0 or 1")
          .default("0")
          .describe("1: with the input and output of each run, or their previews."),
      }),
      response: { status: 200, schema: pageOf(listedRun) },
      async handle({ tenant, query: { limit, cursor, since, until, values, status, ...filter } }) {
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
            next_cursor: next === null ? null : cursors.of(next),
          },
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:run",
      summary:
        "Get a run with its first steps; `{ $preview, bytes }` replaces each value above 16 KiB",
      tag,
      scope: "runs:read",
      response: { status: 200, schema: runWithSteps },
      async handle({ tenant, param }) {
        const id = param("run");
        const run = requireRun(await store.previewRun(tenant, id), id);
        return { json: await withSteps(store, run) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:run/steps",
      summary: "List the steps of a run in the order in which they started",
      tag,
      scope: "runs:read",
      query: z.strictObject({ cursor: stepCursors.query }),
      response: { status: 200, schema: pageOf(stepView) },
      async handle({ tenant, param, query: { cursor } }) {
        const id = param("run");
        requireRun(await store.previewRun(tenant, id), id);
        if (cursor !== undefined && !/^\d{1,9}$/.test(cursor))
          throw new RequestError("invalid", "cursor", "is not a cursor of this list");
        const after = cursor === undefined ? undefined : Number(cursor);
        const { steps: items, next_cursor } = stepPage(
          await store.listSteps(tenant, id, { after }),
        );
        return { json: { items, next_cursor } };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:run/stream",
      summary:
        "Follow a run until it ends: Server-Sent Events `run`, first with the run and its first steps, then with further steps and the steps that changed",
      tag,
      scope: "runs:read",
      response: { status: 200, type: "text/event-stream" },
      async handle({ access, tenant, param, signal }) {
        const id = param("run");
        requireRun(await store.previewRun(tenant, id), id);
        const slotEnd = new AbortController();
        const release = streamSlots.open(access, () => slotEnd.abort());
        if (!release) throw new RequestError("busy", "streams", TOO_MANY_STREAMS);
        return streamRun((ended) => calls.follow(tenant, id, ended), {
          stopSignal: AbortSignal.any([signal, closing, slotEnd.signal]),
          onEnd: release,
        });
      },
    }),
  ];
}

export const runsChanged = z.object({
  ids: z.array(z.string()).describe("The runs that were retried or cancelled."),
  unchanged: z
    .array(z.string())
    .describe("Unknown runs, and runs whose status does not allow the action."),
});

/** The maximum number of runs of one bulk action. */
const MAX_BULK = 100;

function controlRoutes({ store, now }: RunRoutes): Route[] {
  return [
    defineRoute({
      method: "post",
      path: "/api/runs/bulk",
      summary: `Retry or cancel up to ${MAX_BULK} runs`,
      tag,
      scope: "admin",
      body: z.strictObject({
        action: z.enum(["retry", "cancel"], "must be retry or cancel"),
        ids: z.array(z.string().max(100)).min(1).max(MAX_BULK),
      }),
      response: {
        status: 200,
        schema: runsChanged,
      },
      async handle({ tenant, body: { action, ids } }) {
        const changed: string[] = [];
        for (const id of new Set(ids)) {
          const run = await (action === "retry"
            ? store.retryRun(tenant, id, now())
            : store.cancelRun(tenant, id, now()));
          if (run) changed.push(id);
        }
        return { json: { ids: changed, unchanged: ids.filter((id) => !changed.includes(id)) } };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/runs/:run/cancel",
      summary: "Cancel a run; the response is 409 if the run has ended",
      tag,
      scope: "admin",
      response: { status: 202, schema: runView },
      async handle({ tenant, param }) {
        const id = param("run");
        const run = await store.cancelRun(tenant, id, now());
        if (run) return { status: 202, json: viewRun(run) };
        const ended = requireRun(await store.previewRun(tenant, id), id);
        throw new RequestError("conflict", "run", `${describeEnd(ended)}; it cannot be cancelled.`);
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/runs/:run/retry",
      summary: "Continue a failed or cancelled run at its failed steps",
      tag,
      scope: "admin",
      response: { status: 202, schema: runView },
      async handle({ tenant, param }) {
        const id = param("run");
        const before = requireRun(await store.previewRun(tenant, id), id);
        const run = await store.retryRun(tenant, id, now());
        if (!run)
          throw new RequestError(
            "conflict",
            "run",
            `The run is ${before.status}: only a failed or cancelled run can be retried.`,
          );
        return { status: 202, json: viewRun(run) };
      },
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
