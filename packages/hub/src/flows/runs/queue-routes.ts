/** Which runs wait, and for what. The cost does not grow with the number of runs. */

import { MAX_QUEUED, queueApi } from "@signalbox/contract/queue.ts";
import { iso, isoOrNull } from "../../kernel/http/paging.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import type { Store } from "../../store.ts";
import type { WorkerLoad } from "./worker-load.ts";

export interface QueueRoutes {
  store: Pick<Store, "readQueue">;
  now: () => number;
  /** Undefined if several tenants share the hub: they must not see each other's load. */
  readLoad: (() => WorkerLoad) | undefined;
}

export const queueRoutes = ({ store, now, readLoad }: QueueRoutes): Route[] => [
  implement(queueApi.get, async ({ tenant }) => {
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
        waits: waits.map((wait) => ({ ...wait, since: iso(wait.since) })),
        waits_more: more_waits,
        slots: readLoad ? readLoad().slots : null,
      },
    };
  }),
];
