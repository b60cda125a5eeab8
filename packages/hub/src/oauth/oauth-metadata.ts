/** The metadata with which MCP clients discover the authorization server (RFC 9728 and RFC 8414). */
import type { Hono } from "hono";
import { PROTECTED_RESOURCE, resourceOf } from "../kernel/access/audience.ts";
import { baseUrl } from "../kernel/access/authorize-request.ts";
import { scopes } from "../kernel/access/scopes.ts";
import { GRANT_TYPES } from "./token-endpoint.ts";

export function addOAuthMetadata(app: Hono, publicUrl: string | undefined): void {
  for (const path of ["", "/mcp", "/mcp/:app"])
    app.get(`${PROTECTED_RESOURCE}${path}`, (c) => {
      const hub = baseUrl(c.req, publicUrl);
      const { pathname } = new URL(c.req.url);
      return c.json({
        resource: resourceOf(hub, pathname.slice(PROTECTED_RESOURCE.length)),
        resource_name: "Signalbox",
        resource_documentation: `${hub}/`,
        authorization_servers: [hub],
        scopes_supported: scopes,
        bearer_methods_supported: ["header"],
      });
    });
  app.get("/.well-known/oauth-authorization-server", (c) => {
    const hub = baseUrl(c.req, publicUrl);
    return c.json({
      issuer: hub,
      authorization_endpoint: `${hub}/oauth/authorize`,
      token_endpoint: `${hub}/oauth/token`,
      registration_endpoint: `${hub}/oauth/register`,
      revocation_endpoint: `${hub}/oauth/revoke`,
      device_authorization_endpoint: `${hub}/oauth/device_authorization`,
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: GRANT_TYPES,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      revocation_endpoint_auth_methods_supported: ["none"],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      scopes_supported: scopes,
      service_documentation: `${hub}/`,
    });
  });
}
