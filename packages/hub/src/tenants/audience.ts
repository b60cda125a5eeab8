/**
 * The audiences of OAuth access tokens (RFC 8707). A token is valid for one resource: an MCP server, or
 * the whole hub. The hub's URL covers its MCP servers, the live stream and the API.
 */
const MCP_SERVER = /^\/mcp(\/[^/]+)?$/;

/** The resource of a request: the MCP server at this path, else the hub. */
const resourceOf = (hub: string, path: string): string =>
  MCP_SERVER.test(path) ? `${hub}${path}` : hub;

/** The audiences that a token may have for a request to this path. */
export const audiencesOf = (hub: string, path: string): readonly string[] => [
  hub,
  resourceOf(hub, path),
];
