/**
 * The values with which the walk fills the parameters of routes and tools. The walk fails if a route or a
 * tool has a parameter that is not listed here, so that it also covers every new parameter.
 */
import { type HubRequest, rpcRequest, taskRpcRequest } from "./hub-client.ts";
import { createGraph, type Ids } from "./tenants.ts";

export interface RouteInput {
  query?: Record<string, string>;
  body?: unknown;
}

/** The values of path parameters, by name. */
export const pathIds: Record<string, (ids: Ids) => string> = {
  app: ({ app }) => app,
  flow: ({ flow }) => flow,
  node: ({ node }) => node,
  edge: ({ edge }) => edge,
  version: () => "1",
  run: ({ run }) => run,
  nth: () => "1",
  event: ({ event }) => event,
  connection: ({ connection }) => connection,
  subscription: ({ subscription }) => subscription,
  tool: () => "COUNT",
  type: () => "issue.opened",
  source: ({ source }) => source,
  token: ({ token }) => token,
  grant: ({ grant }) => grant,
  tenant: ({ tenant }) => tenant,
  name: ({ secret }) => secret,
  guid: ({ delivery }) => delivery,
};

/** Parameters that identify no data of a tenant. */
export const parametersWithoutIds = new Set([
  "If-Match",
  "limit",
  "cursor",
  "after",
  "order",
  "window",
  "wait",
  "draft",
  "values",
  "kind",
  "since",
  "until",
  "from",
  "to",
  "pending",
  "claimable",
  "processed",
  "outcome",
  "status",
  "cause",
  "path",
  "max_bytes",
  "offset",
  "payload",
  "lease_s",
  "timeout_s",
  "wait_seconds",
  // `walkTenantParameter` tests this parameter.
  "tenant",
]);

const note = "A note";
const nameAndDescription = { name: "A name", description: "A description" };

