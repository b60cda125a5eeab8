/**
 * The inbox over plain HTTP, in the routes and forms that today's clients of such inboxes call, and
 * the door to `/mcp`. Both ask for a token; both refuse what a web page of another site sends.
 */
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { Inbox } from "../inbox/inbox.ts";
import type { MakeRoom } from "../inbox/room.ts";
import { Fault } from "../lib/fault.ts";
import type { AppServers } from "../mcp/app-server.ts";
import type { InboxServer } from "../mcp/inbox-server.ts";
import type { Scope } from "../store/store.ts";
import type { Access, Accesses } from "../tenants/access.ts";
import { scopes } from "../tenants/tokens.ts";
import { createAnswerRoom } from "./answer-room.ts";
import { createGuard, faulty } from "./guard.ts";

export interface InboxRoutes {
  inbox: Inbox;
  mcp: InboxServer;
  apps?: AppServers;
  accesses: Accesses;
  /** Names and addresses under which this hub may be asked; a DNS trick uses another. */
  isOurHost: (host: string) => boolean;
}

const query = z.object({
  limit: z
    .string()
    .regex(/^\d+$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(1, "must be at least 1").max(100, "must be at most 100"))
    .default(20),
  cursor: z.string().optional(),
  type: z.string().optional(),
  repo: z.string().optional(),
  order: z.enum(["newest", "oldest"], "must be newest or oldest").optional(),
});
const MOST_DISCARDED = 64 * 1024 * 1024;

const marking = z.object({
  event_id: z.string("must be the id of an event"),
  note: z.string().max(1_000).optional(),
});

export function addInboxRoutes(app: Hono, { inbox, mcp, apps, accesses, isOurHost }: InboxRoutes): void {
  const roomFor = createAnswerRoom();
  const guard = createGuard({ accesses, isOurHost });
  const guarded =
    (scope: Scope, answer: (c: Context, access: Access, makeRoom: MakeRoom) => Promise<Response>) =>
    async (c: Context): Promise<Response> => {
      const access = await guard(c, scope);
      if (access instanceof Response) return access;
      try {
        return await answer(c, access, roomFor(c, access.token));
      } catch (error) {
        return faulty(error);
      }
    };

  app.get("/pending-status", guarded("inbox:read", async (c, { tenants }) => c.json(await inbox.status(tenants))));
  app.get("/pending-events", guarded("inbox:read", async (c, { tenants }) => {
    const { events, next_cursor } = await inbox.listSummaries(tenants, { ...query.parse(c.req.query()), pending: true });
    return withNext(c.json(events), next_cursor);
  }));
  app.get("/webhook-events", guarded("inbox:read", async (c, { tenants }, makeRoom) => {
    const { events, next_cursor } = await inbox.listEvents(tenants, { ...query.parse(c.req.query()), pending: true }, makeRoom);
    return withNext(c.json(events as unknown as never), next_cursor);
  }));
  app.get("/event", guarded("inbox:read", async (c, { tenants }, makeRoom) => {
    const id = c.req.query("id");
    if (id === undefined) throw new Fault("invalid", "id", "is missing: /event?id=…");
    return c.json((await inbox.get(tenants, id, {}, makeRoom)) as unknown as never);
  }));
  app.post("/mark-processed", guarded("inbox:write", async (c, { tenants }) => {
    const { event_id, note } = marking.parse(await c.req.json().catch(() => null));
    await inbox.markProcessed(tenants, [event_id], note ?? null);
    return c.json({ success: true, event_id });
  }));
  app.all("/mcp", guarded("inbox:read", async (c, access, makeRoom) => {
    const response = await mcp.serve(c.req.raw, access, makeRoom);
    if (response.status === 413) await discard(c.req.raw.body);
    return response;
  }));
  if (apps)
    app.all("/mcp/:app", guarded("flows:call", async (c, access, makeRoom) => {
      const response = await apps.serve(c.req.raw, c.req.param("app") ?? "", access, makeRoom);
      if (response.status === 413) await discard(c.req.raw.body);
      return response;
    }));
  // RFC 9728: where clients look for a resource at /mcp, and the older place without the path. Tokens
  // come from the operator, so it names no authorization server.
  for (const path of ["", "/mcp", "/mcp/:app"])
    app.get(`/.well-known/oauth-protected-resource${path}`, (c) => {
      const { origin, pathname } = new URL(c.req.url);
      return c.json({
        resource: `${origin}${pathname.slice("/.well-known/oauth-protected-resource".length) || "/mcp"}`,
        resource_name: "Signalbox",
        resource_documentation: `${origin}/`,
        scopes_supported: scopes,
        bearer_methods_supported: ["header"],
      });
    });
} // biome-ignore format: a table of routes

function withNext(response: Response, next: string | null): Response {
  if (next !== null) response.headers.set("x-next-cursor", next);
  return response;
}

/** A sender that is still sending would not hear why it was refused, nor be able to go on after. */
async function discard(body: ReadableStream<Uint8Array> | null): Promise<void> {
  if (!body || body.locked) return;
  let discarded = 0;
  for await (const chunk of body) {
    discarded += chunk.byteLength;
    if (discarded > MOST_DISCARDED) return;
  }
}
