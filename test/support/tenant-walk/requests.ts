/** Sends every request with the victim's ids, and with ids that never existed, and compares the responses. */
import { comparable, difference } from "./compare.ts";
import { undo } from "./filled-requests.ts";
import { idsIn, type WalkedRequest } from "./generate.ts";
import { type HubRequest, type HubResponse, isFailed, send } from "./hub-client.ts";
import type { Ids } from "./tenants.ts";
import { leaks, unknownIds, type Walk } from "./the-walk.ts";

export interface Walked {
  findings: string[];
  /** By request and foreign ids: the status of the response, or "error" of an MCP server. */
  outcomes: Map<string, string>;
}

/** All ids of the request are foreign; then, with `oneByOne`, only one of them. */
export async function walkRequests(
  walk: Walk,
  requests: readonly WalkedRequest[],
): Promise<Walked> {
  const { hub, victim, caller, credential, oneByOne } = walk;
  const findings: string[] = [];
  // The caller's own flows can refer to ids that it has sent before.
  const sent: Partial<Ids>[] = [victim.ids, caller.ids];
  const sentNames = new Set<keyof Ids>();
  const outcomes = new Map<string, string>();
  const call = async ({ name, request }: WalkedRequest, ids: Ids) => {
    const response = await send(hub, credential, request(ids));
    const remove = undo[name]?.(ids, caller.ids);
    if (remove) await send(hub, credential, remove);
    return response;
  };
  for (const request of requests) {
    const used = idsIn(request, victim.ids);
    const variants = oneByOne && used.length > 1 ? [used, ...used.map((name) => [name])] : [used];
    for (const names of variants) {
      const unknown = unknownIds(walk);
      sent.push(withIds({}, unknown, names));
      for (const name of names) sentNames.add(name);
      const foreign = withIds(caller.ids, victim.ids, names);
      const absent = withIds(caller.ids, unknown, names);
      const one = await call(request, foreign);
      const other = await call(request, absent);
      const where = `${request.name} (${names.join(", ")})`;
      outcomes.set(where, outcomeOf(request.request(foreign).path, one));
      const found = difference(comparable(one, sent), comparable(other, sent));
      if (found) findings.push(`${where}: the response shows whether the id exists: ${found}`);
      findings.push(...leaks(where, one, victim, [...sentNames]));
    }
  }
  return { findings, outcomes };
}

const outcomeOf = (path: string, response: HubResponse): string =>
  response.status < 400 && isFailed(path, response) ? "error" : String(response.status);

const withIds = <Own extends Partial<Ids>>(
  own: Own,
  others: Ids,
  names: readonly (keyof Ids)[],
): Own => ({
  ...own,
  ...Object.fromEntries(names.map((name) => [name, others[name]])),
});

/** The request with `?tenant=`. */
export const forTenant = ({ path, ...rest }: HubRequest, tenant: string): HubRequest => ({
  ...rest,
  path: `${path}${path.includes("?") ? "&" : "?"}tenant=${tenant}`,
});

/** `?tenant=` of another tenant must give the same response as one that does not exist. */
export async function walkTenantParameter(
  walk: Walk,
  requests: readonly WalkedRequest[],
): Promise<string[]> {
  const { hub, victim, credential } = walk;
  const unknown = unknownIds(walk);
  const findings: string[] = [];
  for (const { name, request, hasTenant } of requests) {
    if (!hasTenant) continue;
    const sendFor = (tenant: string) =>
      send(hub, credential, forTenant(request(victim.ids), tenant));
    const one = await sendFor(victim.ids.tenant);
    const other = await sendFor(unknown.tenant);
    if (one.status !== 403) findings.push(`${name} with ?tenant=: ${one.status} instead of 403`);
    const found = difference(comparable(one, [victim.ids]), comparable(other, [unknown]));
    if (found) findings.push(`${name} with ?tenant=: shows whether the tenant exists: ${found}`);
  }
  return findings;
}