/** The query parameters and the body of each route. Path parameters are in `pathIds`. */
export const routeInputs: Record<string, (ids: Ids) => RouteInput> = {
  "GET /pending-events": (ids) => ({ query: { type: "issues", repo: ids.repo } }),
  "GET /webhook-events": (ids) => ({ query: { type: "issues", repo: ids.repo } }),
  "GET /event": (ids) => ({ query: { id: ids.event } }),
  "POST /mark-processed": (ids) => ({ body: { event_id: ids.event, note } }),

  "POST /api/apps": (ids) => ({ body: { slug: ids.app, ...nameAndDescription } }),
  "PATCH /api/apps/{app}": () => ({ body: nameAndDescription }),
  "GET /api/apps/{app}/tool-name": (ids) => ({ query: { name: ids.toolName, flow: ids.flow } }),
  "GET /api/flows": (ids) => ({ query: { app: ids.app } }),
  "POST /api/apps/{app}/flows": (ids) => ({
    body: { ...nameAndDescription, ...graphWithReferences(ids) },
  }),
  "POST /api/apps/{app}/flows/import": (ids) => ({
    body: { id: ids.flow, ...nameAndDescription, ...graphWithReferences(ids) },
  }),
  "POST /api/apps/{app}/import": (ids) => ({
    body: {
      ...nameAndDescription,
      flows: [{ id: ids.flow, name: `Flow ${ids.flow}`, ...graphWithReferences(ids) }],
      replace: true,
      strict_ids: true,
      publish: true,
    },
  }),
  "PUT /api/flows/{flow}": (ids) => ({
    body: { ...nameAndDescription, ...graphWithReferences(ids) },
  }),
  "PATCH /api/flows/{flow}": (ids) => ({
    body: { ...nameAndDescription, ...graphWithReferences(ids) },
  }),
  "POST /api/flows/{flow}/publish": () => ({ body: { note } }),
  "POST /api/flows/{flow}/rollback": () => ({ body: { version: 1 } }),
  "POST /api/flows/{flow}/nodes": (ids) => ({
    body: {
      id: `${ids.node}-new`,
      type: "CallFlow",
      name: "Call",
      slug: "call",
      position: { x: 0, y: 0 },
      parameters: { flow: ids.flow, trigger: ids.trigger },
    },
  }),
  "PATCH /api/flows/{flow}/nodes/{node}": () => ({
    body: { name: "End", position: { x: 1, y: 1 }, parameters: { value: "x" } },
  }),
  "PUT /api/flows/{flow}/nodes/{node}": (ids) => ({
    body: {
      id: ids.node,
      type: "Return",
      name: "End",
      position: { x: 1, y: 1 },
      parameters: { value: "x" },
    },
  }),
  "POST /api/flows/{flow}/edges": (ids) => ({
    body: {
      id: `${ids.edge}-new`,
      source: ids.trigger,
      target: `${ids.node}-extra`,
      sourceHandle: "out",
      targetHandle: "in",
    },
  }),
  "POST /api/flows/{flow}/runs": (ids) => ({
    query: { draft: "1", wait: "1" },
    body: { trigger: ids.trigger, input: {}, event: ids.event, pins: {} },
  }),
  "POST /api/flows/{flow}/nodes/{node}/test": (ids) => ({
    body: { trigger: ids.trigger, input: {}, pins: {}, from_run: ids.run },
  }),

  "PUT /api/secrets/{name}": () => ({ body: { value: "a long value" } }),
  "POST /api/connections": () => ({ body: { name: "A name", url: "https://mcp.example/" } }),
  "PATCH /api/connections/{connection}": () => ({ body: { name: "A name" } }),
  "PUT /api/connections/{connection}/authorization": (ids) => ({
    body: { state: `${ids.connection}.guess`, code: "code", iss: "https://auth.example" },
  }),
  "POST /api/connections/{connection}/tools/{tool}": () => ({ body: { arguments: { n: 1 } } }),
  "POST /api/connections/{connection}/triggers/{type}/test": () => ({ body: { data: {} } }),
  "POST /api/connections/{connection}/subscriptions/{subscription}/rotate": () => ({
    body: { revoke_now: true },
  }),
  "POST /api/tokens": (ids) => ({
    body: { name: "A name", scopes: ["inbox:read"], tenants: [ids.tenant], days: 1 },
  }),
  "POST /api/sources": () => ({
    body: { kind: "stripe", name: "A name", config: {}, secret: "whsec_0123456789" },
  }),
  "PATCH /api/sources/{source}": () => ({
    body: { name: "A name", config: {}, rotate: { secret: "whsec_0123456789" } },
  }),

  "GET /api/runs": (ids) => ({ query: { flow: ids.flow, app: ids.app, event: ids.event } }),
  "POST /api/runs/bulk": (ids) => ({ body: { action: "cancel", ids: [ids.run] } }),
  "GET /api/events": (ids) => ({
    query: { type: "issues", repo: ids.repo, source: ids.connection, text: ids.delivery },
  }),
  "POST /api/events/bulk": (ids) => ({ body: { action: "processed", ids: [ids.event], note } }),
  "POST /api/events/{event}/claim": () => ({ body: { worker: "one", lease_s: 5 } }),
  "POST /api/events/{event}/release": () => ({
    body: { worker: "one", delay_s: 1, count_attempt: false },
  }),
  "POST /api/events/{event}/processed": () => ({ body: { note, worker: "one" } }),
  "GET /api/events/{event}/explain": (ids) => ({ query: { flow: ids.flow } }),
  "POST /api/events/{event}/replay": (ids) => ({
    body: { flow: ids.flow, trigger: `${ids.trigger}-event` },
  }),
  "POST /api/triggers/preview": (ids) => ({
    body: { source: ids.connection, type: "issue.opened", params: {}, filter: "true" },
  }),
  "POST /api/samples": (ids) => ({
    body: { source: "stripe", type: "charge.failed", id: ids.delivery, endpoint: ids.source },
  }),
  "POST /api/events/test": (ids) => ({
    body: { source: ids.connection, type: "issue.opened", data: {} },
  }),
  "PATCH /api/tenants/{tenant}": () => ({ body: { processed_days: 1, pending_days: 1 } }),
  "POST /api/session": () => ({ body: { code: "unknown" } }),
};

/** The graph of a flow whose nodes refer to a flow, a connection and a secret. */
const graphWithReferences = (ids: Ids) => {
  const { nodes, edges } = createGraph(ids, "text", ids.connection, "Other");
  return {
    nodes: [
      ...nodes,
      {
        id: `${ids.node}-call`,
        type: "CallFlow",
        name: "Call",
        parameters: { flow: ids.flow, trigger: ids.trigger, input: {} },
      },
      {
        id: `${ids.node}-tool`,
        type: "CallTool",
        name: "Tool",
        parameters: {
          connection: ids.connection,
          tool: "COUNT",
          arguments: { n: 1 },
        },
      },
      {
        id: `${ids.node}-http`,
        type: "HttpRequest",
        name: "Http",
        parameters: {
          url: "https://api.example/",
          headers: { authorization: `{{ secrets.${ids.secret} }}` },
        },
      },
    ],
    edges,
  };
};

