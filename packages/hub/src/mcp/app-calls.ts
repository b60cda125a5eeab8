/**
 * `tools/call` of an app: starts a run and returns its result. If the client disconnects, the run is
 * cancelled, unless the client has its id as a task.
 */
import type { Result, Server, ServerContext } from "@modelcontextprotocol/server";
import { isObject } from "@signalbox/rules/json.ts";
import { z } from "zod";
import type { CalledTool, ToolCalls } from "../apps/call-tool.ts";
import { RequestError } from "../lib/request-error.ts";
import type { StoredApp } from "../store/flow-store.ts";
import type { Store } from "../store/store.ts";
import { createProgressReporter } from "./app-progress.ts";
import {
  errorResult,
  RENAMED_TO,
  type ResultStore,
  renamedMessage,
  runToolResult,
  withRenamedNote,
} from "./app-results.ts";
import { type AppTasks, type Era, supportsTasks } from "./app-tasks.ts";
import { backPressureOf } from "./back-pressure.ts";
import { requestContextOf } from "./request-context.ts";

export interface AppCallsOptions {
  store: ResultStore & Pick<Store, "findTool" | "getRun" | "cancelRun">;
  calls: Pick<ToolCalls, "call" | "follow" | "resultError">;
  now: () => number;
  /** A client that supports tasks gets a run that takes longer than this as a task. */
  taskAfterMs: number;
  createdTask: AppTasks["created"];
}

export interface AppCalls {
  call(server: Server, era: Era, params: unknown, context: ServerContext): Promise<Result>;
  /** From now on a call that ends early does not cancel its run: other processes continue it. */
  close(): void;
}

const callParams = z.looseObject({
  name: z.string("must be the name of a tool"),
  arguments: z.unknown().optional(),
  task: z.unknown().optional(),
});
type CallParams = z.infer<typeof callParams>;

export function createAppCalls(options: AppCallsOptions): AppCalls {
  const { store, calls, now, taskAfterMs, createdTask } = options;
  let closed = false;

  return {
    async call(server, era, given, context) {
      const app = requestContextOf(context).app as StoredApp;
      const params = callParams.parse(given);
      let started: CalledTool;
      try {
        started = await start(app, params, context);
      } catch (error) {
        // An agent can correct its arguments or retry later, so it gets the message as a result.
        if (error instanceof RequestError && (error.code === "invalid" || error.code === "busy"))
          return errorResult(error.message);
        throw error;
      }
      const answering = new AbortController();
      const reported = reportProgress(app, params, started, context, answering.signal);
      if (era === "legacy" && isObject(params.task)) return asTask(app, params, era, started);

      const afterMs = era === "modern" && supportsTasks(server) ? taskAfterMs : undefined;
      try {
        const outcome = await firstOutcome(started, context, afterMs);
        if (outcome === "late") return await asTask(app, params, era, started);
        if (outcome === "disconnected") {
          if (!closed) await store.cancelRun(app.tenant, started.id, now());
          return errorResult("Cancelled.");
        }
        if (outcome instanceof Error) return errorResult(`${outcome.message} (run ${started.id})`);
        await reported; // the client gets the last progress before the result
        const result = await runToolResult(store, calls, outcome);
        const { renamedTo } = started;
        return renamedTo ? withRenamedNote(result, params.name, renamedTo) : result;
      } finally {
        answering.abort();
      }
    },
    close() {
      closed = true;
    },
  };

  function start(
    app: StoredApp,
    { name, arguments: given }: CallParams,
    context: ServerContext,
  ): Promise<CalledTool> {
    const { token } = requestContextOf(context).access;
    return calls.call(app.tenant, app.slug, name, given, { token });
  }

  /** Reports progress until the run ends or `signal` is aborted; never rejects. */
  async function reportProgress(
    app: StoredApp,
    { name }: CallParams,
    { id }: CalledTool,
    context: ServerContext,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const report = await createProgressReporter({
        store,
        app,
        tool: name,
        mcpReq: context.mcpReq,
        backPressure: backPressureOf(requestContextOf(context).access),
        now: now(),
      });
      if (!report) return;
      for await (const { steps } of calls.follow(app.tenant, id, signal))
        for (const step of steps) report(step);
    } catch {
      // Progress is optional: the result of the call does not depend on it.
    }
  }

  async function asTask(
    app: StoredApp,
    { name }: CallParams,
    era: Era,
    { id, renamedTo }: CalledTool,
  ): Promise<Result> {
    const run = await store.getRun(app.tenant, id);
    if (!run) throw new Error(`The run ${id} does not exist.`);
    const result = createdTask(era, run, renamedTo && renamedMessage(name, renamedTo));
    return renamedTo ? { ...result, _meta: { [RENAMED_TO]: renamedTo } } : result;
  }
}

/**
 * Resolves with the run that ended; with an error if the hub stops or the run was deleted; when the
 * client disconnects; or, with `afterMs`, after that time.
 */
async function firstOutcome(
  { ended }: CalledTool,
  { mcpReq, http }: ServerContext,
  afterMs: number | undefined,
) {
  // A session outlives the connection of a call, but the response does not.
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
