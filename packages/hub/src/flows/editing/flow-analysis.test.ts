import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { expect, it } from "vitest";
import type { Connection } from "../../connections/model.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { type RecordedRequest, testRunJob } from "../test-run-job.ts";
import { createFlowAnalysis, type RequireAnalysis } from "./flow-analysis.ts";

const node = (type: string, parameters: FlowNode["parameters"]): FlowNode => ({
  id: type,
  type,
  name: type,
  slug: type.toLowerCase(),
  position: { x: 0, y: 0 },
  parameters,
});
const transform = (expression: string) => ({ nodes: [node("Transform", { expression })] });

const tool = (inputSchema: JsonObject) => ({ name: "get", description: "", inputSchema });
const CITY = { type: "object", properties: { city: { type: "string", pattern: "^[A-Z]" } } };

function setUp() {
  const requests: RecordedRequest[] = [];
  /** What was read from the store. */
  const reads: string[] = [];
  const runJob: RunJob = (request, caller) => {
    requests.push(request);
    return testRunJob(request, caller);
  };
  const listSecretNames = async (tenant: string) => {
    reads.push(tenant);
    return [{ name: `KEY_OF_${tenant}`, created_at: 0, updated_at: 0 }];
  };
  const getConnection = async (tenant: string, id: string) => {
    reads.push(`${tenant} ${id}`);
    if (id !== "weather") return undefined;
    return { name: "Weather", status: "ok", error: null, revision: 1, checked_at: 1 } as Connection;
  };
  const getOffers = async (tenant: string, id: string) => {
    reads.push(`${tenant} ${id} tools`);
    return { tools: [tool(CITY)], triggers: [], server: null, perSubscription: false };
  };
  const withAnalysis = createFlowAnalysis({
    store: {
      listSecretNames,
      getConnection,
      getOffers,
      listSources: async () => [],
      getFlow: async () => undefined,
    },
    runJob,
    registry: nodeTypes,
  });
  return { requests, reads, withAnalysis };
}

it("analyzes the programs that the callback requires, calls it again, and caches the results", async () => {
  const { requests, reads, withAnalysis } = setUp();
  const flow = {
    nodes: [
      node("Event", { source: "github", filter: "data.(" }),
      node("Transform", { expression: "nodes.fetch" }),
      node("Code", { code: "return 1" }),
    ],
  };
  let calls = 0;
  const work = async (requireAnalysis: RequireAnalysis) => {
    calls += 1;
    return requireAnalysis("acme", flow);
  };
  const { findAnalysis, findSyntaxError } = await withAnalysis(work);
  expect(calls).toBe(2);
  expect(findAnalysis("data.(")?.problem).toMatch(/at character/);
  expect(findAnalysis("nodes.fetch")?.nodes).toMatchObject([{ slug: "fetch" }]);
  expect(findSyntaxError("return 1")).toBeUndefined();
  await withAnalysis(work);
  expect(requests).toMatchObject([
    { job: "jsonata-analysis", expressions: ["data.(", "nodes.fetch"] },
    { job: "javascript-syntax", expressions: ["return 1"] },
  ]);
  expect(reads).toEqual([]);
});

it("analyzes an expression that a concurrent edit added", async () => {
  const { requests, withAnalysis } = setUp();
  let calls = 0;
  const { findAnalysis } = await withAnalysis(async (requireAnalysis) => {
    calls += 1;
    return requireAnalysis("acme", transform(calls === 1 ? "input.a" : "input.b"));
  });
  expect(findAnalysis("input.b")).toEqual({ nodes: [], readsSecrets: false });
  expect(requests).toHaveLength(2);
});

it("reads the secret names of each tenant whose flow refers to a secret", async () => {
  const { reads, withAnalysis } = setUp();
  const headers = { a: "{{ secrets.KEY }}" };
  const flow = { nodes: [node("HttpRequest", { url: "https://example.com", headers })] };
  const work = async (requireAnalysis: RequireAnalysis) =>
    ["acme", "umbrella", "acme"].map((tenant) => [...requireAnalysis(tenant, flow).secrets]);
  expect(await withAnalysis(work)).toEqual([["KEY_OF_acme"], ["KEY_OF_umbrella"], ["KEY_OF_acme"]]);
  expect(reads).toEqual(["acme", "umbrella"]);
  // The names are not cached, because secrets are added and deleted.
  await withAnalysis(work);
  expect(reads).toHaveLength(4);
});

it("rethrows other errors of the callback", async () => {
  const { withAnalysis } = setUp();
  const failing = withAnalysis(async () => {
    throw new Error("no such flow");
  });
  await expect(failing).rejects.toThrow("no such flow");
});

it("loads the connections of the flow, and validates arguments in a job", async () => {
  const { requests, reads, withAnalysis } = setUp();
  const call = (connection: string, city: string) => ({
    ...node("CallTool", { connection, tool: "get", arguments: { city } }),
    id: connection,
  });
  const flow = { nodes: [call("weather", "bern"), call("gone", "Bern"), call("{{ x }}", "Bern")] };
  const work = async (requireAnalysis: RequireAnalysis) => requireAnalysis("acme", flow);
  const { tools } = await withAnalysis(work);
  expect([...tools.connections]).toEqual([
    [
      "weather",
      { name: "Weather", error: null, tools: new Map([["get", tool(CITY)]]), triggers: new Map() },
    ],
  ]);
  expect(reads).toEqual(["acme weather", "acme weather tools", "acme gone"]);
  expect(requests).toMatchObject([{ job: "json-schema" }]);
  expect(tools.findError({ schema: CITY, value: { city: "bern" } })).toMatchObject({
    keys: ["city"],
    message: "must match the pattern ^[A-Z]",
  });
  // The list of tools is cached until the connection is checked again.
  await withAnalysis(work);
  expect(reads.slice(3)).toEqual(["acme weather", "acme gone"]);
});