/** Properties that the walk leaves out of a body: alternatives to other properties, and values that are not ids. */
export const optionalProperties: Record<string, readonly string[]> = {
  "PATCH /api/tenants/{tenant}": ["quota", "max_bytes"],
  "POST /api/connections": ["command", "args", "headers", "auth", "env"],
  "PATCH /api/connections/{connection}": ["url", "command", "args", "headers", "auth", "env"],
  "PUT /api/connections/{connection}/authorization": ["error", "error_description"],
  "PUT /api/flows/{flow}/nodes/{node}": ["slug"],
  "POST /api/events/bulk": ["filter", "cursor"],
  "POST /api/samples": ["action"],
  "POST /api/events/test": ["action"],
};

/** Routes for which the walk generates no requests, with the reason. */
export const excludedRoutes: Record<string, string> = {
  "GET /events": "a stream: see `walkStreams`",
  "GET /api/live": "a stream: see `walkStreams`",
  "POST /webhooks/{source}": "authorized by a signature, not by a token: see `walkWebhooks`",
  "POST /webhooks/{source}/{key}": "the key is the credential: see `walkWebhooks`",
  "POST /api/trigger-callback": "authorized by the token of one subscription: see `walkWebhooks`",
  "GET /metrics": "for operators: counts of the whole hub, without names of tenants",
};

/** Routes that are not in the OpenAPI document. The value says where the walk covers the route, or why it need not. */
export const undocumentedRoutes: Record<string, string> = {
  "GET /": "a page of the web UI",
  "GET /sign-in": "a page of the web UI",
  "ALL /mcp": "see `toolArguments` and `methodRequests`",
  "ALL /mcp/:app": "see `methodRequests`",
  "GET /.well-known/oauth-protected-resource": "public, and the same for all tenants",
  "GET /.well-known/oauth-protected-resource/mcp": "public, and the same for all tenants",
  "GET /.well-known/oauth-protected-resource/mcp/:app": "public, and reads no stored data",
  "GET /.well-known/oauth-authorization-server": "public, and the same for all tenants",
  "GET /oauth/client.json": "public, and the same for all tenants",
  "POST /oauth/register": "public: a registered client has no access until a person allows it",
  "GET /oauth/authorize": "a page for a session, which names only tenants of the session",
  "POST /oauth/authorize": "a form that is sealed for one session",
  "GET /oauth/device": "a page for a session, which names only tenants of the session",
  "POST /oauth/device": "a form that is sealed for one session",
  "POST /oauth/device_authorization": "public: the code has no access until a person allows it",
  "POST /oauth/token": "authorized by a code or a refresh token",
  "POST /oauth/revoke": "authorized by the token that it revokes",
};

const agentSettings = {
  model: { provider: "anthropic", name: "none" },
  instructions: "Do it.",
};

/** The arguments of each tool of `/mcp`. */
export const toolArguments: Record<string, (ids: Ids) => Record<string, unknown>> = {
  list_pending_events: (ids) => ({ type: "issues", repo: ids.repo }),
  get_event: (ids) => ({ event_id: ids.event }),
  get_webhook_events: () => ({ type: "issues" }),
  mark_processed: (ids) => ({ event_ids: [ids.event], note }),
  claim_events: () => ({ type: "none" }),
  release_event: (ids) => ({ event_id: ids.event }),
  search_events: (ids) => ({ text: ids.delivery, type: "issues" }),
  wait_for_event: (ids) => ({ type: "issues", repo: ids.repo, timeout_s: 1 }),
  explain_event: (ids) => ({ event_id: ids.event, flow: ids.flow }),
  replay_event: (ids) => ({ event_id: ids.event, flow: ids.flow }),
  AUTOMATION_CREATE: (ids) => ({
    ...nameAndDescription,
    ...agentSettings,
    app: ids.app,
    model: { ...agentSettings.model, apiKey: `{{ secrets.${ids.secret} }}` },
    tools: [{ connection: ids.connection, tools: ["COUNT"] }],
    triggers: [{ kind: "event", source: ids.connection, type: "issue.opened" }],
  }),
  AUTOMATION_LIST: (ids) => ({ app: ids.app }),
  AUTOMATION_GET: (ids) => ({ id: ids.automation }),
  AUTOMATION_UPDATE: (ids) => ({
    id: ids.automation,
    ...nameAndDescription,
    ...agentSettings,
    tools: [{ connection: ids.connection, tools: ["COUNT"] }],
  }),
  AUTOMATION_DELETE: (ids) => ({ id: ids.automation }),
  AUTOMATION_TRIGGER_ADD: (ids) => ({
    id: ids.automation,
    trigger: { kind: "event", source: ids.connection, type: "issue.opened" },
  }),
  AUTOMATION_TRIGGER_UPDATE: (ids) => ({
    id: ids.automation,
    trigger_id: ids.automationTrigger,
    name: "A name",
    changes: { source: ids.connection },
  }),
  AUTOMATION_TRIGGER_REMOVE: (ids) => ({ id: ids.automation, trigger_id: ids.automationTrigger }),
  AUTOMATION_TRIGGER_TEST: (ids) => ({
    id: ids.automation,
    trigger_id: ids.automationTrigger,
    event_id: ids.event,
  }),
  AUTOMATION_RUN: (ids) => ({
    id: ids.automation,
    trigger_id: ids.automationTrigger,
    input: {},
    wait_seconds: 0,
  }),
  AUTOMATION_RUN_LIST: (ids) => ({ id: ids.automation, event_id: ids.event }),
  AUTOMATION_RUN_GET: (ids) => ({ run_id: ids.run }),
  CONNECTION_CHECK: (ids) => ({ connection: ids.connection }),
};

