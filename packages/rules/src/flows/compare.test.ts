import { describe, expect, it } from "vitest";
import { LargeJson, type MixedJson, writeJson } from "../large-json.ts";
import { compareAll, runComparisons } from "./compare.ts";
import type { Evaluation, EvaluationResult } from "./evaluation.ts";

const texts = Array.from({ length: 10_000 }, (_, index) => `text ${index}`);

async function compare(left: MixedJson, op: "eq" | "glob" | "contains", right: MixedJson) {
  let isInSandbox = false;
  const evaluate = async ({ data }: Evaluation): Promise<EvaluationResult> => {
    isInSandbox = true;
    return { log: [], output: runComparisons(JSON.parse(writeJson(data as MixedJson))) };
  };
  const [[holds] = []] = await compareAll({ evaluate }, [{ left, tests: [{ op, right }] }]);
  return { holds, isInSandbox };
}

describe("a comparison", () => {
  it.each<[string, MixedJson, "eq" | "glob" | "contains", MixedJson]>([
    ["a short text", "text 7", "glob", "t*t ?"],
    ["a list", texts, "contains", "text 7"],
  ])("of %s runs in this process", async (_, left, op, right) => {
    expect(await compare(left, op, right)).toEqual({ holds: true, isInSandbox: false });
  });

  it.each<[string, MixedJson, "eq" | "glob" | "contains", MixedJson]>([
    ["large JSON", new LargeJson(JSON.stringify(texts)), "contains", "text 7"],
    ["a list with large JSON", [new LargeJson(JSON.stringify(texts))], "contains", texts],
    ["large JSON as the wanted value", texts, "eq", new LargeJson(JSON.stringify(texts))],
    ["a list with a long pattern", texts, "glob", `t*7${"*".repeat(500)}`],
    ["a long text with a long pattern", "x".repeat(100_000), "glob", "*x".repeat(100)],
  ])("of %s runs in the sandbox", async (_, left, op, right) => {
    expect(await compare(left, op, right)).toEqual({ holds: true, isInSandbox: true });
  });

  it("that exceeds its time limit fails, and the message contains the fix", async () => {
    const message = "exceeds the time limit of 2 s";
    const evaluate = async (): Promise<EvaluationResult> => ({
      log: [],
      error: "code_timeout",
      message,
    });
    const left = new LargeJson("[]");
    await expect(
      compareAll({ evaluate }, [{ left, tests: [{ op: "eq", right: 1 }] }]),
    ).rejects.toMatchObject({
      code: "comparison_timeout",
      message: "The comparison exceeds the time limit of 2 s. Compare a smaller value.",
    });
  });
});
