/** Reads the scopes and the resource that a client requests. */

import { resourceOf } from "../kernel/access/audience.ts";
import type { Scope } from "../kernel/access/scopes.ts";
import { DEFAULT_SCOPES, scopes } from "../kernel/access/scopes.ts";
import { OAuthError } from "./oauth-error.ts";

/** Unknown scopes are ignored, because the response names the granted scopes. */
export function readRequestedScopes(scope: string | undefined): Scope[] {
  const names = (scope ?? "").split(" ").filter((name) => name !== "");
  if (names.length === 0) return [...DEFAULT_SCOPES];
  const knownScopes = scopes.filter((name) => names.includes(name));
  if (knownScopes.length === 0)
    throw new OAuthError(
      "invalid_scope",
      `scope: must contain at least one of ${scopes.join(", ")}`,
    );
  return knownScopes;
}

/** Returns the audience of the tokens: an MCP server of this hub, or the whole hub. */
export function readRequestedResource(resource: string | undefined, hub: string): string {
  if (resource === undefined) return hub;
  const url = URL.parse(resource);
  const withoutSlash = resource.replace(/\/$/, "");
  const path = withoutSlash.slice(hub.length);
  const isOfHub = withoutSlash.startsWith(hub) && resourceOf(hub, path) === withoutSlash;
  if (url?.search !== "" || url.hash !== "" || !isOfHub)
    throw new OAuthError(
      "invalid_target",
      `resource: must be ${hub}, ${hub}/mcp or ${hub}/mcp/APP, with the scheme and host by which the client reaches this hub`,
    );
  return withoutSlash;
}
