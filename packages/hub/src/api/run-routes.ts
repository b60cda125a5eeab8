/** Runs: start, look, cancel, try again, follow live. */
import { z } from "zod";
import type { ToolCalls } from "../apps/call-tool.ts";
import { RequestError } from "../lib/request-error.ts";
import { type Run, TERMINAL_STATUSES } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import { allows } from "../tenants/authorizer.ts";
import { defineRoute, type Route } from "./route.ts";
import {
  cursorFor,
  limitQuery,
  page,
  pageOf,
  runView,
  stepView,
  viewRun,
  viewStep,
} from "./views.ts";

const tag = "runs";
const next = cursorFor("run");
const runWithSteps = runView.extend({ steps: z.array(stepView) });
const result = runView.extend({
  steps: z.array(stepView).optional().describe("For those who may read runs: the scope `admin`."),
});

export interface RunRoutes {
  calls: ToolCalls;
  store: Store;
  now: () => number;
  /** Aborted when the hub stops: nobody is kept waiting. */
  closing: AbortSignal;
  /** How long `?wait=1` waits. */
  longestWaitMs?: number;
}

/** Proxies rarely wait longer than a minute. */
const LONGEST_WAIT_MS = 50_000;

export function runRoutes(options: RunRoutes): Route[] {
  const { calls, store, now, closing, longestWaitMs = LONGEST_WAIT_MS } = options;
  const found = (run: Run | undefined, id: string): Run => {
    if (!run) throw new RequestError("not_found", "run", `There is no run ${id}.`);
    return run;
  };
  const withSteps = async (run: Run) => ({
    ...viewRun(run),
    steps: (await store.listSteps(run.tenant, run.id)).map(viewStep),
  });

  return [
    defineRoute({
      method: "post",
      path: "/api/flows/:flow/runs",
      summary:
        "Start a run from a trigger; with ?wait=1 the answer is its result, or 202 where that takes long",
      tag,
      scope: "flows:call",
      query: z.strictObject({ wait: z.enum(["0", "1"], "must be 0 or 1").default("0") }),
      body: z.strictObject({
        trigger: z.string("must be the id or slug of a trigger").min(1, "must not be empty"),
        input: z.record(z.string(), z.json(), "must be an object").default({}),
      }),
      answer: {
        status: 202,
        schema: runView,
        or: { status: 200, schema: result, when: "With ?wait=1: the run at its end" },
      },
      async handle({ access, tenant, param, query, body, signal }) {
        const wanted = {
          tenant,
          flow: param("flow"),
          onlyActive: !allows(access, "admin"),
          ...body,
        };
        if (query.wait === "1") {
          const { id, ended } = await calls.start(wanted);
          const enough = AbortSignal.any([signal, closing, AbortSignal.timeout(longestWaitMs)]);
          const run = await Promise.race([ended, aborted(enough)]);
          // What happens within a flow is not told to those who may only call it.
          if (run) return { json: allows(access, "admin") ? await withSteps(run) : viewRun(run) };
          return { status: 202, json: viewRun(found(await store.getRun(tenant, id), id)) };
        }
        const id = await calls.queue(wanted);
        return { status: 202, json: viewRun(found(await store.getRun(tenant, id), id)) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs",
      summary: "List runs, newest first",
      tag,
      scope: "admin",
      query: z.strictObject({
        limit: limitQuery,
        cursor: next.query,
        flow: z.string().optional(),
        app: z.string().optional(),
        event: z.string().optional(),
        status: runView.shape.status.optional(),
      }),
      answer: { status: 200, schema: pageOf(runView) },
      async handle({ tenant, query: { limit, cursor, ...rest } }) {
        const runs = await store.listRuns({ tenant, limit, before: cursor, ...rest });
        return { json: page(runs, limit, ({ id }) => next.of(id), viewRun) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:run",
      summary: "Get a run with its steps",
      tag,
      scope: "admin",
      answer: { status: 200, schema: runWithSteps },
      async handle({ tenant, param }) {
        const id = param("run");
        return { json: await withSteps(found(await store.getRun(tenant, id), id)) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/runs/:run/cancel",
      summary: "Cancel a run; 409 where it is over",
      tag,
      scope: "admin",
      answer: { status: 202, schema: runView },
      async handle({ tenant, param }) {
        const id = param("run");
        const run = await store.cancelRun(tenant, id, now());
        if (run) return { status: 202, json: viewRun(run) };
        const over = found(await store.getRun(tenant, id), id);
        throw new RequestError(
          "conflict",
          "run",
          `${endOf(over)}: there is nothing left to cancel.`,
        );
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/runs/:run/retry",
      summary: "Go on with a failed or cancelled run at what failed",
      tag,
      scope: "admin",
      answer: { status: 202, schema: runView },
      async handle({ tenant, param }) {
        const id = param("run");
        const before = found(await store.getRun(tenant, id), id);
        const run = await store.retryRun(tenant, id, now());
        if (!run)
          throw new RequestError(
            "conflict",
            "run",
            `The run is ${before.status}: only one that failed or was cancelled can be tried again.`,
          );
        return { status: 202, json: viewRun(run) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:run/stream",
      summary: "Follow a run: Server-Sent Events `run` with the run and its steps, until it ends",
      tag,
      scope: "admin",
      answer: { status: 200, type: "text/event-stream" },
      async handle({ tenant, param, signal }) {
        const id = param("run");
        found(await store.getRun(tenant, id), id);
        return follow(tenant, id, signal);
      },
    }),
  ];

  function follow(tenant: string, id: string, signal: AbortSignal): Response {
    const encoder = new TextEncoder();
    let unsubscribe = () => {};
    let timer: ReturnType<typeof setInterval> | undefined;
    let end = () => {};
    const stop = () => {
      unsubscribe();
      clearInterval(timer);
      closing.removeEventListener("abort", end);
    };
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        end = () => {
          stop();
          controller.close();
        };
        let last = "";
        let looking = false;
        const look = async () => {
          if (looking) return;
          looking = true;
          try {
            const run = await store.getRun(tenant, id);
            const text = run ? JSON.stringify(await withSteps(run)) : last;
            if (text !== last) controller.enqueue(encoder.encode(`event: run\ndata: ${text}\n\n`));
            last = text;
            if (!run || TERMINAL_STATUSES.includes(run.status)) end();
          } catch (error) {
            stop();
            controller.error(error);
          } finally {
            looking = false;
          }
        };
        unsubscribe = store.subscribe((notice) => {
          if (notice.topic === "run_ended" && notice.run === id) void look();
        });
        timer = setInterval(() => void look(), LOOK_EVERY_MS);
        signal.addEventListener("abort", stop, { once: true });
        closing.addEventListener("abort", end, { once: true });
        void look();
      },
      cancel: stop,
    });
    return new Response(body, {
      headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    });
  }
}

function endOf({ status, error, finished_at }: Run): string {
  const at = new Date(finished_at ?? 0).toISOString();
  const was = status === "cancelled" ? "was cancelled" : status;
  return `The run ${was} at ${at}${error ? ` (${error.message})` : ""}`;
}

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });

/** Steps are not announced one by one: that would cost every run for the few that are watched. */
const LOOK_EVERY_MS = 250;