/** Arguments that the walk leaves out of a call: alternatives to other arguments, and values that are not ids. */
export const optionalArguments: Record<string, readonly string[]> = {
  mark_processed: ["event_id"],
  wait_for_event: ["filter"],
  AUTOMATION_CREATE: ["prompt", "data", "inboxTools", "limits", "outputSchema"],
  AUTOMATION_UPDATE: ["prompt", "data", "inboxTools", "limits", "outputSchema"],
  AUTOMATION_TRIGGER_TEST: ["trigger"],
};

/** By route: a request that deletes the data that the route has created with a foreign id. */
export const cleanUpRequests: Record<string, (ids: Ids, own: Ids) => HubRequest | undefined> = {
  "POST /api/apps": deleteApp,
  "POST /api/apps/{app}/import": deleteApp,
  "PUT /api/secrets/{name}": ({ secret }, own) =>
    secret === own.secret ? undefined : { method: "DELETE", path: `/api/secrets/${secret}` },
  "POST /api/flows/{flow}/edges": ({ flow, edge }) => ({
    method: "DELETE",
    path: `/api/flows/${flow}/edges/${edge}-new`,
  }),
};

function deleteApp({ app }: Ids, own: Ids): HubRequest | undefined {
  return app === own.app ? undefined : { method: "DELETE", path: `/api/apps/${app}` };
}

const sessionHeader = ({ mcpSession }: Ids) => ({ "mcp-session-id": mcpSession });
const resourceParams = ({ event }: Ids) => ({ uri: `signalbox://events/${event}` });
const issuesEvent = { name: "github.issues" };

/** Requests to the MCP servers, except calls of the tools of `/mcp`. The names are those of findings. */
export const methodRequests: Record<string, (ids: Ids) => HubRequest> = {
  "ping in a session": (ids) => rpcRequest("/mcp", "ping", {}, sessionHeader(ids)),
  "resources/read": (ids) => rpcRequest("/mcp", "resources/read", resourceParams(ids)),
  "resources/subscribe": (ids) =>
    rpcRequest("/mcp", "resources/subscribe", resourceParams(ids), sessionHeader(ids)),
  "events/list": () => rpcRequest("/mcp", "events/list"),
  "events/poll": (ids) =>
    rpcRequest("/mcp", "events/poll", {
      ...issuesEvent,
      arguments: { repo: ids.repo },
      cursor: "0",
    }),
  "events/unsubscribe": (ids) =>
    rpcRequest("/mcp", "events/unsubscribe", { ...issuesEvent, delivery: { url: ids.webhook } }),
  "tools/list of an app": (ids) => rpcRequest(`/mcp/${ids.app}`, "tools/list"),
  "tools/call of an app": (ids) =>
    rpcRequest(`/mcp/${ids.app}`, "tools/call", { name: ids.toolName, arguments: { text: "x" } }),
  "tasks/list": (ids) => rpcRequest(`/mcp/${ids.app}`, "tasks/list"),
  "tasks/get": (ids) => taskRpcRequest(`/mcp/${ids.app}`, "tasks/get", { taskId: ids.task }),
  "tasks/update": (ids) => taskRpcRequest(`/mcp/${ids.app}`, "tasks/update", { taskId: ids.task }),
  "tasks/cancel": (ids) => taskRpcRequest(`/mcp/${ids.app}`, "tasks/cancel", { taskId: ids.task }),
};
