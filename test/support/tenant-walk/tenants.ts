/** Creates tenants that own one item of each kind that the hub stores. */
import { expect } from "vitest";
import { deliver } from "../deliver.ts";
import { connectClient, signInBrowser } from "../oauth-browser.ts";
import { MAX_WAIT_MS } from "../timeouts.ts";
import { startReceiver } from "../webhook-receiver.ts";
import {
  type Credential,
  type HubRequest,
  type HubUnderTest,
  readRpcResult,
  requestJson,
  rpcRequest,
  send,
} from "./hub-client.ts";

/** The ids of a tenant's data, and other text by which the hub looks up data. */
export interface Ids {
  tenant: string;
  app: string;
  flow: string;
  node: string;
  edge: string;
  trigger: string;
  toolName: string;
  automation: string;
  automationTrigger: string;
  run: string;
  event: string;
  repo: string;
  delivery: string;
  connection: string;
  subscription: string;
  source: string;
  sourceKey: string;
  secret: string;
  token: string;
  grant: string;
  mcpSession: string;
  task: string;
  /** The URL of an outbound webhook. */
  webhook: string;
}

export interface TenantFixture {
  identity: TenantIdentity;
  ids: Ids;
  /** A token of the tenant with the scope `admin`. */
  token: string;
  marker: string;
  /** The id of the tenant's installation of the GitHub App. */
  installation: number;
}

export interface TenantIdentity {
  /** The account id at GitHub. */
  account: number;
  /** Part of those ids that the tenant chooses. */
  slug: string;
  /** Part of every text that the tenant stores, and of none of its ids. */
  marker: string;
}

export interface TenantOptions extends TenantIdentity {
  /** The URL of an MCP server with the trigger `issue.opened` and the tool `COUNT`. */
  server: string;
}

/** Sends a webhook of the tenant's installation. Returns its delivery id and the id of the stored event. */
export async function sendEvent(
  hub: HubUnderTest,
  { account, slug, marker }: TenantIdentity,
): Promise<{ delivery: string; event: string }> {
  const delivery = `${slug}-${crypto.randomUUID()}`;
  const body = {
    action: "opened",
    installation: { id: account * 10 },
    issue: { number: 7, title: marker, html_url: `https://github.com/${slug}/town/issues/7` },
    repository: { full_name: `${slug}/town`, owner: { id: account, login: slug } },
    sender: { login: marker },
  };
  const response = await deliver(hub.url, {
    body: JSON.stringify(body),
    id: delivery,
    secret: hub.githubSecret,
  });
  expect(response.status).toBe(202);
  return { delivery, event: ((await response.json()) as { id: string }).id };
}

export async function createTenant(
  hub: HubUnderTest,
  options: TenantOptions,
): Promise<TenantFixture> {
  const { account, slug, marker, server } = options;
  const tenant = String(account);
  const { delivery, event } = await sendEvent(hub, options);
  const createToken = (label: string) =>
    requestJson<{ id: string; token: string }>(hub, hub.admin, {
      method: "POST",
      path: `/api/tokens?tenant=${tenant}`,
      body: { name: `${label} ${marker}`, scopes: ["admin"], tenants: [tenant] },
    });
  const { token } = await createToken("walker");
  const post = <Result>(path: string, body: object = {}) =>
    requestJson<Result>(hub, token, { method: "POST", path, body });
  const list = async <Item>(path: string) =>
    (await requestJson<{ items: Item[] }>(hub, token, { method: "GET", path })).items;

  const callMcp = <Result>(request: HubRequest) =>
    send(hub, token, request).then(readRpcResult<Result>);

  const app = `${slug}-app`;
  await post("/api/apps", { slug: app, name: marker, description: marker });
  const secret = `${slug.toUpperCase()}_KEY`;
  await requestJson(hub, token, {
    method: "PUT",
    path: `/api/secrets/${secret}`,
    body: { value: `${marker} secret` },
  });
  const connection = await post<{ id: string }>("/api/connections", {
    name: slug,
    url: server,
    headers: { "x-walk": marker },
  });
  const ids = { node: `${slug}-end`, edge: `${slug}-edge`, trigger: `${slug}-intent` };
  const flow = await post<{ id: string }>(`/api/apps/${app}/flows`, {
    name: marker,
    description: marker,
    ...createGraph(ids, marker, connection.id, slug),
  });
  await post(`/api/flows/${flow.id}/publish`, { note: marker });
  const run = await post<{ id: string }>(`/api/flows/${flow.id}/runs?wait=1`, {
    trigger: ids.trigger,
    input: { text: marker },
  });
  const source = await post<{ id: string; url: string }>("/api/sources", {
    kind: "stripe",
    name: marker,
    secret: `whsec_of_${marker}_0123456789`,
  });
  const automation = await callMcp<{
    structuredContent: { id: string; triggers: { trigger_id: string }[] };
  }>(rpcRequest("/mcp", "tools/call", createAutomationCall(secret, marker, app)));
  const listSubscriptions = () =>
    list<{ id: string; state: string }>(`/api/connections/${connection.id}/subscriptions`);
  await expect
    .poll(async () => (await listSubscriptions())[0]?.state, { timeout: MAX_WAIT_MS })
    .toBe("active");
  const [subscription] = await listSubscriptions();
  const mcpSession = await openMcpSession(hub, token, marker);
  await callMcp(
    rpcRequest(`/mcp/${app}`, "tools/call", { name: `${slug}_tool`, arguments: { text: marker } }),
  );
  // The id of an MCP task is the id of its run.
  const [task] = await list<{ id: string }>("/api/runs?limit=1");
  const receiver = await startReceiver();
  const webhook = `${receiver.url}?${slug}`;
  await callMcp(
    rpcRequest("/mcp", "events/subscribe", {
      name: "github.issues",
      delivery: { mode: "webhook", url: webhook, secret: receiver.secret },
    }),
  );
  await connectClient(hub.url, await signInBrowser(hub.url, token), marker);
  const [grant] = await list<{ id: string }>("/api/oauth/grants");
  return {
    identity: { account, slug, marker },
    token,
    marker,
    installation: account * 10,
    ids: {
      ...ids,
      tenant,
      app,
      flow: flow.id,
      toolName: `${slug}_tool`,
      automation: automation.structuredContent.id,
      automationTrigger: automation.structuredContent.triggers[0]?.trigger_id ?? "",
      run: run.id,
      event,
      repo: `${slug}/town`,
      delivery,
      connection: connection.id,
      subscription: subscription?.id ?? "",
      source: source.id,
      sourceKey: new URL(source.url).pathname.split("/").at(-1) ?? "",
      secret,
      token: (await createToken("other")).id,
      grant: grant?.id ?? "",
      mcpSession,
      task: task?.id ?? "",
      webhook,
    },
  };
}

