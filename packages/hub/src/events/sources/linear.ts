/**
 * https://linear.app/developers/webhooks. Linear treats every status but 200 as a failure. It does not
 * sign the delivery id, so the signed time of sending protects against replays.
 */

import { hmacSha256 } from "../admit/signatures.ts";
import { defineSource, either, field, header } from "../admit/source.ts";
import { firstLine, pickNumber, pickText, pickUrl } from "./summary.ts";

/**
 * The paths of the issue: the data itself, or a field of a comment, an agent session or a
 * notification.
 */
const subjects = ["data", "data.issue", "agentSession.issue", "notification.issue"];

const inSubjects = (...names: string[]) =>
  subjects.flatMap((subject) => names.map((name) => `${subject}.${name}`));

export const linear = defineSource({
  id: "linear",
  title: "Linear",
  secret: {
    issuedBy: "sender",
    setup:
      "Settings → API → Webhooks → New webhook: paste the URL. Then copy the Signing secret that Linear shows for the webhook.",
  },
  signature: hmacSha256({ header: "Linear-Signature" }),
  // Linear documents this tolerance. It sends a new time with each attempt.
  sentAt: { field: "webhookTimestamp", toleranceMs: 60_000 },
  headers: ["linear-delivery", "linear-event"],
  emptyResponse: true,
  externalId: header("Linear-Delivery"),
  eventType: either(field("type"), header("Linear-Event")),
  summarize: (_, body) => ({
    action: pickText(body, "action"),
    sender: pickText(body, "actor.name", "data.user.name", "agentSession.creator.name"),
    number: pickNumber(body, ...inSubjects("number")),
    title: pickText(body, ...inSubjects("title", "name"), firstLine("data.body")),
    url: pickUrl(body, "url", ...inSubjects("url")),
  }),
  sample: (id, { type = "Issue", action = "create", now = Date.now() } = {}) => ({
    headers: {
      "content-type": "application/json; charset=utf-8",
      "user-agent": "Linear-Webhook",
      "linear-delivery": id,
      "linear-event": type,
    },
    body: {
      action,
      type,
      actor: { id: "b5ea5f1f-8adc-4f52-b4bd-ab4e84cf51ba", type: "user", name: "Mona" },
      createdAt: new Date(now).toISOString(),
      data: {
        id: "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9",
        identifier: "LMP-7",
        number: 7,
        title: "The lamp stays red after the train has passed",
        state: { name: "Todo", type: "unstarted" },
      },
      url: "https://linear.app/signals/issue/LMP-7",
      organizationId: "7d4b1f6e-0f5a-4a58-b7f8-0d8f4f4f9f30",
      webhookId: "000042e3-d123-4980-b49f-8e140eef9329",
      webhookTimestamp: now,
    },
  }),
});
