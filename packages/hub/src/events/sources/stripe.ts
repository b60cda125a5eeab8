/** https://docs.stripe.com/webhooks: snapshot events contain their object, thin events a reference. */

import { stripeSignature } from "../admit/signatures.ts";
import { defineSource, field } from "../admit/source.ts";
import { firstLine, pickText, pickUrl } from "./summary.ts";

const inObject = (...names: string[]) => names.map((name) => `data.object.${name}`);

export const stripe = defineSource({
  id: "stripe",
  title: "Stripe",
  secret: {
    issuedBy: "sender",
    setup:
      "Workbench → Webhooks → Create new destination: paste the URL as Endpoint URL. Then open the destination and copy its Signing secret (whsec_…).",
  },
  signature: stripeSignature,
  externalId: field("id"),
  eventType: field("type"),
  summarize: (type, body) => ({
    action: type.slice(type.lastIndexOf(".") + 1), // as in `invoice.payment_failed`
    sender: pickText(body, "account"), // the connected account, on a platform
    title: pickText(
      body,
      ...inObject("description", "name", "number", "nickname", "id").map(firstLine),
      "related_object.id",
    ),
    url: pickUrl(body, ...inObject("hosted_invoice_url", "receipt_url", "url")),
  }),
  sample: (id, { type = "invoice.payment_failed", now = Date.now() } = {}) => ({
    headers: {
      "content-type": "application/json; charset=utf-8",
      "user-agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
    },
    body: {
      id,
      object: "event",
      api_version: "2025-09-30.clover",
      created: Math.floor(now / 1000),
      livemode: false,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      type,
      data: {
        object: {
          id: "in_1SampleInvoice",
          object: type.split(".")[0] ?? type,
          description: "Signal lamps, January",
          amount_due: 4200,
          currency: "eur",
          hosted_invoice_url: "https://invoice.stripe.com/i/sample",
        },
      },
    },
  }),
});