/** Opens an MCP session of an earlier protocol version, and returns its id. */
export async function openMcpSession(
  hub: HubUnderTest,
  credential: Credential,
  clientName: string,
): Promise<string> {
  const initialize = rpcRequest("/mcp", "initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: clientName, version: "1" },
  });
  const { headers } = await send(hub, credential, initialize);
  return headers.get("mcp-session-id") ?? "";
}

/** The graph of a flow that a tool call or an event of the connection starts. */
export const createGraph = (
  { node, edge, trigger }: Pick<Ids, "node" | "edge" | "trigger">,
  text: string,
  connection: string,
  slug: string,
) => ({
  nodes: [
    {
      id: trigger,
      type: "UserIntent",
      name: `${slug} tool`,
      parameters: {
        toolDescription: text,
        parameters: [{ name: "text", type: "string" }],
      },
    },
    {
      id: `${trigger}-event`,
      type: "Event",
      name: "On event",
      parameters: { source: connection, type: "issue.opened" },
    },
    { id: node, type: "Return", name: "End", parameters: { value: text } },
    { id: `${node}-extra`, type: "Return", name: "Extra", parameters: { value: text } },
  ],
  edges: [
    { id: edge, source: trigger, target: node },
    { id: `${edge}-event`, source: `${trigger}-event`, target: node },
  ],
});

const createAutomationCall = (secret: string, marker: string, app: string) => ({
  name: "AUTOMATION_CREATE",
  arguments: {
    name: marker,
    description: marker,
    app,
    model: { provider: "anthropic", name: "none", apiKey: `{{ secrets.${secret} }}` },
    instructions: marker,
    triggers: [{ kind: "event", source: "github", type: "none", name: marker }],
  },
});

/** Returns ids of the same format that no tenant has. */
export function randomizeIds(ids: Ids, { slug }: Pick<TenantIdentity, "slug">): Ids {
  const random = (length: number, alphabet: string) =>
    Array.from(
      crypto.getRandomValues(new Uint8Array(length)),
      (byte) => alphabet[byte % alphabet.length],
    ).join("");
  const randomSlug = random(slug.length, "bcdfghjklm");
  const randomize = (id: string): string => {
    if (/^\d+$/.test(id)) return random(id.length, "123456789");
    if (/^[\w-]{22}$/.test(id)) return random(22, "abcdefghijklmnopqrstuvwxyzABCDEF0123456789");
    return id
      .replaceAll(slug, randomSlug)
      .replaceAll(slug.toUpperCase(), randomSlug.toUpperCase())
      .replace(/(?<=-)[0-9a-f]{12}$/, random(12, "0123456789abcdef"))
      .replace(/(?<=^[a-z]+-)[a-z2-9]{6}$/, random(6, "abcdefghijkmnpqrstuvwxyz23456789"));
  };
  return Object.fromEntries(
    Object.entries(ids).map(([name, id]) => [name, randomize(id as string)]),
  ) as unknown as Ids;
}
