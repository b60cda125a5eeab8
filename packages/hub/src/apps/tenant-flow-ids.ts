/**
 * The ids of imported flows on a hub with several tenants. A flow's id is unique among all tenants, so
 * an import of an id that another tenant uses would fail, and show that the id exists. Therefore an id
 * that the tenant does not have is replaced by a hash of the tenant and the id. The same file has the
 * same result again, so a second import finds the flows.
 */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { sha256Hex } from "../lib/hmac.ts";
import type { Store } from "../store/store.ts";
import { idOf } from "./import-flows.ts";

export async function withTenantIds(
  store: Pick<Store, "getFlow" | "listVersions">,
  tenant: string,
  flows: readonly JsonObject[],
): Promise<JsonObject[]> {
  const replaced = new Map<string, string>();
  for (const flow of flows) {
    const id = idOf(flow);
    if (id === undefined || (await store.getFlow(tenant, id))) continue;
    // A deleted flow is restored. Its versions are kept.
    if ((await store.listVersions(tenant, id)).length > 0) continue;
    replaced.set(id, toUuid(await sha256Hex(JSON.stringify([tenant, id]))));
  }
  const newIdOf = (id: unknown) => replaced.get(String(id));
  return flows.map((flow) => ({
    ...flow,
    ...(newIdOf(flow.id) !== undefined && { id: newIdOf(flow.id) }),
    ...(flow.nodes !== undefined && { nodes: withCalls(flow.nodes, newIdOf) }),
  })) as JsonObject[];
}

/** The fields of the current and the legacy node that contain the id of the called flow. */
const CALLED = ["flow", "targetFlowId"];

function withCalls(
  value: Json | undefined,
  newIdOf: (id: unknown) => string | undefined,
): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => withCalls(item, newIdOf) as Json);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      (CALLED.includes(name) ? newIdOf(field) : undefined) ?? (withCalls(field, newIdOf) as Json),
    ]),
  );
}

/** A UUID of version 8, whose other bits are free. */
const toUuid = (hex: string): string =>
  [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
