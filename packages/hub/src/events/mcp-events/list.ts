/** `events/list`: the declared types, then the other types with pending events, sorted by type. */

import type { z } from "zod";
import type { Access } from "../../kernel/access/authorizer.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { EventsContext } from "./context.ts";
import { declaredTypes, type EventType, isDeclared, viewEventType } from "./event-types.ts";
import type { listParams } from "./protocol.ts";

const PAGE_SIZE = 100;
const CURSOR_PREFIX = "after:";

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
