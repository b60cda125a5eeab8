import type { JsonObject } from "@signalbox/rules/json.ts";
import { expect, test } from "vitest";
import type { FlowVersion, StoredFlow } from "../model.ts";
import { withTenantIds } from "./tenant-flow-ids.ts";

/** A store in which `acme` has the flow `kept`, and the deleted flow `former`. */
const store = {
  getFlow: async (tenant: string, id: string) =>
    tenant === "acme" && id === "kept" ? ({} as StoredFlow) : undefined,
  listVersions: async (tenant: string, id: string) =>
    tenant === "acme" && id === "former" ? [{} as FlowVersion] : [],
};

const flow = (id: string | number, parameters: JsonObject = {}) => ({
  id,
  name: String(id),
  nodes: [{ id: "call", type: "CallFlow", parameters }],
});

test("keeps the ids that the tenant has or had, and derives new ids from the others", async () => {
  const flows = [flow("kept"), flow("former"), flow("greeting")];
  const [kept, former, first] = await withTenantIds(store, "acme", flows);
  expect([kept?.id, former?.id]).toEqual(["kept", "former"]);
  expect(first?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  const [again] = await withTenantIds(store, "acme", [flow("greeting")]);
  expect(again).toEqual(first);
  const [other] = await withTenantIds(store, "umbrella", [flow("greeting")]);
  expect(other?.id).not.toBe(first?.id);
});

test("changes only the ids in calls between the flows of the file, in both formats", async () => {
  const calls = { flow: "greeting", trigger: "greeting", targetFlowId: 7 };
  const flows = [flow("greeting"), flow(7), flow("caller", calls), flow("other", { flow: "x" })];
  const [greeting, seven, caller, other] = await withTenantIds(store, "acme", flows);
  expect(caller?.nodes).toEqual([
    {
      id: "call",
      type: "CallFlow",
      parameters: { flow: greeting?.id, trigger: "greeting", targetFlowId: seven?.id },
    },
  ]);
  expect(other?.nodes).toEqual(flows[3]?.nodes);
  expect([greeting?.name, seven?.name]).toEqual(["greeting", "7"]);
});
