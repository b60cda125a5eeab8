/**
 * The inbox over HTTP, with the routes and formats of existing clients, and the routes of the MCP
 * servers. All of them require a token, and reject requests from web pages of other origins.
 */
import { inboxApi } from "@signalbox/contract/inbox.ts";
import type { Context, Hono } from "hono";
import type { AppServers } from "../../flows/tools/app-server.ts";
import type { AuthorizeRequest } from "../../kernel/access/authorize-request.ts";
import { type Access, Denied, type Requirement } from "../../kernel/access/authorizer.ts";
import type { Scope } from "../../kernel/access/scopes.ts";
import { createByteReservations } from "../../kernel/http/byte-reservations.ts";
import {
  deniedResponse,
  errorResponse,
  problemResponse,
} from "../../kernel/http/problem-response.ts";
import { readJson, TOO_LARGE, tooLargeMessage } from "../../kernel/http/read-json.ts";
import type { ReserveBytes } from "../../kernel/http/response-budget.ts";
import { MAX_DISCARDED_BYTES, MAX_MARKING_BYTES } from "../../kernel/lib/limits.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { InboxServer } from "../../mcp/inbox-server.ts";
import type { JsonBody } from "./event-view.ts";
import type { Inbox } from "./inbox.ts";

export interface InboxRoutes {
  authorizeRequest: AuthorizeRequest;
  inbox: Inbox;
  mcp: InboxServer;
  apps?: AppServers;
}

/** An empty parameter such as `?type=` is ignored. */
const queryOf = (c: Context) =>
  inboxApi.listEvents.query.parse(
    Object.fromEntries(Object.entries(c.req.query()).filter(([, text]) => text !== "")),
  );

// biome-ignore format: a table of routes
export function addInboxRoutes(app: Hono, { inbox, mcp, apps, authorizeRequest }: InboxRoutes): void {
  const reservationsOf = createByteReservations();
  const authorized =
    (
      scope: Scope,
      handle: (c: Context, access: Access, reserveBytes: ReserveBytes) => Promise<Response>,
      requirement: Pick<Requirement, "mayChooseTenantLater"> = {},
    ) =>
    async (c: Context): Promise<Response> => {
      const access = await authorizeRequest(c.req.raw, { scope, ...requirement });
      if (access instanceof Denied) return deniedResponse(access);
      try {
        return await handle(c, access, reservationsOf(c, access.token));
      } catch (error) {
        return errorResponse(error);
      }
    };

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
  app.all("/mcp", authorized("inbox:read", async (c, access, reserveBytes) => {
    return discardBodyIf413(c, await mcp.serve(c.req.raw, access, reserveBytes));
  }, { mayChooseTenantLater: true }));
  if (apps)
    app.all("/mcp/:app", authorized("flows:call", async (c, access, reserveBytes) => {
      return discardBodyIf413(c, await apps.serve(c.req.raw, c.req.param("app") ?? "", access, reserveBytes));
    }));
}

const jsonBody = (c: Context, json: JsonBody): Response =>
  c.body(json, 200, { "content-type": "application/json" });

function withNextCursor(response: Response, next: string | null): Response {
  if (next !== null) response.headers.set("x-next-cursor", next);
  return response;
}

/** Reads the rest of a body that is too large: many clients read the response only after they have sent the body. */
async function discardBodyIf413(c: Context, response: Response): Promise<Response> {
  if (response.status !== 413) return response;
  // Only now: on Node, `body` creates a `Request`, which takes 6 % of the CPU time of a short call.
  const { body } = c.req.raw;
  if (!body || body.locked) return response;
  let discarded = 0;
  for await (const chunk of body) {
    discarded += chunk.byteLength;
    if (discarded > MAX_DISCARDED_BYTES) break;
  }
  return response;
}
