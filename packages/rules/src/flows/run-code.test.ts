import { expect, it } from "vitest";
import { LARGE_BYTES, LargeJson, type MixedJson } from "../large-json.ts";
import { runCode } from "./run-code.ts";
import { testContext } from "./test-context.ts";

const text = "x".repeat(LARGE_BYTES + 1);
const list = new LargeJson(`[${"0,".repeat(LARGE_BYTES)}0]`);

it.each<[string, MixedJson, unknown]>([
  ["return 1", text, { input: null, nodes: { small: 1 } }],
  ["return 1", list, { input: null, nodes: { small: 1 } }],
  ["return 1", { list }, { input: null, nodes: { small: 1 } }],
  ["return input.length", text, { input: text, nodes: { small: 1 } }],
  ["return nodes.large.length", text, { input: null, nodes: { small: 1, large: text } }],
])("the program `%s` gets only the large values that it may read", async (code, value, data) => {
  let sentData: unknown;
  const context = testContext({
    input: value,
    scope: { trigger: {}, nodes: { small: 1, large: value } },
    async evaluate(evaluation) {
      sentData = evaluation.data;
      return { output: 1, log: [] };
    },
  });
  await runCode(context, { job: "javascript", code, timeoutMs: 50, memoryMb: 32 });
  expect(sentData).toEqual({ trigger: {}, ...(data as object) });
});
