/** Which runs wait, and for what. */
import { z } from "zod";
import { time } from "./paging.ts";
import { route } from "./route.ts";

/** The maximum number of runs of a flow that are counted. */
export const MAX_QUEUED = 1_000;
/** The maximum number of listed flows with queued runs, and with held runs. */
export const MAX_QUEUE_FLOWS = 100;
/** The maximum number of listed groups of waiting runs. Workers report one more, to show that there are more. */
export const MAX_RUN_WAITS = 50;

const count = z.int().min(0);

const more = z.boolean().describe("Whether there are more than the number says.");

const flow = {
  app: z.string(),
  flow_id: z.string(),
  flow_name: z.string().nullable().describe("Null if the flow was deleted."),
};

const queued = count.describe(
  `Runs that are due, and that no worker has claimed yet. At most ${MAX_QUEUED} of a flow are counted.`,
);

const held = count.describe(
  `Runs that wait for the concurrency limit of their trigger. At most ${MAX_QUEUED} of a flow are counted.`,
);

const oldest = time.nullable().describe("Since when the oldest queued run has been waiting.");

export const queueView = z.object({
  queued,
  queued_more: more,
  held,
  held_more: more,
  oldest_queued_since: oldest,
  flows: z
    .array(
      z.object({
        ...flow,
        queued,
        queued_more: more,
        held,
        held_more: more,
        oldest_queued_since: oldest,
      }),
    )
    .describe(
      `The flows with such runs, those with most runs first: at most ${MAX_QUEUE_FLOWS} with queued and ${MAX_QUEUE_FLOWS} with held runs.`,
    ),
  waits: z
    .array(
      z.object({
        ...flow,
        kind: z
          .enum(["limit", "response", "run"])
          .describe(
            "`limit`: the flow, its app or its tenant has its share of the open requests that are allowed at the origin `target`. `response`: a response of the origin. `run`: the end of a run of the flow `target`.",
          ),
        target: z.string(),
        runs: count,
        since: time.describe("Since when the oldest of them has been waiting."),
        run_ids: z.array(z.string()).describe("Some of the runs."),
      }),
    )
    .describe(
      `What running runs wait for, if for more than a second, as workers reported it in the last minute: at most ${MAX_RUN_WAITS} groups, the largest first.`,
    ),
  waits_more: z.boolean().describe("Whether there are more groups than `waits` lists."),
  slots: z
    .object({
      busy: count.describe("The slots of runs that work."),
      total: count,
      waiting: count.describe("The runs in the memory of the process that wait for a slot."),
    })
    .nullable()
    .describe("The slots of the process that responds. Null if several tenants share the hub."),
});
export type Queue = z.output<typeof queueView>;

export const queueApi = {
  get: route({
    method: "get",
    path: "/api/queue",
    summary: "Show which runs wait, and for what",
    tag: "runs",
    scope: "runs:read",
    response: { status: 200, schema: queueView },
  }),
};
