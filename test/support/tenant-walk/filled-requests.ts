/**
 * How the walk fills the parameters of routes and tools. A route or tool whose parameters are not
 * listed here makes the walk fail, so that each new one is walked too.
 */
import { type HubRequest, rpc, taskRpc } from "./hub-client.ts";
import { graphOf, type Ids } from "./tenants.ts";

export interface Filled {
  query?: Record<string, string>;
  body?: unknown;
}

/** The ids in paths, by the name of the parameter. */
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

/** Parameters by which nothing is looked up that another tenant could have. */
export const plainParameters = new Set([
  ...["If-Match", "limit", "cursor", "after", "order", "window", "wait", "draft", "values", "kind"],
  ...["since", "until", "from", "to", "pending", "claimable", "processed", "outcome", "status"],
  ...["cause", "path", "max_bytes", "offset", "payload", "lease_s", "timeout_s", "wait_seconds"],
  // Its own check: see `walkTenantParameter`.
  "tenant",
]);

const note = "A note";
const nameless = { name: "A name", description: "A description" };

/** By method and path: the query parameters and the body. Path parameters are in `pathIds`. */
export const filledRoutes: Record<string, (ids: Ids) => Filled> = {
  "GET /pending-events": (i) => ({ query: { type: "issues", repo: i.repo } }),
  "GET /webhook-events": (i) => ({ query: { type: "issues", repo: i.repo } }),
  "GET /event": (i) => ({ query: { id: i.event } }),
  "POST /mark-processed": (i) => ({ body: { event_id: i.event, note } }),

  "POST /api/apps": (i) => ({ body: { slug: i.app, ...nameless } }),
  "PATCH /api/apps/{app}": () => ({ body: nameless }),
  "GET /api/apps/{app}/tool-name": (i) => ({ query: { name: i.toolName, flow: i.flow } }),
  "GET /api/flows": (i) => ({ query: { app: i.app } }),
  "POST /api/apps/{app}/flows": (i) => ({ body: { ...nameless, ...calling(i) } }),
  "POST /api/apps/{app}/flows/import": (i) => ({
    body: { id: i.flow, ...nameless, ...calling(i) },
  }),
  "POST /api/apps/{app}/import": (i) => ({
    body: {
      ...nameless,
      flows: [{ id: i.flow, name: `Flow ${i.flow}`, ...calling(i) }],
      replace: true,
      strict_ids: true,
      publish: true,
    },
  }),
  "PUT /api/flows/{flow}": (i) => ({ body: { ...nameless, ...calling(i) } }),
  "PATCH /api/flows/{flow}": (i) => ({ body: { ...nameless, ...calling(i) } }),
  "POST /api/flows/{flow}/publish": () => ({ body: { note } }),
  "POST /api/flows/{flow}/rollback": () => ({ body: { version: 1 } }),
  "POST /api/flows/{flow}/nodes": (i) => ({
    body: {
      id: `${i.node}-new`,
      type: "CallFlow",
      name: "Call",
      slug: "call",
      position: { x: 0, y: 0 },
      parameters: { flow: i.flow, trigger: i.trigger },
    },
  }),
  "PATCH /api/flows/{flow}/nodes/{node}": () => ({
    body: { name: "End", position: { x: 1, y: 1 }, parameters: { value: "x" } },
  }),
  "PUT /api/flows/{flow}/nodes/{node}": (i) => ({
    body: {
      id: i.node,
      type: "Return",
      name: "End",
      position: { x: 1, y: 1 },
      parameters: { value: "x" },
    },
  }),
  "POST /api/flows/{flow}/edges": (i) => ({
    body: {
      id: `${i.edge}-new`,
      source: i.trigger,
      target: `${i.node}-extra`,
      sourceHandle: "out",
      targetHandle: "in",
    },
  }),
  "POST /api/flows/{flow}/runs": (i) => ({
    query: { draft: "1", wait: "1" },
    body: { trigger: i.trigger, input: {}, event: i.event, pins: {} },
  }),
  "POST /api/flows/{flow}/nodes/{node}/test": (i) => ({
    body: { trigger: i.trigger, input: {}, pins: {}, from_run: i.run },
  }),

  "PUT /api/secrets/{name}": () => ({ body: { value: "a long value" } }),
  "POST /api/connections": () => ({ body: { name: "A name", url: "https://mcp.example/" } }),
  "PATCH /api/connections/{connection}": () => ({ body: { name: "A name" } }),
  "PUT /api/connections/{connection}/authorization": (i) => ({
    body: { state: `${i.connection}.guess`, code: "code", iss: "https://auth.example" },
  }),
  "POST /api/connections/{connection}/tools/{tool}": () => ({ body: { arguments: { n: 1 } } }),
  "POST /api/connections/{connection}/triggers/{type}/test": () => ({ body: { data: {} } }),
  "POST /api/tokens": (i) => ({
    body: { name: "A name", scopes: ["inbox:read"], tenants: [i.tenant], days: 1 },
  }),
  "POST /api/sources": () => ({
    body: { kind: "stripe", name: "A name", config: {}, secret: "whsec_0123456789" },
  }),
  "PATCH /api/sources/{source}": () => ({
    body: { name: "A name", config: {}, rotate: { secret: "whsec_0123456789" } },
  }),

  "GET /api/runs": (i) => ({ query: { flow: i.flow, app: i.app, event: i.event } }),
  "POST /api/runs/bulk": (i) => ({ body: { action: "cancel", ids: [i.run] } }),
  "GET /api/events": (i) => ({
    query: { type: "issues", repo: i.repo, source: i.connection, text: i.delivery },
  }),
  "POST /api/events/bulk": (i) => ({ body: { action: "processed", ids: [i.event], note } }),
  "POST /api/events/{event}/claim": () => ({ body: { worker: "one", lease_s: 5 } }),
  "POST /api/events/{event}/release": () => ({
    body: { worker: "one", delay_s: 1, count_attempt: false },
  }),
  "POST /api/events/{event}/processed": () => ({ body: { note, worker: "one" } }),
  "POST /api/events/{event}/replay": (i) => ({ body: { flow: i.flow } }),
  "POST /api/triggers/preview": (i) => ({
    body: { source: i.connection, type: "issue.opened", params: {}, filter: "true" },
  }),
  "POST /api/samples": (i) => ({
    body: { source: "stripe", type: "charge.failed", id: i.delivery, endpoint: i.source },
  }),
  "POST /api/events/test": (i) => ({
    body: { source: i.connection, type: "issue.opened", data: {} },
  }),
  "PATCH /api/tenants/{tenant}": () => ({ body: { processed_days: 1, pending_days: 1 } }),
  "POST /api/session": () => ({ body: { code: "unknown" } }),
};

