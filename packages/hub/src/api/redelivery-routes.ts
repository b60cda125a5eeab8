/** The webhooks that GitHub failed to deliver, and the last check for them. */
import { z } from "zod";
import { RequestError } from "../lib/request-error.ts";
import { oldestAt } from "../redelivery/rules.ts";
import { REDELIVERY_STATES, type Redelivery } from "../store/redelivery-store.ts";
import type { Store } from "../store/store.ts";
import type { TokenLookup } from "../tenants/local-token.ts";
import { assertForAll } from "./for-all-tenants.ts";
import { defineRoute, type Route } from "./route.ts";
import { iso, isoOrNull } from "./views.ts";

const at = z.iso.datetime();
const count = z.int().min(0);

export const redeliveryView = z.object({
  guid: z.string().describe("The header X-GitHub-Delivery of the webhook."),
  state: z.enum(REDELIVERY_STATES),
  event: z.string(),
  action: z.string().nullable(),
  installation: z.string().nullable(),
  status: z.string().describe("GitHub's description of its last attempt."),
  status_code: z.int().describe("The status with which the hub responded; 0 without a response."),
  failed_at: at.describe("The time of the first attempt."),
  attempted_at: at.describe("The time of the last attempt."),
  requests: count.describe("How many times the hub has requested a redelivery."),
  requested_at: at.nullable(),
  next_at: at.nullable().describe("When the next request is due, if it fails again."),
  note: z.string().nullable().describe("Why the hub gave up, or GitHub refused a request."),
  can_retry: z
    .boolean()
    .describe(
      "Whether it can be requested again: not after three days, and not if it was delivered.",
    ),
});

export const redeliveriesView = z.object({
  is_enabled: z.boolean().describe("False without the App's credentials, or if it is turned off."),
  sweep: z
    .object({
      completed_at: at.nullable().describe("When the hub last read all new attempts."),
      next_at: at,
      error: z.string().nullable().describe("Why the last check ended early, and the fix."),
    })
    .nullable()
    .describe("Null before the first check."),
  counts: z
    .object({ open: count, given_up: count, delivered: count })
    .describe(`By state, of the last six days; 10000 means that many or more.`),
  items: z.array(redeliveryView).describe("The newest ones: first open ones, then given-up ones."),
});

const MAX_COUNTED = 10_000;
const MAX_ITEMS = 100;

export interface RedeliveryRoutes {
  store: Pick<Store, "getSweep" | "countRedeliveries" | "listRedeliveries" | "retryRedelivery">;
  tokens: TokenLookup;
  isEnabled: boolean;
  /** Begins a sweep that is due. */
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
      await assertForAll(tokens, access);
      const [sweep, counts, ...lists] = await Promise.all([
        store.getSweep(),
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
            .map((one) => view(one, now())),
        },
      };
    },
  }),
  defineRoute({
    method: "post",
    path: "/api/github/redeliveries/:guid/retry",
    summary:
      "Request a webhook that GitHub failed to deliver again, now and then as often as a new one; needs a token for all tenants",
    tag: "sources",
    scope: "admin",
    isShared: true,
    response: { status: 202, schema: redeliveryView },
    async handle({ access, param }) {
      await assertForAll(tokens, access);
      if (!isEnabled)
        throw new RequestError(
          "conflict",
          "redelivery",
          "is off: set GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY, and not GITHUB_REDELIVERY=off",
        );
      const redelivery = await store.retryRedelivery(param("guid"), now(), oldestAt(now()));
      if (!redelivery)
        throw new RequestError(
          "not_found",
          "guid",
          "No webhook with this guid has failed in the last three days and is not delivered.",
        );
      wake();
      return { status: 202, json: view(redelivery, now()) };
    },
  }),
];

const view = (redelivery: Redelivery, now: number): z.input<typeof redeliveryView> => ({
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
