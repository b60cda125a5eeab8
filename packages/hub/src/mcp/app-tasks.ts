/**
 * Tasks: a run that a client comes back for. A task is nothing but the run, read from the store: so it
 * outlives connections and restarts, and any replica can be asked. In the 2025-11-25 era clients ask
 * for a task with the call; from 2026-07-28 on, in the extension for it, the server decides.
 */
import {
  MissingRequiredClientCapabilityError,
  RELATED_TASK_META_KEY,
  type Result,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { StoredApp } from "../store/flow-store.ts";
import { type Run, TERMINAL_STATUSES } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import { invalidParams, inWords, type ResultStore, resultOf } from "./app-results.ts";
import { listCursor } from "./list-cursor.ts";
import { requestContextOf } from "./request-context.ts";

export type Era = "legacy" | "modern";

const TASKS = "io.modelcontextprotocol/tasks";
const POLL_MS = 1_000;
const PAGE = 50;
const cursors = listCursor("task");

export const taskCapabilities = {
  legacy: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
  modern: { extensions: { [TASKS]: {} } },
} as const;

export const speaksTasks = (server: Server): boolean =>
  server.getClientCapabilities()?.extensions?.[TASKS] !== undefined;

export interface AppTasksOptions {
  store: ResultStore & Pick<Store, "getRun" | "listRuns" | "cancelRun" | "subscribe">;
  now: () => number;
  onError: (error: unknown) => void;
  /** How long runs stay that have ended; null: for good. */
  keepRunsMs?: number | null | undefined;
}

export interface AppTasks {
  /** What the call that made it is answered with. */
  created(era: Era, run: Run, statusMessage?: string): Result;
  addTo(server: Server, era: Era): void;
}

export function createAppTasks({
  store,
  now,
  onError,
  keepRunsMs = null,
}: AppTasksOptions): AppTasks {
  const viewTask = (era: Era, run: Run, statusMessage = run.error?.message) => {
    const task = {
      taskId: run.id,
      status: statusOf(era, run),
      ...(statusMessage && { statusMessage }),
      createdAt: iso(run.created_at),
      lastUpdatedAt: iso(run.finished_at ?? run.started_at ?? run.created_at),
    };
    // What a client asks for does not matter: all runs are kept for as long as the operator wants.
    return era === "modern"
      ? { ...task, ttlMs: keepRunsMs, pollIntervalMs: POLL_MS }
      : { ...task, ttl: keepRunsMs, pollInterval: POLL_MS };
  };

  const find = async ({ app, token }: Asker, id: string): Promise<Run> => {
    const run = await store.getRun(app.tenant, id);
    if (run?.app !== app.slug || run.token_id !== token)
      throw invalidParams(`There is no task ${id.slice(0, 100)}.`);
    return run;
  };

  return {
    created: (era, run, statusMessage) =>
      era === "modern"
        ? { resultType: "task", ...viewTask(era, run, statusMessage) }
        : { task: viewTask(era, run, statusMessage) },
    addTo,
  };

  function addTo(server: Server, era: Era): void {
    const on = <Params extends z.ZodType>(
      method: string,
      schema: Params,
      answer: (params: z.infer<Params>, asker: Asker, context: ServerContext) => Promise<Result>,
    ) =>
      // Parsed here, not by the SDK: its words would not name the field.
      server.setRequestHandler(method, { params: z.looseObject({}) }, async (given, context) => {
        if (era === "modern" && !speaksTasks(server))
          throw new MissingRequiredClientCapabilityError({
            requiredCapabilities: { extensions: { [TASKS]: {} } },
          });
        try {
          const { app, access } = requestContextOf(context);
          const asker = { app: app as StoredApp, token: access.token };
          return await answer(schema.parse(given), asker, context);
        } catch (error) {
          throw inWords(error, onError);
        }
      });
    const one = z.looseObject({ taskId: z.string("must be the id of a task") });

    if (era === "modern") {
      on("tasks/get", one, async ({ taskId }, asker) => {
        const run = await find(asker, taskId);
        const task = viewTask(era, run);
        if (task.status !== "completed") return task;
        return { ...task, result: { resultType: "complete", ...(await resultOf(store, run)) } };
      });
      on("tasks/cancel", one, async ({ taskId }, asker) => {
        await find(asker, taskId);
        await store.cancelRun(asker.app.tenant, taskId, now());
        return {};
      });
      // A run never asks its client anything, so there is nothing to tell it.
      on("tasks/update", one, async ({ taskId }, asker) => {
        await find(asker, taskId);
        return {};
      });
      return;
    }

    on("tasks/get", one, async ({ taskId }, asker) => viewTask(era, await find(asker, taskId)));
    on("tasks/cancel", one, async ({ taskId }, asker) => {
      const { status } = viewTask(era, await find(asker, taskId));
      if (status !== "working") throw invalidParams(`The task is ${status} already.`);
      await store.cancelRun(asker.app.tenant, taskId, now());
      return viewTask(era, await find(asker, taskId));
    });
    on("tasks/result", one, async ({ taskId }, asker, { mcpReq, http }) => {
      const signals = [mcpReq.signal, ...(http?.req ? [http.req.signal] : [])];
      const run = await untilEnded(asker, taskId, AbortSignal.any(signals));
      const isCancelled = statusOf(era, run) === "cancelled";
      const result = await resultOf(store, isCancelled ? { ...run, status: "cancelled" } : run);
      return { ...result, _meta: { ...result._meta, [RELATED_TASK_META_KEY]: { taskId } } };
    });
    on("tasks/list", z.looseObject({}), async ({ cursor }, { app: { tenant, slug }, token }) => {
      const before = cursors.read(cursor);
      const runs = await store.listRuns({ tenant, app: slug, token, limit: PAGE, before });
      const last = runs.length === PAGE ? runs.at(-1) : undefined;
      return {
        tasks: runs.map((run) => viewTask(era, run)),
        ...(last && { nextCursor: cursors.of(last.id) }),
      };
    });
  }

  /** The run at its end, wherever it comes to it; or as it is, where nobody waits any longer. */
  function untilEnded(asker: Asker, id: string, signal: AbortSignal): Promise<Run> {
    const { promise, resolve, reject } = Promise.withResolvers<Run>();
    const check = () =>
      find(asker, id).then((run) => {
        if (signal.aborted || run.cancel_asked || TERMINAL_STATUSES.includes(run.status))
          resolve(run);
      }, reject);
    const unsubscribe = store.subscribe((notice) => {
      if (notice.topic === "gap" || ("run" in notice && notice.run === id)) void check();
    });
    signal.addEventListener("abort", check, { once: true });
    void check();
    return promise.finally(() => {
      unsubscribe();
      signal.removeEventListener("abort", check);
    });
  }
}

/** A task belongs to the token that called for it: to others, of the same tenant too, it is unknown. */
interface Asker {
  app: StoredApp;
  token: string;
}

type TaskStatus = "working" | "completed" | "failed" | "cancelled";

function statusOf(era: Era, { status, cancel_asked }: Run): TaskStatus {
  // At once, and for good: what is cancelled must never be seen at work again.
  if (cancel_asked || status === "cancelled") return "cancelled";
  if (status === "succeeded") return "completed";
  // Later eras keep `failed` for calls that could not be made; what the tool says is its result.
  if (status === "failed") return era === "modern" ? "completed" : "failed";
  return "working";
}

const iso = (ms: number) => new Date(ms).toISOString();
