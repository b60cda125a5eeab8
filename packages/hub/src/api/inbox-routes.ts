/**
 * The inbox over plain HTTP, in the routes and forms that today's clients of such inboxes call, and
 * the door to `/mcp`. Both ask for a token; both refuse what a web page of another site sends.
 */
import type { Context, Hono } from "hono";
import { z } from "zod";
import { Fault, type Inbox } from "../inbox/inbox.ts";
import { createRoom, type MakeRoom } from "../inbox/room.ts";
import { PROBLEM_TYPE, problem } from "../lib/problem.ts";
import type { InboxServer } from "../mcp/inbox-server.ts";
import type { Scope } from "../store/store.ts";
import { type Access, type Accesses, allows, deniedWords } from "../tenants/access.ts";

export interface InboxRoutes {
  inbox: Inbox;
  mcp: InboxServer;
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
/** What one token's clients may have under way; the largest payload fits. */
const ROOM_BYTES = 32 * 1024 * 1024;
const ROOM_WAIT_MS = 10_000;
const MOST_DISCARDED = 64 * 1024 * 1024;

const marking = z.object({
  event_id: z.string("must be the id of an event"),
  note: z.string().max(1_000).optional(),
});

export function addInboxRoutes(app: Hono, { inbox, mcp, accesses, isOurHost }: InboxRoutes): void {
  const takeRoom = createRoom({ bytes: ROOM_BYTES, waitMs: ROOM_WAIT_MS });
  const guarded =
    (scope: Scope, answer: (c: Context, access: Access, makeRoom: MakeRoom) => Promise<Response>) =>
    async (c: Context): Promise<Response> => {
      const stranger = foreignPage(c, isOurHost);
      if (stranger) return stranger;
      const tenant = c.req.query("tenant") ?? c.req.header("x-signalbox-tenant");
      const access = await accesses.check(c.req.header("authorization"), tenant);
      if (typeof access === "string")
        return refused(401, `token_${access}`, "Unauthorized", deniedWords[access], {
          "www-authenticate": `Bearer resource_metadata="${new URL(c.req.url).origin}/.well-known/oauth-protected-resource"`,
        });
      if (access.tenants.length === 0)
        return refused(403, "no_tenant", "Forbidden", tenant === undefined ? "This token is for all tenants: say whose inbox you mean with ?tenant=…" : "This token does not open that tenant's inbox.");
      if (!allows(access, scope))
        return refused(403, "insufficient_scope", "Forbidden", `The token lacks the scope ${scope}.`);
      try {
        return await answer(c, access, (bytes) => takeRoom(access.token, bytes, answered(c)));
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
  app.get("/.well-known/oauth-protected-resource", (c) => {
    const { origin } = new URL(c.req.url);
    return c.json({ resource: `${origin}/mcp`, bearer_methods_supported: ["header"], resource_name: "Signalbox" });
  });
} // biome-ignore format: a table of routes

const refused = (
  status: number,
  code: string,
  title: string,
  detail: string,
  headers: Record<string, string> = {},
  errors?: { path: string; message: string }[],
) =>
  new Response(JSON.stringify(problem(status, code, title, detail, errors)), {
    status,
    headers: { "content-type": PROBLEM_TYPE, ...headers },
  });

function faulty(error: unknown): Response {
  if (error instanceof Fault) {
    const status = { invalid: 400, not_found: 404, forbidden: 403, busy: 429 }[error.code];
    return refused(
      status,
      error.code,
      error.code === "not_found" ? "Not found" : "Invalid request",
      `${error.field}: ${error.message}`,
      {},
      [{ path: error.field, message: error.message }],
    );
  }
  if (error instanceof z.ZodError) {
    const errors = error.issues.map(({ path, message }) => ({
      path: path.join(".") || "body",
      message,
    }));
    return refused(
      400,
      "invalid",
      "Invalid request",
      errors.map(({ path, message }) => `${path}: ${message}`).join("; "),
      {},
      errors,
    );
  }
  throw error;
}

function withNext(response: Response, next: string | null): Response {
  if (next !== null) response.headers.set("x-next-cursor", next);
  return response;
}

/** When the answer has left, on hosts that can tell: Node says so, elsewhere the runtime bounds it. */
function answered(c: Context): Promise<unknown> {
  const { outgoing } = (c.env ?? {}) as {
    outgoing?: { once(event: "close", on: () => void): void };
  };
  return outgoing ? new Promise<void>((close) => outgoing.once("close", close)) : Promise.resolve();
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

/** Tokens are not cookies, yet a page of another site should not even get to try. */
function foreignPage(c: Context, isOurHost: (host: string) => boolean): Response | undefined {
  const host = c.req.header("host") ?? "";
  if (!isOurHost(host))
    return refused(
      421,
      "wrong_host",
      "Misdirected request",
      "This hub is not known under that name. Set SIGNALBOX_PUBLIC_URL to the address that you use.",
    );
  const origin = c.req.header("origin");
  if (origin !== undefined && (!URL.canParse(origin) || !isOurHost(new URL(origin).host)))
    return refused(
      403,
      "foreign_origin",
      "Forbidden",
      "Requests from pages of other sites are refused.",
    );
  return undefined;
}
