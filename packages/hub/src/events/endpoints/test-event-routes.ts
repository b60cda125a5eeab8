/** Routes that send sample webhooks and store test events, to try a hub or a trigger without the sender. */
import { sampleApi, testEventApi } from "@signalbox/contract/sources.ts";
import { isRejection, type Rejection, toAnswer } from "../../kernel/http/ingest-outcome.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { createSendSample, type SendSampleOptions } from "../admit/send-sample.ts";
import { createSendTestEvent, type SendTestEventOptions } from "../callback/send-test-event.ts";

export interface TestEventRoutes
  extends Omit<SendSampleOptions, "store">,
    Omit<SendTestEventOptions, "store"> {
  store: SendSampleOptions["store"] & SendTestEventOptions["store"];
}

function toResponse(rejection: Rejection): Response {
  const { status, headers, body } = toAnswer(rejection);
  return new Response(body, { status, headers });
}

export function testEventRoutes(options: TestEventRoutes): Route[] {
  const { store } = options;
  const sendSample = createSendSample(options);
  const sendTestEvent = createSendTestEvent(options);
  return [
    implement(sampleApi.send, async ({ tenant, body }) => {
      const { outcome: result, delivery, signed } = await sendSample({ tenant, ...body });
      const { outcome } = result;
      if (outcome === "rejected") return toResponse(result);
      const id = "id" in result ? { id: result.id } : {};
      return { json: { outcome, ...id, delivery, signed } };
    }),
    implement(testEventApi.send, async ({ tenant, body: { source, type, action, data } }) => {
      if (await store.getConnection(tenant, source)) {
        if (type === undefined)
          throw new RequestError("invalid", "type", "is missing: name the trigger's type");
        const sent = await sendTestEvent({ tenant, connection: source, type, data });
        return isRejection(sent)
          ? toResponse(sent)
          : { status: 202, json: { id: sent.id, outcome: "stored" as const } };
      }
      if (data !== undefined)
        throw new RequestError("invalid", "data", "is allowed for connections only");
      const endpoint = (await store.listSources(tenant)).find(({ id }) => id === source);
      const kind = endpoint?.kind ?? source;
      const sent = await sendSample({ tenant, source: kind, type, action, endpoint: endpoint?.id });
      const { outcome } = sent;
      if (isRejection(outcome)) return toResponse(outcome);
      if (!("id" in outcome))
        throw new RequestError("invalid", "type", "this sample is not stored as an event");
      return { json: { id: outcome.id, outcome: outcome.outcome } };
    }),
    implement(testEventApi.sendOfConnection, async ({ tenant, param, body }) => {
      const type = param("type");
      const sent = await sendTestEvent({ tenant, connection: param("connection"), type, ...body });
      if (isRejection(sent)) return toResponse(sent);
      return { json: { id: sent.id, type, outcome: "stored" as const } };
    }),
  ];
}
