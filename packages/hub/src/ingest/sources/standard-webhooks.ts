/** https://www.standardwebhooks.com: a signature scheme that many senders use. */
import { either, field, fixed, header } from "../extractor.ts";
import { standardSignature } from "../signatures.ts";
import { defineSource } from "../source.ts";
import { summarizePlain } from "./plain-summary.ts";

export const standardWebhooks = defineSource({
  id: "standard-webhooks",
  title: "Standard Webhooks",
  signature: standardSignature,
  externalId: header("webhook-id"),
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
