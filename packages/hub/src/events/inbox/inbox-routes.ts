/**
 * The inbox over HTTP, with the routes and formats of existing clients. All of them require a token, and
 * reject requests from web pages of other origins.
 */
import { inboxApi } from "@signalbox/contract/inbox.ts";
import type { Context, Hono } from "hono";
import {
  type AuthorizeRequest,
  createAuthorizedHandlers,
} from "../../kernel/access/authorize-request.ts";
import { problemResponse } from "../../kernel/http/problem-response.ts";
import { readJson, TOO_LARGE, tooLargeMessage } from "../../kernel/http/read-json.ts";
import { MAX_MARKING_BYTES } from "../../kernel/lib/limits.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { JsonBody } from "./event-view.ts";
import type { Inbox } from "./inbox.ts";

export interface InboxRoutes {
  authorizeRequest: AuthorizeRequest;
  inbox: Inbox;
}

/** An empty parameter such as `?type=` is ignored. */
const queryOf = (c: Context) =>
  inboxApi.listEvents.query.parse(
    Object.fromEntries(Object.entries(c.req.query()).filter(([, text]) => text !== "")),
  );

// biome-ignore format: a table of routes
export function addInboxRoutes(app: Hono, { inbox, authorizeRequest }: InboxRoutes): void {
  const authorized = createAuthorizedHandlers(authorizeRequest);
  app.get(inboxApi.status.path, authorized(inboxApi.status.scope, async (c, { tenants }) => c.json(await inbox.status(tenants))));
  app.get(inboxApi.listSummaries.path, authorized(inboxApi.listSummaries.scope, async (c, { tenants }, reserveBytes) => {
    const { events, next_cursor } = await inbox.listSummaries(tenants, { ...queryOf(c), pending: true }, reserveBytes);
    return withNextCursor(c.json(events), next_cursor);
  }));
  app.get(inboxApi.listEvents.path, authorized(inboxApi.listEvents.scope, async (c, { tenants }, reserveBytes) => {
    const { json, next_cursor } = await inbox.listEvents(tenants, { ...queryOf(c), pending: true }, reserveBytes);
    return withNextCursor(jsonBody(c, json), next_cursor);
  }));
  app.get(inboxApi.get.path, authorized(inboxApi.get.scope, async (c, { tenants }, reserveBytes) => {
    const id = c.req.query("id");
    if (id === undefined) throw new RequestError("invalid", "id", "is missing: /event?id=…");
    return jsonBody(c, await inbox.get(tenants, id, "id", reserveBytes));
  }));
  app.post(inboxApi.markProcessed.path, authorized(inboxApi.markProcessed.scope, async (c, { tenants }) => {
    const body = await readJson(c.req.raw.body, MAX_MARKING_BYTES);
    if (body === TOO_LARGE) return problemResponse(413, "too_large", "Too large", tooLargeMessage(MAX_MARKING_BYTES));
    const { event_id, note } = inboxApi.markProcessed.body.parse(body);
    await inbox.markProcessed(tenants, [event_id], note ?? null);
    return c.json({ success: true, event_id });
  }));
}

const jsonBody = (c: Context, json: JsonBody): Response =>
  c.body(json, 200, { "content-type": "application/json" });

function withNextCursor(response: Response, next: string | null): Response {
  if (next !== null) response.headers.set("x-next-cursor", next);
  return response;
}
