import type { Evaluate, Evaluation } from "@signalbox/rules/flows/evaluation.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { expect, it } from "vitest";
import { testEvaluate } from "../sandbox/test-evaluate.ts";
import { createExpressionAnalysis, type RequireAnalyses } from "./expression-analysis.ts";

const node = (type: string, parameters: FlowNode["parameters"]): FlowNode => ({
  id: type,
  type,
  name: type,
  slug: type.toLowerCase(),
  position: { x: 0, y: 0 },
  parameters,
});
const transform = (expression: string) => ({ nodes: [node("Transform", { expression })] });

function setUp() {
  const evaluations: Evaluation[] = [];
  const evaluate: Evaluate = (evaluation, caller) => {
    evaluations.push(evaluation);
    return testEvaluate(evaluation, caller);
  };
  return { evaluations, withAnalyses: createExpressionAnalysis(evaluate, nodeTypes) };
}

it("analyzes the expressions that the callback requires, and calls it again", async () => {
  const { evaluations, withAnalyses } = setUp();
  const flow = {
    nodes: [
      node("Event", { source: "github", filter: "data.(" }),
      node("Transform", { expression: "nodes.fetch" }),
      node("Code", { code: "return 1" }),
    ],
  };
  let calls = 0;
  const work = async (requireAnalyses: RequireAnalyses) => {
    calls += 1;
    return requireAnalyses(flow);
  };
  const find = await withAnalyses("acme", work);
  expect(calls).toBe(2);
  expect(find("data.(")?.problem).toMatch(/at character/);
  expect(find("nodes.fetch")?.nodes).toMatchObject([{ slug: "fetch" }]);
  await withAnalyses("acme", work);
  expect(evaluations).toMatchObject([{ expressions: ["data.(", "nodes.fetch"] }]);
});

it("analyzes an expression that a concurrent edit added", async () => {
  const { evaluations, withAnalyses } = setUp();
  let calls = 0;
  const find = await withAnalyses("acme", async (requireAnalyses) => {
    calls += 1;
    return requireAnalyses(transform(calls === 1 ? "input.a" : "input.b"));
  });
  expect(find("input.b")).toEqual({ nodes: [], readsSecrets: false });
  expect(evaluations).toHaveLength(2);
});

it("rethrows other errors", async () => {
  const { withAnalyses } = setUp();
  const failing = withAnalyses("acme", async () => {
    throw new Error("no such flow");
  });
  await expect(failing).rejects.toThrow("no such flow");
});
