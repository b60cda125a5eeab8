/** Code and Transform: what they ask of the sandbox. What the sandbox withstands: hosts/node/sandbox.test.ts. */
import { afterAll, describe, expect, it } from "vitest";
import { createSandbox } from "../../../../hub/src/hosts/node/sandbox.ts";
import type { Json, JsonObject } from "../../json.ts";
import { Permanent } from "../errors.ts";
import type { Evaluated, Evaluation, LogLine } from "../evaluation.ts";
import { testContext } from "../test-context.ts";
import { code } from "./code.ts";
import { transform } from "./transform.ts";

const sandbox = createSandbox({ atOnce: 1 });
afterAll(sandbox.close);

const asker = { tenant: "acme", signal: new AbortController().signal };
const surroundings = {
  evaluate: (evaluation: Evaluation) => sandbox.evaluate(evaluation, asker),
  input: { lines: [{ price: 3 }, { price: 4 }] },
  scope: { trigger: { city: "Bern" }, nodes: { fetch: { status: 200 } }, item: "x", index: 2 },
};

describe.each([
  ["Code", code, (text: string): JsonObject => ({ code: text, timeoutMs: 1000 })],
  ["Transform", transform, (text: string): JsonObject => ({ expression: text })],
])("%s", (type, node, configOf) => {
  const run = (text: string, more = {}) =>
    node.run(testContext({ config: configOf(text), ...surroundings, ...more }));
  const result = (text: string) => (type === "Code" ? `return ${text}` : text);

  it("does what its sample says", async () => {
    const input = {
      issues: [
        { title: "It rains in", state: "open", labels: [{ name: "bug" }] },
        { title: "Done", state: "closed", labels: [] },
      ],
      lines: [{ price: 3 }, { price: 4 }],
    };
    const context = testContext({ ...surroundings, config: node.sample.config, input });
    expect(await node.run(context)).toEqual({
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
  ])("knows %s", async (text, output) => {
    expect(await run(result(text))).toEqual({ output });
  });

  it("leaves braces in the code to the code", () => {
    expect(node.rawFields).toEqual([[type === "Code" ? "code" : "expression"]]);
  });

  it("fails for good with the words of the code", async () => {
    const failed = run(type === "Code" ? "throw new Error('no luck')" : "$error('no luck')");
    await expect(failed).rejects.toBeInstanceOf(Permanent);
    await expect(failed).rejects.toMatchObject({
      code: "code_failed",
      message: expect.stringContaining("no luck"),
    });
  });
});

it("code writes to the step's log, also where it fails", async () => {
  const lines: LogLine[] = [];
  const context = testContext({
    ...surroundings,
    config: { code: "console.warn('on my way', input.lines.length); undefined.x" },
    log: (line) => lines.push(line),
  });
  await expect(code.run(context)).rejects.toMatchObject({ code: "code_failed" });
  expect(lines).toEqual([{ level: "warn", text: "on my way 2" }]);
});

it("code has limits that can be set", async () => {
  const asked: Partial<Evaluation>[] = [];
  const answer: Evaluated = { log: [], fault: "code_timeout", message: "took too long" };
  const context = (config: JsonObject) =>
    testContext({
      config,
      evaluate: async ({ timeoutMs, memoryMb }) => {
        asked.push({ timeoutMs, memoryMb });
        return answer;
      },
    });
  const error = { code: "code_timeout", message: "The code took too long." };
  await expect(code.run(context({ code: "1" }))).rejects.toMatchObject(error);
  const limits = { timeoutMs: 200, memoryMb: 64 };
  await expect(code.run(context({ code: "1", ...limits }))).rejects.toMatchObject(error);
  expect(asked).toEqual([{ timeoutMs: 50, memoryMb: 32 }, limits]);
});

it.each(["", " ", "input.(", "/(a+)+$/"])("no expression: %j", (expression) => {
  expect(transform.config.safeParse({ expression }).success).toBe(false);
});
