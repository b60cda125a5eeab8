/**
 * The audiences of OAuth access tokens (RFC 8707). A token is valid for one resource: an MCP server, or
 * the whole hub. The hub's URL covers its MCP servers, the live stream and the API.
 */
const MCP_SERVER = /^\/mcp(\/[^/]+)?$/;

export const isMcpServer = (path: string): boolean => MCP_SERVER.test(path);

/** Returns the resource of a request: the MCP server at this path, otherwise the hub. */
export const resourceOf = (hub: string, path: string): string =>
  isMcpServer(path) ? `${hub}${path}` : hub;

/** Returns the audiences that a token may have for a request to this path. */
export const audiencesOf = (hub: string, path: string): readonly string[] => [
  hub,
  resourceOf(hub, path),
];

export const PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource";

/** Returns the URL of the metadata (RFC 9728) for the resource of a request. */
export const resourceMetadataUrl = (hub: string, path: string): string =>
  `${hub}${PROTECTED_RESOURCE}${resourceOf(hub, path).slice(hub.length)}`;
