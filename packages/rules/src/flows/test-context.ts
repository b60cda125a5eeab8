/** Creates a context to run a node in a test. Calls of services that the test does not provide reject. */
import type { JsonObject } from "../json.ts";
import type { NodeContext } from "./node-type.ts";
import { type ValidateSchemas, validateInProcess } from "./validate-schema.ts";

const unexpected = (service: string) => async (): Promise<never> => {
  throw new Error(`${service} is not expected to be called`);
};

export const testContext = (
  overrides: Partial<NodeContext<JsonObject>> = {},
): NodeContext<JsonObject> => ({
  config: {},
  input: null,
  inputs: [],
  scope: { nodes: {} },
  run: { id: "run", flowId: "flow", nodeId: "node", slug: "node", attempt: 1 },
  signal: new AbortController().signal,
  idempotencyKey: "run:node",
  now: () => 0,
  log: () => {},
  fetch: unexpected("fetch"),
  evaluate: unexpected("evaluate"),
  emit: unexpected("emit"),
  callFlow: unexpected("callFlow"),
  callTool: unexpected("callTool"),
  listTools: unexpected("listTools"),
  record: (_part, _input, work) => work(),
  model: unexpected("model"),
  inbox: { listTools: unexpected("inbox.listTools"), callTool: unexpected("inbox.callTool") },
  newNonce: () => "nonce",
  ...overrides,
});

/** Validates every schema in this process, even if that is slow. */
export const validateAll: ValidateSchemas = async (checks) => checks.map(validateInProcess);
