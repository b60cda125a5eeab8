/**
 * Replaces the ids of imported flows on a hub with several tenants. A flow's id is unique among all
 * tenants, so importing an id that another tenant uses would fail, and show that the id exists.
 * Therefore an id that the tenant does not have is replaced by a hash of the tenant and the id. A second
 * import of the same file creates the same ids, and so finds the flows.
 */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { sha256Hex } from "../../kernel/lib/hmac.ts";
import type { Store } from "../../store.ts";
import { idOf } from "./import-flows.ts";

export async function withTenantIds(
  store: Pick<Store, "getFlow" | "listVersions">,
  tenant: string,
  flows: readonly JsonObject[],
): Promise<JsonObject[]> {
  const newIds = new Map<string, string>();
  for (const flow of flows) {
    const id = idOf(flow);
    if (id === undefined || (await store.getFlow(tenant, id))) continue;
    // A deleted flow, whose versions are kept, is restored with its id.
    if ((await store.listVersions(tenant, id)).length > 0) continue;
    newIds.set(id, toUuid(await sha256Hex(JSON.stringify([tenant, id]))));
  }
  const newIdOf = (id: unknown) => newIds.get(String(id));
  return flows.map((flow) => ({
    ...flow,
    ...(newIdOf(flow.id) !== undefined && { id: newIdOf(flow.id) }),
    ...(flow.nodes !== undefined && { nodes: replaceCalledIds(flow.nodes, newIdOf) }),
  })) as JsonObject[];
}

/** The fields of the current and the legacy node that contain the id of the called flow. */
const CALLED_FLOW_FIELDS = ["flow", "targetFlowId"];

function replaceCalledIds(
  value: Json | undefined,
  newIdOf: (id: unknown) => string | undefined,
): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => replaceCalledIds(item, newIdOf) as Json);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      (CALLED_FLOW_FIELDS.includes(name) ? newIdOf(field) : undefined) ??
        (replaceCalledIds(field, newIdOf) as Json),
    ]),
  );
}

/** A UUID of version 8, which may contain any value in its other bits. */
const toUuid = (hex: string): string =>
  [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
