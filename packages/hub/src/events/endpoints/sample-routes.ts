/** Sends sample webhooks, to try a hub without a sender. */
import { sampleApi } from "@signalbox/contract/sources.ts";
import { toAnswer } from "../../kernel/http/ingest-outcome.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import type { SendSample } from "../admit/send-sample.ts";

export const sampleRoutes = (sendSample: SendSample): Route[] => [
  implement(sampleApi.send, async ({ tenant, body }) => {
    const { outcome: result, delivery, signed } = await sendSample({ tenant, ...body });
    const { outcome } = result;
    if (outcome === "rejected") {
      const { status, headers, body } = toAnswer(result);
      return new Response(body, { status, headers });
    }
    const id = "id" in result ? { id: result.id } : {};
    return { json: { outcome, ...id, delivery, signed } };
  }),
];
