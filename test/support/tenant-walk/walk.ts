/**
 * Tests that tenants are isolated: calls every route and every tool of a hub with the credential of one
 * tenant, the caller, and the ids of another, the victim. Each response must equal the response to ids that
 * no tenant has, and must not contain text of the victim. The victim's data must not change. A third tenant,
 * the control, sends the same requests with its own ids, which must succeed: otherwise the walk might only
 * compare rejections of malformed requests.
 */

import type { FakeGithub } from "../fake-github.ts";
import { openTriggerServer } from "../trigger-server.ts";
import { describeDifference } from "./compare-responses.ts";
import {
  generateRouteRequests,
  generateToolCalls,
  type ListedTool,
  type OpenApi,
} from "./generate-requests.ts";
import {
  type HubRequest,
  type HubUnderTest,
  readRpcResult,
  requestJson,
  rpcRequest,
  send,
} from "./hub-client.ts";
import { findMissingIds, readOwnData, walkOwnIds } from "./own-data.ts";
import { methodRequests } from "./request-inputs.ts";
import { walkStreams, walkWebhooks } from "./streams-and-webhooks.ts";
import { createTenant } from "./tenants.ts";
import { CALLER, CONTROL, VICTIM, type WalkContext } from "./walk-context.ts";
import { addOrganizations, signInAdmins, walkAsAdmin, walkAsMembers } from "./walk-people.ts";
import { walkRequests, walkTenantParameter } from "./walk-requests.ts";

/**
 * Returns the violations that it has found; none if the tenants are isolated. With a fake GitHub, people who
 * have signed in send the requests too.
 */
export async function walkTenants(hub: HubUnderTest, github?: FakeGithub): Promise<string[]> {
  if (github) addOrganizations(github, [VICTIM, CALLER, CONTROL]);
  const { url: server, close } = await openTriggerServer();
  try {
    const victim = await createTenant(hub, { ...VICTIM, server });
    const caller = await createTenant(hub, { ...CALLER, server });
    const control = await createTenant(hub, { ...CONTROL, server });
    const openApi = await requestJson<OpenApi>(hub, caller.token, {
      method: "GET",
      path: "/api/openapi.json",
    });
    const { tools } = readRpcResult<{ tools: ListedTool[] }>(
      await send(hub, caller.token, rpcRequest("/mcp", "tools/list")),
    );
    const routes = generateRouteRequests(openApi);
    const requests = [...generateToolCalls(tools), ...routes];
    const walk: WalkContext = { hub, victim, caller, credential: caller.token, oneByOne: true };
    const admins = github ? await signInAdmins(walk, github, server) : [];
    const findings: string[] = [];
    for (const context of [walk, ...admins]) findings.push(...(await walkStreams(context)));
    const before = await readOwnData(hub, victim, routes);
    const tokenResult = await walkRequests(walk, requests);
    findings.push(
      ...findMissingIds(victim, before),
      ...(await walkWebhooks(walk)),
      ...tokenResult.findings,
      ...(await walkTenantParameter(walk, requests)),
    );
    for (const admin of admins) findings.push(...(await walkAsAdmin(admin, requests, tokenResult)));
    const after = await readOwnData(hub, victim, routes);
    for (const [name, text] of before) {
      const change = describeDifference(after.get(name) ?? "", text);
      if (change) findings.push(`${name}: the other tenant's data changed: ${change}`);
    }
    // No route reads the webhook subscription, so the victim proves with a request that it still exists.
    const unsubscribed = await send(
      hub,
      victim.token,
      methodRequests["events/unsubscribe"]?.(victim.ids) as HubRequest,
    );
    if (!unsubscribed.text.includes('"result"'))
      findings.push(`the other tenant's webhook subscription is gone: ${unsubscribed.text}`);
    if (github) findings.push(...(await walkAsMembers(walk, github, requests)));
    findings.push(...(await walkOwnIds(hub, control, requests)));
    return findings;
  } finally {
    close();
  }
}
