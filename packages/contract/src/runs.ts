/** Runs of flows: start, list, get, follow, cancel, retry. */

import { LOG_LEVELS } from "@signalbox/rules/flows/evaluation.ts";
import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { z } from "zod";
import { cursorFor, limitQuery, pageOf, time } from "./paging.ts";
import { route } from "./route.ts";

/**
 * A lane is the set of runs that share one concurrency limit.
 *
 * `queued`: a worker can claim the run from `due_at` on. `held`: the run waits because its lane has
 * reached its limit. `running`: a worker has a lease on the run. `waiting`: the run is suspended
 * until `due_at`. The other statuses are final, unless the run is retried.
 */
export const RUN_STATUSES = [
  "queued",
  "held",
  "running",
  "waiting",
  "succeeded",
  "failed",
  "cancelled",
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** What created a run: a tool call, an event, a schedule, the HTTP API, another flow or a replay. */
export const RUN_CAUSES = ["tool", "event", "schedule", "api", "flow", "replay"] as const;

const runError = z.object({
  code: z.string(),
  message: z.string(),
  node_id: z.string().optional(),
  details: z.json().optional(),
});

export const runView = z.object({
  id: z.string(),
  app: z.string(),
  flow_id: z.string(),
  version: z.int().describe("Negative: a run of the draft."),
  trigger_node: z.string(),
  cause: z.enum(RUN_CAUSES),
  event_id: z.string().nullable(),
  parent_run: z.string().nullable(),
  status: z.enum(RUN_STATUSES),
  input: z.json(),
  output: z.json(),
  error: runError.nullable(),
  created_at: time,
  started_at: time.nullable(),
  finished_at: time.nullable(),
});
export type RunView = z.output<typeof runView>;

/** A run in a list, without its input and output. */
export const runSummary = runView.omit({ input: true, output: true }).extend({
  flow_name: z.string().nullable().describe("Null if the flow was deleted."),
  trigger_name: z
    .string()
    .nullable()
    .describe(
      "The name of the trigger's tool, or the type of its events. Null if it has neither, or if the trigger is not published any more.",
    ),
  due_at: time.nullable().describe("When a queued or waiting run continues; null if it has ended."),
});
export type RunItem = z.output<typeof runSummary>;

export const stepView = z.object({
  nth: z.int().describe("The position among the run's steps."),
  node_id: z.string(),
  item: z
    .string()
    .describe(
      "The iteration of the enclosing loops, such as `each:2`. A part of a step, such as a turn of an agent, ends with `#` and its name: `each:2#turn-1`.",
    ),
  attempt: z.int(),
  status: z.enum(["running", "waiting", "done", "failed", "skipped", "retried"]),
  port: z.string().nullable(),
  input: z.json(),
  output: z.json(),
  error: runError.nullable(),
  log: z
    .array(z.object({ level: z.enum(LOG_LEVELS), text: z.string() }))
    .describe(
      "The console output of the step's code, and the progress of the tool that it called.",
    ),
  started_at: time,
  finished_at: time.nullable(),
});
export type Step = z.output<typeof stepView>;

const pin = z.strictObject({
  output: z.json(),
  port: z.string().max(100).optional().describe("The port on which the run continues."),
});

export const pinsSchema = z
  .record(z.string().max(100), pin, "must be an object")
  .default({})
  .describe("Outputs of nodes, by node id or slug. A pinned node is not executed.");

export const nodeTestBody = z.strictObject({
  trigger: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe(
      "Default: the trigger of `from_run` or, without `from_run`, a trigger that reaches the node.",
    ),
  input: jsonObject("must be an object")
    .optional()
    .describe(
      "The value of `{{ trigger }}`. Default: the trigger input of `from_run` or, without `from_run`, `{}`.",
    ),
  pins: pinsSchema,
  from_run: z
    .string()
    .max(100)
    .optional()
    .describe("A run of the flow, whose outputs are used for nodes that `pins` does not contain."),
});

const tag = "runs";

export const runCursors = cursorFor("run");

const offsetTime = z.iso.datetime({
  offset: true,
  error: "must be a time such as 2026-11-15T12:00:00Z",
});

const listedRun = runSummary.extend({ input: z.json().optional(), output: z.json().optional() });

export const stepCursors = cursorFor("step");

const stepFields = {
  steps: z.array(stepView).describe("The first steps: up to 500, or 1 MiB."),
  next_cursor: z
    .string()
    .nullable()
    .describe("Send it to `GET /api/runs/:run/steps`; null if these are all steps."),
};

export const runWithSteps = runView.extend(stepFields);
export type RunWithSteps = z.output<typeof runWithSteps>;

const waitedRun = runView.extend({
  steps: stepFields.steps.optional().describe("Only with the scope `admin`."),
  next_cursor: stepFields.next_cursor.optional(),
});

export const runsChanged = z.object({
  ids: z.array(z.string()).describe("The runs that were retried or cancelled."),
  unchanged: z
    .array(z.string())
    .describe("Unknown runs, and runs whose status does not allow the action."),
});
export type RunsChanged = z.output<typeof runsChanged>;

/** The maximum number of runs of one bulk action. */
const MAX_BULK = 100;

/** Other routes return previews of large values. */
const valueRoute = <const Path extends string, Value extends z.ZodType>(
  path: Path,
  what: string,
  schema: Value,
) =>
  route({
    method: "get",
    path,
    summary: `Get the whole ${what}, or a part of it with Range`,
    tag,
    scope: "runs:read",
    response: { status: 200, schema },
  });

export const runValueApi = {
  input: valueRoute("/api/runs/:run/input", "input of a run", z.record(z.string(), z.json())),
  inputOfStep: valueRoute("/api/runs/:run/steps/:nth/input", "input of a step", z.json()),
  output: valueRoute("/api/runs/:run/output", "output of a run", z.json()),
  outputOfStep: valueRoute("/api/runs/:run/steps/:nth/output", "output of a step", z.json()),
};

export const runApi = {
  start: route({
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
  }),
  testNode: route({
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
  }),
  list: route({
    method: "get",
    path: "/api/runs",
    summary: "List runs, newest first, without their values",
    tag,
    scope: "runs:read",
    query: z.strictObject({
      limit: limitQuery,
      cursor: runCursors.query,
      flow: z.string().optional(),
      app: z.string().optional(),
      event: z.string().optional(),
      status: z
        .enum([...RUN_STATUSES, "active"])
        .optional()
        .describe("`active`: runs that have not ended, whatever their status."),
      cause: runView.shape.cause.optional(),
      since: offsetTime.optional().describe("Only runs created at this time or later."),
      until: offsetTime.optional().describe("Only runs created before this time."),
      values: z
        .enum(["0", "1"], "must be 0 or 1")
        .default("0")
        .describe("1: with the input and output of each run, or their previews."),
    }),
    response: { status: 200, schema: pageOf(listedRun) },
  }),
  get: route({
    method: "get",
    path: "/api/runs/:run",
    summary:
      "Get a run with its first steps; `{ $preview, bytes }` replaces each value above 16 KiB",
    tag,
    scope: "runs:read",
    response: { status: 200, schema: runWithSteps },
  }),
  listSteps: route({
    method: "get",
    path: "/api/runs/:run/steps",
    summary: "List the steps of a run in the order in which they started",
    tag,
    scope: "runs:read",
    query: z.strictObject({ cursor: stepCursors.query }),
    response: { status: 200, schema: pageOf(stepView) },
  }),
  follow: route({
    method: "get",
    path: "/api/runs/:run/stream",
    summary:
      "Follow a run until it ends: Server-Sent Events `run`, first with the run and its first steps, then with further steps and the steps that changed",
    tag,
    scope: "runs:read",
    response: { status: 200, type: "text/event-stream" },
  }),
  changeMany: route({
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
  }),
  cancel: route({
    method: "post",
    path: "/api/runs/:run/cancel",
    summary: "Cancel a run; the response is 409 if the run has ended",
    tag,
    scope: "admin",
    response: { status: 202, schema: runView },
  }),
  retry: route({
    method: "post",
    path: "/api/runs/:run/retry",
    summary: "Continue a failed or cancelled run at its failed steps",
    tag,
    scope: "admin",
    response: { status: 202, schema: runView },
  }),
};
