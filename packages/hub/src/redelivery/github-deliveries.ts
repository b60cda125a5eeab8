/** Lists GitHub's attempts to deliver webhooks, and asks GitHub to send a webhook again. */
import { z } from "zod";
import type { CallAsApp } from "../github/github-app.ts";
import type { GithubAnswer } from "../github/github-request.ts";

export interface GithubDeliveries {
  /** Newest first, 100 per page. */
  list(cursor?: string): Promise<GithubAnswer<GithubDelivery[]>>;
  /** Asks GitHub to send a webhook again, with the same guid. */
  redeliver(id: string): Promise<GithubAnswer<undefined>>;
}

export type GithubDelivery = z.infer<typeof deliverySchema>;

const deliverySchema = z
  .object({
    id: z.string(),
    guid: z.string(),
    delivered_at: z.string(),
    redelivery: z.boolean(),
    status: z.string(),
    status_code: z.number(),
    event: z.string(),
    action: z.string().nullable(),
    installation_id: z.string().nullable(),
  })
  .transform((delivery) => ({
    id: delivery.id,
    /** The id of the event, which all its attempts share: the header `X-GitHub-Delivery`. */
    guid: delivery.guid,
    deliveredAt: Date.parse(delivery.delivered_at),
    isRedelivery: delivery.redelivery,
    /** "OK", or GitHub's reason of the failure. */
    status: delivery.status,
    /** 0 if the hub did not respond. */
    statusCode: delivery.status_code,
    event: delivery.event,
    action: delivery.action,
    installation: delivery.installation_id,
  }));

const PATH = "/app/hook/deliveries";

export const createGithubDeliveries = (call: CallAsApp): GithubDeliveries => ({
  list: (cursor) =>
    call({
      path: `${PATH}?per_page=100${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      schema: z.array(deliverySchema),
    }),
  redeliver: (id) => call({ path: `${PATH}/${encodeURIComponent(id)}/attempts`, method: "POST" }),
});
