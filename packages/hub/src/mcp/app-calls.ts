/**
 * `tools/call` of an app: a run, and its result. Who asks may leave: then the run is cancelled, unless
 * it was handed over as a task, whose id the client has.
 */
import type { Result, Server, ServerContext } from "@modelcontextprotocol/server";
import { isObject } from "@signalbox/rules/json.ts";
import { z } from "zod";
import type { CalledTool, ToolCalls } from "../apps/call-tool.ts";
import { RequestError } from "../lib/request-error.ts";
import type { StoredApp } from "../store/flow-store.ts";
import type { Store } from "../store/store.ts";
import { progressOf } from "./app-progress.ts";
import {
  failed,
  RENAMED_TO,
  type ResultStore,
  renamed,
  renamedWords,
  resultOf,
} from "./app-results.ts";
import { type AppTasks, type Era, speaksTasks } from "./app-tasks.ts";
import { backPressureOf } from "./back-pressure.ts";
import { requestContextOf } from "./request-context.ts";

export interface AppCallsOptions {
  store: ResultStore & Pick<Store, "findTool" | "getRun" | "cancelRun">;
  calls: Pick<ToolCalls, "call">;
  now: () => number;
  /** A client that can do so waits for a run of more than this as for a task. */
  taskAfterMs: number;
  createdTask: AppTasks["created"];
}

export interface AppCalls {
  call(server: Server, era: Era, params: unknown, context: ServerContext): Promise<Result>;
  /** From now on the hub ends calls, not their clients: the runs go on elsewhere. */
  close(): void;
}

const callParams = z.looseObject({
  name: z.string("must be the name of a tool"),
  arguments: z.unknown().optional(),
  task: z.unknown().optional(),
});

export function createAppCalls({
  store,
  calls,
  now,
  taskAfterMs,
  createdTask,
}: AppCallsOptions): AppCalls {
  let closed = false;

  async function start(
    app: StoredApp,
    { name, arguments: given }: z.infer<typeof callParams>,
    context: ServerContext,
  ): Promise<CalledTool> {
    const { access } = requestContextOf(context);
    const onStep = await progressOf({
      store,
      app,
      tool: name,
      mcpReq: context.mcpReq,
      backPressure: backPressureOf(access),
      now: now(),
    });
    return calls.call(app.tenant, app.slug, name, given, {
      token: access.token,
      ...(onStep && { onStep }),
    });
  }

  return {
    async call(server, era, given, context) {
      const app = requestContextOf(context).app as StoredApp;
      const params = callParams.parse(given);
      let started: CalledTool;
      try {
        started = await start(app, params, context);
      } catch (error) {
        // What an agent can put right by itself, or try later, is for it to read; an unknown tool is not.
        if (error instanceof RequestError && (error.code === "invalid" || error.code === "busy"))
          return failed(error.message);
        throw error;
      }
      const { id, ended, renamedTo } = started;
      const asTask = async (): Promise<Result> => {
        const run = await store.getRun(app.tenant, id);
        if (!run) throw new Error(`The run ${id} is not there.`);
        const result = createdTask(era, run, renamedTo && renamedWords(params.name, renamedTo));
        return renamedTo ? { ...result, _meta: { [RENAMED_TO]: renamedTo } } : result;
      };
      // It is rejected where the hub stops before the run does, or the run is no longer there.
      const over = ended.catch((error: Error) => error);
      if (era === "legacy" && isObject(params.task)) return asTask();

      const { mcpReq, http } = context;
      // A session outlives the connection of a call; the answer does not.
      const signal = AbortSignal.any([mcpReq.signal, ...(http?.req ? [http.req.signal] : [])]);
      const gone = Promise.withResolvers<"gone">();
      const leave = () => gone.resolve("gone");
      signal.addEventListener("abort", leave, { once: true });
      if (signal.aborted) leave();
      const late = Promise.withResolvers<"late">();
      const timer =
        era === "modern" && speaksTasks(server)
          ? setTimeout(() => late.resolve("late"), taskAfterMs)
          : undefined;
      try {
        const run = await Promise.race([over, gone.promise, late.promise]);
        if (run === "late") return await asTask();
        if (run === "gone") {
          if (!closed) await store.cancelRun(app.tenant, id, now());
          return failed("Cancelled.");
        }
        if (run instanceof Error) return failed(`${run.message} (run ${id})`);
        const result = await resultOf(store, run);
        return renamedTo ? renamed(result, params.name, renamedTo) : result;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
      }
    },
    close() {
      closed = true;
    },
  };
}