/** A flow whose nodes refer to a flow, a connection and a secret. */
const calling = (i: Ids) => {
  const { nodes, edges } = graphOf(i, "text", i.connection, "Other");
  return {
    nodes: [
      ...nodes,
      {
        id: `${i.node}-call`,
        type: "CallFlow",
        name: "Call",
        parameters: { flow: i.flow, trigger: i.trigger, input: {} },
      },
      {
        id: `${i.node}-tool`,
        type: "CallTool",
        name: "Tool",
        parameters: {
          connection: i.connection,
          tool: "COUNT",
          arguments: { n: 1 },
        },
      },
      {
        id: `${i.node}-http`,
        type: "HttpRequest",
        name: "Http",
        parameters: {
          url: "https://api.example/",
          headers: { authorization: `{{ secrets.${i.secret} }}` },
        },
      },
    ],
    edges,
  };
};

/** Properties of a body that are alternatives to others, or not ids. */
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

/** Routes that the walk calls in another way, or not at all, with the reason. */
export const otherRoutes: Record<string, string> = {
  "GET /events": "a stream: see `walkStreams`",
  "GET /api/live": "a stream: see `walkStreams`",
  "POST /webhooks/{source}": "authorized by a signature, not by a token: see `walkWebhooks`",
  "POST /webhooks/{source}/{key}": "the key is the credential: see `walkWebhooks`",
  "POST /api/trigger-callback": "authorized by the token of one subscription: see `walkWebhooks`",
  "GET /metrics": "for operators: counts of the whole hub, without names of tenants",
};

/** Routes that are not in the OpenAPI document, with the reason or the way in which they are walked. */
export const undocumentedRoutes: Record<string, string> = {
  "GET /": "a page of the web UI",
  "ALL /mcp": "see `filledTools` and `filledMethods`",
  "ALL /mcp/:app": "see `filledMethods`",
  "GET /.well-known/oauth-protected-resource": "public, and the same for all tenants",
  "GET /.well-known/oauth-protected-resource/mcp": "public, and the same for all tenants",
  "GET /.well-known/oauth-protected-resource/mcp/:app": "public; looks nothing up",
  "GET /.well-known/oauth-authorization-server": "public, and the same for all tenants",
  "GET /oauth/client.json": "public, and the same for all tenants",
  "POST /oauth/register": "public: a client has no access",
  "GET /oauth/authorize": "a page for a session; names no tenant but the session's",
  "POST /oauth/authorize": "a form that is sealed for one session",
  "GET /oauth/device": "a page for a session; names no tenant but the session's",
  "POST /oauth/device": "a form that is sealed for one session",
  "POST /oauth/device_authorization": "public: the code has no access until a person allows it",
  "POST /oauth/token": "authorized by a code or a refresh token",
  "POST /oauth/revoke": "authorized by the token that it revokes",
};

const agent = {
  model: { provider: "anthropic", name: "none" },
  instructions: "Do it.",
};

