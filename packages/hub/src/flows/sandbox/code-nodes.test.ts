/**
 * Tests the nodes Code and Transform in the sandbox of the Node host; see also sandbox.test.ts
 * there.
 */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import {
  type Evaluation,
  type EvaluationResult,
  type LogLine,
  timeLimitExceeded,
} from "@signalbox/rules/flows/evaluation.ts";
import { code } from "@signalbox/rules/flows/nodes/code.ts";
import { transform } from "@signalbox/rules/flows/nodes/transform.ts";
import { testContext } from "@signalbox/rules/flows/test-context.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { afterAll, describe, expect, it } from "vitest";
import { createJobWorkers } from "../../hosts/node/job-workers.ts";

const workers = createJobWorkers({ maxWorkers: 2 });
afterAll(workers.close);

const caller = { tenant: "acme", signal: new AbortController().signal };
const context = {
  evaluate: (evaluation: Evaluation) => workers.runJob(evaluation, caller),
  input: { lines: [{ price: 3 }, { price: 4 }] },
  scope: { trigger: { city: "Bern" }, nodes: { fetch: { status: 200 } }, item: "x", index: 2 },
};

describe.each([
  ["Code", code, (text: string): JsonObject => ({ code: text, timeoutMs: 1000 })],
  ["Transform", transform, (text: string): JsonObject => ({ expression: text })],
])("%s", (type, node, configOf) => {
  const run = (text: string, overrides = {}) =>
    node.run(testContext({ config: configOf(text), ...context, ...overrides }));
  const toProgram = (text: string) => (type === "Code" ? `return ${text}` : text);

  it("runs its sample", async () => {
    const input = {
      issues: [
        { title: "It rains in", state: "open", labels: [{ name: "bug" }] },
        { title: "Done", state: "closed", labels: [] },
      ],
      lines: [{ price: 3 }, { price: 4 }],
    };
    const sample = testContext({ ...context, config: node.sample.config, input });
    expect(await node.run(sample)).toEqual({
      output: type === "Code" ? { total: 7 } : { title: "It rains in", labels: ["bug"] },
    });
  });

  it.each<[string, Json]>([
    ["input.lines[1].price", 4],
    ["trigger.city", "Bern"],
    ["nodes.fetch.status", 200],
    ["item", "x"],
    ["index", 2],
    ["nodes.trigger", null],
  ])("reads %s", async (text, output) => {
    expect(await run(toProgram(text))).toEqual({ output });
  });

  it("declares its code as a raw field, without templates", () => {
    expect(node.rawFields).toEqual([[type === "Code" ? "code" : "expression"]]);
  });

  it("fails permanently with the error message of the code", async () => {
    const failed = run(type === "Code" ? "throw new Error('no luck')" : "$error('no luck')");
    await expect(failed).rejects.toBeInstanceOf(Permanent);
    await expect(failed).rejects.toMatchObject({
      code: "code_failed",
      message: expect.stringContaining("no luck"),
    });
  });
});

it("writes console output to the step's log, even if the code fails", async () => {
  const lines: LogLine[] = [];
  const failingContext = testContext({
    ...context,
    config: { code: "console.warn('on my way', input.lines.length); undefined.x" },
    log: (line) => lines.push(line),
  });
  await expect(code.run(failingContext)).rejects.toMatchObject({ code: "code_failed" });
  expect(lines).toEqual([{ level: "warn", text: "on my way 2" }]);
});

it("evaluates code with the limits of its config, or with default limits", async () => {
  const evaluations: Evaluation[] = [];
  const result: EvaluationResult = { log: [], ...timeLimitExceeded(50) };
  const run = (config: JsonObject) =>
    code.run(
      testContext({
        config,
        async evaluate(evaluation) {
          evaluations.push(evaluation);
          return result;
        },
      }),
    );
  const error = { code: "code_timeout", message: "The code exceeds the time limit of 50 ms." };
  await expect(run({ code: "1" })).rejects.toMatchObject(error);
  const limits = { timeoutMs: 200, memoryMb: 64 };
  await expect(run({ code: "1", ...limits })).rejects.toMatchObject(error);
  expect(evaluations).toMatchObject([{ timeoutMs: 50, memoryMb: 32 }, limits]);
});

it.each(["", " ", "x".repeat(20_001)])("rejects %j as an expression", (expression) => {
  expect(transform.config.safeParse({ expression }).success).toBe(false);
});
