/** Handlers of routes that are not in the JSON API, such as those of MCP. They require a token. */
import type { Context } from "hono";
import { createByteReservations } from "../http/byte-reservations.ts";
import { deniedResponse, errorResponse } from "../http/problem-response.ts";
import type { ReserveBytes } from "../http/response-budget.ts";
import type { AuthorizeRequest } from "./authorize-request.ts";
import { type Access, Denied, type Requirement } from "./authorizer.ts";
import type { Scope } from "./scopes.ts";

export function createAuthorizedHandlers(authorizeRequest: AuthorizeRequest) {
  const reservationsOf = createByteReservations();
  return (
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
}
