/**
 * `tools/call` of an app: starts a run and returns its result. If the client disconnects, the run is
 * cancelled, unless it was returned as a task.
 */
import type { Result, Server, ServerContext } from "@modelcontextprotocol/server";
import { isObject } from "@signalbox/rules/json.ts";
import { z } from "zod";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { backPressureOf } from "../../kernel/mcp/back-pressure.ts";
import { requestContextOf } from "../../kernel/mcp/request-context.ts";
import { errorResult } from "../../kernel/mcp/sdk-errors.ts";
import type { Store } from "../../store.ts";
import type { CalledTool, ToolCalls } from "../editing/tool-calls.ts";
import type { StoredApp } from "../model.ts";
import { createProgressReporter, type ProgressReporter } from "./app-progress.ts";
import {
  RENAMED_TO,
  type ResultStore,
  renamedMessage,
  runToolResult,
  withRenamedNote,
} from "./app-results.ts";
import { type AppTasks, clientSupportsTasks, type Era } from "./app-tasks.ts";

export interface AppCallsOptions {
  store: ResultStore & Pick<Store, "findTool" | "getRun" | "cancelRun">;
  calls: Pick<ToolCalls, "call" | "follow" | "resultError">;
  now: () => number;
  /** A run that takes longer than this is returned as a task, if the client supports tasks. */
  taskAfterMs: number;
  createTaskResult: AppTasks["createTaskResult"];
}

export interface AppCalls {
  call(server: Server, era: Era, params: unknown, context: ServerContext): Promise<Result>;
  /**
   * From then on, a client that disconnects does not cancel its run: another process continues the
   * run.
   */
  close(): void;
}

const callParams = z.looseObject({
  name: z.string("must be the name of a tool"),
  arguments: z.unknown().optional(),
  task: z.unknown().optional(),
});
type CallParams = z.infer<typeof callParams>;

const isTaskRequest = (era: Era, { task }: CallParams): boolean =>
  era === "legacy" && isObject(task);

export function createAppCalls(options: AppCallsOptions): AppCalls {
  const { store, calls, now, taskAfterMs, createTaskResult } = options;
  let isClosed = false;

  return {
    async call(server, era, rawParams, context) {
      const app = requestContextOf(context).app as StoredApp;
      const params = callParams.parse(rawParams);
      const report = await openProgress(app, params, context);
      let started: CalledTool;
      try {
        started = await start(app, era, params, context, report);
      } catch (error) {
        // An agent can correct its arguments or retry later, so it gets the message as a result.
        if (error instanceof RequestError && (error.code === "invalid" || error.code === "busy"))
          return errorResult(error.message);
        throw error;
      }
      const progressAbort = new AbortController();
      const stepsReported = reportSteps(app, started, report, progressAbort.signal);
      if (isTaskRequest(era, params)) return returnAsTask(app, params, era, started);

      const afterMs = era === "modern" && clientSupportsTasks(server) ? taskAfterMs : undefined;
      try {
        const outcome = await firstOutcome(started, context, afterMs);
        if (outcome === "late") return await returnAsTask(app, params, era, started);
        if (outcome === "disconnected") {
          await started.stored;
          if (!isClosed) await store.cancelRun(app.tenant, started.id, now());
          return errorResult("Cancelled.");
        }
        if (outcome instanceof Error) return errorResult(`${outcome.message} (run ${started.id})`);
        const { renamedTo, trigger } = started;
        await stepsReported; // the client gets the last progress before the result
        const result = await runToolResult(store, calls, outcome, trigger);
        return renamedTo ? withRenamedNote(result, params.name, renamedTo) : result;
      } finally {
        progressAbort.abort();
      }
    },
    close() {
      isClosed = true;
    },
  };

  function start(
    app: StoredApp,
    era: Era,
    params: CallParams,
    context: ServerContext,
    report: ProgressReporter | undefined,
  ): Promise<CalledTool> {
    const { name, arguments: args } = params;
    const { token } = requestContextOf(context).access;
    // Tasks and progress are read from the store, where a deferred run may be missing.
    const deferred = !isTaskRequest(era, params) && !report;
    const onProgress = report?.tool;
    return calls.call(app.tenant, app.slug, name, args, { token, deferred, onProgress });
  }

  /** Never rejects: progress is optional, and the result of the call does not depend on it. */
  function openProgress(
    app: StoredApp,
    { name }: CallParams,
    context: ServerContext,
  ): Promise<ProgressReporter | undefined> {
    return createProgressReporter({
      store,
      app,
      tool: name,
      mcpReq: context.mcpReq,
      backPressure: backPressureOf(requestContextOf(context).access),
      now: now(),
    }).catch(() => undefined);
  }

  /** Reports the steps of the run until it ends or `signal` is aborted; never rejects. */
  async function reportSteps(
    { tenant }: StoredApp,
    { id }: CalledTool,
    report: ProgressReporter | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (!report) return;
    try {
      for await (const { steps } of calls.follow(tenant, id, signal))
        for (const step of steps) report.step(step);
    } catch {
      // Progress is optional, as in `openProgress`.
    }
  }

  async function returnAsTask(
    app: StoredApp,
    { name }: CallParams,
    era: Era,
    { id, stored, renamedTo }: CalledTool,
  ): Promise<Result> {
    await stored;
    const run = await store.getRun(app.tenant, id);
    if (!run) throw new Error(`The run ${id} does not exist.`);
    const result = createTaskResult(era, run, renamedTo && renamedMessage(name, renamedTo));
    return renamedTo ? { ...result, _meta: { [RENAMED_TO]: renamedTo } } : result;
  }
}

/**
 * Resolves with the ended run, with an error if the hub stops or the run was deleted, with
 * "disconnected" if the client disconnects or cancels, or with "late" after `afterMs`.
 */
async function firstOutcome(
  { ended }: CalledTool,
  { mcpReq, http }: ServerContext,
  afterMs: number | undefined,
) {
  // In a session, `mcpReq.signal` is not aborted when the connection of one call closes.
  const signal = AbortSignal.any([mcpReq.signal, ...(http?.req ? [http.req.signal] : [])]);
  const disconnected = Promise.withResolvers<"disconnected">();
  const onAbort = () => disconnected.resolve("disconnected");
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const late = Promise.withResolvers<"late">();
  const timer = afterMs === undefined ? undefined : setTimeout(() => late.resolve("late"), afterMs);
  try {
    return await Promise.race([
      ended.catch((error: Error) => error),
      disconnected.promise,
      late.promise,
    ]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
