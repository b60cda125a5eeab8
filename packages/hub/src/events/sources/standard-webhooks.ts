/**
 * https://www.standardwebhooks.com: a signature scheme that many senders use. Senders that use Svix
 * name the headers `svix-…` instead of `webhook-…`. If a request has both sets, its `webhook-…`
 * headers are verified.
 */

import { firstOf, standardSignature, svixSignature } from "../admit/signatures.ts";
import { defineSource, type Extractor, either, field, fixed, header } from "../admit/source.ts";
import { summarizePlain } from "./summary.ts";

const [webhookId, svixId] = [header("webhook-id"), header("svix-id")];
const anyId = either(webhookId, svixId);

/**
 * Reads the id from the verified headers. With an unsigned id, a replayed request would be a new
 * event.
 */
const signedId: Extractor = {
  ...anyId,
  find(request) {
    if (standardSignature.isPresent(request.header)) return webhookId.find(request);
    return svixSignature.isPresent(request.header) ? svixId.find(request) : anyId.find(request);
  },
};

export const standardWebhooks = defineSource({
  id: "standard-webhooks",
  title: "Standard Webhooks",
  secret: {
    issuedBy: "sender",
    setup:
      "In the sender's webhook settings, paste the URL, and copy the secret (whsec_…) that it shows. If the sender lets you choose the secret, paste yours instead.",
  },
  signature: firstOf(standardSignature, svixSignature),
  externalId: signedId,
  eventType: either(field("type"), fixed("event")),
  summarize: (_, body) => summarizePlain(body),
  sample: (id, { type = "user.created" } = {}) => ({
    headers: { "content-type": "application/json", "webhook-id": id },
    body: {
      type,
      timestamp: "2026-01-05T09:30:00Z",
      data: { id: "usr_7Kq2", name: "Mona Lisa", url: "https://app.example.com/users/usr_7Kq2" },
    },
  }),
});
