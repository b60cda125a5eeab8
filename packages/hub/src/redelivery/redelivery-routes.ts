/** Routes of the webhooks that GitHub failed to deliver, and of the last check for them. */
import {
  MAX_COUNTED_REDELIVERIES,
  REDELIVERY_STATES,
  redeliveryApi,
  type redeliveryView,
} from "@signalbox/contract/redelivery.ts";
import type { z } from "zod";
import { assertForAllTenants } from "../kernel/access/authorizer.ts";
import type { TokenLookup } from "../kernel/access/scopes.ts";
import { iso, isoOrNull } from "../kernel/http/paging.ts";
import { implement, type Route } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import type { Redelivery } from "./model.ts";
import { oldestAt } from "./rules.ts";

/** The maximum number of listed webhooks. */
const MAX_ITEMS = 100;

export interface RedeliveryRoutes {
  store: Pick<
    Store,
    "getRedeliverySweep" | "countRedeliveries" | "listRedeliveries" | "retryRedelivery"
  >;
  tokens: TokenLookup;
  isEnabled: boolean;
  /** Starts the sweep if it is due. */
  wake: () => void;
  now: () => number;
}

export const redeliveryRoutes = ({
  store,
  tokens,
  isEnabled,
  wake,
  now,
}: RedeliveryRoutes): Route[] => [
  implement(redeliveryApi.list, async ({ access }) => {
    await assertForAllTenants(tokens, access);
    const [sweep, counts, ...lists] = await Promise.all([
      store.getRedeliverySweep(),
      store.countRedeliveries(MAX_COUNTED_REDELIVERIES),
      ...REDELIVERY_STATES.map((state) => store.listRedeliveries(state, MAX_ITEMS)),
    ]);
    return {
      json: {
        is_enabled: isEnabled,
        sweep: sweep
          ? {
              completed_at: isoOrNull(sweep.completed_at),
              next_at: iso(sweep.next_at),
              error: sweep.error,
            }
          : null,
        counts,
        items: lists
          .flat()
          .slice(0, MAX_ITEMS)
          .map((redelivery) => viewRedelivery(redelivery, now())),
      },
    };
  }),
  implement(redeliveryApi.retry, async ({ access, param }) => {
    await assertForAllTenants(tokens, access);
    if (!isEnabled)
      throw new RequestError(
        "conflict",
        "redelivery",
        "is off: set GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY, and do not set GITHUB_REDELIVERY=off",
      );
    const redelivery = await store.retryRedelivery(param("guid"), now(), oldestAt(now()));
    if (!redelivery)
      throw new RequestError(
        "not_found",
        "guid",
        "There is no failed webhook with this guid in the last three days, or it has been delivered since.",
      );
    wake();
    return { json: viewRedelivery(redelivery, now()) };
  }),
];

const viewRedelivery = (redelivery: Redelivery, now: number): z.output<typeof redeliveryView> => ({
  guid: redelivery.guid,
  state: redelivery.state,
  event: redelivery.event,
  action: redelivery.action,
  installation: redelivery.installation,
  status: redelivery.status,
  status_code: redelivery.status_code,
  failed_at: iso(redelivery.failed_at),
  attempted_at: iso(redelivery.attempted_at),
  requests: redelivery.requests,
  requested_at: isoOrNull(redelivery.requested_at),
  next_at: redelivery.state === "open" ? iso(redelivery.next_at) : null,
  note: redelivery.note,
  can_retry: redelivery.state !== "delivered" && redelivery.failed_at > oldestAt(now),
});
