/** Sends requests of a tenant with its own token and ids. */
import { compareByNameLength, findUsedIds, type RequestTemplate } from "./generate-requests.ts";
import { type Credential, type HubUnderTest, isError, rpcRequest, send } from "./hub-client.ts";
import type { TenantFixture } from "./tenants.ts";

/** Reads the data of a tenant with its own token. Returns the response text by route. */
export async function readOwnData(
  hub: HubUnderTest,
  { ids, token }: TenantFixture,
  routes: readonly RequestTemplate[],
): Promise<Map<string, string>> {
  const responses = new Map<string, string>();
  for (const { name, request } of routes) {
    if (!name.startsWith("GET ") || CHANGING.includes(name)) continue;
    const filledRequest = request(ids);
    const path = LISTS.includes(name) ? filledRequest.path.replace(/\?.*/, "") : filledRequest.path;
    const { text } = await send(hub, token, { ...filledRequest, path });
    responses.set(name, text.replaceAll(TIMES, '"$1":…'));
  }
  const ping = await send(
    hub,
    token,
    rpcRequest("/mcp", "ping", {}, { "mcp-session-id": ids.mcpSession }),
  );
  responses.set("the MCP session", `${ids.mcpSession} ${ping.status}`);
  return responses;
}

/** Lists whose filters would hide items, so the query is removed. */
const LISTS = ["GET /api/runs", "GET /api/events", "GET /pending-events", "GET /webhook-events"];
/** Routes whose responses change although the tenant's data does not. */
const CHANGING = ["GET /readyz", "GET /api/openapi.json", "GET /api/stats", "GET /api/queue"];

/**
 * Reports ids that do not occur in the tenant's own data, because a walk with them would prove nothing. The
 * URL of a webhook is exempt, because no route returns it.
 */
export const findMissingIds = (
  { ids }: TenantFixture,
  responses: Map<string, string>,
): string[] => {
  const ownData = [...responses.values()].join("\n");
  return Object.entries(ids).flatMap(([name, id]) =>
    id === "" || (name !== "webhook" && !ownData.includes(id))
      ? [`the id "${name}" (${id}) is not in the tenant's own data`]
      : [],
  );
};

/** Times that change during the walk: the last use of a token, the last delivery to a subscriber, the export. */
const TIMES = /"(last_used_at|delivered_at|at)":("[^"]*"|null)/g;

/** Sent last, because it also revokes the tenant's token. */
const DELETE_TENANT = "DELETE /api/tenants/{tenant}";

/** Errors because of the state of the tenant's data that do not have the status 409. */
const CONFLICT = /is already processed|is not claimed by this token|has no OAuth sign-in/;
const OPERATORS_ONLY = /must be valid for all tenants/;

/**
 * Sends the requests with the tenant's own ids. Each must succeed, or conflict with stored data, or be
 * reserved for operators.
 */
export async function walkOwnIds(
  hub: HubUnderTest,
  { ids, token }: TenantFixture,
  requests: readonly RequestTemplate[],
  credential: Credential = token,
): Promise<string[]> {
  const findings: string[] = [];
  const deletionRank = ({ name }: RequestTemplate) =>
    name === DELETE_TENANT
      ? 3
      : /_DELETE$|_REMOVE$|unsubscribe$/.test(name)
        ? 1
        : name.startsWith("DELETE")
          ? 2
          : 0;
  const deletionsLast = requests.toSorted(
    (left, right) =>
      deletionRank(left) - deletionRank(right) ||
      (deletionRank(left) === 0 ? 0 : compareByNameLength(left, right)),
  );
  for (const request of deletionsLast) {
    if (findUsedIds(request, ids).length === 0) continue;
    const filledRequest = request.request(ids);
    const response = await send(hub, credential, filledRequest);
    const { status, text } = response;
    if (status === 403 && OPERATORS_ONLY.test(text)) continue;
    if (isError(filledRequest.path, response) && status !== 409 && !CONFLICT.test(text))
      findings.push(`${request.name} with own ids: ${status} ${text.slice(0, 400)}`);
  }
  return findings;
}
