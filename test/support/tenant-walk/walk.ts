/**
 * Walks every route and every tool of a hub with the token of one tenant and the ids of another. Each
 * response must equal the response to ids that never existed, and must not contain text of the other
 * tenant, whose data must not change. Requests with the tenant's own ids must succeed, so that the walk
 * does not compare two rejections of a malformed request.
 */

import type { FakeGithub } from "../fake-github.ts";
import { openTriggerServer } from "../trigger-server.ts";
import { difference } from "./compare.ts";
import { filledMethods } from "./filled-requests.ts";
import { type ListedTool, type OpenApi, requestsOf, toolCallsOf } from "./generate.ts";
import { get, type HubRequest, rpc, rpcResult, send, type WalkedHub } from "./hub-client.ts";
import { dump, missingIds, walkOwnIds } from "./own-data.ts";
import { addOrganizations, signInAdmins, walkAsAdmin, walkAsMembers } from "./people.ts";
import { walkRequests, walkTenantParameter } from "./requests.ts";
import { createTenant } from "./tenants.ts";
import { CALLER, CONTROL, VICTIM, type Walk } from "./the-walk.ts";
import { walkStreams, walkWebhooks } from "./unlisted.ts";

/**
 * Returns the findings; empty if the tenants are isolated. With a fake GitHub, the requests are also made
 * by people.
 */
export async function walkTenants(hub: WalkedHub, github?: FakeGithub): Promise<string[]> {
  if (github) addOrganizations(github, [VICTIM, CALLER, CONTROL]);
  const { url: server, close } = await openTriggerServer();
  try {
    const victim = await createTenant(hub, { ...VICTIM, server });
    const caller = await createTenant(hub, { ...CALLER, server });
    const control = await createTenant(hub, { ...CONTROL, server });
    const document = await get<OpenApi>(hub, caller.token, {
      method: "GET",
      path: "/api/openapi.json",
    });
    const { tools } = rpcResult<{ tools: ListedTool[] }>(
      await send(hub, caller.token, rpc("/mcp", "tools/list")),
    );
    const routes = requestsOf(document);
    const requests = [...toolCallsOf(tools), ...routes];
    const walk: Walk = { hub, victim, caller, credential: caller.token, oneByOne: true };
    const admins = github ? await signInAdmins(walk, github, server) : [];
    const findings: string[] = [];
    for (const each of [walk, ...admins]) findings.push(...(await walkStreams(each)));
    const before = await dump(hub, victim, routes);
    const byToken = await walkRequests(walk, requests);
    findings.push(
      ...missingIds(victim, before),
      ...(await walkWebhooks(walk)),
      ...byToken.findings,
      ...(await walkTenantParameter(walk, requests)),
    );
    for (const admin of admins) findings.push(...(await walkAsAdmin(admin, requests, byToken)));
    const after = await dump(hub, victim, routes);
    for (const [name, text] of before) {
      const found = difference(after.get(name) ?? "", text);
      if (found) findings.push(`${name}: the other tenant's data changed: ${found}`);
    }
    const unsubscribed = await send(
      hub,
      victim.token,
      filledMethods["events/unsubscribe"]?.(victim.ids) as HubRequest,
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
