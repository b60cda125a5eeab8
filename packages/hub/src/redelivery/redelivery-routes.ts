/** Routes of the webhooks that GitHub failed to deliver, and of the last check for them. */
import { z } from "zod";
import { assertForAllTenants } from "../kernel/access/for-all-tenants.ts";
import type { TokenLookup } from "../kernel/access/granted-scopes.ts";
import { iso, isoOrNull } from "../kernel/http/paging.ts";
import { defineRoute, type Route } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import { REDELIVERY_STATES, type Redelivery } from "./model.ts";
import { oldestAt } from "./rules.ts";

const time = z.iso.datetime();
const count = z.int().min(0);
/** Higher counts are reported as this number. */
const MAX_COUNTED = 10_000;

export const redeliveryView = z.object({
  guid: z.string().describe("The header X-GitHub-Delivery of the webhook."),
  state: z.enum(REDELIVERY_STATES),
  event: z.string(),
  action: z.string().nullable(),
  installation: z.string().nullable(),
  status: z.string().describe("GitHub's description of its last attempt."),
  status_code: z
    .int()
    .describe("The status with which the hub responded; 0 if it did not respond."),
  failed_at: time.describe("The time of the first attempt."),
  attempted_at: time.describe("The time of the last attempt."),
  requests: count.describe("How many times the hub has requested a redelivery."),
  requested_at: time.nullable(),
  next_at: time
    .nullable()
    .describe("When the hub requests the next redelivery, if GitHub fails to deliver it again."),
  note: z.string().nullable().describe("Why the hub gave up, or why GitHub rejected a request."),
  can_retry: z
    .boolean()
    .describe(
      "Whether it can be requested again. False after three days, and if it was delivered.",
    ),
});

export const redeliveriesView = z.object({
  is_enabled: z
    .boolean()
    .describe(
      "False if the hub has no credentials of the App, or if the operator has turned redelivery off.",
    ),
  sweep: z
    .object({
      completed_at: time.nullable().describe("When the hub last read all new attempts."),
      next_at: time,
      error: z.string().nullable().describe("Why the last check ended early, and the fix."),
    })
    .nullable()
    .describe("Null before the first check."),
  counts: z
    .object({ open: count, given_up: count, delivered: count })
    .describe(
      `The number of webhooks of the last six days by state; ${MAX_COUNTED} means that many or more.`,
    ),
  items: z
    .array(redeliveryView)
    .describe("The newest webhooks: first open, then given up, then delivered."),
});

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
  defineRoute({
    method: "get",
    path: "/api/github/redeliveries",
    summary:
      "List webhooks that GitHub failed to deliver, and the last check for them; needs a token for all tenants",
    tag: "sources",
    scope: "admin",
    isShared: true,
    response: { status: 200, schema: redeliveriesView },
    async handle({ access }) {
      await assertForAllTenants(tokens, access);
      const [sweep, counts, ...lists] = await Promise.all([
        store.getRedeliverySweep(),
        store.countRedeliveries(MAX_COUNTED),
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
    },
  }),
  defineRoute({
    method: "post",
    path: "/api/github/redeliveries/:guid/retry",
    summary:
      "Request a failed webhook from GitHub now, and repeat the request as for a new failure; needs a token for all tenants",
    tag: "sources",
    scope: "admin",
    isShared: true,
    response: { status: 202, schema: redeliveryView },
    async handle({ access, param }) {
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
      return { status: 202, json: viewRedelivery(redelivery, now()) };
    },
  }),
];

const viewRedelivery = (redelivery: Redelivery, now: number): z.input<typeof redeliveryView> => ({
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
