/** Registers the methods of MCP Events on an SDK server, and maps errors to its error codes. */
import { ProtocolError, type Server, type ServerCapabilities } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Access } from "../../kernel/access/authorizer.ts";
import { messageWithField, RequestError } from "../../kernel/lib/request-error.ts";
import { backPressureOf } from "../../kernel/mcp/back-pressure.ts";
import type { McpOffer } from "../../kernel/mcp/offer.ts";
import { requestContextOf } from "../../kernel/mcp/request-context.ts";
import { toProtocolError } from "../../kernel/mcp/sdk-errors.ts";
import type { EventsContext, EventsRequestContext } from "./context.ts";
import { EventsError } from "./events-error.ts";
import { listEventTypes } from "./list.ts";
import { pollEvents } from "./poll.ts";
import {
  CODES,
  eventsCapability,
  listParams,
  METHODS,
  pollParams,
  streamParams,
  subscribeParams,
  unsubscribeParams,
} from "./protocol.ts";
import { type Exchange, streamEvents } from "./stream.ts";

const anyParams = z.looseObject({});

export const eventsOffer = (events: EventsContext): McpOffer => ({
  // The draft's capability is not in the types of the SDK.
  capabilities: eventsCapability as ServerCapabilities,
  addTo: (server, assertTenant) => addMethods(server, events, assertTenant),
});

/** `assertTenant` rejects if the access has no tenants. */
function addMethods(
  server: Server,
  events: EventsContext,
  assertTenant: (access: Access) => Promise<void>,
): void {
  const { subscriber, onError } = events;

  const on = <Schema extends z.ZodType>(
    method: string,
    schema: Schema,
    handle: (
      params: z.infer<Schema>,
      requestContext: EventsRequestContext,
      exchange: Exchange,
    ) => Promise<Record<string, unknown>>,
  ) =>
    // Parses params here, because the SDK's error messages do not name the field.
    server.setRequestHandler(method, { params: anyParams }, async (rawParams, context) => {
      const requestContext = requestContextOf(context);
      try {
        const params = schema.parse(rawParams);
        await assertTenant(requestContext.access);
        return await handle(
          params,
          { ...requestContext, backPressure: backPressureOf(requestContext.access) },
          context.mcpReq,
        );
      } catch (error) {
        throw toEventsError(error, onError);
      }
    });

  on(METHODS.list, listParams, (params, { access }) => listEventTypes(events, access, params));
  on(METHODS.poll, pollParams, (params, requestContext) =>
    pollEvents(events, requestContext, params),
  );
  on(METHODS.stream, streamParams, (params, requestContext, exchange) =>
    streamEvents(events, requestContext, params, exchange),
  );
  on(METHODS.subscribe, subscribeParams, (params, { access }) =>
    subscriber.subscribe(access, params),
  );
  on(METHODS.unsubscribe, unsubscribeParams, (params, { access }) =>
    subscriber.unsubscribe(access, params),
  );
}

function toEventsError(error: unknown, onError: (error: unknown) => void): Error {
  if (error instanceof EventsError) return error;
  if (error instanceof RequestError) {
    const code = error.code === "busy" ? CODES.exhausted : CODES.invalidParams;
    return new ProtocolError(code, messageWithField(error));
  }
  return toProtocolError(error, onError);
}
