/** Requests whose bodies have too many values, list items or errors, and the expected rejection of each. */
export interface HostileRequest {
  path: string;
  body: string;
  headers?: Record<string, string>;
  status: number;
  message: RegExp;
}

const listOf = (text: string, count: number) => `[${`${text},`.repeat(count - 1)}${text}]`;
const objectOf = (count: number) =>
  `{${Array.from({ length: count }, (_, at) => `"k${at}":0`).join(",")}}`;

/** The body of a flow whose nodes all have the same name. */
export const flowWithEqualNames = (nodes: number): string =>
  `{"name":"x","nodes":${listOf('{"type":"Code","name":"Step","parameters":{}}', nodes)}}`;
const flowOf = (nodes: string) => `{"name":"x","nodes":${nodes}}`;

export function requestsWithTooManyNodes(app: string): HostileRequest[] {
  const flows = `/api/apps/${app}/flows`;
  const tooMany = { status: 400, message: /at most 500 items/ };
  const tooManyValues = { status: 400, message: /more than 100000 values/ };
  return [
    { path: flows, body: flowOf(listOf("{}", 2_300_000)), ...tooManyValues },
    { path: flows, body: flowWithEqualNames(5_000), ...tooMany },
    { path: `${flows}/import`, body: flowOf(listOf("{}", 200_000)), ...tooManyValues },
    { path: `${flows}/import`, body: flowWithEqualNames(9_000), ...tooMany },
    {
      path: `/api/apps/${app}/import`,
      body: `{"flows":[${flowWithEqualNames(9_000)}]}`,
      ...tooMany,
    },
    {
      path: flows,
      body: flowOf(listOf(`"${"x".repeat(1_000)}"`, 9_000)),
      status: 413,
      message: /8388608 bytes/,
    },
  ];
}

export function requestsWithTooManyErrors(): HostileRequest[] {
  const withScopes = (count: number) => `{"name":"x","scopes":${listOf('"x"', count)}}`;
  const path = "/api/tokens";
  return [
    { path, body: withScopes(1_000_000), status: 413, message: /1048576 bytes/ },
    { path, body: withScopes(40_000), status: 400, message: /at most \d+ items/ },
    { path, body: withScopes(900), status: 400, message: /at most \d+ items|and 880 more/ },
    { path, body: objectOf(9_000), status: 400, message: /and [\d,]+ more/ },
  ];
}

/** Requests that need only the scope `inbox:read`. */
export function mcpRequestsWithTooManyValues(): HostileRequest[] {
  const wait = (filter: string) =>
    `"method":"tools/call","params":{"name":"wait_for_event","arguments":{"filter":${filter}}}`;
  const initialize = (capabilities: string) =>
    `"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"x","version":"1"},"capabilities":${capabilities}}`;
  const mcpRequest = (request: string, status: number, message: RegExp) => ({
    path: "/mcp",
    body: `{"jsonrpc":"2.0","id":1,${request}}`,
    headers: { accept: "application/json, text/event-stream" },
    status,
    message,
  });
  return [wait, initialize].flatMap((createBody) => [
    mcpRequest(createBody(objectOf(300_000)), 413, /bytes/),
    mcpRequest(createBody(listOf("0", 200_000)), 400, /50000 values/),
    mcpRequest(createBody(objectOf(40_000)), 400, /the limit is 10000/),
  ]);
}
