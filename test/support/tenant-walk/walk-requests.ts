/** Sends every request with the victim's ids and with ids that no tenant has, and compares the responses. */
import { describeDifference, normalizeResponse } from "./compare-responses.ts";
import { findUsedIds, type RequestTemplate } from "./generate-requests.ts";
import { type HubRequest, type HubResponse, isError, send } from "./hub-client.ts";
import { cleanUpRequests } from "./request-inputs.ts";
import type { Ids } from "./tenants.ts";
import { createUnknownIds, findLeaks, type WalkContext } from "./walk-context.ts";

export interface WalkResult {
  findings: string[];
  /** The HTTP status, or "error" for an error of an MCP server, by request and names of foreign ids. */
  outcomes: Map<string, string>;
}

/** Sends each request with all its ids foreign, and with `oneByOne` also with one foreign id at a time. */
export async function walkRequests(
  walk: WalkContext,
  requests: readonly RequestTemplate[],
): Promise<WalkResult> {
  const { hub, victim, caller, credential, oneByOne } = walk;
  const findings: string[] = [];
  // A response can contain ids of earlier requests, because they can be in the caller's flows.
  const sentIds: Partial<Ids>[] = [victim.ids, caller.ids];
  const sentNames = new Set<keyof Ids>();
  const outcomes = new Map<string, string>();
  const call = async ({ name, request }: RequestTemplate, ids: Ids) => {
    const response = await send(hub, credential, request(ids));
    const cleanUp = cleanUpRequests[name]?.(ids, caller.ids);
    if (cleanUp) await send(hub, credential, cleanUp);
    return response;
  };
  for (const request of requests) {
    const usedIds = findUsedIds(request, victim.ids);
    const variants =
      oneByOne && usedIds.length > 1 ? [usedIds, ...usedIds.map((name) => [name])] : [usedIds];
    for (const names of variants) {
      const unknown = createUnknownIds(walk);
      sentIds.push(replaceIds({}, unknown, names));
      for (const name of names) sentNames.add(name);
      const foreignIds = replaceIds(caller.ids, victim.ids, names);
      const absentIds = replaceIds(caller.ids, unknown, names);
      const foreignResponse = await call(request, foreignIds);
      const absentResponse = await call(request, absentIds);
      const where = `${request.name} (${names.join(", ")})`;
      outcomes.set(where, outcomeOf(request.request(foreignIds).path, foreignResponse));
      const difference = describeDifference(
        normalizeResponse(foreignResponse, sentIds),
        normalizeResponse(absentResponse, sentIds),
      );
      if (difference)
        findings.push(`${where}: the response shows whether the id exists: ${difference}`);
      findings.push(...findLeaks(where, foreignResponse, victim, [...sentNames]));
    }
  }
  return { findings, outcomes };
}

const outcomeOf = (path: string, response: HubResponse): string =>
  response.status < 400 && isError(path, response) ? "error" : String(response.status);

const replaceIds = <Own extends Partial<Ids>>(
  own: Own,
  others: Ids,
  names: readonly (keyof Ids)[],
): Own => ({
  ...own,
  ...Object.fromEntries(names.map((name) => [name, others[name]])),
});

/** Returns the request with the query parameter `tenant`. */
export const withTenantParameter = (
  { path, ...request }: HubRequest,
  tenant: string,
): HubRequest => ({
  ...request,
  path: `${path}${path.includes("?") ? "&" : "?"}tenant=${tenant}`,
});

/** Checks that requests for the victim with `?tenant=` get the same response as for a tenant that does not exist. */
export async function walkTenantParameter(
  walk: WalkContext,
  requests: readonly RequestTemplate[],
): Promise<string[]> {
  const { hub, victim, credential } = walk;
  const unknown = createUnknownIds(walk);
  const findings: string[] = [];
  for (const { name, request, acceptsTenant } of requests) {
    if (!acceptsTenant) continue;
    const sendFor = (tenant: string) =>
      send(hub, credential, withTenantParameter(request(victim.ids), tenant));
    const foreignResponse = await sendFor(victim.ids.tenant);
    const absentResponse = await sendFor(unknown.tenant);
    if (foreignResponse.status !== 403)
      findings.push(`${name} with ?tenant=: ${foreignResponse.status} instead of 403`);
    const difference = describeDifference(
      normalizeResponse(foreignResponse, [victim.ids]),
      normalizeResponse(absentResponse, [unknown]),
    );
    if (difference)
      findings.push(`${name} with ?tenant=: shows whether the tenant exists: ${difference}`);
  }
  return findings;
}
