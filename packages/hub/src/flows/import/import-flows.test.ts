import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { expect, it } from "vitest";
import { planImport } from "./import-flows.ts";

/** Returns the flows that an import into a new app saves. */
function importIntoNewApp(...flows: JsonObject[]) {
  let count = 0;
  const newId = () => `new-${++count}`;
  const policy = { replace: false, strictIds: false };
  const { plan } = planImport(flows, policy, { registry: nodeTypes, newId });
  return plan([]).map(({ edit }) =>
    edit({ flow: undefined, takenNames: new Set(), callable: new Map() }),
  );
}

const intent = { id: "u1", type: "UserIntent", name: "Ask" };
const call = { id: "api1", type: "ApiCall", name: "Fetch", parameters: { url: "{{u1.url}}" } };

it.each<[string, JsonObject]>([
  ["without connections", { nodes: [intent, call] }],
  ["with null as connections", { nodes: [intent, call], connections: null }],
  ["with empty text as connections", { nodes: [intent, call], connections: "" }],
  ["without a UserIntent and connections", { nodes: [call] }],
])("converts the nodes of a legacy flow %s", (_, flow) => {
  const [saved] = importIntoNewApp({
    name: "Go",
    toolName: "go",
    toolDescription: "Goes.",
    ...flow,
  });
  expect(saved?.graph.nodes.map(({ type }) => type)).toContain("HttpRequest");
});

it("does not convert the nodes of a flow in the current format", () => {
  const [saved] = importIntoNewApp({ name: "Go", nodes: [intent, call], edges: [] });
  expect(saved?.graph.nodes[1]).toMatchObject({ type: "ApiCall" });
});
