/** Which runs wait, and for what. The cost does not grow with the number of runs. */
import { z } from "zod";
import { isoOrNull } from "../../kernel/http/paging.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import type { Store } from "../../store.ts";
import { MAX_QUEUE_FLOWS, MAX_RUN_WAITS } from "./model.ts";
import { MAX_QUEUED } from "./queued-by-tenant.ts";
import type { WorkerLoad } from "./worker-load.ts";

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
const oldest = z.iso
  .datetime()
  .nullable()
  .describe("Since when the oldest queued run has been waiting.");

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
        since: z.iso.datetime().describe("Since when the oldest of them has been waiting."),
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

export interface QueueRoutes {
  store: Pick<Store, "readQueue">;
  now: () => number;
  /** Undefined if several tenants share the hub: they must not see each other's load. */
  readLoad: (() => WorkerLoad) | undefined;
}

export const queueRoutes = ({ store, now, readLoad }: QueueRoutes): Route[] => [
  defineRoute({
    method: "get",
    path: "/api/queue",
    summary: "Show which runs wait, and for what",
    tag: "runs",
    scope: "runs:read",
    response: { status: 200, schema: queueView },
    async handle({ tenant }) {
      // One more than is shown, to find out whether there are more.
      const { flows, more_flows, more_held_flows, waits, more_waits } = await store.readQueue(
        tenant,
        now(),
        MAX_QUEUED + 1,
      );
      const sum = (field: "queued" | "held") =>
        flows.reduce((total, flow) => total + Math.min(flow[field], MAX_QUEUED), 0);
      const sinceTimes = flows.flatMap(({ since }) => since ?? []);
      return {
        json: {
          queued: sum("queued"),
          queued_more: more_flows || flows.some(({ queued }) => queued > MAX_QUEUED),
          held: sum("held"),
          held_more: more_held_flows || flows.some(({ held }) => held > MAX_QUEUED),
          oldest_queued_since: isoOrNull(sinceTimes.length > 0 ? Math.min(...sinceTimes) : null),
          flows: flows.map(({ since, ...flow }) => ({
            ...flow,
            queued: Math.min(flow.queued, MAX_QUEUED),
            queued_more: flow.queued > MAX_QUEUED,
            held: Math.min(flow.held, MAX_QUEUED),
            held_more: flow.held > MAX_QUEUED,
            oldest_queued_since: isoOrNull(since),
          })),
          waits: waits.map((wait) => ({ ...wait, since: isoOrNull(wait.since) })),
          waits_more: more_waits,
          slots: readLoad ? readLoad().slots : null,
        },
      };
    },
  }),
];
