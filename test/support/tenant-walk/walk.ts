/**
 * Walks every route and every tool of a hub with the token of one tenant and the ids of another. Each
 * response must equal the response to ids that never existed, and must not contain text of the other
 * tenant, whose data must not change. Requests with the tenant's own ids must succeed, so that the walk
 * does not compare two rejections of a malformed request.
 */
import { openTriggerServer } from "../trigger-server.ts";
import { comparable, difference } from "./compare.ts";
import { filledMethods, undo } from "./filled-requests.ts";
import {
  idsIn,
  type ListedTool,
  type OpenApi,
  requestsOf,
  toolCallsOf,
  type WalkedRequest,
} from "./generate.ts";
import { get, type HubRequest, rpc, rpcResult, send, type WalkedHub } from "./hub-client.ts";
import { dump, missingIds, walkOwnIds } from "./own-data.ts";
import { createTenant, type Ids } from "./tenants.ts";
import { CALLER, CONTROL, leaks, unknownIds, VICTIM, type Walk } from "./the-walk.ts";
import { walkStreams, walkWebhooks } from "./unlisted.ts";

/** Returns the findings; empty if the tenants are isolated. */
export async function walkTenants(hub: WalkedHub): Promise<string[]> {
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
    const walk = { hub, victim, caller };
    const findings = await walkStreams(walk);
    const before = await dump(hub, victim, routes);
    findings.push(
      ...missingIds(victim, before),
      ...(await walkWebhooks(walk)),
      ...(await walkRequests(walk, requests)),
      ...(await walkTenantParameter(walk, requests)),
    );
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
    findings.push(...(await walkOwnIds(hub, control, requests)));
    return findings;
  } finally {
    close();
  }
}

/** All ids of the request are foreign, or only one of them. */
async function walkRequests(walk: Walk, requests: readonly WalkedRequest[]): Promise<string[]> {
  const { hub, victim, caller } = walk;
  const findings: string[] = [];
  // The caller's own flows can refer to ids that it has sent before.
  const sent: Partial<Ids>[] = [victim.ids, caller.ids];
  const sentNames = new Set<keyof Ids>();
  const call = async ({ name, request }: WalkedRequest, ids: Ids) => {
    const response = await send(hub, caller.token, request(ids));
    const remove = undo[name]?.(ids, caller.ids);
    if (remove) await send(hub, caller.token, remove);
    return response;
  };
  for (const request of requests) {
    const used = idsIn(request, victim.ids);
    const variants = used.length > 1 ? [used, ...used.map((name) => [name])] : [used];
    for (const names of variants) {
      const unknown = unknownIds(walk);
      sent.push(withIds({}, unknown, names));
      for (const name of names) sentNames.add(name);
      const foreign = withIds(caller.ids, victim.ids, names);
      const absent = withIds(caller.ids, unknown, names);
      const one = await call(request, foreign);
      const other = await call(request, absent);
      const where = `${request.name} (${names.join(", ")})`;
      const found = difference(comparable(one, sent), comparable(other, sent));
      if (found) findings.push(`${where}: the response shows whether the id exists: ${found}`);
      findings.push(...leaks(where, one, victim, [...sentNames]));
    }
  }
  return findings;
}

const withIds = <Own extends Partial<Ids>>(
  own: Own,
  others: Ids,
  names: readonly (keyof Ids)[],
): Own => ({
  ...own,
  ...Object.fromEntries(names.map((name) => [name, others[name]])),
});

/** `?tenant=` of another tenant must give the same response as one that does not exist. */
async function walkTenantParameter(
  walk: Walk,
  requests: readonly WalkedRequest[],
): Promise<string[]> {
  const { hub, victim, caller } = walk;
  const unknown = unknownIds(walk);
  const findings: string[] = [];
  for (const { name, request, hasTenant } of requests) {
    if (!hasTenant) continue;
    const { path, ...rest } = request(victim.ids);
    const sendFor = (tenant: string) =>
      send(hub, caller.token, {
        ...rest,
        path: `${path}${path.includes("?") ? "&" : "?"}tenant=${tenant}`,
      });
    const one = await sendFor(victim.ids.tenant);
    const other = await sendFor(unknown.tenant);
    if (one.status !== 403) findings.push(`${name} with ?tenant=: ${one.status} instead of 403`);
    const found = difference(comparable(one, [victim.ids]), comparable(other, [unknown]));
    if (found) findings.push(`${name} with ?tenant=: shows whether the tenant exists: ${found}`);
  }
  return findings;
}
