/** The scopes and the resource that a client asks for. */
import type { Scope } from "../../store/store.ts";
import { resourceOf } from "../audience.ts";
import { DEFAULT_SCOPES, scopes } from "../tokens.ts";
import { OAuthError } from "./oauth-error.ts";

/** Unknown scopes are ignored: the response names the granted ones. */
export function requestedScopes(scope: string | undefined): Scope[] {
  const names = (scope ?? "").split(" ").filter((name) => name !== "");
  if (names.length === 0) return [...DEFAULT_SCOPES];
  const known = scopes.filter((name) => names.includes(name));
  if (known.length === 0)
    throw new OAuthError("invalid_scope", `scope: must name some of ${scopes.join(", ")}`);
  return known;
}

/** The audience of the tokens: an MCP server of this hub, or the whole hub. */
export function requestedResource(resource: string | undefined, hub: string): string {
  if (resource === undefined) return hub;
  const url = URL.parse(resource);
  const bare = resource.replace(/\/$/, "");
  const path = bare.slice(hub.length);
  const isOfHub = bare.startsWith(hub) && resourceOf(hub, path) === bare;
  if (url?.search !== "" || url.hash !== "" || !isOfHub)
    throw new OAuthError(
      "invalid_target",
      `resource: must be ${hub}, ${hub}/mcp or ${hub}/mcp/APP, in the form in which the client reaches this hub`,
    );
  return bare;
}