/** By name: the arguments of a tool of `/mcp`. */
export const filledTools: Record<string, (ids: Ids) => Record<string, unknown>> = {
  list_pending_events: (i) => ({ type: "issues", repo: i.repo }),
  get_event: (i) => ({ event_id: i.event }),
  get_webhook_events: () => ({ type: "issues" }),
  mark_processed: (i) => ({ event_ids: [i.event], note }),
  claim_events: () => ({ type: "none" }),
  release_event: (i) => ({ event_id: i.event }),
  search_events: (i) => ({ text: i.delivery, type: "issues" }),
  wait_for_event: (i) => ({ type: "issues", repo: i.repo, timeout_s: 1 }),
  explain_event: (i) => ({ event_id: i.event }),
  replay_event: (i) => ({ event_id: i.event, flow: i.flow }),
  AUTOMATION_CREATE: (i) => ({
    ...nameless,
    ...agent,
    app: i.app,
    model: { ...agent.model, apiKey: `{{ secrets.${i.secret} }}` },
    tools: [{ connection: i.connection, tools: ["COUNT"] }],
    triggers: [{ kind: "event", source: i.connection, type: "issue.opened" }],
  }),
  AUTOMATION_LIST: (i) => ({ app: i.app }),
  AUTOMATION_GET: (i) => ({ id: i.automation }),
  AUTOMATION_UPDATE: (i) => ({
    id: i.automation,
    ...nameless,
    ...agent,
    tools: [{ connection: i.connection, tools: ["COUNT"] }],
  }),
  AUTOMATION_DELETE: (i) => ({ id: i.automation }),
  AUTOMATION_TRIGGER_ADD: (i) => ({
    id: i.automation,
    trigger: { kind: "event", source: i.connection, type: "issue.opened" },
  }),
  AUTOMATION_TRIGGER_UPDATE: (i) => ({
    id: i.automation,
    trigger_id: i.automationTrigger,
    name: "A name",
    changes: { source: i.connection },
  }),
  AUTOMATION_TRIGGER_REMOVE: (i) => ({ id: i.automation, trigger_id: i.automationTrigger }),
  AUTOMATION_TRIGGER_TEST: (i) => ({
    id: i.automation,
    trigger_id: i.automationTrigger,
    event_id: i.event,
  }),
  AUTOMATION_RUN: (i) => ({
    id: i.automation,
    trigger_id: i.automationTrigger,
    input: {},
    wait_seconds: 0,
  }),
  AUTOMATION_RUN_LIST: (i) => ({ id: i.automation, event_id: i.event }),
  AUTOMATION_RUN_GET: (i) => ({ run_id: i.run }),
  CONNECTION_CHECK: (i) => ({ connection: i.connection }),
};

/** Arguments of tools that are alternatives to others, or not ids. */
export const optionalArguments: Record<string, readonly string[]> = {
  mark_processed: ["event_id"],
  wait_for_event: ["filter"],
  AUTOMATION_CREATE: ["prompt", "data", "inboxTools", "limits", "outputSchema"],
  AUTOMATION_UPDATE: ["prompt", "data", "inboxTools", "limits", "outputSchema"],
  AUTOMATION_TRIGGER_TEST: ["trigger"],
};

/** Requests that remove what a route has created with ids that are not the caller's own. */
export const undo: Record<string, (ids: Ids, own: Ids) => HubRequest | undefined> = {
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

const inSession = ({ mcpSession }: Ids) => ({ "mcp-session-id": mcpSession });
const uriOf = ({ event }: Ids) => ({ uri: `signalbox://events/${event}` });
const issues = { name: "github.issues" };

/** By name: requests to the MCP servers other than calls of the tools of `/mcp`. */
export const filledMethods: Record<string, (ids: Ids) => HubRequest> = {
  "ping in a session": (i) => rpc("/mcp", "ping", {}, inSession(i)),
  "resources/read": (i) => rpc("/mcp", "resources/read", uriOf(i)),
  "resources/subscribe": (i) => rpc("/mcp", "resources/subscribe", uriOf(i), inSession(i)),
  "events/list": () => rpc("/mcp", "events/list"),
  "events/poll": (i) =>
    rpc("/mcp", "events/poll", { ...issues, arguments: { repo: i.repo }, cursor: "0" }),
  "events/unsubscribe": (i) =>
    rpc("/mcp", "events/unsubscribe", { ...issues, delivery: { url: i.webhook } }),
  "tools/list of an app": (i) => rpc(`/mcp/${i.app}`, "tools/list"),
  "tools/call of an app": (i) =>
    rpc(`/mcp/${i.app}`, "tools/call", { name: i.toolName, arguments: { text: "x" } }),
  "tasks/list": (i) => rpc(`/mcp/${i.app}`, "tasks/list"),
  "tasks/get": (i) => taskRpc(`/mcp/${i.app}`, "tasks/get", { taskId: i.task }),
  "tasks/update": (i) => taskRpc(`/mcp/${i.app}`, "tasks/update", { taskId: i.task }),
  "tasks/cancel": (i) => taskRpc(`/mcp/${i.app}`, "tasks/cancel", { taskId: i.task }),
};
