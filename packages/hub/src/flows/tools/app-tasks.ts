/**
 * MCP tasks: a client gets the id of a run and requests its result later. A task is a view of the
 * stored run, so it survives connections and restarts, and any replica can serve it. In protocol
 * version 2025-11-25 the client requests a task in its call; in the tasks extension of 2026-07-28 the
 * server decides whether a call returns a task.
 */
import {
  MissingRequiredClientCapabilityError,
  RELATED_TASK_META_KEY,
  type Result,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { listCursor } from "../../kernel/mcp/list-cursor.ts";
import { requestContextOf } from "../../kernel/mcp/request-context.ts";
import { invalidParams, toProtocolError } from "../../kernel/mcp/sdk-errors.ts";
import type { Store } from "../../store.ts";
import type { StoredApp } from "../model.ts";
import { type Run, TERMINAL_STATUSES } from "../runs/model.ts";
import { type ResultCalls, type ResultStore, runToolResult } from "./app-results.ts";

export type Era = "legacy" | "modern";

const TASKS = "io.modelcontextprotocol/tasks";
const POLL_MS = 1_000;
const PAGE_SIZE = 50;
const cursors = listCursor("task");

export const taskCapabilities = {
  legacy: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
  modern: { extensions: { [TASKS]: {} } },
} as const;

export const clientSupportsTasks = (server: Server): boolean =>
  server.getClientCapabilities()?.extensions?.[TASKS] !== undefined;

export interface AppTasksOptions {
  store: ResultStore & Pick<Store, "getRun" | "listRuns" | "cancelRun" | "subscribe">;
  calls: ResultCalls;
  now: () => number;
  onError: (error: unknown) => void;
  /** How long ended runs are kept. By default and with null, they are kept forever. */
  keepRunsMs?: number | null | undefined;
}

export interface AppTasks {
  /** The result of the call that created the task. */
  createTaskResult(era: Era, run: Run, statusMessage?: string): Result;
  addTo(server: Server, era: Era): void;
}

export function createAppTasks({
  store,
  calls,
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
    // The ttl in a client's request is ignored: the operator decides how long runs are kept.
    return era === "modern"
      ? { ...task, ttlMs: keepRunsMs, pollIntervalMs: POLL_MS }
      : { ...task, ttl: keepRunsMs, pollInterval: POLL_MS };
  };

  const find = async ({ app, token }: TaskOwner, id: string): Promise<Run> => {
    const run = await store.getRun(app.tenant, id);
    if (run?.app !== app.slug || run.token_id !== token)
      throw invalidParams(`There is no task ${id.slice(0, 100)}.`);
    return run;
  };

  return {
    createTaskResult: (era, run, statusMessage) =>
      era === "modern"
        ? { resultType: "task", ...viewTask(era, run, statusMessage) }
        : { task: viewTask(era, run, statusMessage) },
    addTo(server, era) {
      if (era === "modern") addModern(createHandlers(server, onError, true));
      else addLegacy(createHandlers(server, onError, false));
    },
  };

  function addModern(on: AddHandler): void {
    on("tasks/get", taskParams, async ({ taskId }, owner) => {
      const run = await find(owner, taskId);
      const task = viewTask("modern", run);
      if (task.status !== "completed") return task;
      return {
        ...task,
        result: { resultType: "complete", ...(await runToolResult(store, calls, run)) },
      };
    });
    on("tasks/cancel", taskParams, async ({ taskId }, owner) => {
      await find(owner, taskId);
      await store.cancelRun(owner.app.tenant, taskId, now());
      return {};
    });
    // A run never asks its client for input, so an update has no effect.
    on("tasks/update", taskParams, async ({ taskId }, owner) => {
      await find(owner, taskId);
      return {};
    });
  }

  function addLegacy(on: AddHandler): void {
    on("tasks/get", taskParams, async ({ taskId }, owner) =>
      viewTask("legacy", await find(owner, taskId)),
    );
    on("tasks/cancel", taskParams, async ({ taskId }, owner) => {
      const { status } = viewTask("legacy", await find(owner, taskId));
      if (status !== "working") throw invalidParams(`The task is already ${status}.`);
      await store.cancelRun(owner.app.tenant, taskId, now());
      return viewTask("legacy", await find(owner, taskId));
    });
    on("tasks/result", taskParams, async ({ taskId }, owner, { mcpReq, http }) => {
      const signals = [mcpReq.signal, ...(http?.req ? [http.req.signal] : [])];
      const run = await waitForEnd(owner, taskId, AbortSignal.any(signals));
      // While a cancelled run is stopping, its result is that of a cancelled run.
      const isCancelled = statusOf("legacy", run) === "cancelled";
      const ended: Run = isCancelled ? { ...run, status: "cancelled" } : run;
      const result = await runToolResult(store, calls, ended);
      return { ...result, _meta: { ...result._meta, [RELATED_TASK_META_KEY]: { taskId } } };
    });
    on("tasks/list", z.looseObject({}), async ({ cursor }, { app: { tenant, slug }, token }) => {
      const before = cursors.decode(cursor);
      const runs = await store.listRuns({ tenant, app: slug, token, limit: PAGE_SIZE, before });
      const last = runs.length === PAGE_SIZE ? runs.at(-1) : undefined;
      return {
        tasks: runs.map((run) => viewTask("legacy", run)),
        ...(last && { nextCursor: cursors.encode(last.id) }),
      };
    });
  }

  /** Resolves when the run ends in any process, its cancellation is requested, or `signal` aborts. */
  function waitForEnd(owner: TaskOwner, id: string, signal: AbortSignal): Promise<Run> {
    const { promise, resolve, reject } = Promise.withResolvers<Run>();
    const check = () =>
      find(owner, id).then((run) => {
        if (signal.aborted || run.cancel_requested || TERMINAL_STATUSES.includes(run.status))
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

const taskParams = z.looseObject({ taskId: z.string("must be the id of a task") });

type AddHandler = <Params extends z.ZodType>(
  method: string,
  schema: Params,
  handle: (params: z.infer<Params>, owner: TaskOwner, context: ServerContext) => Promise<Result>,
) => void;

/** Parses params here, because the SDK's error messages do not name the field. */
const createHandlers =
  (server: Server, onError: (error: unknown) => void, needsExtension: boolean): AddHandler =>
  (method, schema, handle) =>
    server.setRequestHandler(method, { params: z.looseObject({}) }, async (rawParams, context) => {
      if (needsExtension && !clientSupportsTasks(server))
        throw new MissingRequiredClientCapabilityError({
          requiredCapabilities: { extensions: { [TASKS]: {} } },
        });
      try {
        const { app, access } = requestContextOf(context);
        const owner = { app: app as StoredApp, token: access.token };
        return await handle(schema.parse(rawParams), owner, context);
      } catch (error) {
        throw toProtocolError(error, onError);
      }
    });

/** A task is visible only to the token that created it, not to other tokens of the tenant. */
interface TaskOwner {
  app: StoredApp;
  token: string;
}

type TaskStatus = "working" | "completed" | "failed" | "cancelled";

function statusOf(era: Era, { status, cancel_requested }: Run): TaskStatus {
  // A cancelled task must never be reported as working again, even while the run is stopping.
  if (cancel_requested || status === "cancelled") return "cancelled";
  if (status === "succeeded") return "completed";
  // In 2026-07-28 `failed` means a protocol error; a tool error is a completed result.
  if (status === "failed") return era === "modern" ? "completed" : "failed";
  return "working";
}

const iso = (ms: number) => new Date(ms).toISOString();
