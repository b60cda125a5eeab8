/** A tenant's requests with its own token and ids. */
import { byLength, idsIn, type WalkedRequest } from "./generate.ts";
import { type Credential, isFailed, rpc, send, type WalkedHub } from "./hub-client.ts";
import type { WalkedTenant } from "./tenants.ts";

/** What the victim reads with its own token, by route. */
export async function dump(
  hub: WalkedHub,
  { ids, token }: WalkedTenant,
  routes: readonly WalkedRequest[],
): Promise<Map<string, string>> {
  const dumped = new Map<string, string>();
  for (const { name, request } of routes) {
    if (!name.startsWith("GET ") || VARIABLE.includes(name)) continue;
    const filled = request(ids);
    const path = LISTS.includes(name) ? filled.path.replace(/\?.*/, "") : filled.path;
    const { text } = await send(hub, token, { ...filled, path });
    dumped.set(name, text.replaceAll(TIMES, '"$1":…'));
  }
  const sessions = await send(
    hub,
    token,
    rpc("/mcp", "ping", {}, { "mcp-session-id": ids.mcpSession }),
  );
  dumped.set("the MCP session", `${ids.mcpSession} ${sessions.status}`);
  return dumped;
}

/** Without their filters, these list everything. */
const LISTS = ["GET /api/runs", "GET /api/events", "GET /pending-events", "GET /webhook-events"];
const VARIABLE = ["GET /readyz", "GET /api/openapi.json", "GET /api/stats"];

/** Otherwise the walk would use ids that do not exist. No route returns the URLs of webhooks. */
export const missingIds = ({ ids }: WalkedTenant, dumped: Map<string, string>): string[] => {
  const all = [...dumped.values()].join("\n");
  return Object.entries(ids).flatMap(([name, id]) =>
    id === "" || (name !== "webhook" && !all.includes(id))
      ? [`the id "${name}" (${id}) is not in the tenant's own data`]
      : [],
  );
};

/** The time of an export, of the last use of a token, and of a webhook to a subscriber. */
const TIMES = /"(last_used_at|delivered_at|at)":("[^"]*"|null)/g;

/** Revokes the token too. */
const DELETES_ALL = "DELETE /api/tenants/{tenant}";

const CONFLICT = /is already processed|is not claimed by this token|has no OAuth sign-in/;
const FOR_OPERATORS = /must be valid for all tenants/;

/** A tenant's requests with its own ids succeed, or conflict with what it has stored, or are for operators. */
export async function walkOwnIds(
  hub: WalkedHub,
  { ids, token }: WalkedTenant,
  requests: readonly WalkedRequest[],
  credential: Credential = token,
): Promise<string[]> {
  const findings: string[] = [];
  const destroys = ({ name }: WalkedRequest) =>
    name === DELETES_ALL
      ? 3
      : /_DELETE$|_REMOVE$|unsubscribe$/.test(name)
        ? 1
        : name.startsWith("DELETE")
          ? 2
          : 0;
  const ordered = requests.toSorted(
    (one, other) =>
      destroys(one) - destroys(other) || (destroys(one) === 0 ? 0 : byLength(one, other)),
  );
  for (const request of ordered) {
    if (idsIn(request, ids).length === 0) continue;
    const sent = request.request(ids);
    const response = await send(hub, credential, sent);
    const { status, text } = response;
    if (status === 403 && FOR_OPERATORS.test(text)) continue;
    if (isFailed(sent.path, response) && status !== 409 && !CONFLICT.test(text))
      findings.push(`${request.name} with own ids: ${status} ${text.slice(0, 400)}`);
  }
  return findings;
}
