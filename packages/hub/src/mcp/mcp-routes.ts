/** The routes of the MCP servers. They require a token, and reject requests from web pages of other origins. */
import type { Context, Hono } from "hono";
import type { AppServers } from "../flows/tools/app-server.ts";
import {
  type AuthorizeRequest,
  createAuthorizedHandlers,
} from "../kernel/access/authorize-request.ts";
import { MAX_DISCARDED_BYTES } from "../kernel/lib/limits.ts";
import type { InboxServer } from "./inbox-server.ts";

export interface McpRoutes {
  authorizeRequest: AuthorizeRequest;
  mcp: Pick<InboxServer, "serve">;
  apps?: Pick<AppServers, "serve">;
}

export function addMcpRoutes(app: Hono, { authorizeRequest, mcp, apps }: McpRoutes): void {
  const authorized = createAuthorizedHandlers(authorizeRequest);
  app.all(
    "/mcp",
    authorized(
      "inbox:read",
      async (c, access, reserveBytes) =>
        discardBodyIf413(c, await mcp.serve(c.req.raw, access, reserveBytes)),
      { mayChooseTenantLater: true },
    ),
  );
  if (!apps) return;
  app.all(
    "/mcp/:app",
    authorized("flows:call", async (c, access, reserveBytes) => {
      const slug = c.req.param("app") ?? "";
      return discardBodyIf413(c, await apps.serve(c.req.raw, slug, access, reserveBytes));
    }),
  );
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
