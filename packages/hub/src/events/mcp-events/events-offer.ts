/**
 * The methods of MCP Events on an SDK server: `events/list` and `events/poll`, and those of stream.ts and
 * subscribe.ts. Maps errors to the error codes of the draft.
 */
import { ProtocolError, type Server, type ServerCapabilities } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Access } from "../../kernel/access/authorizer.ts";
import { messageWithField, RequestError } from "../../kernel/lib/request-error.ts";
import { backPressureOf } from "../../kernel/mcp/back-pressure.ts";
import type { McpOffer } from "../../kernel/mcp/offer.ts";
import { requestContextOf } from "../../kernel/mcp/request-context.ts";
import { toProtocolError } from "../../kernel/mcp/sdk-errors.ts";
import { encodeCursor } from "../inbox/cursor.ts";
import {
  declaredTypes,
  type EventType,
  findType,
  isDeclared,
  viewEventType,
} from "./event-types.ts";
import {
  CODES,
  EventsError,
  eventsCapability,
  listParams,
  MAX_BODY_BYTES,
  METHODS,
  type Occurrence,
  pollParams,
  streamParams,
  subscribeParams,
  unsubscribeParams,
} from "./protocol.ts";
import { findStart, readLog, toOccurrence } from "./read-log.ts";
import {
  type EventsRequestContext,
  type Exchange,
  type StreamsContext,
  streamEvents,
} from "./stream.ts";
import type { Subscriber } from "./subscribe.ts";

const anyParams = z.looseObject({});

/** The dependencies of all methods. */
interface EventsContext extends StreamsContext {
  subscriber: Subscriber;
}

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

const PAGE_SIZE = 100;
const CURSOR_PREFIX = "after:";

/** `events/list`: the declared types, then the other types with pending events, sorted by type. */
export async function listEventTypes(
  { store }: Pick<EventsContext, "store">,
  { tenants }: Access,
  { cursor }: z.infer<typeof listParams>,
) {
  if (cursor === undefined) return page(declaredTypes.map(viewEventType), CURSOR_PREFIX);
  if (!cursor.startsWith(CURSOR_PREFIX))
    throw new RequestError("invalid", "cursor", "is not a cursor of this hub");
  const after = cursor.slice(CURSOR_PREFIX.length);
  const pages = await Promise.all(
    tenants.map((tenant) => store.listEventTypes(tenant, after, PAGE_SIZE)),
  );
  const types = [...new Set(pages.flat().map(({ type }) => type))].sort(byCodePoints);
  const pageTypes = types.slice(0, PAGE_SIZE);
  const byName = new Map<string, EventType>();
  for (const eventType of pages.flat()) {
    const { source, type } = eventType;
    if (pageTypes.includes(type) && !isDeclared(eventType))
      byName.set(`${source}.${type}`, eventType);
  }
  const hasMore =
    types.length > PAGE_SIZE || pages.some((tenantTypes) => tenantTypes.length === PAGE_SIZE);
  return page(
    [...byName.values()].sort((a, b) => byCodePoints(a.type, b.type)).map(viewEventType),
    hasMore ? `${CURSOR_PREFIX}${pageTypes.at(-1)}` : undefined,
  );
}

const page = (events: ReturnType<typeof viewEventType>[], nextCursor: string | undefined) => ({
  events,
  ...(nextCursor === undefined ? {} : { nextCursor }),
});

/** Compares texts in the order in which the databases sort them. */
const byCodePoints = (a: string, b: string): number => {
  const [x, y] = [[...a], [...b]];
  for (let index = 0; index < Math.min(x.length, y.length); index += 1) {
    const difference = (x[index]?.codePointAt(0) ?? 0) - (y[index]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return x.length - y.length;
};

/** A page ends early, with `hasMore`, when its payloads exceed this size. */
const MAX_BYTES = 4 * 1024 * 1024;
const NEXT_POLL_MS = 5_000;

/** `events/poll` is stateless: the client's cursor is the only state. */
async function pollEvents(
  { store, now }: Pick<EventsContext, "store" | "now">,
  { access: { tenants }, reserveBytes }: EventsRequestContext,
  params: z.infer<typeof pollParams>,
) {
  const filter = await findType(store, tenants, params.name, params.arguments);
  const notBefore = params.maxAgeMs === undefined ? undefined : now() - params.maxAgeMs;
  const { from, truncated, logId } = await findStart(store, tenants, params.cursor, notBefore);
  const { matches, end, hasMore } =
    params.cursor === null
      ? { matches: [], end: from, hasMore: false }
      : await readLog(store, {
          tenants,
          after: from,
          filter,
          limit: params.maxEvents,
          maxBytes: MAX_BYTES,
        });
  await reserveBytes(
    matches.reduce((sum, { event }) => sum + Math.min(event.size, MAX_BODY_BYTES), 0),
  );
  const events: Occurrence[] = [];
  for (const { event, cursor } of matches)
    events.push(await toOccurrence(store, event, encodeCursor(cursor, tenants, logId)));
  return {
    events,
    cursor: encodeCursor(end, tenants, logId),
    truncated,
    hasMore,
    nextPollMs: hasMore ? 0 : NEXT_POLL_MS,
  };
}
