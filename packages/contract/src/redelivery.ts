/** The webhooks that GitHub failed to deliver, and the last check for them. */
import { z } from "zod";
import { time } from "./paging.ts";
import { route } from "./route.ts";

const count = z.int().min(0);
/** Higher counts are reported as this number. */
export const MAX_COUNTED_REDELIVERIES = 10_000;

export const REDELIVERY_STATES = ["open", "given_up", "delivered"] as const;
export type RedeliveryState = (typeof REDELIVERY_STATES)[number];

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
export type Redelivery = z.output<typeof redeliveryView>;

const redeliveriesView = z.object({
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
      `The number of webhooks of the last six days by state; ${MAX_COUNTED_REDELIVERIES} means that many or more.`,
    ),
  items: z
    .array(redeliveryView)
    .describe("The newest webhooks: first open, then given up, then delivered."),
});
export type Redeliveries = z.output<typeof redeliveriesView>;

const tag = "sources";
const scope = "admin";

export const redeliveryApi = {
  list: route({
    method: "get",
    path: "/api/github/redeliveries",
    summary:
      "List webhooks that GitHub failed to deliver, and the last check for them; needs a token for all tenants",
    tag,
    scope,
    isShared: true,
    response: { status: 200, schema: redeliveriesView },
  }),
  retry: route({
    method: "post",
    path: "/api/github/redeliveries/:guid/retry",
    summary:
      "Request a failed webhook from GitHub now, and repeat the request as for a new failure; needs a token for all tenants",
    tag,
    scope,
    isShared: true,
    response: { status: 202, schema: redeliveryView },
  }),
};
